"""The chains that tests read, and the command line that they compare with."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import txgraph


# A shell starts commands in the background with the signal ignored, and Python keeps that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def chain():
    """The sample chain."""
    return txgraph.sample()


@pytest.fixture()
def node(chain):
    with txgraph.open(chain, index="off", chain=txgraph.sample_genesis()) as node:
        yield node


@pytest.fixture(scope="session")
def truth():
    return txgraph.sample_truth()


@pytest.fixture(scope="session")
def scenario(truth):
    def find(name):
        return truth["scenarios"][name]

    return find


def _chains():
    yield "sample", None
    fixtures = Path(os.environ.get("TXGRAPH_FIXTURES", "../../shared/fixtures"))
    for name in ("dev-v1", "dev-v2"):
        if (fixtures / name / "datadir.tar.zst").exists():
            yield name, fixtures / name / "datadir.tar.zst"


@pytest.fixture(scope="session", params=[pytest.param(it[1], id=it[0]) for it in _chains()])
def any_chain(request, tmp_path_factory, chain):
    """The sample chain, and the large fixtures if they exist."""
    if request.param is None:
        return chain
    folder = tmp_path_factory.mktemp("chain")
    subprocess.run(["tar", "-C", folder, "--zstd", "-xf", request.param], check=True)
    return folder


@pytest.fixture(scope="session")
def large_chain():
    """A chain with at least 400,000 transfers."""
    path = os.environ.get("TXGRAPH_LARGE_CHAIN")
    if not path:
        pytest.skip("TXGRAPH_LARGE_CHAIN names no chain; scripts/python.sh makes one")
    return Path(path)


@pytest.fixture(scope="session")
def program():
    """The path of the command line."""
    program = os.environ.get("TXGRAPH") or shutil.which("txgraph")
    if not program:
        pytest.skip("TXGRAPH names no command line; scripts/python.sh builds it")
    return program


@pytest.fixture(scope="session")
def command_line(program):
    """Runs the command line on a chain. Returns what it prints."""

    def run(chain, *arguments):
        command = [program, *arguments, "--datadir", chain, "--index", "off"]
        if chain == txgraph.sample():
            command += ["--chain", txgraph.sample_genesis()]
        done = subprocess.run([str(it) for it in command], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run
