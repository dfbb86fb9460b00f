"""Results equal the command line's."""

import csv
import datetime
import io
import json

import numpy
import pandas
import polars
import pyarrow as pa
import pyarrow.ipc
import pytest

import txgraph

ROOT = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0"


def file(path):
    with pa.memory_map(str(path)) as data:
        return pa.ipc.open_file(data).read_all()


def same(ours, theirs):
    """Same columns, types and values, in the same order."""
    ours, theirs = pa.table(ours), theirs.replace_schema_metadata(None)
    assert ours.schema == theirs.schema
    assert ours.equals(theirs)
    return ours.num_rows


def as_csv(table):
    """The bytes of CSV, rendered here."""
    table = pa.table(table)
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(column.to_pylist() for column in table.columns)))
    return out.getvalue().encode()


@pytest.mark.parametrize(
    "columns", ["all:string", "all:binary", "all:f64", "all:binary+string+f64", "cryo:hex+string"]
)
def test_transfers_equal_ipc(node, chain, command_line, tmp_path, columns):
    path = tmp_path / "t.arrow"
    command_line(chain, "transfers", "-o", path, "--columns", columns)
    assert same(node.transfers(columns=columns), file(path)) > 400
    if columns == "all:string":
        assert same(node.transfers(), file(path)) > 400


def test_transfers_equal_csv_to_the_byte(any_chain, command_line):
    expected = command_line(any_chain, "transfers")
    with txgraph.open(any_chain, index="off") as node:
        found = as_csv(node.transfers(columns="all:hex"))
    assert found.count(b"\n") > 400
    assert found == expected


def test_batches_are_the_same_rows(node):
    whole = pa.table(node.transfers())
    batches = node.transfers().batches()
    assert batches.columns == whole.column_names
    parts = pa.Table.from_batches([pa.record_batch(batch) for batch in batches])
    assert parts.equals(whole)
    assert batches.metadata["command"] == "transfers"


@pytest.mark.parametrize(
    "python, options",
    [
        (dict(blocks="10:20"), ["-b", "10:20"]),
        (dict(blocks=range(10, 20)), ["-b", "10:20"]),
        (dict(blocks=[12, "14:16"]), ["-b", "12", "-b", "14:16"]),
        (dict(token="eth"), ["-t", "eth"]),
        (dict(address=ROOT, direction="out"), ["--address", ROOT, "--direction", "out"]),
        (dict(address=bytes.fromhex(ROOT[2:])), ["--address", ROOT]),
        (dict(standard=["erc721", "erc1155"]), ["--standard", "erc721,erc1155"]),
        (dict(kind="withdrawal"), ["--kind", "withdrawal"]),
        (dict(min_value=10**18), ["--min-value", str(10**18)]),
        (dict(tx="20:3"), ["--tx", "20:3"]),
        (dict(tx=["20:3", "21:1"]), ["--tx", "20:3,21:1"]),
        (dict(initiated_by=ROOT), ["--initiated-by", ROOT]),
        (dict(not_by_owner=True), ["--not-by-owner"]),
        (dict(blocks=datetime.date(2024, 1, 1)), ["-b", "2024-01-01"]),
        (dict(since=20, until=numpy.int64(30)), ["--since", "20", "--until", "30"]),
        (dict(blocks=numpy.uint32(12)), ["-b", "12"]),
        (dict(blocks=pandas.Series([12, 14])), ["-b", "12,14"]),
        (dict(blocks=polars.Series([12, 14])), ["-b", "12,14"]),
        (dict(min_value=numpy.uint64(2**63)), ["--min-value", str(2**63)]),
        (dict(token_id=numpy.array([1, 2])), ["--token-id", "1,2"]),
        (dict(columns=["value", "block_number"]), ["--columns", "value,block_number"]),
        (dict(columns=["all:hex", "-chain_id"]), ["--columns", "-chain_id"]),
        (dict(with_internal=True), ["--with-internal"]),
    ],
)
def test_options_mean_the_same(node, chain, command_line, python, options):
    expected = command_line(chain, "transfers", *options)
    # Bytes are text in CSV.
    asked = {"columns": "all:hex", **python}
    assert as_csv(node.transfers(**asked)) == expected
    assert expected.count(b"\n") > 1


