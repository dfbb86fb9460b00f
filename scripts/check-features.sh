#!/usr/bin/env bash
# Lints every feature set that is shipped, each by itself: cargo unifies features within one
# command, so a workspace build proves none of them.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
need_build

check() {
    say "features: $*"
    cargo clippy --locked "$@" -- -D warnings
}

# What users install, and the same with the second engine.
check -p txgraph-cli
check -p txgraph-cli --features oracle
check -p txgraph-cli --no-default-features
for feature in foreign index lake rpc; do
    check -p txgraph-cli --no-default-features --features "$feature"
done
# What library users choose from.
check -p txgraph --no-default-features
for feature in export foreign index polars replay rpc; do
    check -p txgraph --no-default-features --features "$feature"
done
check -p txgraph --no-default-features --features s3
check -p txgraph --examples
# The generator of the demo, without revm, and what compares with revm, without features.
check -p txgraph-chaingen --all-targets
check -p txgraph-revm-peer
# The benchmarks. That of the writers has polars as its peer.
check -p txgraph-bench --features stores,count
check -p txgraph-bench --features writers
check -p txgraph-bench --features evm
