#!/usr/bin/env bash
# How much of the interpreter's work is gas accounting: builds it as it is, and once more
# from a copy in which nothing is charged (neither blocks nor operands nor memory, and the
# counter is neither kept nor handed over), and compares both on whole programs.
# Instructions are counted by valgrind; times are the fastest of interleaved rounds.
#
#   scripts/gas-share.sh [PROGRAM…]    without: those of docs/gas-accounting.md
#
# Programs: ../shared/fixtures/evm/programs (or TXGRAPH_FIXTURES) when present, else
# testdata/evm/programs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
need_build
need valgrind valgrind

programs=${TXGRAPH_FIXTURES:-../shared/fixtures}/evm/programs
[ -d "$programs" ] || programs=testdata/evm/programs
[ $# -gt 0 ] || set -- count1000 fact100 bench-snailtracer ips-snailtracer \
    bench-erc20-transfer bench-erc20-mint bench-erc20-approval-transfer

scratch=$(mktemp -d "${TMPDIR:-/tmp}/txgraph-gas.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# build FOLDER NAME: the workspace in FOLDER; its programme becomes $scratch/NAME.
build() {
    (cd "$1" && cargo build --release --locked -p txgraph-evm-tools --example rounds)
    cp "$CARGO_TARGET_DIR/release/examples/rounds" "$scratch/$2"
}

# without FILE TEXT [INSTEAD]: takes TEXT, which must be there once, out of a source.
without() {
    FILE=$free/crates/evm/src/$1 TEXT=$2 INSTEAD=${3:-} perl -0777 -i -pe '
        my $found = s/\Q$ENV{TEXT}\E/$ENV{INSTEAD}/g;
        die "$ENV{FILE} has changed: $ENV{TEXT}\n" unless $found == 1;
    ' "$free/crates/evm/src/$1"
}

say "building the interpreter as it is (release)"
build . metered

say "building it without gas"
free=$scratch/workspace
mkdir "$free"
cp -r Cargo.toml Cargo.lock crates "$free"
without interpreter.rs 'gas -= i64::from(head.imm);'
without interpreter.rs 'gas < 0 || height.wrapping_sub(' 'height.wrapping_sub('
without interpreter.rs 'gas += i64::from(head.imm);'
without interpreter.rs '            frame.gas = gas;
            let result = $body;
            gas = frame.gas;' '            let result = $body;'
without interpreter.rs 'let mut gas = frame.gas;' 'let mut gas = frame.gas; gas += 0;'
without frame.rs '        self.gas -= gas;
        if self.gas < 0 {' '        if gas < 0 {'
without machine.rs 'caller.gas += callee.gas;'
build "$free" free

# instructions NAME PROGRAM ROUNDS
instructions() {
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$scratch/$1" "$programs/$2.prog" "$3" 2>&1 >/dev/null |
        sed -n 's/.*I *refs: *//p' | tr -d ,
}

say "running"
printf '%-32s %14s %14s %8s   %12s %12s %8s\n' program instructions 'without gas' share \
    'ns' 'without gas' share
for program in "$@"; do
    [ -f "$programs/$program.prog" ] || { say "$program is not there"; continue; }
    counts=()
    for name in metered free; do
        few=$(instructions "$name" "$program" 2)
        many=$(instructions "$name" "$program" 4)
        counts+=($(((many - few) / 2)))
    done
    best=(0 0)
    once=$("$scratch/metered" "$programs/$program.prog" 3)
    rounds=$((100000000 / (once + 1) + 3))
    for _ in 1 2 3 4 5 6 7; do
        for which in 0 1; do
            name=metered
            [ "$which" = 0 ] || name=free
            ns=$("$scratch/$name" "$programs/$program.prog" "$rounds")
            if [ "${best[which]}" = 0 ] || [ "$ns" -lt "${best[which]}" ]; then best[which]=$ns; fi
        done
    done
    awk -v program="$program" -v a="${counts[0]}" -v b="${counts[1]}" -v c="${best[0]}" \
        -v d="${best[1]}" 'BEGIN {
        printf "%-32s %14d %14d %6.1f %%   %12d %12d %6.1f %%\n", program,
            a, b, (1 - b / a) * 100, c, d, (1 - d / c) * 100
    }'
done
