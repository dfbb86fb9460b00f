#!/usr/bin/env bash
# Regenerates the expected outputs in testdata/golden. Review the diff before you commit it:
# users will see that change.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build

say "running every saved question on the sample chain (testdata/golden/queries)"
UPDATE_GOLDEN=1 cargo test --locked -p txgraph-cli --test it query::saved_questions
say "making every mistake (testdata/golden/mistakes.txt)"
UPDATE_GOLDEN=1 cargo test --locked -p txgraph-cli --test it mistakes::
say "writing the small graphs in every format (crates/export/tests/golden)"
UPDATE_GOLDEN=1 cargo test --locked -p txgraph-export --test it
git --no-pager diff --stat -- testdata/golden crates/export/tests/golden
