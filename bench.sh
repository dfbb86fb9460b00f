#!/usr/bin/env bash
# Reproduces every published number: builds once, writes the sample chain, sweeps
# workloads x chunk sizes x threads, compares with the reference method, and
# checks that every run of a workload gives the same, expected answer.
#
#   ./bench.sh            everything (about an hour on 2 cores)
#   ./bench.sh --quick    a few settings, within 5 minutes
#   ./bench.sh evm        the interpreter and its peers: scripts/bench-evm.sh
#   ./bench.sh writers    CSV, JSONL, DOT, Parquet: scripts/bench-writers.sh
#   RUNS=3 THREADS=1,2,4 ./bench.sh
#
# Results: benchmarks/results/{summary.md,raw.csv,chunks.svg,threads.svg}.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

if [ "${1:-}" = writers ]; then
    shift
    exec scripts/bench-writers.sh "$@"
fi
if [ "${1:-}" = evm ]; then
    shift
    exec scripts/bench-evm.sh "$@"
fi

quick=()
runs=${RUNS:-5}
blocks=200000
case "${1:-}" in
    "") ;;
    --quick) quick=(--quick) runs=${RUNS:-3} ;;
    *) die "usage: ./bench.sh [--quick] | ./bench.sh evm|writers [--quick]" ;;
esac
cores=$(nproc)
threads=${THREADS:-$(seq -s, 1 "$cores")}
[ "$cores" -le 4 ] || threads=${THREADS:-1,2,4,$cores}

need_build
say "building txgraph, the chain writer and the peers (release)"
cargo build --release --locked -p txgraph-cli -p txgraph-testkit -p txgraph-bench
programs=$CARGO_TARGET_DIR/release

# The chain depends on the seed alone; it is kept between runs, beside the build.
definitions=benchmarks/workloads.toml
seed=$(sed -n 's/^seed = //p' $definitions)
txs=$(sed -n 's/^txs_per_block = //p' $definitions)
chain=${BENCH_CHAIN:-$CARGO_TARGET_DIR/bench-chain-$seed-$txs-$blocks}
if [ ! -e "$chain/.complete" ]; then
    say "writing the sample chain: $blocks blocks of $txs transactions"
    rm -rf "$chain"
    "$programs/chaingen" --out "$chain" --blocks "$blocks" --txs-per-block "$txs" --seed "$seed"
    touch "$chain/.complete"
fi

setup="commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ' with local changes');
$(date -u +%Y-%m-%d); $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $cores cores,
$(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo) memory; $(uname -sr); $(rustc --version)"

say "sweeping (threads $threads, $runs counted runs each)"
"$programs/txgraph-bench-sweep" run --definitions $definitions --datadir "$chain" \
    --programs "$programs" --out benchmarks/results --runs "$runs" --threads "$threads" \
    --setup "$setup" "${quick[@]}"
sed -n '/## Compared/,/## All/p' benchmarks/results/summary.md | sed '$d'
