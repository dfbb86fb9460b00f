#!/usr/bin/env bash
# Compares the lake with the index on the same chain: build, size of each file, a scan, and
# questions about addresses. Every answer is checked against the answer of the node.
#
#   ./bench.sh lake
#   RUNS=9 SCRATCH=/fast/disk ./bench.sh lake
#
# Result: benchmarks/results/lake.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -eq 0 ] || die "usage: ./bench.sh lake"
need_build
say "building (release)"
cargo build --release --locked -p txgraph-chaingen -p txgraph-bench --features txgraph-bench/lake
bench_chain 200000
scratch=$(mktemp -d "${SCRATCH:-${TMPDIR:-/tmp}}/txgraph-lake.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p benchmarks/results
token=$(sed -n 's/^token = "\(.*\)"/\1/p' benchmarks/workloads.toml | sed -n 1p)
{
    bench_setup
    for threads in 1 2; do
        printf '\nthreads: %s\n' "$threads"
        "$CARGO_TARGET_DIR/release/txgraph-bench-lake" --datadir "$chain" --place "$scratch" \
            --runs "${RUNS:-5}" --threads "$threads" --token "$token"
    done
} | tee benchmarks/results/lake.txt
