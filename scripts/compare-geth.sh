#!/usr/bin/env bash
# Executes random blocks of Amsterdam on our interpreter and on geth, and compares each
# transaction (status, gas of both kinds, refund, logs, output) and each block (requests, access
# list, gas, state root). Prints the first difference, with the seed that reproduces it.
#
#   scripts/compare-geth.sh                        20,000 blocks, about 50,000 transactions
#   CASES=500 SEED=7 scripts/compare-geth.sh       500 blocks from seed 7 on
#   GETH=v1.17.10 scripts/compare-geth.sh
#   PROFILE=dev scripts/compare-geth.sh            with the build cache of the tests
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need_build
go_peer compare-geth
say "building our side"
profile=${PROFILE:-release}
if [ "$profile" = dev ]; then
    build_tested
else
    cargo build --profile "$profile" --locked -p txgraph-bench --features evm
fi
say "comparing with geth $geth"
exec "$CARGO_TARGET_DIR/${profile/#dev/debug}/txgraph-bench" geth "$peer" --cases "${CASES:-20000}" \
    --seed "${SEED:-0}"
