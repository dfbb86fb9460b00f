#!/usr/bin/env bash
# Reads the machine code of the interpreter's loop and holds it to what makes it fast,
# which no language promises and any compiler may take away (crates/evm/src/interpreter.rs):
#
# - every arm goes to the next instruction by a jump of its own: either the indirect jump
#   is copied to the arms, or there is one, and the arms jump there separately. Joined
#   ends would make it one jump that no predictor follows;
# - in the decoded loop nothing is compared between an instruction and the jump to its arm.
#
#   scripts/check-dispatch.sh [PROGRAMME]    without: builds a light one (release)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

# Opcodes and fused instructions that end alike but for their places are some 150.
ways_min=80

case "$(uname -m)" in
    x86_64) ;;
    *) say "the machine code of $(uname -m) is not looked at"; exit 0 ;;
esac
need objdump binutils
program=${1:-}
if [ -z "$program" ]; then
    need_build
    say "building a programme with the interpreter (release)"
    cargo build --release --locked -p txgraph-evm-tools --example rounds
    program=$CARGO_TARGET_DIR/release/examples/rounds
fi

say "reading its loops"
objdump -d --no-show-raw-insn "$program" | awk -v ways_min="$ways_min" '
    # An indirect jump with the straight line before it: how many jumps lead there, and
    # what lies between the place where most of them land and the jump.
    function judge(at,    from, k, ways, best, head, compares) {
        for (from = at; from > 1 && op[from - 1] !~ /^(jmp|ret|ud2)/; from--) ;
        best = at
        for (k = from; k <= at; k++) {
            ways += into[place[k]]
            if (into[place[k]] > into[place[best]]) best = k
        }
        for (k = best; k < at; k++) compares += op[k] ~ /^j/
        head = at - best + 1
        if (ways < ways_min) { copies++; return }
        printf "one jump, %d ways to it, %d instructions from there, %d of them compare and jump\n",
            ways, head, compares
        loops++
        if (!compares) straight++
    }
    function close_function(    k) {
        copies = 0
        for (k = 1; k <= count; k++) if (op[k] == "jmp" && target[k] ~ /^\*/) judge(k)
        if (copies >= ways_min) {
            printf "%d jumps, one at the end of each arm\n", copies
            loops++; straight++
        }
        count = 0; split("", into)
    }
    /^[0-9a-f]+ </ {
        close_function()
        inside = $2 ~ /txgraph_evm.*interpreter.*(execute|run)/
    }
    inside && /^ +[0-9a-f]+:/ {
        count++
        place[count] = substr($1, 1, length($1) - 1)
        op[count] = $2; target[count] = $3
        if ($2 == "notrack") { op[count] = $3; target[count] = $4 }
        if (op[count] ~ /^j/ && target[count] !~ /^\*/) into[target[count]]++
    }
    END {
        close_function()
        if (!loops) { print "no loop of the interpreter has arms of its own"; exit 1 }
        if (loops < 2) { print "only one of its loops has"; exit 1 }
        if (!straight) { print "every loop compares before it jumps"; exit 1 }
    }' || die "the optimiser has changed the dispatch; see crates/evm/src/interpreter.rs"
