#!/usr/bin/env bash
# Counts the instructions of fixed workloads (crates/bench/src/count.rs) and compares them
# with the committed figures. More than 10 % above a figure is a failure; with another compiler
# than the committed one, more than 25 %. Commit new figures with the change that costs them.
#
#   scripts/count-instructions.sh            compare
#   scripts/count-instructions.sh --write    write the current counts to the file
#
# Figures: benchmarks/instructions.toml. Counts of this run: benchmarks/results/instructions.toml.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

figures=benchmarks/instructions.toml
write=
case "${1:-}" in
    "") ;;
    --write) write=1 ;;
    *) die "usage: scripts/count-instructions.sh [--write]" ;;
esac
need valgrind valgrind
build_release "the workloads" -p txgraph-bench --features count
program=$release/txgraph-bench
make_scratch
unpack testdata/small/v2
"$program" count prepare --datadir "$scratch/node" --out "$scratch/rows"

# instructions WORK ROUNDS: the instructions of a whole process.
instructions() {
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$program" count run --rows "$scratch/rows" --programs testdata/evm/programs "$@" 2>&1 >/dev/null |
        sed -n 's/.*I *refs: *//p' | tr -d , || die "\`$*\` failed"
}

say "counting"
mkdir -p benchmarks/results
counts=benchmarks/results/instructions.toml
{
    echo "# Instructions of one round of each workload, counted by valgrind:"
    echo "# scripts/count-instructions.sh --write"
    echo "compiler = \"$(rustc --version | cut -d' ' -f2)\""
} >"$counts"
# The highest count that passes, in percent of the committed figure.
limit=110
compiler=$(rustc --version | cut -d' ' -f2)
grep -q "^compiler = \"$compiler\"" "$figures" || limit=125
grown=
for work in scan-all scan-token hashes fact1000 arithmix10k memsweep; do
    # The cost of two more rounds, so that process start is not counted.
    few=$(instructions "$work" 1)
    many=$(instructions "$work" 3)
    [[ -n $few && -n $many ]] || die "valgrind did not count $work"
    count=$(((many - few) / 2))
    echo "$work = $count" >>"$counts"
    figure=$(sed -n "s/^$work = //p" "$figures" 2>/dev/null || true)
    if [ -z "$figure" ]; then
        printf '%-12s %12d  (no figure)\n' "$work" "$count" >&2
        continue
    fi
    printf '%-12s %12d  %+6.1f %%\n' "$work" "$count" \
        "$(awk "BEGIN { print ($count / $figure - 1) * 100 }")" >&2
    [ $((count * 100)) -le $((figure * limit)) ] || grown="$grown $work"
done
if [ -n "$write" ]; then
    cp "$counts" "$figures"
    say "wrote $figures"
    exit
fi
[ -n "$grown" ] || exit 0
die "above $limit % of the committed figure:$grown; make it cheaper, or commit the new figures
with the change (scripts/count-instructions.sh --write)"
