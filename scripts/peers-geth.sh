#!/usr/bin/env bash
# Builds geth's interpreter outside the repository, from the Go module proxy, and times the
# benchmark programs with it: one frame at a time on a state in memory.
#
#   scripts/peers-geth.sh                  all programs, one line of JSON each
#   scripts/peers-geth.sh a.prog b.prog    these
#   scripts/peers-geth.sh -trace a.prog    an EIP-3155 trace instead of times
#   GETH=v1.17.10 ROUNDS=5 MS=200 scripts/peers-geth.sh
#
# Results go to stdout, in CPU time including garbage collection. Compare them with the column
# `own, frame` of `./bench.sh evm`, which also times single frames.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

go_peer peers-geth

if [ "${1:-}" = -trace ]; then
    exec "$peer" "$@"
fi
if [ $# -eq 0 ]; then
    evm_programs
    set -- "$programs"/*.prog
fi
say "timing $# programs on geth $geth"
exec "$peer" -rounds "${ROUNDS:-5}" -ms "${MS:-200}" "$@"
