"""Runs a development chain of geth across the fork Amsterdam, and compares the movements of the native
coin that txgraph finds with geth's call tracer and with all balances.

Before the fork txgraph finds them by traces, after it in logs (EIP-7708). The rows must be the same in
form: one expectation covers both.
"""

import argparse
import csv
import io
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

KEY = "b71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291"
SENDER = "0x71562b71999873db5b286df957af199ec94617f7"
CHAIN_ID = 735_708
# Seconds until the fork: the first half of the transactions must be mined by then.
FORK_AFTER = 60
TRANSFER = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
ZERO = "0x" + "00" * 20
FUNDS = 1 << 128
GAS = 6_000_000


class Node:
    """A running geth."""

    def __init__(self, geth, home):
        self.home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        (home / "key").write_text(KEY)
        (home / "password").write_text("password\n")
        data = ["--datadir", home / "data"]
        secret = ["--password", home / "password"]
        quiet = {"check": True, "capture_output": True}
        subprocess.run([geth, "account", "import", *data, *secret, home / "key"], **quiet)
        genesis = json.loads(subprocess.run([geth, "--dev", "dumpgenesis"], **quiet).stdout)
        self.fork_time = int(time.time()) + FORK_AFTER
        config = genesis["config"]
        config["chainId"] = CHAIN_ID
        config.pop("bogotaTime", None)
        config["amsterdamTime"] = self.fork_time
        blobs = config["blobSchedule"]
        blobs["osaka"] = blobs["amsterdam"] = blobs["prague"]
        genesis["alloc"][SENDER[2:]] = {"balance": hex(FUNDS)}
        genesis["gasLimit"] = hex(60_000_000)
        (home / "genesis.json").write_text(json.dumps(genesis))
        subprocess.run([geth, "init", *data, home / "genesis.json"], **quiet)
        self.log = open(home / "geth.log", "w")
        command = [geth, "--dev", "--dev.gaslimit", "60000000", *data, *secret]
        command += ["--http", "--http.port", str(port), "--http.api", "eth,debug,net,web3"]
        command += ["--ipcdisable", "--nodiscover"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        for _ in range(300):
            try:
                self.ask("eth_chainId")
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("geth did not start: " + (home / "geth.log").read_text()[-2000:])

    def ask(self, method, *params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer = json.load(answer)
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]

    def send(self, to=None, value=0, data="", gas=GAS):
        transaction = {"from": SENDER, "value": hex(value), "gas": hex(gas), "input": "0x" + data}
        if to:
            transaction["to"] = to
        return self.ask("eth_sendTransaction", transaction)

    def mined(self, hashes):
        """Receipts, once all are there."""
        receipts = {}
        until = time.time() + 60
        while len(receipts) < len(hashes):
            if time.time() > until:
                log = (self.home / "geth.log").read_text()[-2000:]
                raise SystemExit("transactions are not mined: " + log)
            for one in hashes:
                if one not in receipts and (found := self.ask("eth_getTransactionReceipt", one)):
                    receipts[one] = found
            time.sleep(0.05)
        return [receipts[one] for one in hashes]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.log.close()


def push(number, size=None):
    raw = number if isinstance(number, bytes) else number.to_bytes((number.bit_length() + 7) // 8, "big")
    if not raw and size is None:
        return b"\x5f"
    raw = raw.rjust(size, b"\0") if size else raw
    return bytes([0x5F + len(raw)]) + raw


def address(text):
    return bytes.fromhex(text[2:])


def call(opcode, target, value, argument=None):
    """CALL, CALLCODE, DELEGATECALL or STATICCALL with an address as argument. The result is dropped."""
    code = b""
    if argument is not None:
        code += push(argument) + push(0) + b"\x52"
    code += push(0) + push(0) + push(32 if argument is not None else 0) + push(0)
    if opcode in (0xF1, 0xF2):
        code += push(value)
    return code + target + b"\x5a" + bytes([opcode]) + b"\x50"


# Contracts that the programs call. The argument is an address.
PARTS = {
    "sink": "00",
    "reverter": "5f5ffd",
    # Sends half of the value that it receives.
    "forwarder": "5f5f5f5f600234045f355af15000",
    "destroyer": "5f35ff",
    # A token log of a contract, between movements of ether.
    "token": "60075f52" + "33" + "30" + "7f" + TRANSFER + "60205fa300",
}


class Programs:
    """Random code that moves ether, run as init code."""

    def __init__(self, seed, parts):
        self.random = random.Random(seed)
        self.parts = {name: address(at) for name, at in parts.items()}
        self.wallets = [bytes([0x77] * 19 + [n]) for n in range(1, 7)]

    def someone(self):
        return self.random.choice([*self.wallets, *self.parts.values()])

    def value(self):
        return self.random.choice([0, 1, 1, 2, 3, 3, 1000, 10**5, 10**15, 10**30])

    def code(self, depth):
        pick = self.random.choice
        parts, blobs = [], []
        for _ in range(self.random.randint(1, 5)):
            kind = self.random.randrange(10)
            if kind <= 2:
                target = push(self.someone())
                parts.append(call(0xF1, target, self.value(), self.someone().rjust(32, b"\0")))
            elif kind == 3:
                target = pick([b"\x30", b"\x33", b"\x32"])  # itself, its caller, the origin
                parts.append(call(0xF1, target, self.value()))
            elif kind == 4:
                opcode = pick([0xF2, 0xF4, 0xFA])
                target = push(pick([self.parts["forwarder"], self.parts["destroyer"]]))
                parts.append(call(opcode, target, self.value(), self.someone().rjust(32, b"\0")))
            elif kind == 5:
                target = push(pick([self.parts["destroyer"], self.parts["token"]]))
                parts.append(call(0xF1, target, self.value(), self.someone().rjust(32, b"\0")))
            elif depth > 0:
                parts.append((pick([0xF0, 0xF5]), self.value(), len(blobs)))
                blobs.append(self.code(depth - 1))
        parts.append(self.end())
        return assemble(parts, blobs, self.random)

    def end(self):
        pick = self.random.choice
        kind = self.random.randrange(16)
        if kind <= 1:
            return push(0) + push(0) + b"\xfd"
        if kind == 2:
            return b"\xfe"
        if kind <= 6:
            return pick([push(self.someone()), b"\x30", b"\x33", b"\x32"]) + b"\xff"
        return push(0) + push(0) + b"\xf3"


def assemble(parts, blobs, salt):
    """Code, then the init code of the contracts that it creates."""
    creation = 4 + 4 + 1 + 1 + 4 + 1 + 33 + 33 + 1 + 1
    size = sum(len(part) if isinstance(part, bytes) else creation for part in parts)
    at, offsets = size, []
    for blob in blobs:
        offsets.append(at)
        at += len(blob)
    code = b""
    for part in parts:
        if isinstance(part, bytes):
            code += part
            continue
        opcode, value, number = part
        length = push(len(blobs[number]), 3)
        one = length + push(offsets[number], 3) + b"\x5f" + b"\x39"
        one += push(salt.getrandbits(64), 32) if opcode == 0xF5 else b""
        one += length + b"\x5f" + push(value, 32) + bytes([opcode]) + b"\x50"
        code += one + b"\x5b" * (creation - len(one))
    return code + b"".join(blobs)


def movements(frame, is_logged, created, found):
    """What moved in a frame and those in it, in order: (from, to, value, kind)."""
    if frame.get("error"):
        return
    kind, value = frame["type"], int(frame.get("value") or "0x0", 16)
    start, end = frame["from"], frame.get("to")
    if kind in ("CREATE", "CREATE2"):
        created.append(end)
    if kind == "SELFDESTRUCT":
        if start != end:
            found.append((start, end, value, "internal"))
        elif not is_logged:
            # Burnt if the contract is of this transaction (EIP-6780). Kept since EIP-8246.
            found.append((start, ZERO, value, "burn"))
    elif kind in ("CALL", "CREATE", "CREATE2") and not (is_logged and start == end):
        found.append((start, end, value, "internal"))
    for inner in frame.get("calls", []):
        movements(inner, is_logged, created, found)


def of_transaction(frame, is_logged):
    if frame.get("error"):
        return []
    created, found = [], []
    if frame["type"] in ("CREATE", "CREATE2"):
        created.append(frame["to"])
    for inner in frame.get("calls", []):
        movements(inner, is_logged, created, found)
    value = int(frame.get("value") or "0x0", 16)
    own = (frame["from"], frame["to"], value, "value")
    inside = [it for it in found if it[2] > 0 and (it[3] != "burn" or it[0] in created)]
    rows = [(0, *own)] if value else []
    return rows + [(at, *it) for at, it in enumerate(inside, 1)]


def traced(node, tip):
    """The expected rows: (block, transaction, number, from, to, value, kind), and logged blocks."""
    rows, logged = [], 0
    for number in range(1, tip + 1):
        block = node.ask("eth_getBlockByNumber", hex(number), False)
        is_logged = block.get("blockAccessListHash") is not None
        logged += is_logged
        assert is_logged == (int(block["timestamp"], 16) >= node.fork_time)
        traces = node.ask("debug_traceBlockByNumber", hex(number), {"tracer": "callTracer"})
        for index, trace in enumerate(traces):
            rows += [(number, index, *it) for it in of_transaction(trace["result"], is_logged)]
    return rows, logged


class Txgraph:
    def __init__(self, program, home):
        self.program, self.home = program, home

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"txgraph {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def rows(self, source, *arguments):
        text = self.run("transfers", "--source", source, "--format", "csv", *arguments)
        return list(csv.DictReader(io.StringIO(text)))


def native(rows):
    found = []
    for row in rows:
        assert row["token_address"] == "" and row["log_index"] == "", row
        place = (int(row["block_number"]), int(row["transaction_index"]), int(row["sub_index"]))
        ends = (row["from_address"], row["to_address"])
        found.append((*place, *ends, int(row["value"]), row["kind"]))
    return found


def equal(what, found, expected):
    if found == expected:
        print(f"{what}: {len(found)} rows are equal")
        return
    for one, other in zip([*found, None], [*expected, None]):
        if one != other:
            raise SystemExit(f"{what} differ: txgraph {one}, geth {other}")
    raise SystemExit(f"{what}: {len(found)} rows, expected {len(expected)}")


def run_transactions(node, programs, count, parts):
    pick = programs.random.choice
    hashes = []
    for _ in range(count):
        kind = programs.random.randrange(8)
        value = pick([0, 5, 10**6, 10**18, 10**18])
        if kind == 0:
            to = "0x" + programs.someone().hex()
            hashes.append(node.send(to, value, (b"\0" * 12 + programs.someone()).hex()))
        elif kind == 1:
            hashes.append(node.send(SENDER, value))
        elif kind == 2:
            to = pick([parts["forwarder"], parts["reverter"], parts["destroyer"], parts["token"]])
            hashes.append(node.send(to, value, (b"\0" * 12 + programs.someone()).hex()))
        else:
            hashes.append(node.send(None, value, programs.code(3).hex()))
    return node.mined(hashes)


def balances(node, rows):
    """The balances that follow from the movements and fees, against those of geth."""
    sums = {SENDER: FUNDS}
    for row in rows:
        value = int(row["value"])
        start, end = row["from_address"], row["to_address"]
        if row["kind"] != "withdrawal":
            sums[start] = sums.get(start, 0) - value
        if row["kind"] not in ("burn", "fee"):
            sums[end] = sums.get(end, 0) + value
    wrong = 0
    for one, expected in sorted(sums.items()):
        actual = int(node.ask("eth_getBalance", one, "latest"), 16)
        if actual != expected:
            wrong += 1
            print(f"{one} has {actual} wei, the movements give {expected}", file=sys.stderr)
    if wrong:
        raise SystemExit(f"{wrong} of {len(sums)} balances differ")
    print(f"balances: all of {len(sums)} are equal")


def compare(node, txgraph, home):
    tip = int(node.ask("eth_blockNumber"), 16)
    source = f"rpc:{node.url}"
    expected, logged = traced(node, tip)
    assert 0 < logged < tip, "both sides of the fork must have blocks"
    print(f"{tip} blocks, {logged} of Amsterdam; {len(expected)} movements")
    all_of = ("--token", "eth", "--blocks", f"0:{tip + 1}")
    equal("movements", native(txgraph.rows(source, *all_of, "--with-internal")), expected)
    values = [row for row in expected if row[6] == "value"]
    equal("values", native(txgraph.rows(source, *all_of)), values)
    # Tokens: no log of the protocol is one.
    tokens = txgraph.rows(source, "--blocks", f"0:{tip + 1}", "--standard", "erc20")
    assert tokens and all(row["token_address"] != "0x" + "ff" * 19 + "fe" for row in tokens)
    print(f"tokens: {len(tokens)} rows, none of the protocol")
    verified = native(txgraph.rows(source, *all_of, "--with-internal", "--verify"))
    equal("movements, verified", verified, expected)
    kinds = "value,internal,burn,withdrawal,fee,priority"
    paid = txgraph.rows(source, *all_of, "--with-internal", "--kind", kinds)
    balances(node, paid)
    lake = home / "lake"
    txgraph.run("lake", "build", "--source", source, "--with-internal", "--to-block", tip, lake)
    equal(
        "lake", native(txgraph.rows(f"lake:{lake}", *all_of, "--with-internal")), expected
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--geth", required=True)
    parser.add_argument("--txgraph", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--keep", action="store_true", help="leave geth running until a key is pressed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        node = Node(options.geth, home)
        try:
            deploys = {}
            for name, runtime in PARTS.items():
                size = len(runtime) // 2
                init = bytes([0x60, size, 0x60, 10, 0x5F, 0x39, 0x60, size, 0x5F, 0xF3])
                deploys[name] = node.send(None, 0, init.hex() + runtime)
            receipts = node.mined(list(deploys.values()))
            parts = {name: it["contractAddress"] for name, it in zip(deploys, receipts)}
            programs = Programs(options.seed, parts)
            before = run_transactions(node, programs, options.count, parts)
            if time.time() >= node.fork_time:
                raise SystemExit("the fork came too early; use a smaller --count")
            time.sleep(node.fork_time - time.time() + 1)
            after = run_transactions(node, programs, options.count, parts)
            succeeded = sum(it["status"] == "0x1" for it in before + after)
            print(f"{2 * options.count} transactions, {succeeded} succeeded")
            compare(node, Txgraph(options.txgraph, home), home)
            if options.keep:
                input(f"{node.url} ")
        finally:
            node.stop()


main()
