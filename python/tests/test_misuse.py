"""Mistakes are exceptions, with what to do, and never the end of the interpreter."""

import datetime
import os
import subprocess
import sys

import numpy
import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pytest

import txgraph

ROOT = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0"
TOKEN = "0xd601451207128971898aab8654521699f35222e2"


def test_closed_nodes_answer_no_more(chain):
    node = txgraph.open(chain)
    transfers = node.transfers()
    batches = transfers.batches()
    node.close()
    node.close()
    for ask in (
        lambda: node.info,
        lambda: node.transfers().collect(),
        transfers.collect,
        transfers.batches,
        lambda: pa.table(transfers),
        lambda: node.graph(ROOT),
        lambda: node.analyze(),
        lambda: node.replay("1:2"),
        lambda: node.call(ROOT),
        lambda: node.balance(ROOT),
        lambda: node.nonce(ROOT),
        lambda: node.code(ROOT),
        lambda: node.storage(ROOT, 0),
        lambda: node.tx("5:0"),
        lambda: node.taint(ROOT),
        lambda: node.index.status,
    ):
        with pytest.raises(txgraph.Closed):
            ask()
    # What was being read ends, with or without an error.
    try:
        list(batches)
    except txgraph.Error:
        pass
    assert "closed" in repr(node)


@pytest.mark.parametrize(
    "source, kind",
    [
        ("/no/such/folder", txgraph.Failed),
        ("nowhere:x", txgraph.UsageError),
        ("lake:/no/such/lake", txgraph.Error),
        ("era:/no/such/file", txgraph.Error),
        ("rpc:not a url", txgraph.Error),
    ],
)
def test_paths_that_are_no_source(source, kind):
    with pytest.raises(kind):
        txgraph.open(source)


def test_files_that_are_no_source(tmp_path):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "mdbx.dat").write_bytes(b"\0" * 70000)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    for source in (tmp_path, tmp_path / "x.csv", f"csv:{tmp_path / 'x.csv'}"):
        with pytest.raises(txgraph.Error):
            with txgraph.open(source) as node:
                node.transfers().collect()


def test_a_head_completes_a_data_directory():
    with pytest.raises(txgraph.UsageError, match="completes the data directory"):
        txgraph.open("era:/no/such/file", head="http://localhost:1")


@pytest.mark.parametrize(
    "options, kind",
    [
        (dict(blocks="9:8"), txgraph.UsageError),
        (dict(blocks="many"), txgraph.UsageError),
        (dict(blocks=range(9, 8)), txgraph.UsageError),
        (dict(blocks=range(0)), txgraph.UsageError),
        (dict(blocks=1.5), TypeError),
        (dict(blocks=True), TypeError),
        (dict(blocks=numpy.True_), TypeError),
        (dict(blocks=numpy.float64(5)), TypeError),
        (dict(blocks=[None]), TypeError),
        (dict(blocks="\udcff"), txgraph.UsageError),
        (dict(blocks=datetime.datetime(2024, 1, 1)), txgraph.UsageError),
        (dict(min_value=1.5), TypeError),
        (dict(min_value=numpy.int64(-1)), txgraph.UsageError),
        (dict(since=pandas.NaT), txgraph.UsageError),
        (dict(tx="5"), txgraph.UsageError),
        (dict(tx="5:0", blocks=5), txgraph.UsageError),
        (dict(initiated_by="0x12"), txgraph.UsageError),
        (dict(not_by_owner=1), TypeError),
        (dict(token="0x12"), txgraph.UsageError),
        (dict(token="0xD601451207128971898aab8654521699f35222e2"), txgraph.UsageError),
        (dict(token=b"short"), txgraph.UsageError),
        (dict(token=object()), TypeError),
        (dict(address=[1.5]), TypeError),
        (dict(direction="up", address=ROOT), txgraph.UsageError),
        (dict(min_value=-1), txgraph.UsageError),
        (dict(columns="value:int"), ValueError),
        (dict(columns="value:"), ValueError),
        (dict(columns=object()), TypeError),
        (dict(columns=["vlaue"]), txgraph.UsageError),
        (dict(kind="gift"), txgraph.UsageError),
        (dict(kind="internal"), txgraph.UsageError),
        (dict(allow_partial=1), TypeError),
        (dict(hops=2), TypeError),
        (dict(token="0x" + "00" * 20 + "\0"), txgraph.UsageError),
    ],
)
def test_wrong_options(node, options, kind):
    with pytest.raises(kind):
        node.transfers(**options).collect()
    with pytest.raises(kind):
        node.transfers(**options).batches()


