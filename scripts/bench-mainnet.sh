#!/usr/bin/env bash
# Times the embedded interpreter beside revm on real mainnet blocks: same build, same state in
# memory, CPU time, blocks in alternation. One pass starts with an empty cache of code; warm has
# all code prepared. The gas of both engines is compared with the headers before anything is
# timed. Called by `./bench.sh mainnet`.
#
#   ./bench.sh mainnet               all blocks (about five minutes)
#   ./bench.sh mainnet --quick       a minute
#   ./bench.sh mainnet --filter pevm
#
# Blocks: ../shared/fixtures/mainnet/blocks (or TXGRAPH_FIXTURES, or BUNDLES). Any folder of
# bundles will do: `txgraph replay --write-bundle` makes one. Results:
# benchmarks/results/mainnet/summary.md and raw JSON.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

settings=(--rounds 11)
rest=()
for arg in "$@"; do
    case $arg in
        --quick) settings=(--rounds 3) ;;
        *) rest+=("$arg") ;;
    esac
done

bundles=${BUNDLES:-${TXGRAPH_FIXTURES:-../shared/fixtures}/mainnet/blocks}
[ -d "$bundles" ] || die "no folder $bundles; set BUNDLES to a folder of bundles"

need_build
say "building the interpreter and its peer (release)"
cargo build --release --locked -p txgraph-evm-bench

setup="$(bench_setup); $(sed -n '/^name = "revm"$/{n;s/version = "\(.*\)"/revm \1/p}' Cargo.lock)"

say "timing (blocks of $bundles)"
"$CARGO_TARGET_DIR/release/txgraph-evm-mainnet" --bundles "$bundles" \
    --out benchmarks/results/mainnet --setup "$setup" "${settings[@]}" "${rest[@]}"
