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

# go_peer NAME: builds a Go program outside the repository, from the Go module proxy, and sets $peer
# to it and $geth to the version of go-ethereum (GETH overrides it). The program is scripts/NAME, or
# go-ethereum's own cmd/NAME.
go_peer() {
    local home
    geth=${GETH:-v1.17.10}
    home=${XDG_CACHE_HOME:-$HOME/.cache}/txgraph/$1-$geth
    peer=$home/$1
    command -v go >/dev/null 2>&1 || die "Go is missing: https://go.dev/dl"
    mkdir -p "$home"
    if [ ! -d "scripts/$1" ]; then
        [ -x "$peer" ] && return
        say "building $1 of geth $geth in $home"
        GOBIN=$home go install "github.com/ethereum/go-ethereum/cmd/$1@$geth" >&2
        return
    fi
    if cmp -s "scripts/$1/main.go" "$home/main.go" && [ -x "$peer" ]; then
        return
    fi
    say "building $1 with geth $geth in $home"
    cp "scripts/$1/main.go" "$home/main.go"
    (
        cd "$home"
        [ -e go.mod ] || go mod init "txgraph-$1" >&2
        go get "github.com/ethereum/go-ethereum@$geth" >&2
        go mod tidy >&2
        go build -o "$1" . >&2
    )
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

# contract_chain LAYOUT BLOCKS: sets $chain to the contract-heavy chain of benchmarks/replay.toml,
# whose contracts repeat from block to block. `execgen` writes it; the build cache keeps it.
contract_chain() {
    local seed mgas expected log
    seed=$(sed -n 's/^seed = //p' benchmarks/replay.toml)
    mgas=$(sed -n 's/^mgas_per_block = //p' benchmarks/replay.toml)
    chain=$CARGO_TARGET_DIR/bench-contracts-$seed-$mgas-$2-$1
    if [ ! -e "$chain/.tip" ]; then
        say "writing the contract-heavy chain: $2 blocks of $mgas Mgas ($1)"
        rm -rf "$chain"
        log=$("$CARGO_TARGET_DIR/release/execgen" --out "$chain" --blocks "$2" \
            --mgas-per-block "$mgas" --seed "$seed" --layout "$1" 2>&1)
        sed -n 's/.*tip \(0x[0-9a-f]*\).*/\1/p' <<<"$log" >"$chain/.tip"
    fi
    expected=$(sed -n "s/^tip_$2 = \"\(.*\)\"/\1/p" benchmarks/replay.toml)
    [ "$(cat "$chain/.tip")" = "$expected" ] ||
        die "the tip of the chain is $(cat "$chain/.tip"), benchmarks/replay.toml expects $expected"
}

# perf_shares PERF_DATA NAME: prints the share of each kind of work, classified by function name.
perf_shares() {
    perf report -i "$1" --stdio --no-children --sort symbol 2>/dev/null |
        awk '
            $1 !~ /%$/ { next }
            { share = $1 + 0 }
            /\[k\]/ { sum["the kernel"] += share; next }
            /recover_signer|v0_10/ { sum["senders"] += share; next }
            /secp256k1|ecmult|bn254|ark_|blst|_mont_|modexp|revm_precompile/ {
                sum["precompiled contracts"] += share; next }
            /[Kk]eccak|KECCAK|sha256/ { sum["hashing"] += share; next }
            /code::|decode::|destinations::/ { sum["preparation of code"] += share; next }
            /txgraph_evm::state|txgraph_evm::evm|txgraph_evm::transaction|Journal/ {
                sum["journal and frames"] += share; next }
            /txgraph_evm::|ruint/ { sum["interpretation"] += share; next }
            /txgraph_state|txgraph_nodedb|mdbx|page_|cursor_|node_search|tree_search|cmp_lexical|txn_|cursor|signet|roaring|ZSTD|HUF_|FSE_|lz4|__memcmp|Before/ {
                sum["state and block reads"] += share; next }
            /txgraph_replay|alloy_trie|alloy_rlp|alloy_consensus|[Bb]loom/ {
                sum["execution of blocks and comparison"] += share; next }
            /malloc|free|realloc|calloc|memmove|memset|memcpy|__rust|unlink_chunk/ {
                sum["memory"] += share; next }
            { sum["other"] += share }
            END { for (kind in sum) printf "%s|%.1f\n", kind, sum[kind] }' |
        sort -t'|' -k2,2nr | awk -F'|' -v name="$2" '
            BEGIN { printf "%s: ", name }
            { printf "%s%s %s %%", (NR > 1 ? ", " : ""), $1, $2 }
            END { print ".\n" }'
}

# bench_setup: prints the commit, date, machine and compiler of a run.
bench_setup() {
    local changes=
    git diff --quiet HEAD 2>/dev/null || changes=' with local changes'
    echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$changes;"
    echo "$(date -u +%Y-%m-%d); $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores,"
    echo "$(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo) memory; $(uname -sr); $(rustc --version)"
}
