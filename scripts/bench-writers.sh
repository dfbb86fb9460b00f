#!/usr/bin/env bash
# Compares the writers with `cat` of the finished file and with polars. Every output is checked
# against benchmarks/writers.toml.
#
#   ./bench.sh writers            10 M rows of CSV, 2 M of the other formats (about 10 GB of disk)
#   ./bench.sh writers --quick    a tenth of it
#   ROUNDS=9 SCRATCH=/fast/disk ./bench.sh writers
#
# Results: benchmarks/results/writers/{summary.md,raw.csv}.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

quick=()
case "${1:-}" in
    "") ;;
    --quick) quick=(--quick) ;;
    *) die "usage: ./bench.sh writers [--quick]" ;;
esac
build_release "the writers and polars" -p txgraph-bench --features writers

cores=$(nproc)
setup="$(bench_setup); $(cat --version | head -1)"
make_scratch
"$release/txgraph-bench" writers --definitions benchmarks/writers.toml \
    --scratch "$scratch" --out benchmarks/results/writers --rounds "${ROUNDS:-5}" \
    --threads "${THREADS:-$cores}" --setup "$setup" "${quick[@]}"
