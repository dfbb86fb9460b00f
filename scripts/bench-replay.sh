#!/usr/bin/env bash
# Compares replay with our interpreter and with revm over the same states: throughput per
# number of threads, ratios, scaling, and a profile. Before anything is timed, all engines must
# produce the stored outcomes. Called by `./bench.sh replay`.
#
#   ./bench.sh replay            1,000 contract-heavy blocks in both layouts, and fixtures
#   ./bench.sh replay --quick    150 blocks in layout v1, and fixtures; a few minutes
#   ROUNDS=15 THREADS=1,2,4 ./bench.sh replay
#
# `execgen` generates the chain with revm; it is kept in the build cache. Fixtures are read
# from ../shared/fixtures (or TXGRAPH_FIXTURES) if present. The profile needs `perf`.
# Result: benchmarks/results/replay.md.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

blocks=1000 layouts=(v1 v2) rounds=${ROUNDS:-9}
case "${1:-}" in
    "") ;;
    --quick) blocks=150 layouts=(v1) rounds=${ROUNDS:-5} ;;
    *) die "usage: ./bench.sh replay [--quick]" ;;
esac

need_build
say "building the replay and the chain writer (release)"
cargo build --release --locked -p txgraph-chaingen --features executed
cargo build --release --locked -p txgraph-bench --features evm
bench=$release/txgraph-bench
case "$(nproc)" in
    1 | 2) threads=${THREADS:-1,2} ;;
    3 | 4) threads=${THREADS:-1,2,$(nproc)} ;;
    *) threads=${THREADS:-1,2,4,$(nproc)} ;;
esac
make_scratch
mkdir -p benchmarks/results
result=$scratch/replay.md

measure() { # NAME DATADIR GENESIS
    say "timing $1 ($rounds rounds)"
    "$bench" replay --name "$1" --chain "$3" --rounds "$rounds" --threads "$threads" \
        "$2" | tee -a "$result"
}

# shares: the share of each kind of work in a profile, classified by function name.
shares() { # NAME DATADIR GENESIS
    perf record -q -F 999 -o "$scratch/perf" -- "$bench" replay --name "$1" --chain "$3" \
        --engine txgraph --threads 1 --rounds "$rounds" "$2" >/dev/null
    perf_shares "$scratch/perf" "$1" | tee -a "$result"
}

{
    printf '# Replay: our interpreter compared with revm\n\n'
    bench_setup
    revm_version
    cat <<'EOF'

Each round runs every engine with every number of threads, one after the other; ratios are
of pairs of one round: median (minimum to maximum). Before that, each engine replays everything
once and compares it with receipts, headers and change sets, and all outcomes are the same. One
more round warms up. In the timed runs every transaction is compared with its receipt. The walk that makes an overlay is
not timed.

EOF
} >"$result"

subjects=()
for layout in "${layouts[@]}"; do
    contract_chain "$layout" "$blocks"
    subjects+=("contracts, $layout|$chain|$chain/genesis.json")
done
fixtures=${TXGRAPH_FIXTURES:-../shared/fixtures}
for name in dev-v1 dev-v2 long-v2; do
    [ -f "$fixtures/$name/datadir.tar.zst" ] || continue
    mkdir "$scratch/$name"
    tar --zstd -xSf "$fixtures/$name/datadir.tar.zst" -C "$scratch/$name"
    subjects+=("$name|$scratch/$name|$fixtures/$name/genesis.json")
done

for subject in "${subjects[@]}"; do
    IFS='|' read -r name datadir genesis <<<"$subject"
    measure "$name" "$datadir" "$genesis"
done
if command -v perf >/dev/null 2>&1; then
    say "profiling"
    printf '## Profile\n\nOur engine, one thread, CPU samples; one pass in %s with all checks.\n\n' \
        "$((rounds + 2))" >>"$result"
    for subject in "${subjects[@]}"; do
        IFS='|' read -r name datadir genesis <<<"$subject"
        shares "$name" "$datadir" "$genesis"
    done
else
    printf 'No profile: perf is not installed.\n' >>"$result"
fi
mv "$result" benchmarks/results/replay.md
say "benchmarks/results/replay.md"