@pytest.mark.parametrize(
    "options, kind",
    [
        (dict(root=[]), txgraph.UsageError),
        (dict(root=None), txgraph.UsageError),
        (dict(root="0x12"), txgraph.UsageError),
        (dict(root=ROOT, hops="many"), TypeError),
        (dict(root=ROOT, hops=-1), txgraph.UsageError),
        (dict(root=ROOT, hops=2**70), txgraph.UsageError),
        (dict(root=ROOT, max_edges="1"), TypeError),
        (dict(root=ROOT, time_respecting=True, direction="both"), txgraph.UsageError),
        (dict(root=ROOT, stop_at="/no/such/file"), txgraph.Error),
    ],
)
def test_wrong_searches(node, options, kind):
    with pytest.raises(kind):
        node.graph(**options)


@pytest.mark.parametrize(
    "empty",
    [
        *(list, tuple, polars.Series, lambda: iter([])),
        *(lambda: numpy.array([]), lambda: pandas.Series([])),
    ],
)
def test_empty_lists_do_not_mean_all(node, empty):
    """A list that a program made, and that turned out to be empty."""
    of_transfers = ("blocks", "token", "token_id", "standard", "kind", "wrapped_native")
    for name in of_transfers + ("address", "tx", "initiated_by", "columns", "labels"):
        with pytest.raises(txgraph.UsageError, match=f"^{name} is empty"):
            node.transfers(**{name: empty()})
    for name in of_transfers + ("root", "stop_at_category"):
        with pytest.raises(txgraph.UsageError, match=f"^{name} is empty"):
            node.graph(**{"root": ROOT, name: empty()})
        with pytest.raises(txgraph.UsageError, match=f"^{name} is empty"):
            node.analyze("pairs", **{name: empty()})
    for ask in (
        lambda: node.taint(empty()),
        lambda: node.replay(empty()),
        lambda: node.replay(balances=empty()),
        lambda: node.query("who-funded", root=empty()),
        lambda: node.graph(ROOT).edge_table(columns=empty()),
    ):
        with pytest.raises(txgraph.UsageError, match="is empty"):
            ask()


@pytest.mark.parametrize(
    "options, columns",
    [
        (dict(u256="str"), "all:string"),
        (dict(u256=["bytes", "f64"]), "all:binary+f64"),
        (dict(u256="int"), "all"),
        (dict(hex=True), "all:hex"),
        (dict(exclude=["kind", "chain_id"]), "all,-kind,-chain_id"),
        (dict(columns="value", u256="f64"), "value:f64"),
    ],
)
def test_parameters_that_columns_replaced(node, options, columns):
    for ask in (node.transfers, node.graph(ROOT).edge_table):
        with pytest.raises(ValueError, match="the list of columns replaces the options") as caught:
            pa.table(ask(**options))
        assert str(caught.value).endswith(f"columns: {columns}")


