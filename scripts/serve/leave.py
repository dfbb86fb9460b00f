"""Closes connections during long work, and prints how long the server goes on: leave.py URL TIP."""

import json
import re
import socket
import statistics
import sys
import time
import urllib.request

ROUNDS = 10
# Loops until their gas is used: jumps, hashes of 128 and of 100,000 bytes, reads of new slots, calls of a precompiled
# contract.
LOOPS = {
    "jumps": "5b600056",
    "hashes of 128 bytes": "5b60805f2050600056",
    "hashes of 100,000 bytes": "5b620186a05f2050600056",
    "reads of storage": "5f5b805450600101600156",
    "calls": "5b5f5f60205f60025afa50600056",
}


def call(method, *params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def looping(code):
    """A call of the longest kind, in a batch, so that no machine ends it before its client leaves."""
    target = "0x" + "c0" * 20
    return [call("eth_call", {"to": target, "gas": "0x2faf080"}, "latest", {target: {"code": "0x" + code}})] * 1000


def works(tip):
    for name, code in LOOPS.items():
        yield f"eth_call: {name}", looping(code)
    everything = {"fromBlock": "0x0", "toBlock": hex(tip)}
    yield "eth_getLogs of all blocks", [call("eth_getLogs", everything)] * 1000
    calls = {"tracer": "callTracer"}
    yield "debug_traceBlockByNumber", [call("debug_traceBlockByNumber", hex(tip - 3), calls)] * 1000
    yield "trace_filter of all blocks", [call("trace_filter", everything | {"fromAddress": ["0x" + "12" * 20]})] * 1000
    yield "ots_searchTransactionsBefore", [call("ots_searchTransactionsBefore", "0x" + "12" * 20, 0, 25)] * 1000


def running(url):
    with urllib.request.urlopen(url + "/metrics", timeout=60) as answer:
        return int(re.search(r"\ntxgraph_running (\d+)\n", answer.read().decode()).group(1))


def until(url, wanted):
    started = time.perf_counter()
    while running(url) != wanted:
        if time.perf_counter() - started > 60:
            raise SystemExit(f"txgraph_running is not {wanted}")
        time.sleep(0.001)
    return time.perf_counter() - started


def main():
    url, tip = sys.argv[1], int(sys.argv[2])
    host, port = url.removeprefix("http://").split(":")
    for name, batch in works(tip):
        body = json.dumps(batch).encode()
        head = f"POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        times = []
        for turn in range(ROUNDS):
            until(url, 0)
            with socket.create_connection((host, int(port))) as client:
                client.sendall(head.encode() + body)
                until(url, 1)
                # At another moment of the work in each round.
                time.sleep(0.02 + 0.013 * turn)
            times.append(until(url, 0) * 1000)
        print(f"  {name}: {statistics.median(times):.1f} ms, at most {max(times):.1f} ms")


main()
