#!/usr/bin/env bash
# From nothing to a picture: installs what is missing, builds txgraph, writes a
# sample chain in reth's own format, traces a token through it, and leaves
# demo/graph.{dot,svg,csv,parquet}.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

say "1/5 looking for the tools the demo needs (compiler, zstd, graphviz)"
need_build
need dot graphviz

say "2/5 building txgraph and the sample chain writer (release; several minutes the first time)"
cargo build --release --locked -p txgraph-cli -p txgraph-testkit
txgraph=$CARGO_TARGET_DIR/release/txgraph
chaingen=$CARGO_TARGET_DIR/release/chaingen

mkdir -p demo
rm -rf demo/datadir
say "3/5 writing a sample chain: 5,000 blocks in the format of a reth 2 node (demo/datadir)"
"$chaingen" --out demo/datadir --blocks 5000 --txs-per-block 8 --seed 1 --truth demo/truth.json

say "4/5 what the data directory holds: txgraph info"
"$txgraph" info --datadir demo/datadir

# The writer plants scenarios and says where they start: here, a wash cycle.
read_truth() { sed -n "s/.*\"$1\": *\"\(0x[0-9a-f]*\)\".*/\1/p" demo/truth.json | head -1; }
