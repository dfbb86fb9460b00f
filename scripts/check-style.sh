#!/usr/bin/env bash
# Checks format, lock files, shell scripts, workflows, and the policy for dependencies (deny.toml). The
# tools are built in the cache folder, at fixed versions.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build
need shellcheck shellcheck

say "format"
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check

say "lock files"
for workspace in . fuzz; do
    cargo metadata --locked --format-version 1 --manifest-path "$workspace/Cargo.toml" >/dev/null
done

say "shell scripts"
shellcheck -x .ci/run bench.sh scripts/*.sh

say "workflows"
go_program actionlint github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
"$program"

need_deny
say "dependencies: licenses, bans, sources"
"$deny" check --hide-inclusion-graph licenses bans sources
say "dependencies: advisories"
if "$deny" fetch db; then
    "$deny" check advisories
else
    say "NOT checked: the advisory database cannot be fetched"
fi
