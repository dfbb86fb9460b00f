#!/usr/bin/env bash
# Runs the tests of txgraph: unit, property, golden, command line. Tests of clusters, with a large
# engine to build, are in scripts/test-cluster.sh; tests of the Python package are in
# scripts/python.sh.
#
# Large data directories written by a real node are read from ../shared/fixtures (or
# TXGRAPH_FIXTURES) if they exist. Without them, the tests that need one print `skipped: …`
# and the fixtures in testdata/ cover the reader. The first build with clusters (WITH_CLUSTERS=1)
# took 27 minutes on 2 slow cores, 52 of CPU; without them, it takes less.
#
#   scripts/test.sh                  all of them
#   scripts/test.sh reorg            tests whose name contains `reorg`
#   scripts/test.sh plain            after a run of all: those that want a large data directory, without it
#   TXGRAPH_REQUIRE_FIXTURES=1 scripts/test.sh    missing fixtures are failures
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Package folder, program and name of every test that wants a large data directory.
wanting=$CARGO_TARGET_DIR/tests-with-fixtures.tsv

if [ "${1:-}" = plain ]; then
    [ -s "$wanting" ] || die "$wanting is missing; run scripts/test.sh before"
    export TXGRAPH_FIXTURES=/nonexistent TXGRAPH_EVM_CASES=1000
    unset TXGRAPH_REQUIRE_FIXTURES
    cut -f1,2 "$wanting" | sort -u | while IFS=$'\t' read -r folder program; do
        mapfile -t names < <(awk -F'\t' -v program="$program" '$2 == program { print $3 }' "$wanting" | sort -u)
        known=$("$program" --list --format terse)
        for name in "${names[@]}"; do
            # A thread that a test has started: run all tests of the program.
            grep -qxF "$name: test" <<<"$known" || names=()
        done
        (cd "$folder" && "$program" --exact "${names[@]}" </dev/null)
    done
    exit
fi

say "looking for the tools that the tests need (compiler, tar, zstd, graphviz)"
need_build
need dot graphviz

say "running all tests (build cache: $CARGO_TARGET_DIR)"
if [ $# -eq 0 ]; then
    rm -f "$wanting"
    export TXGRAPH_FIXTURES_WANTED=$wanting
fi
cargo test "${tested[@]}" "$@"
say "all tests passed"
