#!/usr/bin/env bash
# Compares EIP-3155 traces of our interpreter with geth's (scripts/peers-geth.sh), step
# by step: program counter, opcode, gas, cost, stack, memory size, depth, refund. Traces are
# cut after LINES_MAX lines.
#
#   scripts/compare-traces.sh                  all programs
#   scripts/compare-traces.sh a.prog b.prog
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

lines=${LINES_MAX:-200000}
need_txgraph ""
if [ $# -eq 0 ]; then
    evm_programs
    set -- "$programs"/*.prog
fi

# Traces are cut, so a writer may get a broken pipe.
own() { { "$txgraph" evm run --program "$1" --trace >/dev/null || true; } 2>&1; }
geth() { scripts/peers-geth.sh -trace "$1" 2>/dev/null || true; }
steps() { grep '^{"pc"' | head -n "$lines" || true; }

failed=0
for program in "$@"; do
    name=$(basename "$program" .prog)
    compared=$(own "$program" | steps | wc -l)
    [ "$compared" -gt 0 ] || die "$name: no trace"
    if difference=$(diff <(geth "$program" | steps) <(own "$program" | steps)); then
        printf '%-40s %8d steps, equal\n' "$name" "$compared"
    else
        printf '%-40s differs (< geth, > ours):\n' "$name"
        printf '%s\n' "$difference" | head -n 4
        failed=1
    fi
done
exit $failed
