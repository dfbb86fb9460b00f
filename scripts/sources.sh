#!/usr/bin/env bash
# Compares txgraph with real servers of other projects, which it starts itself.
#
#   scripts/sources.sh                     all sections
#   scripts/sources.sh geth-amsterdam      these
#   GETH=v1.17.10 SEED=1 COUNT=120 scripts/sources.sh geth-amsterdam
#
# TXGRAPH names the program to test; default: a release build.
#
# geth-amsterdam: a development chain of geth that activates Amsterdam after some blocks. COUNT random
# transactions move ether in contracts before the fork, and as many after it. All movements must equal
# those of geth's call tracer, and with the fees give every balance.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

geth=${GETH:-v1.17.10}
tools=${XDG_CACHE_HOME:-$HOME/.cache}/txgraph/geth-$geth

need python3 python3
if [ -z "${TXGRAPH:-}" ]; then
    need_build
    say "building txgraph"
    cargo build --release --locked -p txgraph-cli
    TXGRAPH=$CARGO_TARGET_DIR/release/txgraph
fi

geth_amsterdam() {
    if [ ! -x "$tools/geth" ]; then
        command -v go >/dev/null 2>&1 || die "Go is missing: https://go.dev/dl"
        say "building geth $geth in $tools"
        GOBIN=$tools go install "github.com/ethereum/go-ethereum/cmd/geth@$geth"
    fi
    say "geth $geth: a chain that activates Amsterdam"
    python3 scripts/sources/geth.py --geth "$tools/geth" --txgraph "$TXGRAPH" \
        --seed "${SEED:-1}" --count "${COUNT:-120}"
}

[ $# -gt 0 ] || set -- geth-amsterdam
for section in "$@"; do
    case $section in
        geth-amsterdam) geth_amsterdam ;;
        *) die "there is no section $section" ;;
    esac
done
