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
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

blocks=1000 layouts=(v1 v2) rounds=${ROUNDS:-9}
case "${1:-}" in
    "") ;;
    --quick) blocks=150 layouts=(v1) rounds=${ROUNDS:-5} ;;
    *) die "usage: ./bench.sh replay [--quick]" ;;
esac
seed=$(sed -n 's/^seed = //p' benchmarks/replay.toml)
mgas=$(sed -n 's/^mgas_per_block = //p' benchmarks/replay.toml)

need_build
say "building the replay and the chain writer (release)"
cargo build --release --locked -p txgraph-chaingen --features executed
cargo build --release --locked -p txgraph-replay --features oracle --example replay
replay=$CARGO_TARGET_DIR/release/examples/replay
scratch=$(mktemp -d "${SCRATCH:-${TMPDIR:-/tmp}}/txgraph-replay.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p benchmarks/results
result=$scratch/replay.md

# tip_of NUMBER: the tip hash that the definition in benchmarks/replay.toml expects.
tip_of() { sed -n "s/^tip_$1 = \"\(.*\)\"/\1/p" benchmarks/replay.toml; }

# contracts LAYOUT: sets $chain to the contract-heavy chain in that layout.
contracts() {
    chain=$CARGO_TARGET_DIR/bench-contracts-$seed-$mgas-$blocks-$1
    [ ! -e "$chain/.tip" ] || return 0
    say "writing the contract-heavy chain: $blocks blocks of $mgas Mgas ($1)"
    rm -rf "$chain"
    "$CARGO_TARGET_DIR/release/execgen" --out "$chain" --blocks "$blocks" \
        --mgas-per-block "$mgas" --seed "$seed" --layout "$1" 2>&1 | tee "$scratch/execgen.log" >&2
    sed -n 's/.*tip \(0x[0-9a-f]*\).*/\1/p' "$scratch/execgen.log" >"$chain/.tip"
}

measure() { # NAME DATADIR GENESIS
    say "timing $1 ($rounds rounds)"
    "$replay" --name "$1" --chain "$3" --rounds "$rounds" ${THREADS:+--threads "$THREADS"} \
        "$2" | tee -a "$result"
}

# shares: the share of each kind of work in a profile, classified by function name.
shares() { # NAME DATADIR GENESIS
    perf record -q -F 999 -o "$scratch/perf" -- "$replay" --name "$1" --chain "$3" \
        --engine own --threads 1 --rounds "$rounds" "$2" >/dev/null
    perf report -i "$scratch/perf" --stdio --no-children --sort symbol 2>/dev/null |
        awk '
            $1 !~ /%$/ { next }
            { share = $1 + 0 }
            /\[k\]/ { sum["the kernel"] += share; next }
            /secp256k1|ecmult|recover_signer/ { sum["signatures"] += share; next }
            /[Kk]eccak|KECCAK|sha256/ { sum["hashing"] += share; next }
            /txgraph_evm::state|txgraph_evm::evm|txgraph_evm::transaction|Journal/ {
                sum["journal and frames"] += share; next }
            /txgraph_evm|ruint|revm_precompile|blst|bn254/ { sum["interpretation"] += share; next }
            /txgraph_state|txgraph_nodedb|mdbx|page_|cursor_|node_search|tree_search|cmp_lexical|txn_|cursor|signet|roaring|ZSTD|HUF_|FSE_|lz4|__memcmp/ {
                sum["state and block reads"] += share; next }
            /txgraph_replay|alloy_trie|alloy_rlp|alloy_consensus|[Bb]loom/ {
                sum["course and comparison"] += share; next }
            /malloc|free|realloc|calloc|memmove|memset|memcpy|__rust|unlink_chunk/ {
                sum["memory"] += share; next }
            { sum["other"] += share }
            END { for (kind in sum) printf "%s|%.1f\n", kind, sum[kind] }' |
        sort -t'|' -k2,2nr | awk -F'|' -v name="$1" '
            BEGIN { printf "%s: ", name }
            { printf "%s%s %s %%", (NR > 1 ? ", " : ""), $1, $2 }
            END { print ".\n" }' | tee -a "$result"
}

{
    printf '# Replay: our interpreter compared with revm\n\n'
    bench_setup
    sed -n '/^name = "revm"$/{n;s/version = "\(.*\)"/revm \1/p}' Cargo.lock
    cat <<'EOF'

Each round runs every engine with every number of threads, one after the other; ratios are
of pairs of one round: median (least to most). Before, each engine replayed everything once,
held against receipts, headers and change sets, and all outcomes were the same. In the
timed runs every transaction is held against its receipt; the walk that makes an overlay
is not timed.

EOF
} >"$result"

subjects=()
for layout in "${layouts[@]}"; do
    contracts "$layout"
    expected=$(tip_of "$blocks")
    [ "$(cat "$chain/.tip")" = "$expected" ] ||
        die "the tip of the chain is $(cat "$chain/.tip"), benchmarks/replay.toml expects $expected"
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
        "$((rounds + 1))" >>"$result"
    for subject in "${subjects[@]}"; do
        IFS='|' read -r name datadir genesis <<<"$subject"
        shares "$name" "$datadir" "$genesis"
    done
else
    printf 'No profile: perf is not installed.\n' >>"$result"
fi
mv "$result" benchmarks/results/replay.md
say "benchmarks/results/replay.md"
