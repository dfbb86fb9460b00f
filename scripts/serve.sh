#!/usr/bin/env bash
# Clients that know nothing of txgraph ask `txgraph serve`: ethers, viem, micro-eth-signer, cast, anvil, web3.py,
# typed-etherscan and cryo. Their answers are compared with those of the node that wrote the chain: the small one of
# testdata, and a chain with 25 times as many transactions if the fixtures are there.
#
#   scripts/serve.sh [PROGRAM]    asks PROGRAM, or TXGRAPH, or builds txgraph
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_txgraph "${1:-}"
need_anvil
make_scratch

clients=$tools/serve-clients
wanted="ethers@6.17.0 viem@2.57.20 micro-eth-signer@0.20.1 @foundry-rs/cast@1.7.1"
if [ "$(cat "$clients/.wanted" 2>/dev/null)" != "$wanted" ]; then
    say "installing $wanted in $clients"
    mkdir -p "$clients"
    # shellcheck disable=SC2086
    npm install --prefix "$clients" --no-audit --no-fund --silent $wanted >&2
    echo "$wanted" >"$clients/.wanted"
fi
need_venv "$clients/venv" typed-etherscan==0.4.1 web3==8.0.0
need_venv "$clients/cryo" cryo==0.3.2

# Modules are found beside the file that imports them.
cp scripts/serve/clients.mjs "$clients/clients.mjs"
cast=$clients/node_modules/@foundry-rs/cast-linux-amd64/bin/cast

# ask_libraries CHAIN: everything that the node answered.
ask_libraries() {
    say "asking $url about $1"
    for name in blocks receipts logs state; do
        zstd -dqf "$1/$name.jsonl.zst" -o "$scratch/$name.jsonl"
    done
    cp "$1/genesis.json" "$1/truth.json" "$scratch"
    node "$clients/clients.mjs" "$url" "$scratch"
    "$clients/venv/bin/python" scripts/serve/clients.py "$url" "$scratch"
}

# ask_cryo: its files have the transfers of the data directory, those inside of transactions too. It has no table
# of withdrawals.
ask_cryo() {
    local with=(--with-internal --kind "transfer,mint,burn,wrap,unwrap,value,internal" -f csv)
    python3 -B scripts/serve/cryo.py "$clients/cryo/bin/python" "$url" "$scratch"
    "$txgraph" -q transfers --datadir "$scratch/node" --chain testdata/small/v2/genesis.json "${with[@]}" \
        -o "$scratch/node.csv"
    "$txgraph" -q transfers --source "cryo:$scratch/cryo" "${with[@]}" -o "$scratch/cryo.csv"
    cmp "$scratch/node.csv" "$scratch/cryo.csv" || die "cryo exported other transfers"
    printf 'cryo: %s transfers, all as in the data directory\n' "$(($(wc -l <"$scratch/node.csv") - 1))"
}

serve_chain testdata/small/v2
ask_libraries testdata/small/v2
ask_cryo

hash=$(sed -n '3s/.*"transactionHash": *"\(0x[0-9a-f]*\)".*/\1/p' "$scratch/receipts.jsonl")
[ "$("$cast" block-number --rpc-url "$url")" = 40 ] || die "cast block-number"
"$cast" receipt --rpc-url "$url" "$hash" --json | grep -q "\"$hash\"" || die "cast receipt"
"$cast" logs --rpc-url "$url" --from-block 0 --to-block 40 'Transfer(address,address,uint256)' --json \
    >"$scratch/cast.json"
[ "$(grep -o '"logIndex"' "$scratch/cast.json" | wc -l)" -gt 100 ] || die "cast logs: $(head -c 300 "$scratch/cast.json")"
slot=$("$cast" storage 0x00000000000000000000000000000000000c0de5 0 --block 0 --rpc-url "$url")
[ "$slot" = "0x$(printf '%064x' 41)" ] || die "cast storage: $slot"
"$cast" run "$hash" --rpc-url "$url" 2>&1 | grep -q '^Gas used: ' || die "cast run"
from=$("$cast" tx "$hash" from --rpc-url "$url")
nonce=$("$cast" tx "$hash" nonce --rpc-url "$url")
"$cast" tx --from "$from" --nonce "$nonce" --rpc-url "$url" --json | grep -q "\"$hash\"" || die "cast tx --from --nonce"
[ "$("$cast" estimate --from "$from" --rpc-url "$url" "$from")" = 21000 ] || die "cast estimate"
"$cast" rpc debug_traceTransaction "$hash" '{"tracer":"prestateTracer"}' --rpc-url "$url" | grep -qi "\"$from\"" ||
    die "cast rpc debug_traceTransaction"
"$cast" rpc trace_replayTransaction "$hash" '["trace","stateDiff"]' --rpc-url "$url" | grep -qi "\"$from\"" ||
    die "cast rpc trace_replayTransaction"

# A fork of the chain, with a block of its own.
: >"$scratch/anvil.log"
timeout 60 "$anvil" --fork-url "$url" --port 0 >"$scratch/anvil.log" 2>&1 &
forked=$!
for _ in $(seq 100); do
    port=$(sed -n 's/^Listening on 127.0.0.1://p' "$scratch/anvil.log")
    [ -z "$port" ] || break
    sleep 0.1
done
fork=http://127.0.0.1:$port
rich=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
"$cast" send "$from" --value 1 --from "$rich" --unlocked --rpc-url "$fork" >"$scratch/send.log" 2>&1 ||
    die "cast send to anvil: $(cat "$scratch/send.log")"
[ "$("$cast" block-number --rpc-url "$fork")" = 41 ] || die "anvil --fork-url"
for at in 0 7 40; do
    same() { [ "$("$cast" "$@" --rpc-url "$fork")" = "$("$cast" "$@" --rpc-url "$url")" ] || die "anvil: cast $*"; }
    same block "$at" -f hash
    same balance "$from" --block "$at"
done
kill "$forked"

fixtures=$(realpath -m "${TXGRAPH_FIXTURES:-../shared/fixtures}")
if [ -d "$fixtures/dev-v2" ]; then
    kill "$server"
    wait "$server" || true
    rm -rf "$scratch/node"
    serve_chain "$fixtures/dev-v2"
    say "building an index, which the server finds"
    "$txgraph" -q index build --datadir "$scratch/node" --chain "$fixtures/dev-v2/genesis.json" --with-internal \
        --with-transactions
    ask_libraries "$fixtures/dev-v2"
else
    [ -z "${TXGRAPH_REQUIRE_FIXTURES:-}" ] || die "$fixtures/dev-v2 is missing"
    say "skipped: the larger chain, which is not in $fixtures"
fi
say "all clients got the node's answers"
