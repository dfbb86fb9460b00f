#!/usr/bin/env bash
# Runs the tests of txgraph: unit, property, golden, command line. Those of clusters, with a large
# engine to build, are in scripts/test-cluster.sh; those of the Python package are in
# scripts/python.sh.
#
# Large data directories written by a real node are read from ../shared/fixtures (or
# TXGRAPH_FIXTURES) if they exist. Without them, the tests that need one print `skipped: …`
# and the fixtures in testdata/ cover the reader. The first build takes 15 to 25 minutes on
# 2 cores.
#
#   scripts/test.sh                  all of them
#   scripts/test.sh reorg            tests whose name contains `reorg`
#   TXGRAPH_REQUIRE_FIXTURES=1 scripts/test.sh    missing fixtures are failures
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

say "looking for the tools that the tests need (compiler, tar, zstd, graphviz)"
need_build
need dot graphviz

say "running all tests (build cache: $CARGO_TARGET_DIR)"
# The oracle compares our interpreter with revm during replay.
cargo test --workspace --exclude txgraph-distributed --exclude txgraph-python \
    --features txgraph-replay/oracle --locked "$@"
say "all tests passed"
