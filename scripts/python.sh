#!/usr/bin/env bash
# Builds the Python package into an environment of its own, and runs its tests against the
# command line and against the libraries that it hands data to (python/requirements-test.txt).
#
#   scripts/python.sh                 wheel, tests, notebook
#   scripts/python.sh -k graphs       tests whose name contains `graphs`
#   NEWEST=1 scripts/python.sh        with the newest releases of the libraries
#   TXGRAPH_PROMPT=0.1 scripts/python.sh -k signal    fails if an interrupt takes longer than 0.1 s
#   scripts/python.sh wheel           only an optimized wheel; prints its path. Options go to maturin
#   scripts/python.sh bench CHAIN     transfers to polars, compared with Arrow IPC of the command line
#
# The environment and the wheels are in the build cache.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need_build
need dot graphviz

home=$CARGO_TARGET_DIR/python
need_venv "$home/venv" maturin==1.16.0 wheel==0.48.0
python=$home/venv/bin/python

# run_maturin COMMAND…: runs maturin with its environment.
run_maturin() { PATH=$home/venv/bin:$PATH "$python" -m maturin "$@" >&2; }

# release_wheel [OPTION…]: builds the optimized wheel, and nothing else is in its folder afterwards.
release_wheel() {
    say "building the optimized wheel"
    rm -rf "$home/release"
    run_maturin build --locked --profile release --manifest-path python/Cargo.toml --interpreter "$python" \
        --out "$home/release" "$@"
}

# test_wheel: makes the wheel of the library that is built with everything else. maturin builds one package
# alone, which selects other features of dependencies, and would compile 165 crates again.
test_wheel() {
    say "building the wheel for tests"
    rm -rf "$home/package" "$home/wheels"
    mkdir -p "$home/package" "$home/wheels"
    build_tested --lib --bin txgraph --bin chaingen
    (cd python && run_maturin pep517 write-dist-info --metadata-directory "$home/package" --interpreter "$python")
    cp -r python/txgraph "$home/package/"
    cp "$CARGO_TARGET_DIR/debug/lib_native.so" "$home/package/txgraph/_native.abi3.so"
    find "$home/package" -name __pycache__ -prune -exec rm -r {} +
    "$python" -m wheel pack "$home/package" --dest-dir "$home/wheels" >&2
}

libraries() {
    local list=python/requirements-test.txt
    if [ -n "${NEWEST:-}" ]; then
        sed 's/==.*//' "$list" >"$home/newest.txt"
        list=$home/newest.txt
    fi
    say "installing the libraries that take data from it ($list)"
    "$python" -m pip install -q --disable-pip-version-check --upgrade -r "$list"
    "$python" -m pip install -q --disable-pip-version-check --force-reinstall --no-deps "$1"/*.whl
}

case ${1:-} in
wheel)
    release_wheel "${@:2}"
    echo "$home"/release/*.whl
    exit
    ;;
bench)
    [ -n "${2:-}" ] || die "name the data directory of a chain: scripts/python.sh bench CHAIN"
    release_wheel
    libraries "$home/release"
    build_release txgraph -q -p txgraph-cli
    TXGRAPH=$release/txgraph exec "$python" python/benchmarks/to_polars.py "${@:2}"
    ;;
esac

test_wheel
libraries "$home/wheels"

need_txgraph ""
export TXGRAPH=$txgraph
export TXGRAPH_LARGE_CHAIN=$home/chain-40000
# 600,000 transfers.
keep_chain "$TXGRAPH_LARGE_CHAIN" "$CARGO_TARGET_DIR/debug/chaingen" --blocks 40000 --txs-per-block 8 --seed 7
if [ -d ../shared/fixtures ]; then
    export TXGRAPH_FIXTURES=${TXGRAPH_FIXTURES:-$(cd ../shared/fixtures && pwd)}
fi

# Not in python/, where the sources would hide the package that was installed.
say "tests"
cd "$home"
source=$OLDPWD/python
"$python" -m pytest -c "$source/pyproject.toml" --rootdir "$source" -p no:cacheprovider \
    "$source/tests" "$@"
if [ $# -eq 0 ]; then
    say "notebooks"
    "$python" -m pytest -c "$source/pyproject.toml" --rootdir "$source" -p no:cacheprovider \
        --nbmake "$source/notebooks"
fi
say "the Python package passed its tests"
