#!/usr/bin/env bash
# Random requests to `txgraph serve`, and requests beside a node that writes and replaces blocks. Both are tests of
# crates/serve, which ordinary runs keep short.
#
#   scripts/serve-stress.sh                                    100,000 requests, and 20 minutes beside the node
#   REQUESTS=1000000 SEED=7 MINUTES=60 scripts/serve-stress.sh
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
need_build
say "${REQUESTS:=100000} random requests, seed ${SEED:=1}"
TXGRAPH_SERVE_REQUESTS=$REQUESTS TXGRAPH_SERVE_SEED=$SEED cargo test --locked -p txgraph-serve --test it -- \
    --exact random::random_requests_are_answered --nocapture
say "${MINUTES:=20} minutes beside a node"
TXGRAPH_SERVE_LIVE_SECONDS=$((MINUTES * 60)) cargo test --locked -p txgraph-serve --test it -- \
    --exact live::answers_are_never_stale_and_never_mixed --nocapture
