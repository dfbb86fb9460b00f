#!/usr/bin/env bash
# Runs the recipes of docs/lake.md for DuckDB, polars and pyarrow on a lake of the small chain, and
# compares their answers with those of txgraph.
#
#   scripts/lake-recipes.sh [PATH OF txgraph]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

need_build
txgraph=${1:-}
if [ -z "$txgraph" ]; then
    say "building txgraph"
    cargo build --locked -p txgraph-cli
    txgraph=$CARGO_TARGET_DIR/debug/txgraph
fi
venv=$CARGO_TARGET_DIR/lake-venv
if ! "$venv/bin/python" -c 'import duckdb, polars, pyarrow' 2>/dev/null; then
    say "installing duckdb, polars and pyarrow ($venv)"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q duckdb polars pyarrow; }; then
        say "skipped: python3 with venv and pip, or the packages, cannot be installed"
        exit 0
    fi
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/node"
tar --zstd -xSf testdata/small/v2/datadir.tar.zst -C "$scratch/node"
"$txgraph" lake build -q --datadir "$scratch/node" --reorg-buffer 0 --partition-blocks 16 \
    "$scratch/transfers.lake"
"$txgraph" transfers -q --source "lake:$scratch/transfers.lake" --format csv -o "$scratch/all.csv"
"$venv/bin/python" scripts/lake-recipes.py docs/lake.md "$scratch"
