#!/usr/bin/env bash
# Measures the figures of README.md and docs/performance.md, with its subcommands. Builds once,
# writes the sample chain, sweeps workloads x chunk sizes x threads, compares with the reference
# method, and checks that every run of a workload returns the expected answer.
#
#   ./bench.sh            everything (about ten minutes on 2 cores, after the build)
#   ./bench.sh --quick    a few settings, within 5 minutes
#   ./bench.sh cluster    local engine and clusters: scripts/bench-cluster.sh
#   ./bench.sh evm        the interpreter and its peers: scripts/bench-evm.sh
#   ./bench.sh mainnet    the interpreter on real blocks: scripts/bench-mainnet.sh
#   ./bench.sh index      the index against scans: scripts/bench-stores.sh
#   ./bench.sh lake       the lake against the index: scripts/bench-stores.sh
#   ./bench.sh patterns   precision and recall of patterns: scripts/bench-patterns.sh
#   ./bench.sh replay     replay compared with revm: scripts/bench-replay.sh
#   ./bench.sh scale      cost on 4 million blocks: scripts/bench-scale.sh
#   ./bench.sh sources    files of other tools: scripts/bench-sources.sh
#   ./bench.sh writers    CSV, JSONL, DOT, Parquet: scripts/bench-writers.sh
#   ./bench.sh --datadir DIR --root ADDRESS --token TOKEN --blocks RANGE [--hops N]
#                         a search on your own node; nothing is written into DIR. There is no
#                         expected answer: all runs must agree, so name blocks by numbers.
#
#   RUNS=3                counted runs of each setting (default 5, with --quick 3)
#   THREADS=1,2,4         numbers of threads
#   CHUNKS=500,5000       blocks per chunk; 0 is the default of txgraph
#
# Results: benchmarks/results/{summary.md,raw.csv}.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/scripts/lib.sh"

# Help never builds anything, whatever else is asked for.
for word in "$@"; do
    case "$word" in
        -h | --help)
            page=bench.sh
            case "$1" in
                index | lake) page=scripts/bench-stores.sh ;;
                *) [ ! -f "scripts/bench-$1.sh" ] || page=scripts/bench-$1.sh ;;
            esac
            sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$page"
            exit 0
            ;;
    esac
done

case "${1:-}" in
    index | lake)
        exec scripts/bench-stores.sh "$@" ;;
    cluster | evm | mainnet | patterns | replay | scale | sources | writers)
        part=$1
        shift
        exec "scripts/bench-$part.sh" "$@"
        ;;
esac

usage="usage: ./bench.sh [--quick] [--datadir DIR --root ADDRESS --token TOKEN --blocks RANGE [--hops N]] | ./bench.sh cluster|evm|index|lake|mainnet|patterns|replay|scale|sources|writers [--quick] | ./bench.sh --help"
options=()
runs=${RUNS:-5}
blocks=200000
datadir=""
own=()
while [ $# -gt 0 ]; do
    case "$1" in
        --quick) options+=(--quick) runs=${RUNS:-3} ;;
        --datadir | --root | --token | --blocks | --hops)
            [ $# -ge 2 ] || die "$1 needs a value; $usage"
            if [ "$1" = --datadir ]; then datadir=$2; else own+=("$1=$2"); fi
            shift
            ;;
        *) die "unknown argument $1; $usage" ;;
    esac
    shift
done
case " ${own[*]} " in
    "  ") [ -z "$datadir" ] || die "--datadir needs --root, --token and --blocks; $usage" ;;
    *\ --root=*)
        for option in --token --blocks; do
            [[ " ${own[*]} " == *" $option="* ]] || die "--root needs $option; $usage"
        done
        [ -n "$datadir" ] || die "--root needs --datadir; $usage"
        ;;
    *) die "a search needs --root; $usage" ;;
esac
[ -z "$datadir" ] || [ -d "$datadir" ] || die "$datadir is not a directory"
[ -z "${CHUNKS:-}" ] || options+=(--chunks "$CHUNKS")
cores=$(nproc)
threads=${THREADS:-$(seq -s, 1 "$cores")}
[ "$cores" -le 4 ] || threads=${THREADS:-1,2,4,$cores}

need_build
say "building txgraph, the chain writer and the peers (release)"
cargo build --release --locked -p txgraph-cli -p txgraph-chaingen -p txgraph-bench
programs=$CARGO_TARGET_DIR/release

definitions=benchmarks/workloads.toml
results=benchmarks/results
if [ -n "$datadir" ]; then
    chain=$datadir
else
    bench_chain "$blocks"
fi

say "sweeping (threads $threads, $runs counted runs each)"
"$programs/txgraph-bench" sweep --definitions $definitions --datadir "$chain" \
    --programs "$programs" --out $results --runs "$runs" --threads "$threads" \
    --setup "$(bench_setup)" "${options[@]}" "${own[@]}"
if [ -n "$datadir" ]; then
    sed -n '/## All/,$p' "$results/summary.md"
else
    sed -n '/## Compared/,/## All/p' "$results/summary.md" | sed '$d'
fi
