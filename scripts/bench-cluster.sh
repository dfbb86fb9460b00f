#!/usr/bin/env bash
# The same queries by the local engine, and by clusters of one and two executors on this machine, on
# data directories and lakes. Every answer is compared with the local engine's.
#
#   ./bench.sh cluster            1, 4 and 16 million transfers: the first blocks of one chain
#   ./bench.sh cluster --quick    one million only
#   TRANSFERS="1 4 16 64" RUNS=5 EXECUTORS=2 ./bench.sh cluster
#
# Sizes of 4 million and more run once. BENCH_CHAIN is a sample chain that is long enough; without
# it, one is written. TXGRAPH_CLUSTER_PROFILE is the cargo profile (release). Results:
# benchmarks/results/cluster.md and cluster.csv.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

sizes=${TRANSFERS:-1 4 16}
export TXGRAPH_CLUSTER_PROFILE=${TXGRAPH_CLUSTER_PROFILE:-release}
case "${1:-}" in
    "") ;;
    --quick) sizes=1 ;;
    *) die "usage: ./bench.sh cluster [--quick]" ;;
esac
largest=${sizes##* }
# A block has 14.9 transfers.
blocks_per_million=67200

need_build
need curl curl
say "building the cluster ($TXGRAPH_CLUSTER_PROFILE)"
cargo build --profile "$TXGRAPH_CLUSTER_PROFILE" --locked -p txgraph-distributed -p txgraph-cli
if [ -z "${BENCH_CHAIN:-}" ]; then
    say "building the chain writer (release)"
    cargo build --release --locked -p txgraph-chaingen
fi
program=$CARGO_TARGET_DIR/${TXGRAPH_CLUSTER_PROFILE/#dev/debug}/txgraph-cluster
out=benchmarks/results
work=$CARGO_TARGET_DIR/bench-cluster
mkdir -p "$out" "$work"
export XDG_CACHE_HOME=$work/cache TXGRAPH_CLUSTER_STATE=$work/state TXGRAPH_INDEX=off
export TXGRAPH_CLUSTER_CONFIG=$work/driver.toml
unset TXGRAPH_SOURCE TXGRAPH_DATADIR TXGRAPH_CLUSTER
echo "millions,input,query,engine,run,seconds,cpu_seconds,work_bytes" >"$out/cluster.csv"
trap 'scripts/cluster.sh down' EXIT

# The driver reads no frontier from the lake itself.
printf '[driver]\nlocal-frontier = 0\n' >"$TXGRAPH_CLUSTER_CONFIG"

# cluster_cpu: the CPU time of the scheduler and the executors, in clock ticks.
cluster_cpu() {
    local file ticks=0 fields
    for file in "$work"/state/*.pid; do
        [ -e "$file" ] || continue
        # The second field is the name, in parentheses.
        fields=$(sed 's/.*) //' "/proc/$(cat "$file")/stat")
        # shellcheck disable=SC2086
        set -- $fields
        ticks=$((ticks + ${12} + ${13}))
    done
    echo "$ticks"
}

# work_bytes: the size of the files that executors wrote.
work_bytes() { du -sbc "$work"/state/work-* 2>/dev/null | tail -n 1 | cut -f1 || true; }

# ask ENGINE INPUT NAME RUN COMMAND...: times a query, and compares its answer with the first.
# The CPU time covers all processes, and the work bytes are the files of executors; empty if
# executors deleted files of older jobs in the meantime.
ask() {
    local engine=$1 input=$2 name=$3 run=$4 start end before after bytes
    shift 4
    rm -rf "$XDG_CACHE_HOME/txgraph/runs"
    before=$(cluster_cpu)
    bytes=$(work_bytes)
    start=$(date +%s%N)
    TIMEFORMAT='%U %S'
    { time "$@" >"$work/answer" 2>"$work/log"; } 2>"$work/times" ||
        { cat "$work/log" >&2; die "$engine: $name failed"; }
    end=$(date +%s%N)
    after=$(cluster_cpu)
    bytes=$(($(work_bytes) - bytes))
    [ -e "$work/$input-$name.expected" ] || cp "$work/answer" "$work/$input-$name.expected"
    cmp -s "$work/answer" "$work/$input-$name.expected" || die "$engine: another answer to $name"
    awk -v ns=$((end - start)) -v ticks=$((after - before)) -v bytes="$bytes" \
        -v hz="$(getconf CLK_TCK)" -v row="$millions,$input,$name,$engine,$run" \
        '{ printf "%s,%.3f,%.2f,%s\n", row, ns / 1e9, $1 + $2 + ticks / hz,
               bytes < 0 ? "" : bytes }' \
        "$work/times" | tee -a "$out/cluster.csv" >&2
}

# queries ENGINE RUN: all queries by one engine.
queries() {
    local engine=$1 run=$2 input measure options
    local last=$((millions * blocks_per_million - 1))
    for input in node lake; do
        case "$input-$engine" in
            node-local) options=(--datadir "$chain") ;;
            node-*) options=() ;;
            lake-*) options=(--source "lake:$lake") ;;
        esac
        [ "$engine" = local ] || options+=(--cluster 127.0.0.1:15050)
        options+=(--to-block "$last")
        ask "$engine" "$input" scan "$run" "$program" transfers -q --token "$token" \
            --format csv -o - "${options[@]}"
        ask "$engine" "$input" hops "$run" "$program" graph -q -r "$root" -n 3 -t "$token" \
            --max-degree 100 --format csv -o - "${options[@]}"
        for measure in degrees pairs summary components; do
            ask "$engine" "$input" "$measure" "$run" "$program" analyze "$measure" -q --limit 100 \
                --format json "${options[@]}"
        done
        # A measure of whole chains has no data directory as an option.
        [ "$input-$engine" != node-local ] || options=(--source "reth:$chain" --to-block "$last")
        ask "$engine" "$input" tokens "$run" "$program" tokens "${options[@]}"
    done
}

# memory ENGINE RUN: the largest resident memory of each process, in KiB.
memory() {
    local file
    for file in "$work"/state/*.pid; do
        awk -v row="$millions,memory,peak KiB,$(basename "$file" .pid) of $1,$2" \
            '/VmHWM/ { print row "," $2 ",," }' "/proc/$(cat "$file")/status"
    done | tee -a "$out/cluster.csv" >&2
}

bench_chain $((largest * blocks_per_million))
lake=$work/chain-$largest.lake
if [ ! -e "$lake/manifest.json" ]; then
    say "building a lake of $largest million transfers"
    "$program" lake build -q "$lake" --datadir "$chain" \
        --to-block $((largest * blocks_per_million - 1))
fi
"$program" transfers -q --datadir "$chain" --blocks 1000:1400 --kind transfer \
    --format csv -o "$work/some.csv" --overwrite
token=$(cut -d, -f7 "$work/some.csv" | grep 0x | sort | uniq -c | sort -rn |
    awk 'NR == 5 { print $2 }')
root=$(awk -F, -v token="$token" '$7 == token { print $8; exit }' "$work/some.csv")
for millions in $sizes; do
    rm -f "$work"/*.expected
    runs=${RUNS:-3}
    [ "$millions" -lt 4 ] || runs=1
    for ((run = 1; run <= runs; run++)); do
        queries local "$run"
        for executors in ${EXECUTORS:-1 2}; do
            TXGRAPH_SOURCE=reth:$chain scripts/cluster.sh up "$executors" >"$work/up.log" 2>&1 ||
                { cat "$work/up.log" >&2; die "the cluster did not start"; }
            queries "cluster of $executors" "$run"
            memory "cluster of $executors" "$run"
            scripts/cluster.sh down
        done
    done
done

# The median of each query, and its lowest and highest time.
{
    echo "| millions | input | query | engine | median s | lowest | highest | CPU s |"
    echo "| ---: | --- | --- | --- | ---: | ---: | ---: | ---: |"
    awk -F, 'NR > 1 && $2 != "memory"' "$out/cluster.csv" | sort -t, -k1,1n -k2,3 -k4,4 -k6,6n |
        awk -F, '{ k = $1 " | " $2 " | " $3 " | " $4 }
                 k != last { flush(); last = k; n = 0 }
                 { t[++n] = $6; cpu[n] = $7 }
                 function flush(m) {
                     m = int((n + 1) / 2)
                     if (n) printf "| %s | %s | %s | %s | %s |\n", last, t[m], t[1], t[n], cpu[m]
                 }
                 END { flush() }'
} >"$out/cluster.md"
cat "$out/cluster.md"
