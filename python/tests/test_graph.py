"""Graphs in other libraries, and planted scenarios."""

import json
import shutil

import igraph
import networkx
import pyarrow as pa
import pyarrow.csv
import pytest
import rustworkx
from graphsense import gs_files

import txgraph


@pytest.fixture()
def peel(node, scenario):
    planted = scenario("peel-chain-token")
    return node.graph(planted["root"], token=planted["token"], hops="all")


def hexed(column):
    return ["0x" + it.hex() for it in column.to_pylist()]


def test_searches_reach_what_was_planted(node, truth):
    assert len(truth["searches"]) > 10
    for search in truth["searches"]:
        graph = node.graph(
            search["root"],
            token=search["token"],
            hops="all" if search["hops"] is None else search["hops"],
            direction=search["direction"],
            time_respecting=search["time_respecting"],
        )
        found = set(hexed(pa.table(graph.nodes).column("id"))) - {search["root"]}
        assert found == set(search["reached"]), search["scenario"]


def test_every_library_has_the_same_graph(peel):
    edges = pa.table(peel.edge_table(columns="all:hex")).to_pylist()
    expected = [
        (it["from_address"], it["to_address"], int(it["value"]), it["transaction_hash"], it["hop"])
        for it in edges
    ]
    assert len(expected) == peel.num_edges == 12

    graph = peel.to_networkx()
    assert isinstance(graph, networkx.MultiDiGraph)
    assert sorted(graph.nodes) == list(range(peel.num_nodes))
    name = networkx.get_node_attributes(graph, "address")
    key = lambda data: (data["value"], data["transaction_hash"], data["hop"])  # noqa: E731
    found = [(name[u], name[v], *key(data)) for u, v, data in graph.edges(data=True)]
    assert sorted(found) == sorted(expected)
    assert all(graph.nodes[root]["root"] for root in peel.roots)

    graph = peel.to_rustworkx()
    found = [
        (graph[u]["address"], graph[v]["address"], *key(data))
        for u, v, data in graph.weighted_edge_list()
    ]
    assert found == expected

    graph = peel.to_igraph()
    found = [
        (graph.vs[it.source]["address"], graph.vs[it.target]["address"], *key(it.attributes()))
        for it in graph.es
    ]
    assert found == expected


def test_merged_edges_add_up(peel):
    graph = peel.to_networkx(merge=True)
    whole = peel.to_networkx()
    assert graph.number_of_edges() <= whole.number_of_edges()
    total = sum(data["sum"] for _, _, data in graph.edges(data=True))
    assert total == sum(data["value"] for _, _, data in whole.edges(data=True))
    count = sum(data["count"] for _, _, data in graph.edges(data=True))
    assert count == whole.number_of_edges()
    assert peel.to_rustworkx(merge=True).num_edges() == graph.number_of_edges()
    assert peel.to_igraph(merge=True).ecount() == graph.number_of_edges()


@pytest.mark.parametrize("merge", [False, True])
def test_graphs_without_edges_have_their_attributes(node, peel, merge):
    empty = node.graph("0x" + "11" * 20).to_igraph(merge=merge)
    assert empty.ecount() == 0 and empty.vcount() == 1
    _, _, data = next(iter(peel.to_networkx(merge=merge).edges(data=True)))
    assert set(empty.es.attributes()) == set(data)
    assert empty.vs.attributes() == peel.to_igraph(merge=merge).vs.attributes()


def test_amounts_are_exact_integers(node):
    rows = pa.table(node.transfers()).to_pylist()
    root = max(rows, key=lambda it: int(it["value"]))
    assert int(root["value"]) > 2**64
    graph = node.graph(root["from_address"]).to_networkx()
    values = {data["value"] for _, _, data in graph.edges(data=True)}
    assert int(root["value"]) in values


def test_notebooks_draw(peel, node):
    page = peel._repr_html_()
    assert "<iframe" in page and "sandbox" in page and "13 addresses" in page
    assert peel.to_html().startswith("<!DOCTYPE html>") or "<html" in peel.to_html()
    if shutil.which("dot"):
        assert "<svg" in peel.to_svg()
    else:
        with pytest.raises(txgraph.Failed, match="Graphviz"):
            peel.to_svg()


def test_files_are_written_once(peel, tmp_path):
    path = tmp_path / "g.csv"
    assert peel.write(path, tmp_path / "g.graphml") == []
    assert path.read_text().count("\n") == peel.num_edges + 1
    with pytest.raises(txgraph.Error, match="exists"):
        peel.write(path)
    peel.write(path, overwrite=True)
    with pytest.raises(txgraph.UsageError):
        peel.write(tmp_path / "g.unknown")
    with pytest.raises(TypeError):
        peel.write()


