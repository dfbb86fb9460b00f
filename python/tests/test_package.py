"""The package: sample data, stubs, documentation."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import txgraph
from txgraph import _native


def test_sample_is_small_and_complete():
    data = Path(txgraph.__file__).parent / "data"
    assert sum(path.stat().st_size for path in data.iterdir()) < 1 << 20
    with txgraph.open(txgraph.sample()) as node:
        assert node.tip == 40 and node.info["layout"] == "v2"
    assert txgraph.sample_truth()["scenarios"]


def test_sample_is_unpacked_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = txgraph.sample()
    assert folder.is_relative_to(tmp_path) and txgraph.sample() == folder
    assert [it.name for it in folder.parent.iterdir()] == [folder.name]
    used = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
    assert used < 8 << 20


def stub(of):
    """The names in the stub of a module or class."""
    text = (Path(txgraph.__file__).parent / "_native.pyi").read_text()
    body = ast.parse(text).body
    if of is not None:
        body = next(it for it in body if isinstance(it, ast.ClassDef) and it.name == of).body
    names = {it.name for it in body if isinstance(it, (ast.FunctionDef, ast.ClassDef))}
    return names | {it.target.id for it in body if isinstance(it, ast.AnnAssign)}


def test_stubs_name_what_exists():
    assert stub(None) == {name for name in dir(_native) if not name.startswith("__")}
    for name in ("Batch", "Batches", "EdgeParts", "Table", "Graph", "Node"):
        own = {
            it
            for it, value in vars(getattr(_native, name)).items()
            if not it.startswith("__") or it.startswith("__arrow") or it in ("__iter__", "__next__")
        }
        own |= {"__len__"} & set(vars(getattr(_native, name)))
        assert stub(name) == own, name
    assert (Path(txgraph.__file__).parent / "py.typed").exists()


def test_types_agree(tmp_path):
    """Types of the package with its stubs, and of programs that use it."""
    program = tmp_path / "program.py"
    program.write_text(
        "import txgraph\n"
        "with txgraph.open(txgraph.sample()) as node:\n"
        "    table: txgraph.Table = node.transfers(range(5), columns=['all:string+f64']).collect()\n"
        "    graph: txgraph.Graph = node.graph('0x12', labels=['a.csv'])\n"
        "    number: int = node.balance(b'', block=5)\n"
        "    wrong: str = node.nonce('0x12')\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--follow-imports=skip", "--ignore-missing-imports"]
    mypy += ["--cache-dir", tmp_path / "cache", "--strict-equality", "--warn-unreachable"]
    done = subprocess.run([*mypy, "-p", "txgraph"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    mypy[3] = "--follow-imports=silent"
    done = subprocess.run([*mypy, program], capture_output=True, text=True)
    assert [line.split(":")[1] for line in done.stdout.splitlines()[:-1]] == ["6"], done.stdout


def test_everything_public_is_documented():
    missing = []
    for name in txgraph.__all__:
        thing = getattr(txgraph, name)
        members = [(name, thing)]
        if inspect.isclass(thing):
            own = [(it, value) for it, value in vars(thing).items() if not it.startswith("_")]
            members += [
                (f"{name}.{it}", value)
                for it, value in own
                if inspect.isfunction(value) or isinstance(value, property)
            ]
        missing += [it for it, value in members if not inspect.getdoc(value)]
    assert missing == []


def test_the_example_runs():
    for module, least in ((txgraph, 2), (txgraph._node, 4)):
        failures, tried = doctest.testmod(module)
        assert tried >= least and failures == 0


def test_the_examples_of_the_documentation_run(tmp_path, monkeypatch):
    """One after the other, as a reader of the page runs them."""
    # The index is in the cache. Files are written here.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names = {}
    for example in examples:
        exec(compile(example, "docs/python.md", "exec"), names)
    assert len(examples) >= 6 and names["g"].num_edges > 0
    names["node"].close()


def test_kinds_of_sources_are_listed():
    kinds = txgraph.source_kinds()
    assert {"reth", "era", "lake", "rpc", "csv", "cryo"} <= set(kinds)
