# Functions shared by the scripts, which run in the root of the repository. Source this file, do not
# run it.
# shellcheck shell=bash
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Tools that scripts build, and the build cache. They are outside the clone, so that it stays small and a
# second clone builds fast. CARGO_TARGET_DIR overrides the latter.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/txgraph
: "${CARGO_TARGET_DIR:=$tools/target}"
CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")
export CARGO_TARGET_DIR

# install_package PACKAGE: installs a Debian package.
install_package() {
    command -v apt-get >/dev/null 2>&1 || die "install $1 and run this again"
    say "installing $1"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || die "run as root: apt-get install $1"
        as_root=(sudo)
    fi
    if [ -z "${TXGRAPH_APT_UPDATED:-}" ]; then
        "${as_root[@]}" apt-get update -qq >&2
        export TXGRAPH_APT_UPDATED=1
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >&2
}

# need COMMAND PACKAGE: installs a Debian package when its command is missing.
need() {
    command -v "$1" >/dev/null 2>&1 && return
    install_package "$2"
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

# build_release WHAT OPTION…: builds optimized programs in the folder $release.
release=$CARGO_TARGET_DIR/release
build_release() {
    need_build
    say "building $1 (release)"
    cargo build --release --locked "${@:2}"
}

# make_scratch: sets $scratch to a new folder in $SCRATCH, which is deleted at the end.
make_scratch() {
    scratch=$(mktemp -d "${SCRATCH:-${TMPDIR:-/tmp}}/txgraph.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
}

# unpack CHAIN: unpacks the data directory of a chain of the fixtures in $scratch/node.
unpack() {
    need tar tar
    need zstd zstd
    mkdir "$scratch/node"
    tar --zstd -xSf "$1/datadir.tar.zst" --no-same-owner -C "$scratch/node"
}

# serve_chain CHAIN OPTION…: serves a chain of the fixtures until the script ends, and sets $server and $url.
serve_chain() {
    unpack "$1"
    # The chain specification supplies the rules, so that blocks can be replayed.
    "$txgraph" serve --listen 127.0.0.1:0 --datadir "$scratch/node" --chain "$1/genesis.json" "${@:2}" \
        2>"$scratch/log" &
    server=$!
    # shellcheck disable=SC2064 # The id is known now.
    trap "kill $server 2>/dev/null; rm -rf '$scratch'" EXIT
    for _ in $(seq 100); do
        url=$(sed -n 's/^listening at //p' "$scratch/log")
        [ -z "$url" ] || return 0
        kill -0 $server 2>/dev/null || die "the server ended: $(cat "$scratch/log")"
        sleep 0.1
    done
}

# given_path PATH: the absolute path of what the caller named.
given_path() { (cd "$caller" && realpath "$1"); }

# What the tests are built from, with the library of the Python package. Another choice of packages or
# features compiles many crates again.
# The oracle compares our interpreter with revm during replay. WITH_CLUSTERS=1 adds the engine of clusters.
# shellcheck disable=SC2034
tested=(--workspace --locked
    --features "txgraph-replay/oracle,txgraph-bench/evm,txgraph-lake/s3")
[ -n "${WITH_CLUSTERS:-}" ] || tested+=(--exclude txgraph-distributed)

# build_tested TARGET…: builds programs or libraries as the tests have built them. With a test and the benchmark
# among its targets, cargo selects features and profiles of shared dependencies as for all tests; without them, it
# compiles 100 crates again.
build_tested() { cargo build "${tested[@]}" --test tidy --bin txgraph-bench "$@"; }

# need_txgraph [PATH]: sets $txgraph to PATH, to TXGRAPH, or to a program that is built now.
need_txgraph() {
    local named=${1:-${TXGRAPH:-}}
    txgraph=${named:+$(given_path "$named")}
    [ -z "$txgraph" ] || return 0
    need_build
    say "building txgraph"
    build_tested --bin txgraph
    txgraph=$CARGO_TARGET_DIR/debug/txgraph
}

# need_venv FOLDER REQUIREMENT…: makes a Python environment in which these requirements of pip are
# installed.
need_venv() {
    local folder=$1
    shift
    need python3 python3
    [ "$(cat "$folder/.requirements" 2>/dev/null)" != "$*" ] || return 0
    python3 -c 'import ensurepip' 2>/dev/null || install_package python3-venv
    say "installing $* ($folder)"
    python3 -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "$@" >&2 || die "pip cannot install $*"
    echo "$*" >"$folder/.requirements"
}

# go_program NAME PACKAGE@VERSION: sets $program to a program from the Go module proxy.
go_program() {
    local home=$tools/$1-${2##*@}
    program=$home/$1
    [ ! -x "$program" ] || return 0
    command -v go >/dev/null 2>&1 || die "Go is missing: https://go.dev/dl"
    say "building $2 in $home"
    GOBIN=$home go install "$2" >&2
}

# go_peer NAME: builds scripts/NAME with go-ethereum, outside the repository, and sets $peer to it and
# $geth to the version of go-ethereum (GETH overrides it).
geth=${GETH:-v1.17.10}
go_peer() {
    local home=$tools/$1-$geth
    peer=$home/$1
    command -v go >/dev/null 2>&1 || die "Go is missing: https://go.dev/dl"
    if cmp -s "scripts/$1/main.go" "$home/main.go" && [ -x "$peer" ]; then
        return
    fi
    say "building $1 with geth $geth in $home"
    mkdir -p "$home"
    # A build that fails must not leave the program of other sources.
    rm -f "$peer"
    cp "scripts/$1/main.go" "$home/main.go"
    (
        cd "$home"
        [ -e go.mod ] || go mod init "txgraph-$1" >&2
        go get "github.com/ethereum/go-ethereum@$geth" >&2
        go mod tidy >&2
        go build -o "$1" . >&2
    )
}

# What libFuzzer needs of the compiler, without the address sanitizer.
# shellcheck disable=SC2034
fuzz_flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"

# evm_programs: sets $programs to the folder of EVM programs, in the fixtures if it exists there.
evm_programs() {
    programs=${TXGRAPH_FIXTURES:-../shared/fixtures}/evm/programs
    [ -d "$programs" ] || programs=testdata/evm/programs
}

# revm_version: the release of revm that is compared with.
revm_version() {
    sed -n '/^name = "revm"$/{n;s/version = "\(.*\)"/revm \1/p}' Cargo.lock
}

# keep_chain FOLDER PROGRAM OPTION…: writes a chain, unless it is there from an earlier run.
keep_chain() {
    [ ! -e "$1/.complete" ] || return 0
    say "writing the chain $1"
    rm -rf "$1"
    "$2" --out "$1" "${@:3}"
    touch "$1/.complete"
}

# bench_chain BLOCKS: sets $chain to the sample chain of the benchmarks. The chain depends only
# on the seed and is kept in the build cache between runs.
bench_chain() {
    local seed txs
    seed=$(sed -n 's/^seed = //p' benchmarks/workloads.toml)
    txs=$(sed -n 's/^txs_per_block = //p' benchmarks/workloads.toml)
    chain=${BENCH_CHAIN:-$CARGO_TARGET_DIR/bench-chain-$seed-$txs-$1}
    keep_chain "$chain" "$release/chaingen" --blocks "$1" --txs-per-block "$txs" --seed "$seed"
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
        log=$("$release/execgen" --out "$chain" --blocks "$2" \
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

# features: every feature of our crates as PACKAGE/FEATURE, except the one that builds RocksDB.
features() {
    need python3 python3
    cargo metadata --no-deps --format-version 1 --locked | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    for feature in sorted(package["features"].keys() - {"default"}):
        print(package["name"] + "/" + feature)' | grep -vx txgraph-rocks/oracle
}

# need_anvil: sets $anvil to anvil 1.7.1, which is installed in the cache folder.
need_anvil() {
    local folder=$tools/anvil-1.7.1
    anvil=$folder/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil
    command -v npm >/dev/null 2>&1 || die "npm is missing: https://nodejs.org"
    [ ! -x "$anvil" ] || return 0
    say "installing anvil in $folder"
    mkdir -p "$folder"
    npm install --prefix "$folder" --no-fund --no-audit --no-save --silent \
        @foundry-rs/anvil-linux-amd64@1.7.1 || die "anvil cannot be installed"
}

# need_deny: sets $deny to cargo-deny, which is built in the cache folder.
need_deny() {
    local release=0.20.2
    deny=$tools/cargo-deny-$release/bin/cargo-deny
    [ ! -x "$deny" ] || return 0
    say "building cargo-deny $release"
    # Without optimization: it runs for seconds.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo install --locked "cargo-deny@$release" --root "$tools/cargo-deny-$release"
}
