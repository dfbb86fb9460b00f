#!/usr/bin/env bash
# Checks the machine code of the interpreter's loop for three properties that make it fast and
# that no compiler guarantees (crates/evm/src/interpreter.rs):
#
# - Every arm jumps to the next instruction separately, either with its own copy of the
#   indirect jump or with its own jump to a shared one. If the optimizer merges the ends of
#   arms, one jump is left, which the branch predictor cannot follow.
# - In the decoded loop, nothing is compared between an instruction and the jump to its arm.
# - A shared jump and the code that leads to it in the decoded loop are in one line of the cache.
#   When they cross a line, short loops of the EVM take up to 57 % longer.
#
#   scripts/check-dispatch.sh [PROGRAM]    default: the one of scripts/count-instructions.sh
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# About 150 opcodes and fused instructions end with the same code at different addresses.
ways_min=80

case "$(uname -m)" in
    x86_64) ;;
    *) say "skipped: only x86-64 machine code is checked, this is $(uname -m)"; exit 0 ;;
esac
need objdump binutils
program=${1:-}
if [ -z "$program" ]; then
    build_release "a program with the interpreter" -p txgraph-bench --features count
    program=$release/txgraph-bench
fi

say "checking the dispatch of its loops"
objdump -d --no-show-raw-insn "$program" | awk -v ways_min="$ways_min" '
    # The number of the last four digits of an address.
    function number(address,    k, value) {
        address = substr("0000" address, length(address) + 1)
        for (k = 1; k <= 4; k++) value = 16 * value + index("123456789abcdef", substr(address, k, 1))
        return value
    }
    # For an indirect jump and the straight-line code before it: how many jumps lead there,
    # and which instructions are between the most frequent jump target and the jump.
    function judge(at,    from, k, ways, best, head, compares, first, after) {
        for (from = at; from > 1 && op[from - 1] !~ /^(jmp|ret|ud2)/; from--) ;
        best = at
        for (k = from; k <= at; k++) {
            ways += into[place[k]]
            if (into[place[k]] > into[place[best]]) best = k
        }
        for (k = best; k < at; k++) compares += op[k] ~ /^j/
        head = at - best + 1
        if (ways < ways_min) { copies++; return }
        printf "one jump with %d predecessors, %d instructions before it, %d of them compare and branch\n",
            ways, head, compares
        loops++
        if (compares) return
        straight++
        for (k = best; op[k] ~ /^(nop|data16|cs)/; k++) ;
        first = number(place[k]); after = number(place[at + 1])
        printf "it takes the %d bytes from %s on, %d instructions of alignment before\n",
            after - first, place[k], k - best
        if (int(first / 64) != int((after - 1) / 64)) crossing = 1
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
        if (crossing) { print "the shared jump of the decoded loop crosses a line of the cache"; exit 1 }
    }' || die "the optimizer has changed the dispatch; see crates/evm/src/interpreter.rs"
