#!/usr/bin/env bash
# From nothing to a picture: installs what is missing, builds txgraph, writes a
# sample chain in reth's own format, traces a token through it, and leaves
# demo/graph.{dot,svg,csv,parquet}. demo/txgraph.toml has the settings for this chain.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

say "1/5 looking for the tools the demo needs (compiler, zstd, graphviz)"
need_build
need dot graphviz

say "2/5 building txgraph and the sample chain writer (several minutes the first time)"
# What the demo and the next examples of README.md need.
cargo build --profile demo --locked -p txgraph-cli -p txgraph-chaingen --no-default-features \
    --features txgraph-cli/index
txgraph=$CARGO_TARGET_DIR/demo/txgraph
chaingen=$CARGO_TARGET_DIR/demo/chaingen

mkdir -p demo
rm -rf demo/datadir demo/small
say "3/5 writing a sample chain: 5,000 blocks in the format of a reth 2 node (demo/datadir)"
"$chaingen" --out demo/datadir --blocks 5000 --txs-per-block 8 --seed 1 --truth demo/truth.json

# The chain of the examples in `txgraph COMMAND --help`. It was executed, so it can be replayed.
mkdir demo/small
tar --zstd -xSf testdata/small/v2/datadir.tar.zst --no-same-owner -C demo/small
cp testdata/small/v2/genesis.json demo/small/

say "4/5 what the data directory holds: txgraph info"
# Commands in the folder demo read it by themselves.
export TXGRAPH_CONFIG=demo/txgraph.toml
cat >"$TXGRAPH_CONFIG" <<'SETTINGS'
[node]
datadir = "datadir"
SETTINGS
"$txgraph" info

# The writer plants scenarios; its truth file has their roots. Here: a peel chain, in
# which each address passes the larger part on and peels a little off to a payee.
planted() { awk -v want="\"$1\":" '/"searches":/ {s = 1} s && /"scenario": "peel-chain"/ {f = 1}
    f && $1 == want {gsub(/[",]/, "", $2); print $2; exit}' demo/truth.json; }
root=$(planted root)
token=$(planted token)
# The contracts of this chain were never executed, so they cannot be asked for their names.
printf 'address,symbol,decimals\n%s,USD6,6\n' "$token" >demo/tokens.csv
printf '\n[output]\ntoken-list = "tokens.csv"\n' >>"$TXGRAPH_CONFIG"

say "5/5 the main job: where did the tokens of $root go?"
printf '$ txgraph graph --root %s --token %s --hops all -o demo/graph.{dot,svg,csv,parquet}\n' "$root" "$token" >&2
"$txgraph" graph --root "$root" --token "$token" --hops all --overwrite \
    -o demo/graph.dot -o demo/graph.svg -o demo/graph.csv -o demo/graph.parquet

say "summary: txgraph analyze summary --root $root"
"$txgraph" -q analyze summary --root "$root" --token "$token" --hops all --limit 5

say "done. The picture is demo/graph.svg, the transfers demo/graph.csv and demo/graph.parquet;"
printf '   next: cd demo && %s query ../queries/cycles.toml --set token=USD6\n' "$txgraph" >&2
ls -l demo/graph.dot demo/graph.svg demo/graph.csv demo/graph.parquet
say "to explore it in a browser: cargo run --profile demo --locked -p txgraph-cli -- serve --datadir demo/small"
