#!/usr/bin/env bash
# Writes the answers in testdata/golden anew from the present programme. Look at
# the difference before you commit it: it is what users will see.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
need_build

say "asking every saved question on the sample chain (testdata/golden/queries)"
UPDATE_GOLDEN=1 cargo test --locked -p txgraph-cli --test it query::saved_questions
say "writing the small graphs in every format (crates/export/tests/golden)"
UPDATE_GOLDEN=1 cargo test --locked -p txgraph-export --test it
git --no-pager diff --stat -- testdata/golden crates/export/tests/golden
