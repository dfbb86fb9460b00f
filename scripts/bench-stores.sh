#!/usr/bin/env bash
# Compares a store with scans of the same chain, and checks every result against a scan.
# The index: build time, size, opening, expanding a frontier, and a search. The lake, compared
# with the index: build, size of each file, a scan, and queries about addresses.
#
#   ./bench.sh index
#   ./bench.sh lake
#   RUNS=9 SCRATCH=/fast/disk ./bench.sh lake
#
# Result: benchmarks/results/index.txt or lake.txt.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

store=${1:-}
case "$# $store" in
    "1 index" | "1 lake") ;;
    *) die "usage: ./bench.sh index|lake" ;;
esac
build_release "the benchmark" -p txgraph-chaingen -p txgraph-bench --features txgraph-bench/stores
bench_chain 200000
make_scratch
mkdir -p benchmarks/results
value() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" benchmarks/workloads.toml | sed -n "$2p"; }
# measure NAME OPTIONS...
measure() {
    local name=$1 threads
    shift
    for threads in 1 2; do
        printf '\n%sthreads: %s\n' "$name" "$threads"
        "$release/txgraph-bench" "$store" --datadir "$chain" --place "$scratch" \
            --runs "${RUNS:-5}" --threads "$threads" --token "$(value token 1)" "$@"
    done
}
{
    bench_setup
    if [ "$store" = lake ]; then
        measure ""
    else
        # The busy root, then the quiet one.
        for root in "$(value root 1)" "$(value root 2)"; do
            measure "$root, " --root "$root"
        done
    fi
} | tee "benchmarks/results/$store.txt"
