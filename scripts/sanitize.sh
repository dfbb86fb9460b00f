#!/usr/bin/env bash
# Checks the `unsafe` code of the interpreter with three tools:
#
#   miri      runs unit tests, hostile code and random cases of crates/evm, and checks
#             aliasing (stacked borrows, then tree borrows), alignment, uninitialized reads
#             and leaks; fewer cases than usual, without the comparison with revm
#   valgrind  runs the same tests, compiled, and reports reads of uninitialized memory
#             (stacks and EVM memory are not zeroed)
#   asan      runs the interpreter's fuzz target with AddressSanitizer and debug assertions,
#             first on known inputs, then on new ones for TXGRAPH_FUZZ_SECONDS (300)
#
#   scripts/sanitize.sh [miri|valgrind|asan]…    default: all three
#
# A tool that is missing is skipped and listed at the end. miri needs a nightly toolchain
# (rustup toolchain install nightly --component miri,rust-src), and so does asan. The fuzzer's
# corpus is in TXGRAPH_FUZZ_CORPUS, by default in the build cache.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build

[ $# -gt 0 ] || set -- miri valgrind asan
skipped=

with_miri() {
    cargo +nightly miri --version >/dev/null 2>&1 || { skipped="$skipped miri(no nightly with miri)"; return; }
    local model
    for model in "" "-Zmiri-tree-borrows"; do
        say "miri ${model:-with stacked borrows}"
        # No isolation: tests read the clock and the environment.
        CARGO_TARGET_DIR=$CARGO_TARGET_DIR/miri MIRIFLAGS="-Zmiri-disable-isolation $model" \
            cargo +nightly miri test --locked -p txgraph-evm --lib --test it
    done
}

with_valgrind() {
    command -v valgrind >/dev/null 2>&1 || { skipped="$skipped valgrind(not installed)"; return; }
    say "building the tests"
    local tests
    # One line per binary, with its path in parentheses.
    tests=$(cargo test --locked -p txgraph-evm --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
    [ -n "$tests" ] || die "cargo built no tests"
    local test
    for test in $tests; do
        say "valgrind: $(basename "$test")"
        # One thread: valgrind runs one at a time anyway. Cached stacks of 32 MiB are not
        # leaks.
        TXGRAPH_EVM_CASES=${TXGRAPH_EVM_CASES:-300} valgrind --quiet --error-exitcode=1 \
            --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite "$test" --test-threads=1 \
            --skip agrees_with_revm --skip agrees_with_ruint
    done
}

with_asan() {
    cargo +nightly --version >/dev/null 2>&1 || { skipped="$skipped asan(no nightly)"; return; }
    local corpus=${TXGRAPH_FUZZ_CORPUS:-$CARGO_TARGET_DIR/fuzz-corpus}/evm
    mkdir -p "$corpus"
    say "building the fuzz target with AddressSanitizer"
    CARGO_TARGET_DIR=$CARGO_TARGET_DIR/asan RUSTFLAGS="-Zsanitizer=address $fuzz_flags" cargo +nightly build --release \
        --target x86_64-unknown-linux-gnu --manifest-path fuzz/Cargo.toml --no-default-features --bin evm
    local program=$CARGO_TARGET_DIR/asan/x86_64-unknown-linux-gnu/release/evm
    say "AddressSanitizer: $(find "$corpus" -type f | wc -l) known inputs, then new ones"
    "$program" -runs=0 "$corpus"
    "$program" -max_total_time="${TXGRAPH_FUZZ_SECONDS:-300}" -len_control=0 -max_len=2048 \
        -print_final_stats=1 \
        -artifact_prefix="$corpus/../" "$corpus"
}

for part in "$@"; do
    case $part in
        miri | valgrind | asan) "with_$part" ;;
        *) die "usage: scripts/sanitize.sh [miri|valgrind|asan]…" ;;
    esac
done
[ -z "$skipped" ] || say "skipped:$skipped"
say "nothing found"
