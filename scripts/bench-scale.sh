#!/usr/bin/env bash
# Measures how cost grows with the chain: the same queries on a chain of 200,000 blocks and on
# one of 4 million (64 million transfers). Called by `./bench.sh scale`.
#
#   ./bench.sh scale               about 45 minutes on 2 cores, of which 15 write the chain
#   BLOCKS=800000 ./bench.sh scale another size
#   BENCH_BIG=/data/chain SCRATCH=/data ./bench.sh scale
#
# Needs 22 GB of disk for 4 million blocks: 17 in the build cache, 5 for indexes in SCRATCH.
# Every index is verified against its node. Result: benchmarks/results/scale.{md,tsv}.
# The arguments of `graph` are words.
# shellcheck disable=SC2046
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 0 ] || die "usage: ./bench.sh scale"
blocks=${BLOCKS:-4000000}
build_release txgraph -p txgraph-cli -p txgraph-chaingen -p txgraph-bench
make_scratch
mkdir -p benchmarks/results
results=$scratch/scale.tsv

# measure NAME RUNS UNITS COMMAND...: appends the run with the shortest elapsed time. UNITS is a
# number, or `rows` for the lines of the output without its header.
measure() {
    local name=$1 runs=$2 units=$3 best='' line
    shift 3
    for _ in $(seq "$runs"); do
        line=$("$release/txgraph-bench" measure "$scratch/out" -- "$release/txgraph" "$@" \
            2>"$scratch/err") || { cat "$scratch/err" >&2; die "failed: txgraph $*"; }
        best=$(printf '%s\n%s\n' "$best" "$line" | sed '/^$/d' | sort -g | head -1)
    done
    [ "$units" != rows ] || units=$(($(wc -l <"$scratch/out") - 1))
    printf '%s\t%s\t%s\t%s\n' "$size" "$name" "$units" "${best// /$'\t'}" | tee -a "$results" >&2
}

# graph ROOT HOPS OPTIONS...: the arguments of a search in the index.
graph() {
    local root=$1 hops=$2
    shift 2
    echo graph --datadir "$chain" --index "$index" --root "$root" --hops "$hops" --format csv "$@"
}

# addresses: prints 1,000 distinct addresses of the chain, evenly chosen from those in every
# thousandth part of the chain.
addresses() {
    local from to step
    step=$((tip / 1000))
    "$release/txgraph" transfers --datadir "$chain" --index "$index" \
        --blocks "$step:$((tip - step)):$step" --format csv 2>/dev/null >"$scratch/sample"
    from=$(head -1 "$scratch/sample" | tr , '\n' | grep -n '^from_address$' | cut -d: -f1)
    to=$(head -1 "$scratch/sample" | tr , '\n' | grep -n '^to_address$' | cut -d: -f1)
    tail -n +2 "$scratch/sample" | cut -d, -f"$from,$to" | tr , '\n' | sort -u >"$scratch/all"
    awk -v n="$(wc -l <"$scratch/all")" \
        'BEGIN { step = int(n / 1000); if (step < 1) step = 1; print "address" }
         (NR - 1) % step == 0 && kept < 1000 { print; kept++ }' "$scratch/all"
}