def test_other_wrong_queries(node):
    for ask, kind in [
        (lambda: node.query("no-such-query"), txgraph.UsageError),
        (lambda: node.query("who-funded"), txgraph.UsageError),
        (lambda: node.query("who-funded", rot=ROOT), txgraph.UsageError),
        (lambda: node.query("\udcff"), txgraph.UsageError),
        (lambda: node.graph(ROOT).write("x.svg", layout=numpy.array(["hops"])), TypeError),
        (lambda: node.analyze("size"), txgraph.UsageError),
        (lambda: node.analyze("pairs", unknown=3), txgraph.UsageError),
        (lambda: node.analyze("pairs", unknown=[True]), txgraph.UsageError),
        (lambda: node.analyze("pairs", hex=True), txgraph.UsageError),
        (lambda: node.analyze("pairs", output="x.csv"), txgraph.UsageError),
        (lambda: node.analyze("pairs", format="csv"), txgraph.UsageError),
        (lambda: node.analyze("pairs", table="x"), txgraph.UsageError),
        (lambda: node.analyze("pairs", overwrite=True), txgraph.UsageError),
        (lambda: node.analyze("pairs", limit=-1), txgraph.UsageError),
        (lambda: node.analyze("pairs", limit=1.5), TypeError),
        (lambda: node.analyze("rank", root=ROOT, alpha="0.5"), TypeError),
        (lambda: node.analyze("rank", root=ROOT, alpha=float("nan")), txgraph.UsageError),
        (lambda: node.taint(None), txgraph.UsageError),
        (lambda: node.replay(transaction="x"), txgraph.UsageError),
        (lambda: node.replay("1:3", trace="struct"), txgraph.UsageError),
        (lambda: node.replay("1:3", trace=numpy.array(["call"])), TypeError),
        (lambda: node.replay("1:3", trace="call", balances=TOKEN), txgraph.UsageError),
        (lambda: node.replay("1:3", trace="call", fees=True), txgraph.UsageError),
        (lambda: node.replay("1:3", balances=TOKEN, fees=True), txgraph.UsageError),
        (lambda: node.replay("1:3", verify_only=True, trace="call"), txgraph.UsageError),
        (lambda: node.call("0x12"), txgraph.UsageError),
        (lambda: node.call(TOKEN, "balanceOf(adress)", ROOT), txgraph.UsageError),
        (lambda: node.call(TOKEN, "balanceOf(", ROOT), txgraph.UsageError),
        (lambda: node.call(TOKEN, "balanceOf(address)"), txgraph.UsageError),
        (lambda: node.call(TOKEN, "balanceOf(address)", ROOT, ROOT), txgraph.UsageError),
        (lambda: node.call(TOKEN, "balanceOf(address)", "0x12"), ValueError),
        (lambda: node.call(TOKEN, "balanceOf(address)", b"short"), ValueError),
        (lambda: node.call(TOKEN, "balanceOf(address)", 1.5), TypeError),
        (lambda: node.call(TOKEN, "balanceOf(address)", object()), TypeError),
        (lambda: node.call(TOKEN, "f(uint8)", 256), ValueError),
        (lambda: node.call(TOKEN, "f(uint8)", True), TypeError),
        (lambda: node.call(TOKEN, "f(uint256)", -1), ValueError),
        (lambda: node.call(TOKEN, "f(uint8[2])", [1]), ValueError),
        (lambda: node.call(TOKEN, "f((uint8,bool))", (1,)), ValueError),
        (lambda: node.call(TOKEN, "f(uint8[])", {1: 2}), TypeError),
        (lambda: node.call(TOKEN, "f(bytes4)", b"12345"), ValueError),
        (lambda: node.call(TOKEN, "decimals()(string)"), txgraph.Failed),
        (lambda: node.call(TOKEN, "0x12", 1), TypeError),
        (lambda: node.call(TOKEN, 4), TypeError),
        (lambda: node.call(TOKEN, [1, 2]), TypeError),
        (lambda: node.call(TOKEN, value=False), TypeError),
        (lambda: node.call(TOKEN, value=""), txgraph.UsageError),
        (lambda: node.balance("0x12"), txgraph.UsageError),
        (lambda: node.balance(ROOT, token="0x" + "00" * 19 + "09"), txgraph.Failed),
        (lambda: node.balance(ROOT, token="\udcff"), txgraph.UsageError),
        (lambda: node.balance(ROOT, token=numpy.array([1, 2])), TypeError),
        (lambda: node.balance(ROOT, block=10**9), txgraph.Error),
        (lambda: node.balance(ROOT, block=-1), txgraph.UsageError),
        (lambda: node.nonce(5), txgraph.UsageError),
        (lambda: node.code(1.5), TypeError),
        (lambda: node.storage(TOKEN, -1), txgraph.UsageError),
        (lambda: node.storage(TOKEN, 2**256), txgraph.UsageError),
        (lambda: node.tx("5"), txgraph.UsageError),
        (lambda: node.tx("5:99999"), txgraph.Error),
        (lambda: node.tx("0x" + "00" * 32), txgraph.Error),
        (lambda: node.tx("5:0", abi="/no/such/file"), txgraph.Error),
        (lambda: node.call(ROOT, "0xzz"), txgraph.UsageError),
        (lambda: node.call(ROOT, block=10**9), txgraph.Error),
        (lambda: txgraph.open(progress=3), TypeError),
        (lambda: txgraph.open(threads=10**9), txgraph.UsageError),
        (lambda: txgraph.open(threads=0), txgraph.UsageError),
        (lambda: txgraph.open(1.5), TypeError),
        (lambda: txgraph.open(head=False), TypeError),
        (lambda: txgraph.open(index=5), TypeError),
        (lambda: txgraph.open(join=[b"x"]), TypeError),
    ]:
        with pytest.raises(kind):
            ask()


