#!/usr/bin/env bash
# Measures precision and recall of `analyze patterns` on a chain with planted patterns, on which
# exchanges join everything. Called by `./bench.sh patterns`.
#
#   ./bench.sh patterns               200,000 blocks: about five minutes on 2 cores, after the build
#   BLOCKS=20000 ./bench.sh patterns  a smaller chain
#
# The truth file of the chain has every planted pattern; scripts/bench-patterns.py compares.
# Results: benchmarks/results/patterns.md.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 0 ] || die "usage: ./bench.sh patterns"
need python3 python3
blocks=${BLOCKS:-200000}
build_release txgraph -p txgraph-cli -p txgraph-chaingen -p txgraph-bench
make_scratch
mkdir -p benchmarks/results

chain=$CARGO_TARGET_DIR/bench-exchanges-$blocks
keep_chain "$chain" "$release/chaingen" --blocks "$blocks" --profile exchanges --truth "$chain.json"

say "finding patterns"
cost=$("$release/txgraph-bench" measure "$scratch/found.json" -- "$release/txgraph" \
    analyze patterns --datadir "$chain" -f json 2>"$scratch/err") ||
    { cat "$scratch/err" >&2; die "failed: txgraph analyze patterns"; }
"$release/txgraph" analyze components --datadir "$chain" -f json >"$scratch/components.json"

{
    printf '# Patterns on a chain that exchanges join\n\n'
    bench_setup
    # shellcheck disable=SC2016 # Backticks of Markdown.
    printf '\n%s blocks of `chaingen --profile exchanges`. `analyze patterns` took %s s with %s MiB.\n' \
        "$blocks" "$(cut -d' ' -f1 <<<"$cost")" "$(awk '{ printf "%d", $4 / 1024 }' <<<"$cost")"
    python3 - "$scratch/components.json" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))["result"]
largest = found["components"][0]["vertices"]
everything = sum(size * count for size, count in found["sizes"])
print(f"The largest part of the graph has {largest:,} of {everything:,} addresses.\n")
END
    python3 scripts/bench-patterns.py "$chain.json" "$scratch/found.json"
} | tee benchmarks/results/patterns.md
