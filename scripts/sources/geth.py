"""Runs a development chain of geth across the fork Amsterdam, and compares what txgraph says about it with
geth's call tracer and with all balances.

Before the fork txgraph finds the movements of the native coin by traces, after it in logs (EIP-7708). The
rows must be the same in form: one expectation covers both. Last, every block is replayed.
"""

import argparse
import json
import pathlib
import signal
import sys
import tempfile

from check import Txgraph, balances, equal, native, placed
from node import Node, SENDER
from programs import PARTS, Programs, deployment
from server import without_traces

ZERO = "0x" + "00" * 20


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
    """The expected rows: (block, transaction, number, from, to, value, kind)."""
    rows = []
    for number in range(1, tip + 1):
        block = node.ask("eth_getBlockByNumber", hex(number), False)
        is_logged = block.get("blockAccessListHash") is not None
        assert is_logged == (number >= node.fork), number
        for index, name in enumerate(block["transactions"]):
            trace = node.ask("debug_traceTransaction", name, {"tracer": "callTracer"})
            rows += [(number, index, *it) for it in of_transaction(trace, is_logged)]
    return rows


def run_transactions(node, programs, count, parts):
    pick = programs.random.choice
    waiting, hashes = [], []
    for left in reversed(range(count)):
        kind = programs.random.randrange(8)
        value = pick([0, 5, 10**6, 10**18, 10**18])
        listed = ["0x" + programs.someone().hex()] if programs.random.random() < 0.2 else []
        if kind == 0:
            to = "0x" + programs.someone().hex()
            data = (b"\0" * 12 + programs.someone()).hex()
        elif kind == 1:
            to, data = SENDER, ""
        elif kind == 2:
            to = pick([parts["forwarder"], parts["reverter"], parts["destroyer"], parts["token"]])
            data = (b"\0" * 12 + programs.someone()).hex()
        else:
            to, data = None, programs.code(3).hex()
        waiting.append(node.transaction(to, value, data, listed))
        if not left or programs.random.random() < 0.3:
            hashes += node.send(waiting)
            waiting = []
    return node.mined(hashes)


def transactions(txgraph, source, receipts, expected):
    """Each of these transactions alone, as `txgraph tx` answers."""
    for receipt in receipts:
        name, place = receipt["transactionHash"], ("blockNumber", "transactionIndex")
        place = tuple(int(receipt[it], 16) for it in place)
        found = json.loads(txgraph.run("tx", name, "--json", "--source", source))
        assert found["internal_transfers"], found
        rows = [it for it in found["transfers"] if it["token_address"] is None]
        ends = ("from_address", "to_address")
        rows = [
            (it["sub_index"], *(it[end].lower() for end in ends), int(it["value"]), it["kind"])
            for it in rows
        ]
        gas, price = (int(receipt[it], 16) for it in ("gasUsed", "effectiveGasPrice"))
        facts = [found[it] for it in ("block_number", "transaction_index", "success", "gas_used")]
        wanted = [*place, receipt["status"] == "0x1", gas]
        of_this = [it[2:] for it in expected if it[:2] == place]
        if (facts, rows, int(found["fee"])) != (wanted, of_this, gas * price):
            raise SystemExit(f"tx {name} differs: txgraph {found}, geth {receipt} {of_this}")
    print(f"single transactions: {len(receipts)} are equal")


def replayed(node, txgraph, home, tip, expected):
    """Replays all blocks from what geth says that they are and read, with their state roots."""
    bundles = home / "bundles"
    bundles.mkdir()
    for number in range(1, tip + 1):
        bundle = {
            "chain_id": node.genesis["config"]["chainId"],
            "rules": node.rules(number),
            "block_rlp": node.ask("debug_getRawBlock", hex(number)),
            "witness": node.ask("debug_executionWitness", hex(number)),
        }
        (bundles / f"{number}.json").write_text(json.dumps(bundle))
    txgraph.run("replay", "verify", "--source", f"bundle:{bundles}")
    print(f"replay: {tip} blocks end in their state roots")
    rows = [placed(row) for row in txgraph.rows("replay", "transfers", "--source", f"bundle:{bundles}")]
    equal("movements of the replay", rows, [it for it in expected if it[6] != "value"])


