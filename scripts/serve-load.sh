#!/usr/bin/env bash
# Asks `txgraph serve`, geth and anvil for the same logs, with many clients at a time. All three have the same blocks:
# a chain of the fixtures, which geth imports and whose transactions anvil executes again. Answers are compared
# first, and every answer again. Then clients leave during long work, and the script prints how long it goes on.
#
#   scripts/serve-load.sh [PROGRAM]    asks PROGRAM, or TXGRAPH, or builds txgraph
#   CLIENTS=200 REQUESTS=100000 CHAIN=../shared/fixtures/dev-v2 scripts/serve-load.sh
#
# It times, so PROGRAM should be optimized, and the machine should do nothing else.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_txgraph "${1:-}"
need wrk wrk
need python3 python3
make_scratch
clients=${CLIENTS:-200} requests=${REQUESTS:-100000}
chain=${CHAIN:-${TXGRAPH_FIXTURES:-../shared/fixtures}/dev-v2}
[ -e "$chain/chain.rlp.zst" ] || die "$chain is no chain of the fixtures"

go_program geth "github.com/ethereum/go-ethereum/cmd/geth@$geth"
geth_program=$program
anvil_home=$tools/anvil-1.7.1
anvil_program=$anvil_home/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil
[ -x "$anvil_program" ] || die "anvil is missing: scripts/sources.sh anvil installs it"

unpack "$chain"
zstd -dq "$chain/chain.rlp.zst" -o "$scratch/chain.rlp"
python3 - "$chain" >"$scratch/chain.json" <<'EOF'
import json, pathlib, sys
home = pathlib.Path(sys.argv[1])
info, truth = (json.loads((home / name).read_text()) for name in ("chain-info.json", "truth.json"))
print(json.dumps({"token": truth["tokens"]["usd6"]["address"], "tip": info["tip_on_disk"]["number"]}))
EOF

# answers URL: waits until a server answers.
answers() {
    for _ in $(seq 300); do
        curl -sf -o /dev/null -H 'content-type: application/json' \
            -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}' "$1" && return
        sleep 0.1
    done
    die "no answer of $1: $(tail -n 3 "$scratch"/*.log)"
}

processes=()
trap 'kill "${processes[@]}" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
port=$((20000 + RANDOM % 20000))
txgraph_url=http://127.0.0.1:$port geth_url=http://127.0.0.1:$((port + 1)) anvil_url=http://127.0.0.1:$((port + 2))

"$txgraph" serve --quiet --listen "127.0.0.1:$port" --datadir "$scratch/node" --chain "$chain/genesis.json" \
    2>"$scratch/txgraph.log" &
processes+=($!)
say "geth $geth imports the chain"
data=(--datadir "$scratch/geth" --state.scheme hash)
"$geth_program" init "${data[@]}" "$chain/genesis.json" 2>"$scratch/geth.log"
"$geth_program" import "${data[@]}" --gcmode archive "$scratch/chain.rlp" >>"$scratch/geth.log" 2>&1
"$geth_program" "${data[@]}" --gcmode archive --nodiscover --maxpeers 0 --ipcdisable --http --http.port $((port + 1)) \
    --authrpc.port $((port + 3)) --port 0 >>"$scratch/geth.log" 2>&1 &
processes+=($!)
say "anvil executes the transactions"
"$anvil_program" --quiet --port $((port + 2)) --init "$chain/genesis.json" --hardfork osaka --no-mining --order fifo \
    --accounts 0 --gas-limit 1000000000 --disable-pool-balance-checks --disable-min-priority-fee \
    --disable-default-create2-deployer --auto-impersonate >"$scratch/anvil.log" 2>&1 &
processes+=($!)
answers "$txgraph_url"
answers "$geth_url"
answers "$anvil_url"
python3 -B scripts/serve/anvil.py "$anvil_url" "$txgraph_url" "$scratch/chain.rlp"
# geth indexes logs after its start.
for _ in $(seq 300); do
    ! grep -q 'Log index head rendering finished' "$scratch/geth.log" || break
    sleep 0.2
done

say "$clients clients, $requests requests"
python3 -B scripts/serve/load.py "$scratch" "$clients" "$requests" \
    "txgraph=$txgraph_url=${processes[0]}" "geth=$geth_url=${processes[1]}" "anvil=$anvil_url=${processes[2]}"
say "clients that leave"
python3 -B scripts/serve/leave.py "$txgraph_url" "$(sed -n 's/.*"tip": \([0-9]*\).*/\1/p' "$scratch/chain.json")"
