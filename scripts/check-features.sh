#!/usr/bin/env bash
# Checks that every crate with features compiles with each of them alone, and with none: cargo unifies
# features within one command, so a build of the workspace proves none of them. Warnings are errors.
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
# Clusters have one feature, which scripts/lint.sh has checked.
features | grep -v '^txgraph-distributed/' >"$scratch/features"
cut -d/ -f1 "$scratch/features" | sort -u | while read -r package; do
    check -p "$package" --no-default-features </dev/null
done
while IFS=/ read -r package feature; do
    check -p "$package" --no-default-features --features "$feature" </dev/null
done <"$scratch/features"