def compare(node, txgraph, home, receipts):
    tip = node.tip()
    source = f"rpc:{node.url}"
    expected = traced(node, tip)
    print(f"{tip} blocks, {tip + 1 - node.fork} of Amsterdam; {len(expected)} movements")
    everything = f"0:{tip + 1}"
    eth, inside = ("--token", "eth", "--kind", "value,internal,burn"), "--with-internal"
    rows = native(txgraph.transfers(source, everything, *eth, inside))
    equal("movements", rows, expected)
    of_values = ("--token", "eth", "--kind", "value")
    values = [row for row in expected if row[6] == "value"]
    equal("values", native(txgraph.transfers(source, everything, *of_values)), values)
    # Tokens: no log of the protocol is one.
    tokens = txgraph.transfers(source, everything, "--standard", "erc20")
    assert tokens and all(row["token_address"] != "0x" + "ff" * 19 + "fe" for row in tokens)
    print(f"tokens: {len(tokens)} rows, none of the protocol")
    verified = native(txgraph.transfers(source, everything, *eth, inside, "--check-roots"))
    equal("movements, verified", verified, expected)
    with without_traces(node) as server:
        untraced = f"rpc:{server.url}"
        since = [it for it in expected if it[0] >= node.fork]
        blocks = f"{node.fork}:{tip + 1}"
        rows = native(txgraph.transfers(untraced, blocks, *eth, inside))
        equal("movements since Amsterdam, without traces", rows, since)
        refused = txgraph.start("transfers", "--source", untraced, inside, "--blocks", everything)
        assert refused.returncode == 2, refused
        of_fork = [it for it in receipts if int(it["blockNumber"], 16) >= node.fork]
        transactions(txgraph, untraced, of_fork, expected)
    before = [it for it in receipts if int(it["blockNumber"], 16) < node.fork]
    transactions(txgraph, source, before, expected)
    kinds = "value,internal,burn,withdrawal,fee,priority"
    paid = txgraph.transfers(source, everything, "--token", "eth", inside, "--kind", kinds)
    assert {row["kind"] for row in paid} == set(kinds.split(",")), "all kinds occur"
    balances(node.initial(), node.accounts(tip), paid)
    # A lake has no block that can be replaced.
    final = int(node.ask("eth_getBlockByNumber", "finalized", False)["number"], 16)
    lake = home / "lake"
    txgraph.run("lake", "build", "--source", source, inside, "--reorg-buffer", 0, lake)
    rows = native(txgraph.transfers(f"lake:{lake}", f"0:{final + 1}", *eth, inside))
    equal("movements of a lake", rows, [it for it in expected if it[0] <= final])
    replayed(node, txgraph, home, tip, expected)


def run(node, options, home):
    node.start()
    deploys = [node.transaction(data=deployment(it)) for it in PARTS.values()]
    receipts = node.mined(node.send(deploys))
    parts = {name: it["contractAddress"] for name, it in zip(PARTS, receipts)}
    programs = Programs(options.seed, parts)
    before = run_transactions(node, programs, options.count, parts)
    assert node.tip() < node.fork, "the fork came too early"
    node.withdraw_until(node.fork - 1)
    after = run_transactions(node, programs, options.count, parts)
    node.withdraw_until(node.tip() + 3)
    succeeded = sum(it["status"] == "0x1" for it in before + after)
    print(f"{2 * options.count} transactions, {succeeded} succeeded")
    compare(node, Txgraph(options.txgraph), home, before + after)
    if options.keep:
        input(f"{node.url} ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--geth", required=True)
    parser.add_argument("--txgraph", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--keep", action="store_true", help="leave geth running until a key is pressed")
    options = parser.parse_args()
    # Ends with the exception that stops geth.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # geth may make an empty block after each one. The rest is filled up with withdrawals.
    fork = 2 * (1 + options.count) + 4
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        with Node(options.geth, home, fork) as node:
            run(node, options, home)


main()
