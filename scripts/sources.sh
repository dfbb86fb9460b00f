#!/usr/bin/env bash
# Compares txgraph with real servers of other projects, which it starts itself.
#
#   scripts/sources.sh                     all sections
#   scripts/sources.sh geth-amsterdam      these
#   GETH=v1.17.10 SEED=1 COUNT=120 scripts/sources.sh geth-amsterdam
#
# TXGRAPH names the program to test; default: it is built.
#
# geth-amsterdam: a development chain of geth that activates Amsterdam after some blocks. COUNT random
# transactions move ether in contracts before the fork, and as many after it. All movements must equal
# geth's call tracer, after the fork without traces, and with fees and withdrawals give the
# balance of every account. A replay of all blocks from geth's execution witnesses must give the same.
#
# anvil: COUNT random transactions on chains of anvil (three forks) and geth. cryo and ethereum-etl export
# them. Answers from rpc, these files, own files, lakes and joined sources must be equal, and equal to the
# logs and balances of the servers. Then a server in between answers wrongly, the chain is reorganized
# between two requests, and files are damaged: an answer is whole, or says what is missing, or fails.
#
# Servers listen on free ports of 127.0.0.1 and end with the script. Peers are installed in the cache
# folder, at fixed versions. Without their registries the script fails.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need python3 python3
need_txgraph ""

geth_amsterdam() {
    go_program geth "github.com/ethereum/go-ethereum/cmd/geth@$geth"
    say "geth $geth: a chain that activates Amsterdam"
    python3 -B scripts/sources/geth.py --geth "$program" --txgraph "$txgraph" \
        --seed "${SEED:-1}" --count "${COUNT:-120}"
}

anvil() {
    local exporters=$tools/cryo-0.3.2-etl-2.4.2
    go_program geth "github.com/ethereum/go-ethereum/cmd/geth@$geth"
    need_anvil
    need_venv "$exporters" cryo==0.3.2 ethereum-etl==2.4.2 setuptools==80.9.0
    say "anvil: every source is compared with every other"
    python3 -B scripts/sources/servers.py --anvil "$anvil" --geth "$program" \
        --python "$exporters/bin/python" --txgraph "$txgraph" \
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
