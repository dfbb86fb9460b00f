# Functions shared by the scripts. Source this file, do not run it.
# shellcheck shell=bash

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The build cache is outside the clone, so that the clone stays small and a second clone
# builds fast. CARGO_TARGET_DIR overrides it.
: "${CARGO_TARGET_DIR:=${XDG_CACHE_HOME:-$HOME/.cache}/txgraph/target}"
export CARGO_TARGET_DIR

# need COMMAND PACKAGE: installs a Debian package when its command is missing.
need() {
    command -v "$1" >/dev/null 2>&1 && return
    command -v apt-get >/dev/null 2>&1 || die "\`$1\` is missing; install $2 and run this again"
    say "installing $2 (for \`$1\`)"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || die "\`$1\` is missing; run as root: apt-get install $2"
        as_root=(sudo)
    fi
    if [ -z "${TXGRAPH_APT_UPDATED:-}" ]; then
        "${as_root[@]}" apt-get update -qq >&2
        export TXGRAPH_APT_UPDATED=1
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >&2
    command -v "$1" >/dev/null 2>&1 || die "\`$1\` is still missing after installing $2"
}

# need_build: requires Rust and a C compiler (for libmdbx, zstd and libsecp256k1).
need_build() {
    need cc gcc
    need tar tar
    need zstd zstd
    if ! command -v cargo >/dev/null 2>&1 && [ -f "$HOME/.cargo/env" ]; then
        # shellcheck disable=SC1091
        . "$HOME/.cargo/env"
    fi
    command -v cargo >/dev/null 2>&1 ||
        die "Rust is missing; install 1.95 or newer with rustup (https://rustup.rs) and run this again"
}

# bench_chain BLOCKS: sets $chain to the sample chain of the benchmarks. The chain depends only
# on the seed and is kept in the build cache between runs.
bench_chain() {
    local seed txs
    seed=$(sed -n 's/^seed = //p' benchmarks/workloads.toml)
    txs=$(sed -n 's/^txs_per_block = //p' benchmarks/workloads.toml)
    chain=${BENCH_CHAIN:-$CARGO_TARGET_DIR/bench-chain-$seed-$txs-$1}
    [ ! -e "$chain/.complete" ] || return 0
    say "writing the sample chain: $1 blocks of $txs transactions"
    rm -rf "$chain"
    "$CARGO_TARGET_DIR/release/chaingen" --out "$chain" --blocks "$1" --txs-per-block "$txs" \
        --seed "$seed"
    touch "$chain/.complete"
}

# bench_setup: prints the commit, date, machine and compiler of a run.
bench_setup() {
    local changes=
    git diff --quiet HEAD 2>/dev/null || changes=' with local changes'
    echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$changes;"
    echo "$(date -u +%Y-%m-%d); $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores,"
    echo "$(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo) memory; $(uname -sr); $(rustc --version)"
}
