#!/usr/bin/env bash
# Lints all crates with all features. Warnings are errors.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build

say "lints"
cargo clippy --workspace --all-targets --locked --features "$(features | paste -sd,)" -- -D warnings
