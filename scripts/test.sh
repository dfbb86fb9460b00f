#!/usr/bin/env bash
# Runs every test of txgraph: unit, property, golden, command line.
# Real data directories are read from ../shared/fixtures (or TXGRAPH_FIXTURES)
# when present; the ones under testdata/ prove the reader on their own.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

say "looking for the tools the tests need (compiler, tar, zstd, graphviz)"
need_build
need dot graphviz

say "running all tests (build cache: $CARGO_TARGET_DIR)"
# With revm beside our own interpreter, in replay.
cargo test --workspace --features txgraph-replay/oracle --locked "$@"
say "all tests passed"
