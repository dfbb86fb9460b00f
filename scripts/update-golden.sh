#!/usr/bin/env bash
# Regenerates the expected outputs in testdata/golden. Review the diff before you commit it:
# users will see that change.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build

say "writing saved queries, mistakes, and small graphs in every format"
UPDATE_GOLDEN=1 cargo test "${tested[@]}" --test it --bin txgraph-bench -- query::saved_queries mistakes:: golden::
git --no-pager diff --stat -- testdata/golden crates/export/tests/golden