# queries TIP: measures everything on $chain.
queries() {
    local address root count edges first=$1
    tip=$1 index=$scratch/index
    rm -rf "$index"
    say "the chain of $size blocks: index"
    measure 'index build, to 39/40 of the chain' 1 0 \
        index build --datadir "$chain" --index "$index" --to-block $((first * 39 / 40))
    measure 'index update' 1 0 index update --datadir "$chain" --index "$index"
    count=$("$release/txgraph" index status --datadir "$chain" --index "$index" --json |
        sed -n 's/.*"transfers": *\([0-9]*\).*/\1/p' | head -1)
    sed -i "s/^\($size\tindex build[^\t]*\t\)0/\1$((count * 39 / 40))/; s/^\($size\tindex update\t\)0/\1$((count / 40))/" "$results"
    measure 'index verify' 1 "$count" index verify --datadir "$chain" --index "$index"
    say "the chain of $size blocks: queries"
    addresses >"$scratch/frontier.csv"
    measure 'frontier of 1,000, one token' 3 rows \
        $(graph "@$scratch/frontier.csv" 1 --token "$token")
    measure 'frontier of 1,000, all tokens' 1 rows $(graph "@$scratch/frontier.csv" 1)
    # Addresses with 1 to 100 transfers, and the first whose search is large.
    root='' count=0
    while read -r address; do
        edges=$(("$("$release/txgraph" $(graph "$address" 1) 2>/dev/null | wc -l)" - 1))
        if [ "$edges" -ge 1 ] && [ "$edges" -le 100 ]; then
            if [ "$count" -lt 20 ]; then
                measure "address $count" 5 rows $(graph "$address" 1)
                count=$((count + 1))
            fi
            if [ -z "$root" ]; then
                edges=$(("$("$release/txgraph" $(graph "$address" 3 --max-degree 1000) 2>/dev/null |
                    wc -l)" - 1))
                if [ "$edges" -gt 10000 ]; then root=$address; fi
            fi
        fi
        if [ "$count" -ge 20 ] && [ -n "$root" ]; then break; fi
    done < <(tail -n +2 "$scratch/frontier.csv")
    [ -n "$root" ] || die "no address leads to a large graph"
    measure '3 hops, degree limit 1,000' 3 rows $(graph "$root" 3 --max-degree 1000)
    count=$(sed -n "s/^$size\tindex verify\t\([0-9]*\)\t.*/\1/p" "$results")
    measure 'summary of the chain' 1 "$count" \
        analyze summary --datadir "$chain" --index "$index" --format json
    measure 'components of the chain' 1 "$count" \
        analyze components --datadir "$chain" --index "$index" --format json
    du -sb "$index" | awk -v size="$size" -v n="$count" \
        '{ printf "%s\tbytes of the index\t%s\t%s\t0\t0\t0\t0\n", size, n, $1 }' >>"$results"
}

token=$(sed -n 's/^token = "\(.*\)"/\1/p' benchmarks/workloads.toml | head -1)
bench_chain 200000
size=200000
queries 200000
if [ -n "${BENCH_BIG:-}" ]; then chain=$BENCH_BIG; else bench_chain "$blocks"; fi
size=$blocks
queries "$blocks"

{
    printf '# Cost as the chain grows\n\n'
    bench_setup
    printf '\nCPU is user and system time. Memory is the peak allocation of the process; mapped\n'
    printf 'files are not in it. An address: the median of 20 with 1 to 100 transfers.\n\n'
    awk -F'\t' -v small=200000 -v big="$blocks" '
        function show(value) { return value >= 100 ? sprintf("%.0f", value) : sprintf("%.3g", value) }
        $2 ~ /^address/ { n[$1]++; wall[$1, n[$1]] = $4; next }
        !($2 in seen) { seen[$2] = 1; names[++count] = $2 }
        { units[$1, $2] = $3; time[$1, $2] = $4; cpu[$1, $2] = $5 + $6; memory[$1, $2] = $8 / 1024 }
        function median(size,    i, j, k, list) {
            k = n[size]
            for (i = 1; i <= k; i++) list[i] = wall[size, i]
            for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++)
                if (list[j] < list[i]) { t = list[i]; list[i] = list[j]; list[j] = t }
            return list[int((k + 1) / 2)]
        }
        END {
            print "| query | transfers | s | CPU µs each | MiB | transfers | s | CPU µs each | MiB | CPU each |"
            print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
            for (i = 1; i <= count; i++) {
                name = names[i]
                if (name == "bytes of the index") continue
                a = 1e6 * cpu[small, name] / units[small, name]
                b = 1e6 * cpu[big, name] / units[big, name]
                printf "| %s | %d | %s | %s | %d | %d | %s | %s | %d | %.2f × |\n", name,
                    units[small, name], show(time[small, name]), show(a), memory[small, name],
                    units[big, name], show(time[big, name]), show(b), memory[big, name], b / a
            }
            printf "\nAn address: %.1f ms and %.1f ms, %.2f ×.\n", 1e3 * median(small),
                1e3 * median(big), median(big) / median(small)
            name = "bytes of the index"
            printf "Bytes of the index for each transfer: %.1f and %.1f.\n",
                time[small, name] / units[small, name], time[big, name] / units[big, name]
        }' "$results"
} | tee benchmarks/results/scale.md
cp "$results" benchmarks/results/scale.tsv