def test_missing_blocks_are_fields(node):
    with pytest.raises(txgraph.Unavailable) as caught:
        node.transfers(blocks="30:100").collect()
    error = caught.value
    assert error.missing == [txgraph.Gap(41, 99, error.missing[0].reason)]
    assert "tip" in error.missing[0].reason
    assert error.available == [(0, 40)]
    assert error.advice in str(error) and error.advice not in error.message
    with pytest.raises(txgraph.Unavailable) as caught:
        next(node.transfers(blocks="30:100").batches())
    assert caught.value.missing == error.missing
    table = node.transfers(blocks="30:100", allow_partial=True).collect()
    assert table.metadata["scan"]["missing"][0]["blocks"] == {"first": 41, "last": 99}


def test_sources_that_cannot(node, tmp_path):
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(node.transfers(columns="all:hex").to_arrow(), path)
    with txgraph.open(f"csv:{path}") as files:
        assert pa.table(files.transfers()).num_rows == pa.table(node.transfers()).num_rows
        with pytest.raises(txgraph.UnsupportedError):
            files.info
        with pytest.raises(txgraph.UnsupportedError):
            files.replay("1:2")
        assert "transfers" in files.can and "replay" not in files.can


def test_errors_have_one_base():
    for name in ("UsageError", "UnsupportedError", "Unavailable", "Reorged", "Interrupted",
                 "Closed", "Failed"):
        assert issubclass(getattr(txgraph, name), txgraph.Error)
    assert issubclass(txgraph.UsageError, ValueError)
    assert txgraph.Unavailable("x").missing == []


def test_the_end_of_the_interpreter_during_a_query(chain):
    """Threads that still read do not crash the end of the program."""
    program = (
        "import txgraph, sys\n"
        "node = txgraph.open(sys.argv[1])\n"
        "batches = node.transfers().batches()\n"
        "t = iter(node.transfers().batches())\n"
        "next(t)\n"
    )
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program, chain], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


def test_calls_that_execute_nothing_warn(node):
    with pytest.warns(UserWarning, match="has no code at the end of block 40"):
        called = node.call(ROOT)
    assert called.success and called.values == []
    # A contract may be created here later.
    unused = "0x" + "ab" * 20
    with pytest.warns(UserWarning, match="has no code"):
        assert node.balance(ROOT, token=unused) == 0


def test_accounts_without_code_are_not_tokens(node):
    with pytest.raises(txgraph.Failed, match="is no ERC-20 or ERC-721 token: it does not answer balanceOf"):
        node.balance(ROOT, token=ROOT)



def test_a_forked_process_is_refused(node, chain):
    """Threads and mapped files of a process are not in those that are forked from it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for ask in (lambda: node.transfers().collect(), lambda: txgraph.open(chain)):
            try:
                ask()
                os.write(writing, b"answered ")
            except txgraph.Failed as error:
                os.write(writing, b"fork" if "fork" in str(error) else str(error).encode())
        os._exit(0)
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 1000) == b"forkfork"
    os.close(reading)
    assert len(node.transfers().collect()) > 0


def test_returned_words_are_values_of_their_types(node, scenario):
    token = scenario("peel-chain-token")["token"]
    with pytest.raises(txgraph.Failed, match="not a value of its type"):
        node.call(token, "totalSupply()(uint8)")