def test_graphsense_reads_its_save_files(node, scenario, tmp_path):
    planted = scenario("peel-chain-token")
    query = {"token": planted["token"], "hops": "all", "direction": "both"}
    path = tmp_path / "g.gs"
    with pytest.raises(txgraph.UsageError, match="not for chain 735703"):
        node.graph(planted["root"], **query).write(path)
    # The same transfers, as a table of mainnet.
    table = tmp_path / "token_transfers.csv"
    transfers = node.transfers(standard=["erc20", "erc721"], columns="etl")
    pyarrow.csv.write_csv(transfers.to_arrow(), table)
    mainnet = txgraph.open(f"etl:{table}", chain_id=1)
    graph = mainnet.graph(planted["root"], **query)
    assert graph.write(path) == []

    payload = gs_files.decode_gs(path)
    found = gs_files.structure(payload)
    edges = pa.table(graph.edge_table(columns="all:hex")).to_pylist()
    assert len(edges) > 10
    ids = [f"{it['transaction_hash'][2:]}_T{it['log_index']}" for it in edges]
    assert [it.id.id for it in found.txs] == ids
    assert [it.id.id for it in found.addresses] == hexed(pa.table(graph.nodes).column("id"))
    assert [it.id.id for it in found.addresses if it.is_starting_point] == [planted["root"]]
    ends = [sorted([it["from_address"], it["to_address"]]) for it in edges]
    of_edges = {tx.id: [it.a.id, it.b.id] for it in found.agg_edges for tx in it.txs}
    assert [of_edges[it] for it in ids] == ends
    # Their encoder writes the same bytes, and their measures of a layout find no overlap.
    spec = gs_files.spec_from_pathfinder(found)
    builder = gs_files.builder_from_spec(spec, name=found.name, default_network="eth")
    assert builder.to_bytes() == gs_files.encode_gs_payload(payload) == path.read_bytes()
    for tx, edge in zip(spec["txs"], edges):
        tx["senders"], tx["receivers"] = [edge["from_address"]], [edge["to_address"]]
    assert gs_files.layout_metrics(spec)["overlaps"] == 0
    mainnet.close()


def test_limits_are_part_of_the_answer(node, scenario):
    planted = scenario("peel-chain-token")
    graph = node.graph(planted["root"], token=planted["token"], hops="all", max_vertices=5)
    assert graph.num_nodes == 5
    assert [it["kind"] for it in graph.limits] == ["max_vertices"]
    assert "cut short" in repr(graph)


def test_saved_queries_answer_with_their_kind(node, scenario):
    names = {it["name"] for it in txgraph.queries()}
    assert {"who-funded", "cycles", "trace-token-out"} <= names
    planted = scenario("wash-cycle")
    cycles = node.query("cycles", token=planted["token"])
    assert isinstance(cycles, txgraph.Analysis)
    assert set(planted["cycle"]) <= set(str(cycles.result).replace("'", " ").split())


def test_vertices_have_labels(node, scenario, tmp_path):
    planted = scenario("peel-chain-token")
    own = tmp_path / "own.csv"
    own.write_text(f"address,name,category\n{planted['root']},Mine,user\nwrong,x,y\n")
    with pytest.warns(UserWarning, match="own.csv: 1 row was not read"):
        graph = node.graph(planted["root"], token=planted["token"], hops=2, labels=own)
    names = networkx.get_node_attributes(graph.to_networkx(), "label")
    assert [name for name in names.values() if name is not None] == ["Mine"]
    assert graph.to_rustworkx()[0]["category"] == "user"
    assert graph.to_rustworkx()[0]["label_source"] == "own.csv"
    with pytest.raises(txgraph.UsageError, match="casino"):
        node.graph(planted["root"], labels=own, stop_at_category="casino")
    # Other queries read the same files, one or several, and warn of the same rows.
    for labels in (own, [own, own]):
        with pytest.warns(UserWarning, match="own.csv: 1 row was not read"):
            ends = node.taint(planted["root"], token=planted["token"], labels=labels).ends
        assert len(ends) > 0
        transfers = node.transfers(token=planted["token"], labels=labels)
        with pytest.warns(UserWarning, match="own.csv: 1 row was not read"):
            transfers.collect()
        with pytest.warns(UserWarning, match="own.csv: 1 row was not read"):
            next(transfers.batches())


def test_outputs_of_a_graph_have_its_names(node, scenario, tmp_path):
    planted = scenario("peel-chain-token")
    root, token = planted["root"], planted["token"]
    labels = tmp_path / "own.csv"
    labels.write_text(f"address,name,category\n{root},Mine,user\n")
    tokens = tmp_path / "tokens.json"
    entry = {"chainId": node.chain_id, "address": token, "symbol": "OWN", "decimals": 2, "name": ""}
    tokens.write_text(json.dumps({"tokens": [entry]}))
    graph = node.graph(root, token=token, labels=labels, token_list=tokens)
    assert set(pa.table(graph.nodes).column("category").to_pylist()) >= {"user"}
    edges = pa.table(graph.edge_table(columns=["from_label", "symbol", "amount"]))
    assert "Mine" in edges.column("from_label").to_pylist()
    assert set(edges.column("symbol").to_pylist()) == {"OWN"}
    graph.write(tmp_path / "x.json", tmp_path / "x.dot")
    assert "OWN" in (tmp_path / "x.dot").read_text()
    names = {it["category"] for it in json.loads((tmp_path / "x.json").read_text())["vertices"]}
    assert "user" in names


def test_transfers_have_labels(node, scenario, tmp_path):
    planted = scenario("peel-chain-token")
    own = tmp_path / "own.csv"
    own.write_text(f"address,name\n{planted['root']},Mine\n")
    columns = ["from_address:hex", "from_label"]
    t = node.transfers(token=planted["token"], labels=own, columns=columns)
    named = {it["from_address"] for it in pa.table(t).to_pylist() if it["from_label"] == "Mine"}
    assert named == {planted["root"]}
