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
#
# anvil: COUNT random transactions on chains of anvil (three forks) and geth. cryo and ethereum-etl export
# them. Answers from rpc, these files, own files, lakes and joined sources must be equal, and equal to the
# logs and balances of the servers. Then a server in between answers wrongly, the chain is reorganized
# between two requests, and files are damaged: an answer is whole, or says what is missing, or fails.
#
# Servers listen on free ports of 127.0.0.1 and end with the script. Peers are installed in the cache
# folder, at fixed versions. Without their registries the script fails.
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

anvil() {
    local home=${XDG_CACHE_HOME:-$HOME/.cache}/txgraph/sources-anvil-1.7.1-cryo-0.3.2-etl-2.4.2
    local program=$home/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil
    go_peer geth
    command -v npm >/dev/null 2>&1 || die "npm is missing: https://nodejs.org"
    if [ ! -e "$home/.complete" ]; then
        say "installing anvil, cryo and ethereum-etl in $home"
        mkdir -p "$home"
        npm install --prefix "$home" --no-fund --no-audit --no-save --silent \
            @foundry-rs/anvil-linux-amd64@1.7.1 || die "anvil cannot be installed"
        python3 -m venv "$home/python" ||
            { need ensurepip python3-venv; python3 -m venv "$home/python"; }
        "$home/python/bin/pip" install --quiet --disable-pip-version-check cryo==0.3.2 \
            ethereum-etl==2.4.2 setuptools==80.9.0 || die "cryo and ethereum-etl cannot be installed"
        touch "$home/.complete"
    fi
    say "anvil: every source is compared with every other"
    python3 -B scripts/sources/servers.py --anvil "$program" --geth "$peer" \
        --python "$home/python/bin/python" --txgraph "$TXGRAPH" \
        --seed "${SEED:-1}" --count "${COUNT:-120}"
}

[ $# -gt 0 ] || set -- geth-amsterdam anvil
for section in "$@"; do
    case $section in
        geth-amsterdam) geth_amsterdam ;;
        anvil) anvil ;;
        *) die "there is no section $section" ;;
    esac
done