def test_fractions_of_seconds_are_rounded_up(node):
    """Blocks have whole seconds, so a bound between two seconds is the later one."""
    rows = pa.table(node.transfers(columns=["block_number", "block_timestamp"])).to_pylist()
    times = {row["block_number"]: row["block_timestamp"] for row in rows}
    utc = datetime.timezone.utc
    for block in (10, 20):
        start = datetime.datetime.fromtimestamp(times[block], utc)
        for fraction in (1, 900_000):
            for time, after in [
                (start + datetime.timedelta(microseconds=fraction), block + 1),
                (start - datetime.timedelta(microseconds=fraction), block),
                (start, block),
            ]:
                for zone in (utc, datetime.timezone(datetime.timedelta(hours=-5))):
                    asked = time.astimezone(zone)
                    assert node.transfers(since=asked).blocks == [range(after, 41)]
                    assert node.transfers(until=asked).blocks == [range(after)]
                naive = pandas.Timestamp(time.replace(tzinfo=None))
                assert node.transfers(since=naive).blocks == [range(after, 41)]
        exact = pandas.Timestamp(times[block], unit="s")
        for nanoseconds, after in [(0, block), (1, block + 1)]:
            asked = exact + pandas.Timedelta(nanoseconds, unit="ns")
            assert node.transfers(since=asked).blocks == [range(after, 41)]
    for latest in (datetime.datetime.max, pandas.Timestamp.max):
        with pytest.raises(txgraph.UsageError):
            node.transfers(since=latest).blocks


@pytest.mark.parametrize("amount", [2**63, 2**64 + 1, "1e20", numpy.uint64(2**63)])
def test_every_query_takes_large_amounts(node, chain, command_line, amount):
    line = ["--min-value", str(amount), "-f", "json"]
    pairs = node.analyze("pairs", min_value=amount)
    assert pairs.result == json.loads(command_line(chain, "analyze", "pairs", *line))["result"]
    assert len(pairs.table) > 0
    graph = node.graph(ROOT, min_value=amount)
    assert all(int(it["value"]) >= 2**63 for it in pa.table(graph.edges).to_pylist())
    with pytest.raises(txgraph.UsageError, match="so it has no smallest amount"):
        node.taint(ROOT, min_value=amount)


def test_numbers_of_numpy_are_numbers(node):
    limit = numpy.int32(2)
    assert node.analyze("degrees", limit=limit).result == node.analyze("degrees", limit=2).result
    assert node.graph(ROOT, hops=numpy.int64(2), max_edges=limit).num_edges == 2
    rank = node.analyze("rank", root=ROOT, alpha=numpy.float32(0.5))
    assert rank.result["alpha"] == 0.5
    assert node.balance(ROOT, block=numpy.int64(20)) == node.balance(ROOT, block=20)
    assert node.storage(TOKEN, numpy.uint8(1)) == node.storage(TOKEN, 1)
    identity, function = "0x" + "00" * 19 + "04", "f(uint256,int8[])"
    called = node.call(identity, function, numpy.uint64(2**63), [numpy.int8(-1)])
    assert called == node.call(identity, function, 2**63, [-1])


