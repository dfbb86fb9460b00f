#!/usr/bin/env bash
# Measures how fast files of other tools are read: rows per second of txgraph, and of polars and
# pyarrow, which only load the same columns of the same file into memory.
#
#   ./bench.sh sources
#   RUNS=9 BLOCKS=100000 SCRATCH=/fast/disk ./bench.sh sources
#
# The ERC-20 transfers of the sample chain are written as tables of each tool. The query reads
# and decodes every row and finds nothing. A second query counts the rows of each table.
# Result: benchmarks/results/sources.tsv.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 0 ] || die "usage: ./bench.sh sources"
build_release txgraph -p txgraph-cli -p txgraph-chaingen
bench_chain "${BLOCKS:-200000}"
venv=$CARGO_TARGET_DIR/sources-venv
need_venv "$venv" polars pyarrow
make_scratch
mkdir -p benchmarks/results
"$release/txgraph" transfers -q --datadir "$chain" --standard erc20 \
    --kind transfer --format csv -o "$scratch/all.csv"
{
    bench_setup | sed 's/^/# /'
    "$venv/bin/python" scripts/bench-sources.py "$release/txgraph" "$scratch" \
        "${RUNS:-5}"
} | tee benchmarks/results/sources.tsv
