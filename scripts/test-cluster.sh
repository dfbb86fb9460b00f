#!/usr/bin/env bash
# Tests of clusters, with a real scheduler and real executors on loopback. The engine
# has several hundred crates: the first build takes 20 to 30 minutes on 2 cores.
#
#   scripts/test-cluster.sh                every test
#   scripts/test-cluster.sh kills          tests whose name contains `kills`
#   TXGRAPH_KILLS=50 scripts/test-cluster.sh kills    more seeded kills
#   scripts/test-cluster.sh large          with a chain of 2 million transfers, which it writes
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build

if [ "${1:-}" = large ] && [ -z "${TXGRAPH_CLUSTER_CHAIN:-}" ]; then
    say "clusters: writing a chain with 2 million transfers"
    cargo build --release --locked -p txgraph-chaingen
    bench_chain 134400
    export TXGRAPH_CLUSTER_CHAIN=$chain
fi

say "clusters: tests (build cache: $CARGO_TARGET_DIR)"
cargo test -p txgraph-distributed --locked "$@"
