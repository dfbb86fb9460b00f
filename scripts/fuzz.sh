#!/usr/bin/env bash
# Builds the fuzz targets (fuzz/README.md) with the stable compiler, and runs each for some seconds on
# new inputs. scripts/sanitize.sh runs the interpreter's with the address sanitizer.
#
#   scripts/fuzz.sh                             every target, 60 seconds
#   TXGRAPH_FUZZ_SECONDS=600 scripts/fuzz.sh evm rpc
#   PROFILE=dev TXGRAPH_FUZZ_SECONDS=4 scripts/fuzz.sh    not optimized
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build
make_scratch

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^path = "fuzz_targets\/\(.*\)\.rs"/\1/p' fuzz/Cargo.toml)
say "building ${#targets[@]} fuzz targets"
bins=()
for target in "${targets[@]}"; do bins+=(--bin "$target"); done
# With a target, build scripts and macros are shared with the other builds.
host=$(rustc -vV | sed -n 's/^host: //p')
profile=${PROFILE:-release}
RUSTFLAGS=$fuzz_flags cargo build --profile "$profile" --locked --manifest-path fuzz/Cargo.toml --target "$host" "${bins[@]}"

failed=()
for target in "${targets[@]}"; do
    say "fuzzing $target"
    mkdir "$scratch/$target"
    "$CARGO_TARGET_DIR/$host/${profile/#dev/debug}/$target" -max_total_time="${TXGRAPH_FUZZ_SECONDS:-60}" \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="$PWD/fuzz/" "$scratch/$target" || failed+=("$target")
done
[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}; the inputs are in fuzz/"
