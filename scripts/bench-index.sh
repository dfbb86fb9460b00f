#!/usr/bin/env bash
# Compares the index with scans of the same chain: build time, size, opening, expanding a
# frontier, and a search. Every answer is checked against the answer of a scan.
#
#   ./bench.sh index
#   RUNS=9 SCRATCH=/fast/disk ./bench.sh index
#
# Result: benchmarks/results/index.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -eq 0 ] || die "usage: ./bench.sh index"
need_build
say "building (release)"
cargo build --release --locked -p txgraph-chaingen -p txgraph-bench --features txgraph-bench/index
bench_chain 200000
scratch=$(mktemp -d "${SCRATCH:-${TMPDIR:-/tmp}}/txgraph-index.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p benchmarks/results
value() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" benchmarks/workloads.toml | sed -n "$2p"; }
token=$(value token 1)
# The busy root, then the quiet one.
{
    bench_setup
    for root in "$(value root 1)" "$(value root 2)"; do
        for threads in 1 2; do
            printf '\n%s, threads: %s\n' "$root" "$threads"
            "$CARGO_TARGET_DIR/release/txgraph-bench-index" --datadir "$chain" \
                --place "$scratch" --runs "${RUNS:-5}" --threads "$threads" \
                --root "$root" --token "$token"
        done
    done
} | tee benchmarks/results/index.txt
