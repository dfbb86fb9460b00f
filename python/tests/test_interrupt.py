"""Ctrl-C, progress, and other threads, while a query runs."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest
from queries import PROMPT, wait_until_idle

import txgraph


class Silent(http.server.BaseHTTPRequestHandler):
    """A server that knows its chain, and answers nothing else for a minute."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        one = body if isinstance(body, dict) else body[0]
        if one["method"] != "eth_chainId":
            self.server.asked.set()
            self.server.released.wait(60)
            return
        answer = {"jsonrpc": "2.0", "id": one["id"], "result": "0x539"}
        text = json.dumps(answer if isinstance(body, dict) else [answer]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture()
def silent():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.asked, server.released = threading.Event(), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


def interrupted(server, ask, ready=lambda: True):
    """Asks, sends the signal when the server was asked, and returns the seconds to the exception."""
    sent = []

    def send():
        server.asked.wait(20)
        time.sleep(0.2)
        while not ready() and not server.released.is_set():
            time.sleep(0.01)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ask()
        time.sleep(20)
    seconds = time.perf_counter() - sent[0]
    thread.join()
    return seconds


def ask_silent(server):
    with txgraph.open(f"rpc:http://127.0.0.1:{server.server_port}") as node:
        return node.transfers("1:1000").collect()


def test_a_signal_ends_a_query(silent):
    assert interrupted(silent, lambda: ask_silent(silent)) < PROMPT


@pytest.mark.parametrize(
    "ask",
    [
        lambda node: node.transfers().collect(),
        lambda node: pa.table(node.transfers()),
        lambda node: list(node.transfers().batches()),
        lambda node: node.analyze("pairs"),
        lambda node: node.analyze("components"),
    ],
)
def test_a_signal_ends_a_scan(large_chain, ask):
    """On a real scan. Afterwards the node answers again."""
    with txgraph.open(large_chain, index="off", threads=1) as node:
        for pause in (0.02, 0.1):
            times = []

            def send(pause=pause, times=times):
                time.sleep(pause)
                times.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            thread = threading.Thread(target=send)
            try:
                thread.start()
                while True:
                    ask(node)
            except KeyboardInterrupt:
                seconds = time.perf_counter() - times[0]
            thread.join()
            assert seconds < PROMPT
        assert pa.table(node.transfers("0:50")).num_rows > 0


@pytest.fixture(scope="module")
def large_graph(large_chain):
    with txgraph.open(large_chain, index="off") as node:
        senders = pa.table(node.transfers("20000:20050", columns="all:hex")).column("from_address")
        root = senders.value_counts().to_pylist()
        root = max(root, key=lambda it: it["counts"])["values"]
        yield node.graph(root, hops="all")


@pytest.mark.parametrize("convert", ["to_networkx", "to_rustworkx", "to_igraph"])
def test_a_signal_ends_a_conversion(large_graph, convert):
    assert large_graph.num_edges > 400_000
    times = []

    def send():
        time.sleep(0.7)
        times.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    # Imports cannot be interrupted safely.
    __import__(convert[3:])
    thread = threading.Thread(target=send)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            getattr(large_graph, convert)()
    seconds = time.perf_counter() - times[0]
    thread.join()
    assert seconds < PROMPT


def test_other_threads_keep_running(silent):
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    interrupted(silent, lambda: ask_silent(silent), ready=lambda: counted[0] > before + 50)
    done.set()
    thread.join()
    assert counted[0] > before + 50


def test_queries_of_several_threads(node):
    expected = pa.table(node.transfers())
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(pa.table(node.transfers())))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(it.equals(expected) for it in found)


def test_batches_belong_to_one_thread_at_a_time(node):
    batches = node.transfers().batches()
    rows, errors = [], []

    def take():
        try:
            rows.extend(len(batch) for batch in batches)
        except txgraph.UsageError as error:
            errors.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(rows) == pa.table(node.transfers()).num_rows or errors


def test_progress_is_reported(chain):
    reports = []
    with txgraph.open(chain, index="off", progress=lambda *it: reports.append(it)) as node:
        rows = len(node.transfers().collect())
        assert reports[-1] == (node.tip + 1, node.tip + 1, rows, reports[-1][3])
        assert all(done <= total for done, total, _, _ in reports)
        reports.clear()
        node.graph("0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0")
        assert reports


def test_a_callback_that_fails_ends_the_query(chain):
    def fail(*_):
        raise ZeroDivisionError

    with txgraph.open(chain, index="off", progress=fail) as node:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                node.transfers().collect()


def test_bars_of_tqdm(chain):
    program = (
        "import txgraph, sys\n"
        "with txgraph.open(sys.argv[1], index='off', progress=True) as node:\n"
        "    node.transfers().collect()\n"
        "    node.transfers('5:9').collect()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, chain], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "100%" in done.stderr and "transfers" in done.stderr


def test_abandoned_batches_stop_reading(large_chain):
    """The scan behind them ends: the node is idle, and can be closed."""
    with txgraph.open(large_chain, index="off", threads=1) as node:
        batches = node.transfers().batches()
        next(batches)
        batches.close()
        wait_until_idle()
        with pytest.raises(txgraph.Interrupted):
            next(batches)
        del batches
        for _ in range(20):
            next(node.transfers().batches())


def test_another_thread_closes_batches(large_chain):
    """The thread that reads gets an exception: its rows are not all."""
    with txgraph.open(large_chain, index="off", threads=1) as node:
        batches = node.transfers().batches()
        next(batches)
        closer = threading.Timer(0.05, batches.close)
        closer.start()
        with pytest.raises(txgraph.Interrupted):
            for _ in batches:
                pass
        closer.join()
        assert batches.metadata is None
        # A later call raises it, too: the end would mean that these are all rows.
        with pytest.raises(txgraph.Interrupted):
            next(batches)
