"""The package: sample data, stubs, documentation."""

import ast
import doctest
import inspect
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
    for name in ("Batch", "Batches", "Table", "Graph", "Node"):
        own = {
            it
            for it, value in vars(getattr(_native, name)).items()
            if not it.startswith("__") or it.startswith("__arrow") or it in ("__iter__", "__next__")
        }
        own |= {"__len__"} & set(vars(getattr(_native, name)))
        assert stub(name) == own, name
    assert (Path(txgraph.__file__).parent / "py.typed").exists()


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
    failures, tried = doctest.testmod(txgraph)
    assert tried >= 2 and failures == 0


def test_kinds_of_sources_are_listed():
    kinds = txgraph.source_kinds()
    assert {"reth", "era", "lake", "rpc", "csv", "cryo"} <= set(kinds)
