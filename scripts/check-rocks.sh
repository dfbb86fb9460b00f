#!/usr/bin/env bash
# Compares our reader of RocksDB's files with RocksDB itself: every key of the directories in
# ../shared/fixtures (or TXGRAPH_FIXTURES), databases in every format, 10,000 changed files, and a
# database of 10 million keys while it is written, with the time of lookups. Builds RocksDB:
# about 20 minutes of one core.
#
#   scripts/check-rocks.sh                        everything, 10 to 20 minutes after the build
#   TXGRAPH_ROCKS_KEYS=400000 scripts/check-rocks.sh    a smaller database
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

say "looking for the tools that the build needs (C++ compiler, libclang)"
need_build
need g++ g++
# clang brings libclang, which generates the bindings.
compgen -G '/usr/lib/llvm*/lib/libclang[-.][0-9s]*' >/dev/null || [ -n "${LIBCLANG_PATH:-}" ] ||
    need clang clang

say "building RocksDB and the tests (build cache: $CARGO_TARGET_DIR)"
export TXGRAPH_ROCKS_KEYS=${TXGRAPH_ROCKS_KEYS:-10000000}
export TXGRAPH_ROCKS_CASES=${TXGRAPH_ROCKS_CASES:-200}
export TXGRAPH_DAMAGED_FILES=${TXGRAPH_DAMAGED_FILES:-10000}
# Our part and its LZ4 as in a release build, as RocksDB is.
cargo test --locked -p txgraph-rocks --features oracle \
    --config 'profile.dev.package.txgraph-rocks.opt-level=3' "$@" -- --nocapture --test-threads 1
say "all answers are RocksDB's"
