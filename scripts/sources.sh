#!/usr/bin/env bash
# Compares txgraph with real servers of other projects, which it starts itself.
#
#   scripts/sources.sh                     all sections
#   scripts/sources.sh geth-amsterdam      these
#   GETH=v1.17.10 SEED=1 COUNT=120 scripts/sources.sh geth-amsterdam
#
# TXGRAPH names the program to test; default: the one that is built for tests.
#
# geth-amsterdam: a development chain of geth that activates Amsterdam after some blocks. COUNT random
# transactions move ether in contracts before the fork, and as many after it. All movements must equal
# those of geth's call tracer, after the fork without traces, and with fees and withdrawals give the
# balance of every account. A replay of all blocks from geth's execution witnesses must give the same.
# geth listens on a free port of 127.0.0.1 and ends with the script.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need python3 python3
if [ -z "${TXGRAPH:-}" ]; then
    need_build
    say "building txgraph"
    cargo build --locked -p txgraph-cli
    TXGRAPH=$CARGO_TARGET_DIR/debug/txgraph
fi

geth_amsterdam() {
    go_peer geth
    say "geth $geth: a chain that activates Amsterdam"
    python3 -B scripts/sources/geth.py --geth "$peer" --txgraph "$TXGRAPH" \
        --seed "${SEED:-1}" --count "${COUNT:-120}"
}

[ $# -gt 0 ] || set -- geth-amsterdam
for section in "$@"; do
    case $section in
        geth-amsterdam) geth_amsterdam ;;
        *) die "there is no section $section" ;;
    esac
done
