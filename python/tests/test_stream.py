"""Libraries that take rows as they are read."""

import os
import signal
import threading
import time

import duckdb
import polars
import pyarrow as pa
import pytest
from queries import PROMPT, running, wait_until_idle

import txgraph


def test_streams_are_the_same_rows(node):
    stream = node.transfers().stream()
    whole = pa.table(node.transfers())
    assert stream.columns == whole.column_names
    assert pa.schema(stream) == whole.schema
    # Again and again, unlike batches.
    for _ in range(2):
        assert pa.table(stream).equals(whole)
        assert polars.DataFrame(stream).equals(polars.from_arrow(whole))
        assert duckdb.sql("select count(*) from stream").fetchall() == [(whole.num_rows,)]
    empty = node.transfers("0:1").stream()
    assert pa.table(empty).num_rows == 0 and pa.table(empty).schema == whole.schema


def test_rows_come_before_the_last_block_was_read(large_chain):
    reports = []
    with txgraph.open(
        large_chain, index="off", threads=1, progress=lambda *it: reports.append(it)
    ) as node:
        wait_until_idle()
        reader = pa.RecordBatchReader.from_stream(node.transfers().stream())
        rows = reader.read_next_batch().num_rows
        done, total, _, _ = reports[-1]
        assert 0 < rows and done < total
        # No more rows are taken: reading waits after a few batches. All rows are read in less time.
        time.sleep(5)
        assert running() == 1
        rows += sum(batch.num_rows for batch in reader)
        assert rows == pa.table(node.transfers(columns=["kind"])).num_rows
        # The end of a stream is reported, too.
        reports.clear()
        pa.table(node.transfers(columns=["kind"]).stream())
        assert reports[-1][0] == reports[-1][1]


def test_streams_that_are_dropped_stop_reading(large_chain):
    with txgraph.open(large_chain, index="off", threads=1) as node:
        for _ in range(5):
            reader = pa.RecordBatchReader.from_stream(node.transfers().stream())
            reader.read_next_batch()
            del reader
            # A capsule that was not taken.
            node.transfers().stream().__arrow_c_stream__()
        wait_until_idle()


@pytest.mark.parametrize("take", [polars.DataFrame, pa.table])
def test_failures_before_the_first_rows_are_ours(node, take):
    with pytest.raises(txgraph.Unavailable) as caught:
        take(node.transfers("30:100").stream())
    assert caught.value.missing[0][:2] == (41, 99)
    with pytest.raises(txgraph.UsageError):
        take(node.transfers("many").stream())
    stream = node.transfers().stream()
    node.close()
    with pytest.raises(txgraph.Closed):
        take(stream)


def test_later_failures_are_errors_and_not_short_answers(large_chain):
    with txgraph.open(large_chain, index="off", threads=1) as node:
        reader = pa.RecordBatchReader.from_stream(node.transfers().stream())
        reader.read_next_batch()
        node.close()
        with pytest.raises(Exception, match="interrupt|closed|stopped"):
            reader.read_all()


@pytest.mark.parametrize("take", [polars.DataFrame, pa.table])
def test_other_threads_run_while_rows_are_taken(large_chain, take):
    """Polars holds the interpreter's lock while it takes rows; we release it while we read them."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    with txgraph.open(large_chain, index="off", threads=1) as node:
        thread.start()
        begin = time.perf_counter()
        take(node.transfers().stream())
        seconds = time.perf_counter() - begin
        done.set()
        thread.join()
    assert counted[0] > 5 * seconds, f"{counted[0]} in {seconds:.2f} s"


def test_another_thread_may_take_the_rows(large_chain):
    """While the thread that asked waits with the interpreter's lock."""
    with txgraph.open(large_chain, index="off") as node:
        reader = pa.RecordBatchReader.from_stream(node.transfers().stream())
        rows = []
        thread = threading.Thread(
            target=lambda: rows.append(sum(batch.num_rows for batch in reader))
        )
        thread.start()
        thread.join(60)
        assert rows == [pa.table(node.transfers(columns=["kind"])).num_rows]
        stream = node.transfers().stream()
        assert duckdb.sql("select count(*) from stream").fetchall() == [tuple(rows)]


class Sender(threading.Thread):
    """Sends the signal of Ctrl-C after a moment."""

    def run(self):
        time.sleep(0.2)
        self.sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    def seconds(self):
        return time.perf_counter() - self.sent


def test_a_signal_ends_a_stream(large_chain):
    """The library raises its error, and the interrupt follows."""
    with txgraph.open(large_chain, index="off", threads=1) as node:
        sender = Sender()
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                try:
                    pa.table(node.transfers().stream())
                except (pa.ArrowInvalid, OSError):
                    # Which of them depends on the release of pyarrow.
                    continue
        assert sender.seconds() < PROMPT
        assert pa.table(node.transfers("0:50").stream()).num_rows > 0


def test_duckdb_raises_errors_of_its_own(node, large_chain):
    missing = node.transfers("30:100")
    for t in (missing, missing.stream()):
        with pytest.raises(duckdb.Error, match="Unavailable: blocks not available: 41:100"):
            duckdb.sql("select count(*) from t").fetchall()
    with txgraph.open(large_chain, index="off") as large:
        t = large.transfers().stream()
        sender = Sender()
        sender.start()
        # Whichever of us sees the signal. If it is DuckDB, it waits for its threads, which read on,
        # and Python may raise the interrupt after DuckDB's error.
        with pytest.raises((duckdb.Error, RuntimeError, KeyboardInterrupt)):
            try:
                while True:
                    duckdb.sql("select count(*) from t").fetchall()
            except (duckdb.Error, RuntimeError):
                time.sleep(0.1)
                raise
        # Another thread ends it at once.
        closer = threading.Timer(0.3, large.close)
        closer.start()
        begin = time.perf_counter()
        with pytest.raises(duckdb.Error):
            while True:
                duckdb.sql("select count(*) from t").fetchall()
        assert time.perf_counter() - begin < 10 * PROMPT
