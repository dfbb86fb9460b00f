#!/usr/bin/env bash
# Lints all crates with all features. Warnings are errors.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build

say "lints"
features=$(features)
case "$*" in
    *txgraph-distributed*) features=$(grep -v '^txgraph-distributed/' <<<"$features") ;;
esac
cargo clippy --workspace --all-targets --locked "$@" --features "$(paste -sd, <<<"$features")" -- -D warnings
