#!/usr/bin/env bash
# Runs the recipes of docs/recipes.md and docs/lake.md for DuckDB, polars, pandas, pyarrow and Spark
# on the small chain, and compares their results with txgraph's.
#
#   scripts/recipes.sh [PATH OF txgraph]
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need java default-jre-headless
need_txgraph "${1:-}"
venv=$CARGO_TARGET_DIR/recipes-venv
mapfile -t libraries < <(grep -E '^(duckdb|pandas|polars|pyarrow)==' python/requirements-test.txt)
need_venv "$venv" "${libraries[@]}" pyspark==4.3.0
make_scratch
unpack testdata/small/v2
"$txgraph" lake build -q --datadir "$scratch/node" --reorg-buffer 0 --partition-blocks 16 \
    "$scratch/transfers.lake"
lake=(--source "lake:$scratch/transfers.lake")
"$txgraph" transfers -q "${lake[@]}" --format csv -o "$scratch/all.csv"
"$txgraph" transfers -q "${lake[@]}" -o "$scratch/transfers.csv.gz"
"$txgraph" transfers -q "${lake[@]}" --columns all:rich -o "$scratch/transfers.parquet"
for page in docs/recipes.md docs/lake.md; do
    "$venv/bin/python" scripts/recipes.py "$page" "$scratch"
done
