"""What pyarrow gets is our memory, not a copy. Polars gets our numbers, and views of our text."""

import gc
import json

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.compute
import pytest

import txgraph


def buffers(array):
    """The addresses of the buffers with values: the last of each array."""
    return [chunk.buffers()[-1].address for chunk in array.chunks]


def test_buffers_have_the_same_address_everywhere(node):
    table = node.transfers().collect()
    one, other = pa.table(table), pa.table(table)
    assert one.num_rows > 400
    frame = polars.DataFrame(table)
    for name in one.column_names:
        # Two consumers that hold one address at the same time share the buffer.
        assert buffers(one.column(name)) == buffers(other.column(name)), name
    for name in ("block_number", "transaction_index", "chain_id"):
        # The same address in another library: polars did not copy either.
        pointer = frame[name].to_arrow().buffers()[-1].address
        assert [pointer] == buffers(one.column(name)), name
    batch = table.batches()[0]
    part = pa.record_batch(batch)
    for name in one.column_names:
        address = part.column(name).buffers()[-1].address
        assert [address] == buffers(one.column(name)), name


def test_text_in_polars_is_in_our_buffer(node):
    """Polars makes views of the bytes, which stay where they are."""
    table = node.transfers(columns="all:hex").collect()
    ours = pa.table(table).column("transaction_hash").chunk(0).buffers()[-1]
    frame = polars.DataFrame(table)
    theirs = frame["transaction_hash"].to_arrow(compat_level=polars.CompatLevel.newest())
    found = [buffer for buffer in theirs.buffers() if buffer is not None]
    inside = [ours.address <= it.address < ours.address + ours.size for it in found]
    assert any(inside), "the bytes were copied"


def test_memory_outlives_the_node_and_the_table(chain):
    with txgraph.open(chain) as node:
        table = node.transfers().collect()
        arrow = pa.table(table)
        expected = arrow.column("block_number").to_pylist()
    del table, node
    gc.collect()
    assert arrow.column("block_number").to_pylist() == expected
    arrow.validate(full=True)


def test_every_library_reads_transfers(node):
    t = node.transfers(columns="all:f64")
    arrow = pa.table(t)
    rows = arrow.num_rows
    total = pa.compute.sum(arrow.column("value")).as_py()
    frame = polars.DataFrame(t)
    assert frame.height == rows and frame["value"].sum() == pytest.approx(total)
    assert polars.from_arrow(arrow).equals(frame)
    found = duckdb.sql("select count(*), sum(value) from t").fetchall()[0]
    assert found[0] == rows and found[1] == pytest.approx(total)
    table = kept = t.collect()
    assert duckdb.sql("select count(*) from kept").fetchall() == [(rows,)]
    frame = t.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == rows == len(table)
    assert frame["value"].sum() == pytest.approx(total)
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert len(pandas.DataFrame.from_arrow(t)) == rows
    assert t.to_polars().height == t.to_arrow().num_rows == rows


def test_streams_are_taken_once(node):
    batches = node.transfers().batches()
    reader = pa.RecordBatchReader.from_stream(batches)
    assert reader.read_all().equals(pa.table(node.transfers()))
    with pytest.raises(txgraph.UsageError, match="taken before"):
        pa.RecordBatchReader.from_stream(batches)
    # No rows would be an answer.
    with pytest.raises(txgraph.UsageError, match="taken before"):
        list(batches)
    reader = pa.RecordBatchReader.from_stream(node.transfers().batches())
    rows = duckdb.sql("select count(*) from reader").fetchall()
    assert rows == [(pa.table(node.transfers()).num_rows,)]


def test_types_are_as_documented(node):
    schema = pa.schema(node.transfers())
    assert schema == pa.table(node.transfers()).schema
    assert schema.names == node.transfers().columns
    types = {field.name: str(field.type) for field in schema}
    assert types == {
        "block_number": "uint64",
        "block_timestamp": "uint64",
        "transaction_index": "uint32",
        "log_index": "uint32",
        "sub_index": "uint32",
        "transaction_hash": "large_binary",
        "token_address": "large_binary",
        "from_address": "large_binary",
        "to_address": "large_binary",
        "value": "large_string",
        "token_id": "large_string",
        "token_standard": "large_string",
        "kind": "large_string",
        "chain_id": "uint64",
    }
    names = node.transfers(columns="value:binary+f64").columns
    assert names == ["value_binary", "value_f64"]
    both = pa.table(node.transfers(columns=["value:binary+string"])).to_pylist()
    assert len(both) > 400
    assert all(int.from_bytes(it["value_binary"], "big") == int(it["value_string"]) for it in both)


def test_empty_answers_have_columns(node):
    t = node.transfers(blocks=0)
    assert pa.table(t).num_rows == 0
    assert pa.table(t).schema == pa.schema(node.transfers())
    assert list(t.batches()) == []
    assert polars.DataFrame(t).height == 0


def test_metadata_states_what_was_read(node):
    table = node.transfers("5:9").collect()
    assert table.metadata["requested"] and table.metadata["scan"]["missing"] == []
    assert table.metadata["chain"]["chain_id"] == node.chain_id
    assert [list(it) for it in node.transfers("5:9").blocks] == [[5, 6, 7, 8]]


def test_metadata_is_in_the_schema(node):
    collected = node.transfers("0:5").collect()
    about = json.loads(pa.table(collected).schema.metadata[b"txgraph"])
    assert about == collected.metadata
