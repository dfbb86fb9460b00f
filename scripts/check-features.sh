#!/usr/bin/env bash
# Checks that the packages users build compile with each of their features alone, and with none: cargo unifies
# features within one command, so a build of the workspace proves none of them. Warnings are errors. Features of
# other packages are checked with those that enable them, or built by the scripts that need them.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build
make_scratch

check() {
    say "features: $*"
    cargo check --locked "$@" 2>&1 | tee "$scratch/log" >&2
    ! grep -q '^warning: ' "$scratch/log" || die "warnings"
}

# What users install, and the examples of the library. scripts/fuzz.sh builds the fuzz targets.
check -p txgraph-cli
check -p txgraph --examples
for package in txgraph-cli txgraph; do
    check -p "$package" --no-default-features
done
# Those of the benchmarks that no other part of CI builds are checked here, too.
features | grep -E '^(txgraph|txgraph-cli)/|^txgraph-bench/(stores|writers)$' >"$scratch/features"
while IFS=/ read -r package feature; do
    check -p "$package" --no-default-features --features "$feature" </dev/null
done <"$scratch/features"
