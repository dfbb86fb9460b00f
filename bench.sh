#!/usr/bin/env bash
# Reproduces every published number. Builds once, writes the sample chain, sweeps workloads x
# chunk sizes x threads, compares with the reference method, and checks that every run of a
# workload returns the expected answer.
#
#   ./bench.sh            everything (about ten minutes on 2 cores, after the build)
#   ./bench.sh --quick    a few settings, within 5 minutes
#   ./bench.sh cluster    local engine and clusters: scripts/bench-cluster.sh
#   ./bench.sh evm        the interpreter and its peers: scripts/bench-evm.sh
#   ./bench.sh mainnet    the interpreter on real blocks: scripts/bench-mainnet.sh
#   ./bench.sh index      the index against scans: scripts/bench-index.sh
#   ./bench.sh lake       the lake against the index: scripts/bench-lake.sh
#   ./bench.sh replay     replay compared with revm: scripts/bench-replay.sh
#   ./bench.sh scale      cost on 4 million blocks: scripts/bench-scale.sh
#   ./bench.sh sources    files of other tools: scripts/bench-sources.sh
#   ./bench.sh writers    CSV, JSONL, DOT, Parquet: scripts/bench-writers.sh
#   RUNS=3 THREADS=1,2,4 ./bench.sh
#
# Results: benchmarks/results/{summary.md,raw.csv,chunks.svg,threads.svg}.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

case "${1:-}" in
    cluster | evm | index | lake | mainnet | replay | scale | sources | writers)
        part=$1
        shift
        exec "scripts/bench-$part.sh" "$@"
        ;;
esac

quick=()
runs=${RUNS:-5}
blocks=200000
case "${1:-}" in
    "") ;;
    --quick) quick=(--quick) runs=${RUNS:-3} ;;
    *) die "usage: ./bench.sh [--quick] | ./bench.sh cluster|evm|index|lake|mainnet|replay|scale|sources|writers [--quick]" ;;
esac
cores=$(nproc)
threads=${THREADS:-$(seq -s, 1 "$cores")}
[ "$cores" -le 4 ] || threads=${THREADS:-1,2,4,$cores}

need_build
say "building txgraph, the chain writer and the peers (release)"
cargo build --release --locked -p txgraph-cli -p txgraph-chaingen -p txgraph-bench
programs=$CARGO_TARGET_DIR/release

definitions=benchmarks/workloads.toml
bench_chain "$blocks"

say "sweeping (threads $threads, $runs counted runs each)"
"$programs/txgraph-bench-sweep" run --definitions $definitions --datadir "$chain" \
    --programs "$programs" --out benchmarks/results --runs "$runs" --threads "$threads" \
    --setup "$(bench_setup)" "${quick[@]}"
sed -n '/## Compared/,/## All/p' benchmarks/results/summary.md | sed '$d'