def test_graphs_equal(any_chain, command_line, tmp_path):
    edges, nodes, merged = (tmp_path / name for name in ("e.arrow", "n.arrow", "m.arrow"))
    with txgraph.open(any_chain, index="off") as node:
        first = pa.table(node.transfers(standard="erc20", columns="all:hex"))
        root = first.column("from_address")[first.num_rows // 2].as_py()
        graph = node.graph(root, hops=2)
        asked = ["graph", "-r", root, "-n", "2", "--columns", "all:string"]
        command_line(any_chain, *asked, "-o", edges, "--vertices", nodes)
        assert same(graph.edges, file(edges)) == graph.num_edges > 0
        assert same(graph.nodes, file(nodes)) == graph.num_nodes > 1
        command_line(any_chain, *asked, "--merge", "-o", merged)
        assert same(graph.edge_table(merge=True), file(merged)) > 0
        swaps = tmp_path / "s.arrow"
        graph_through_swaps = node.graph(root, hops=2, through_swaps=True)
        command_line(any_chain, *asked, "--through-swaps", "-o", swaps)
        assert same(graph_through_swaps.edges, file(swaps)) > 0
    # The graph keeps nothing of the node, except for writing.
    with pytest.raises(txgraph.Closed):
        graph.edges


def test_pictures_equal(node, chain, command_line, tmp_path):
    for name in ("g.html", "g.dot", "g.json", "g.graphml"):
        ours, theirs = tmp_path / name, tmp_path / f"their.{name}"
        node.graph(ROOT, hops="all").write(ours)
        command_line(chain, "graph", "-r", ROOT, "-n", "all", "-o", theirs)
        ours, theirs = ours.read_bytes(), theirs.read_bytes()
        assert ours == theirs, name
    prices, ours, theirs = (tmp_path / name for name in ("p.csv", "p.dot", "their.p.dot"))
    prices.write_text(f"token,price\n{TOKEN},2\n")
    node.graph(ROOT, hops="all").write(ours, prices=prices)
    command_line(chain, "graph", "-r", ROOT, "-n", "all", "-o", theirs, "--prices", prices)
    assert ours.read_bytes() == theirs.read_bytes() != (tmp_path / "g.dot").read_bytes()


@pytest.mark.parametrize("measure", ["summary", "pairs", "degrees", "cycles", "components", "volume", "patterns"])
def test_measures_equal(any_chain, command_line, tmp_path, measure):
    with txgraph.open(any_chain, index="off") as node:
        analysis = node.analyze(measure)
    assert analysis.tables
    for name, table in analysis.tables.items():
        path = tmp_path / f"{name}.arrow"
        command_line(any_chain, "analyze", measure, "--table", name, "-o", path)
        same(table, file(path))
    document = json.loads(command_line(any_chain, "analyze", measure, "-f", "json"))
    assert analysis.result == document["result"]


def test_ranks_equal(any_chain, command_line):
    with txgraph.open(any_chain, index="off") as node:
        ranking = node.analyze("rank", root=ROOT, alpha=0.3, epsilon=0.01)
    line = ["analyze", "rank", "-r", ROOT, "--alpha", "0.3", "--epsilon", "0.01", "-f", "json"]
    assert ranking.result == json.loads(command_line(any_chain, *line))["result"]
    assert ranking.result["alpha"] == 0.3


@pytest.mark.parametrize("method", ["fifo", "lifo", "haircut", "poison"])
def test_traces_equal(any_chain, command_line, tmp_path, method):
    with txgraph.open(any_chain, index="off") as node:
        first = pa.table(node.transfers(standard="erc20", columns="all:hex"))
        root = first.column("from_address")[first.num_rows // 2].as_py()
        taint = node.taint(root, method=method)
        through_swaps = node.taint(root, method=method, through_swaps=True)
    line = ["analyze", "taint", "-r", root, "--method", method]
    for name in ("ends", "sources", "ledger"):
        path = tmp_path / f"{name}.arrow"
        command_line(any_chain, *line, "--table", name, "-o", path)
        assert same(getattr(taint, name), file(path)) >= 1
    listed = json.loads(command_line(any_chain, *line, "-f", "json"))["result"]
    assert taint.result == listed
    line.append("--through-swaps")
    found = json.loads(command_line(any_chain, *line, "-f", "json"))["result"]
    assert through_swaps.result == found
    assert pa.table(taint.swaps).num_rows == 2 * len(listed["swaps"])
    assert pa.table(taint.slots).num_rows == 0
    assert pa.table(through_swaps.swaps).num_rows == 2 * len(found["swaps"])


def test_saved_queries_equal(node, chain, command_line, tmp_path):
    path = tmp_path / "q.arrow"
    command_line(
        chain, "query", "who-funded", "--set", f"root={ROOT}", "--set", "max-degree=5",
        "-o", path, "--columns", "all:string",
    )
    graph = node.query("who-funded", root=ROOT, max_degree=5)
    assert same(graph.edges, file(path)) > 0
    token = "0xc982f6837de3bef0547ecb84171688b6a2bd4cd2"
    command_line(chain, "query", "cycles", "--set", f"token={token}", "-o", path, "--overwrite")
    assert same(node.query("cycles", token=token).table, file(path)) > 0


def test_replays_equal(node, chain, command_line, tmp_path):
    path = tmp_path / "r.arrow"
    command_line(chain, "replay", "transfers", "-b", "1:30", "-o", path)
    replay = node.replay("1:30")
    assert same(replay.table, file(path)) > 0
    assert replay.report["blocks"] == 29
    assert replay.report["differences"] == 0
    checked = node.replay(verify_only=True)
    assert checked.table is None and checked.report["differences"] == 0


def test_calls_equal(node, chain, command_line):
    token = "0xd601451207128971898aab8654521699f35222e2"
    decimals = node.call(token, "0x313ce567")
    assert decimals.success and int.from_bytes(decimals.output, "big") == 6
    printed = command_line(chain, "call", "--to", token, "--data", "0x313ce567")
    assert printed.decode().strip() == "0x" + decimals.output.hex()
    assert not node.call(token, b"\x01\x02\x03\x04").success


TOKEN = "0xd601451207128971898aab8654521699f35222e2"


@pytest.mark.parametrize(
    "function, arguments, options, kinds",
    [
        ("decimals()(uint8)", [], {}, [int]),
        ("symbol()(string)", [], {}, [str]),
        ("balanceOf(address)(uint256)", [ROOT], {}, [int]),
        ("balanceOf(address)(uint256)", [bytes.fromhex(ROOT[2:])], {"block": 20}, [int]),
        ("balanceOf(address owner) returns (bytes32)", [ROOT], {}, [bytes]),
    ],
)
def test_functions_are_called_by_signature(
    node, chain, command_line, function, arguments, options, kinds
):
    called = node.call(TOKEN, function, *arguments, **options)
    words = [it if isinstance(it, str) else "0x" + it.hex() for it in arguments]
    flags = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    printed = command_line(chain, "call", TOKEN, function, *words, *flags).decode().split("\n")[:-1]
    assert [type(it) for it in called.values] == kinds
    shown = {int: str, str: lambda it: f'"{it}"', bytes: lambda it: "0x" + it.hex()}
    assert [shown[type(it)](it) for it in called.values] == printed


def test_values_of_every_type_come_back(node):
    """The identity contract returns its calldata, whose selector is made the first value."""
    identity = "0x" + "00" * 19 + "04"
    types = "bool,int8,uint256,address,bytes3,bytes,string,uint8[],(string,int256)[2]"
    owner = "0x4545aA9c2a6019F57De4d3C92661c6482E9aB8b0"
    pairs = [("x", -(2**255)), ("", 7)]
    given = [True, -5, 2**256 - 1, owner, b"abc", b"\0", 'a,"b', [1, 255], pairs]

    def encoded(first):
        return node.call(identity, f"f(bytes4,{types})", first, *given).output[4:]

    words = (len(encoded(b"\0" * 4)) + 31) // 32
    function = f"g({','.join(['bytes32'] * words)})"
    selector = node.call(identity, function, *[b"\0" * 32] * words).output[:4]
    output = encoded(selector)[4:] + b"\0" * 4
    parts = [output[at : at + 32] for at in range(0, len(output), 32)]
    values = node.call(identity, f"{function}(bytes4,{types})", *parts).values
    assert values[0] == selector
    assert values[4].lower() == owner.lower()
    assert values[1:4] + values[5:] == given[:3] + given[4:]
    # Text means the same as on the command line.
    text = ["true", "-5", hex(2**256 - 1), owner, "0x616263", "0x00", 'a,"b', "[1,255]", pairs]
    assert node.call(identity, f"f(bytes4,{types})", selector, *text).output[4:] == encoded(selector)


def test_state_equals(node, chain, command_line):
    def asked(*words):
        return json.loads(command_line(chain, *words, "--json"))

    for block in (5, 20, 40):
        at = ["--block", str(block)]
        balance = node.balance(ROOT, block=block)
        assert str(balance) == asked("balance", ROOT, *at)["balances"][0]["value"]
        amount = node.balance(ROOT, token=TOKEN, block=block)
        assert str(amount) == asked("balance", ROOT, "-t", TOKEN, *at)["balances"][0]["value"]
        assert node.nonce(ROOT, block=block) == asked("nonce", ROOT, *at)["nonces"][0]["nonce"]
        code = node.code(TOKEN, block=block)
        assert "0x" + code.hex() == asked("code", TOKEN, *at)["codes"][0]["code"]
        word = node.storage(TOKEN, 1, block=block)
        assert "0x" + word.hex() == asked("storage", TOKEN, "1", *at)["slots"][0]["value"]
    assert node.balance(ROOT) == node.balance(bytes.fromhex(ROOT[2:]), token="eth", block=40) > 0
    assert len(code) > 100 and node.code(ROOT) == b""
    assert node.storage(TOKEN, "0x1") == node.storage(TOKEN, b"\1") == word


def test_transactions_equal(node, chain, command_line):
    rows = pa.table(node.transfers(kind="transfer", columns="all:hex")).to_pylist()
    for row in rows[:: len(rows) // 10]:
        name = f"{row['block_number']}:{row['transaction_index']}"
        found = node.tx(row["transaction_hash"])
        printed = json.loads(command_line(chain, "tx", name, "--json"))
        # A file says where it is from.
        assert printed.pop("tool").startswith("txgraph ")
        assert printed.pop("chain")["chain_id"] == node.chain_id
        assert found == node.tx(name) == printed
        assert row["value"] in [it["value"] for it in found["transfers"]]


def test_info_is_that_of_the_command_line(node, chain, command_line):
    assert node.info == json.loads(command_line(chain, "info", "--json"))
    assert (node.chain_id, node.tip) == (node.info["chain"]["chain_id"], node.info["tip"]["number"])


def test_index_answers_the_same(chain, tmp_path):
    with txgraph.open(chain, index=tmp_path / "index") as node:
        with pytest.raises(txgraph.Error):
            node.index.status
        assert node.index.build(last_block=node.tip)["behind_blocks"] == 0
        node.index.verify()
        with txgraph.open(chain, index=tmp_path / "index") as indexed:
            found = pa.table(indexed.transfers(address=ROOT))
        with txgraph.open(chain, index="off") as plain:
            assert found.equals(pa.table(plain.transfers(address=ROOT)))
        node.index.update()
        node.index.delete()
        with pytest.raises(txgraph.Error):
            node.index.status
        # All blocks of the chain are among the newest, which are left out.
        with pytest.warns(UserWarning, match="nothing to store") as caught:
            assert node.index.build()["blocks"] == []
        assert caught[0].filename == __file__
