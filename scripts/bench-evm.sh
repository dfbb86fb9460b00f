#!/usr/bin/env bash
# Times the embedded interpreter beside revm, on whole transactions: same build, same
# state in memory, CPU time, interleaved rounds. Gas and return data of all engines are
# compared before anything is timed. Then times our precompiled contracts beside revm's, and many
# threads that call one contract.
# Called by `./bench.sh evm`.
#
#   ./bench.sh evm               all programs (about ten minutes)
#   ./bench.sh evm --quick       a minute
#   ./bench.sh evm --filter weth
#
# Programs: ../shared/fixtures/evm/programs (or TXGRAPH_FIXTURES) when present, else
# the ones in testdata/. Results: benchmarks/results/evm/{summary,precompiles,threads}.md and raw JSON.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

settings=(--rounds 7 --ms 200)
rest=()
for arg in "$@"; do
    case $arg in
        --quick) settings=(--rounds 3 --ms 20) ;;
        *) rest+=("$arg") ;;
    esac
done

build_release "the interpreter and its peers" -p txgraph-bench --features evm
evm_programs

setup="$(bench_setup); $(revm_version)"

say "timing (programs of $programs)"
"$release/txgraph-bench" evm --programs "$programs" \
    --out benchmarks/results/evm --setup "$setup" "${settings[@]}" "${rest[@]}"

say "timing precompiled contracts"
"$release/txgraph-bench" precompiles \
    --out benchmarks/results/evm --setup "$setup" "${settings[@]}"

say "timing many threads"
"$release/txgraph-bench" threads \
    --out benchmarks/results/evm --setup "$setup" "${settings[@]}"
