#!/usr/bin/env bash
# Times the embedded interpreter and revm on real mainnet blocks: same build, same state in
# memory, CPU time, blocks in alternation. One pass starts with an empty cache of code; warm has
# all code prepared. The gas of both engines is compared with the headers before anything is
# timed. The real blocks are years apart, so few contracts repeat. A range of consecutive blocks
# of the contract-heavy chain shows the other extreme. Called by `./bench.sh mainnet`.
#
#   ./bench.sh mainnet               all blocks (about five minutes)
#   ./bench.sh mainnet --quick       a minute
#   ./bench.sh mainnet --filter pevm
#
# Blocks: ../shared/fixtures/mainnet/blocks (or TXGRAPH_FIXTURES, or BUNDLES). Any folder of
# bundles will do: `txgraph replay bundle` makes one. The profile needs `perf`. Results:
# summary.md and raw.json in benchmarks/results/mainnet and .../mainnet-consecutive.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

rounds=11
rest=()
for arg in "$@"; do
    case $arg in
        --quick) rounds=3 ;;
        *) rest+=("$arg") ;;
    esac
done

bundles=${BUNDLES:-${TXGRAPH_FIXTURES:-../shared/fixtures}/mainnet/blocks}
[ -d "$bundles" ] || die "no folder $bundles; set BUNDLES to a folder of bundles"

need_build
say "building the interpreter, its peer and the chain writer (release)"
cargo build --release --locked -p txgraph-bench --features evm
cargo build --release --locked -p txgraph-cli
cargo build --release --locked -p txgraph-chaingen --features executed
bench=$release/txgraph-bench
make_scratch

setup="$(bench_setup); $(revm_version)"

# measure NAME RESULTS BUNDLES [ARGS...]
measure() {
    local name=$1 out=benchmarks/results/$2 folder=$3
    shift 3
    say "timing $name"
    "$bench" mainnet --bundles "$folder" --out "$out" --setup "$setup" --rounds "$rounds" "$@"
    command -v perf >/dev/null 2>&1 || return 0
    say "profiling $name"
    perf record -q -F 999 -o "$scratch/perf" -- "$bench" mainnet --bundles "$folder" --own 60 "$@" >/dev/null
    { printf '\n'; perf_shares "$scratch/perf" "Profile of our interpreter, one pass"; } |
        tee -a "$out/summary.md"
}

measure "real blocks" mainnet "$bundles" "${rest[@]}"

contract_chain v1 150
say "writing bundles of 100 consecutive blocks"
"$release/txgraph" replay bundle "$scratch/bundles" --datadir "$chain" --chain "$chain/genesis.json" \
    --blocks 1:101 >/dev/null
measure "consecutive blocks" mainnet-consecutive "$scratch/bundles"
