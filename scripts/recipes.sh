#!/usr/bin/env bash
# Runs the recipes of docs/recipes.md and docs/lake.md for DuckDB, polars, pandas, pyarrow and Spark
# on the small chain, and compares their answers with those of txgraph.
#
#   scripts/recipes.sh [PATH OF txgraph]
#
# Spark runs if Java is installed.
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
venv=$CARGO_TARGET_DIR/recipes-venv
packages=(duckdb polars pyarrow pandas)
if command -v java >/dev/null 2>&1; then
    packages+=(pyspark)
fi
if ! "$venv/bin/python" -c "import $(IFS=,; echo "${packages[*]}")" 2>/dev/null; then
    say "installing ${packages[*]} ($venv)"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q "${packages[@]}"; }; then
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
lake=(--source "lake:$scratch/transfers.lake")
"$txgraph" transfers -q "${lake[@]}" --format csv -o "$scratch/all.csv"
"$txgraph" transfers -q "${lake[@]}" -o "$scratch/transfers.csv.gz"
"$txgraph" transfers -q "${lake[@]}" --types rich -o "$scratch/transfers.parquet"
for page in docs/recipes.md docs/lake.md; do
    "$venv/bin/python" scripts/recipes.py "$page" "$scratch"
done
