#!/usr/bin/env bash
# The same questions by the local engine, by the plans of a cluster in one process, and by clusters
# of one and two executors on this machine, on data directories and lakes. Every answer is compared
# with that of the local engine.
#
#   ./bench.sh cluster            chains of 1, 4 and 16 million transfers
#   ./bench.sh cluster --quick    one million only
#   TRANSFERS="1 4 16 64" RUNS=5 ./bench.sh cluster
#
# TXGRAPH_CLUSTER_PROFILE is the cargo profile (release). Results:
# benchmarks/results/cluster.md and cluster.csv.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

sizes=${TRANSFERS:-1 4 16}
runs=${RUNS:-3}
export TXGRAPH_CLUSTER_PROFILE=${TXGRAPH_CLUSTER_PROFILE:-release}
case "${1:-}" in
    "") ;;
    --quick) sizes=1 ;;
    *) die "usage: ./bench.sh cluster [--quick]" ;;
esac

need_build
need curl curl
say "building the chain writer (release) and the cluster ($TXGRAPH_CLUSTER_PROFILE)"
cargo build --release --locked -p txgraph-chaingen
cargo build --profile "$TXGRAPH_CLUSTER_PROFILE" --locked -p txgraph-distributed -p txgraph-cli
program=$CARGO_TARGET_DIR/$TXGRAPH_CLUSTER_PROFILE/txgraph-cluster
out=benchmarks/results
work=$CARGO_TARGET_DIR/bench-cluster
mkdir -p "$out" "$work"
export XDG_CACHE_HOME=$work/cache TXGRAPH_CLUSTER_STATE=$work/state TXGRAPH_INDEX=off
export TXGRAPH_CLUSTER_CONFIG=$work/driver.toml
unset TXGRAPH_SOURCE TXGRAPH_DATADIR TXGRAPH_CLUSTER
echo "millions,input,question,engine,run,seconds,same" >"$out/cluster.csv"
trap 'scripts/cluster.sh down' EXIT

# settings LINE: a setting of the driver. Every frontier goes to the cluster.
settings() { printf '[driver]\nlocal-frontier = 0\n%s\n' "$1" >"$TXGRAPH_CLUSTER_CONFIG"; }

# ask ENGINE INPUT NAME RUN COMMAND...: times a question, and compares its answer with the first.
ask() {
    local engine=$1 input=$2 name=$3 run=$4 start end
    shift 4
    rm -rf "$XDG_CACHE_HOME/txgraph/runs"
    start=$(date +%s%N)
    "$@" >"$work/answer" 2>"$work/log" || { cat "$work/log" >&2; die "$engine: $name failed"; }
    end=$(date +%s%N)
    [ -e "$work/$input-$name.expected" ] || cp "$work/answer" "$work/$input-$name.expected"
    cmp -s "$work/answer" "$work/$input-$name.expected" || die "$engine: another answer to $name"
    awk -v ns=$((end - start)) -v row="$millions,$input,$name,$engine,$run" \
        'BEGIN { printf "%s,%.3f,yes\n", row, ns / 1e9 }' | tee -a "$out/cluster.csv" >&2
}

# questions ENGINE RUN: all questions by one engine.
questions() {
    local engine=$1 run=$2 input options
    for input in node lake; do
        case "$input-$engine" in
            node-local | node-in-process) options=(--datadir "$chain") ;;
            node-*) options=() ;;
            lake-*) options=(--source "lake:$lake") ;;
        esac
        [ "$engine" = local ] || options+=(--cluster 127.0.0.1:50050)
        ask "$engine" "$input" scan "$run" "$program" transfers -q --token "$token" \
            --format csv -o - "${options[@]}"
        ask "$engine" "$input" hops "$run" "$program" graph -q -r "$root" -n 3 -t "$token" \
            --max-degree 100 --format csv -o - "${options[@]}"
        ask "$engine" "$input" degrees "$run" "$program" analyze degrees -q --format json \
            "${options[@]}"
    done
}

# memory EXECUTORS RUN: the largest resident memory of each process, in KiB.
memory() {
    local file
    for file in "$work"/state/*.pid; do
        awk -v row="$millions,memory,peak KiB,$(basename "$file" .pid) of $1,$2" \
            '/VmHWM/ { print row "," $2 "," }' "/proc/$(cat "$file")/status"
    done >>"$out/cluster.csv"
}

for millions in $sizes; do
    # A block has 14.9 transfers.
    bench_chain $((millions * 67200))
    lake=$work/chain-$millions.lake
    [ -e "$lake/manifest.json" ] || "$program" lake build -q "$lake" --datadir "$chain"
    rm -f "$work"/*.expected
    "$program" transfers -q --datadir "$chain" --blocks 1000:1400 --kind transfer \
        --format csv -o "$work/some.csv" --overwrite
    token=$(cut -d, -f7 "$work/some.csv" | grep 0x | sort | uniq -c | sort -rn |
        awk 'NR == 5 { print $2 }')
    root=$(awk -F, -v token="$token" '$7 == token { print $8; exit }' "$work/some.csv")
    for ((run = 1; run <= runs; run++)); do
        settings "in-process = false"
        questions local "$run"
        settings "in-process = true"
        questions in-process "$run"
        settings "in-process = false"
        for executors in 1 2; do
            TXGRAPH_SOURCE=reth:$chain scripts/cluster.sh up "$executors" >"$work/up.log" 2>&1 ||
                { cat "$work/up.log" >&2; die "the cluster did not start"; }
            questions "cluster of $executors" "$run"
            memory "$executors" "$run"
            scripts/cluster.sh down
        done
    done
done

# The median of each question, and its lowest and highest time.
{
    echo "| millions | input | question | engine | median s | lowest | highest |"
    echo "| ---: | --- | --- | --- | ---: | ---: | ---: |"
    awk -F, 'NR > 1 && $2 != "memory"' "$out/cluster.csv" | sort -t, -k1,1n -k2,3 -k4,4 -k6,6n |
        awk -F, '{ k = $1 " | " $2 " | " $3 " | " $4 }
                 k != last { flush(); last = k; n = 0 }
                 { t[++n] = $6 }
                 function flush() {
                     if (n) printf "| %s | %s | %s | %s |\n", last, t[int((n + 1) / 2)], t[1], t[n]
                 }
                 END { flush() }'
} >"$out/cluster.md"
cat "$out/cluster.md"
