"""Taint and the maximum flow, compared with plain models on random transfers."""

import csv
import json
import random
import subprocess
from collections import defaultdict, deque
from fractions import Fraction

import networkx
import pyarrow
import pytest

import txgraph

TOKEN = "0x" + "10" * 20
ROOT, END = 0, 1
CASES = 60


def address(number):
    return f"0x{0xA0 + number:040x}"


@pytest.fixture(params=range(CASES))
def case(request, tmp_path):
    """Rows of (block, sender, receiver, value), a file of them, and the block after the last."""
    rng = random.Random(request.param)
    accounts, rows, block = rng.randrange(2, 9), [], 1
    for _ in range(rng.randrange(2, 60)):
        block += rng.randrange(2)
        value = rng.choice((0, 1, 2, 3, 5, 7, 10, 100, rng.randrange(1, 1000)))
        rows.append((block, rng.randrange(accounts), rng.randrange(accounts), value))
    with open(tmp_path / "transfers.csv", "w") as file:
        table = csv.writer(file)
        table.writerow("block_number log_index token_address from_address to_address value".split())
        for log, (at, sender, receiver, value) in enumerate(rows):
            table.writerow((at, log, TOKEN, address(sender), address(receiver), value))
    return rows, f"csv:{tmp_path / 'transfers.csv'}", f"1:{block + 1}"


# A part of an amount: the number of its source and its hop, or None if it is not tainted. The parts
# of a transfer are ordered by source, then hop; what is not tainted is last (docs/taint.md).
def ordered(parts):
    return sorted(parts, key=lambda it: (it[0] is None, it[0] or (0, 0)))


class Queue:
    """An account that spends the parts that arrived first, or last."""

    def __init__(self, is_last_first):
        self.parts = deque()
        self.at = -1 if is_last_first else 0

    def add(self, parts):
        self.parts.extend(parts)

    def take(self, value):
        taken = defaultdict(int)
        while value and self.parts:
            label, amount = self.parts[self.at]
            part = min(amount, value)
            value -= part
            taken[label] += part
            self.parts[self.at] = (label, amount - part)
            if part == amount:
                del self.parts[self.at]
        # More than the account is known to have.
        taken[None] += value
        return taken.items()


class Shares:
    """An account that spends the same share of all parts."""

    def __init__(self):
        self.held = defaultdict(int)

    @property
    def parts(self):
        return self.held.items()

    def add(self, parts):
        for label, amount in parts:
            self.held[label] += amount

    def take(self, value):
        total = sum(self.held.values())
        known = min(value, total)
        parts = ordered(self.held.items())
        exact = [Fraction(known * amount, total or 1) for _, amount in parts]
        down = [int(it) for it in exact]
        remainders = sorted(range(len(parts)), key=lambda it: (down[it] - exact[it], it))
        for at in remainders[: known - sum(down)]:
            down[at] += 1
        for (label, _), amount in zip(parts, down):
            self.held[label] -= amount
        return [*zip((label for label, _ in parts), down), (None, value - known)]


ACCOUNTS = {"fifo": lambda: Queue(False), "lifo": lambda: Queue(True), "haircut": Shares}


def tainted(rows, account):
    """The ledger, what each account holds in the end, and what came back to the root."""
    accounts, ledger, returned, sources = defaultdict(account), [], 0, 0
    for log, (_, sender, receiver, value) in enumerate(rows):
        if sender == receiver or not value:
            continue
        if sender == ROOT:
            sources += 1
            parts = [((sources, 0), value)]
        else:
            parts = accounts[sender].take(value)
        parts = [(label and (label[0], label[1] + 1), amount) for label, amount in parts if amount]
        ledger += [(log, *label, amount) for label, amount in parts if label]
        if receiver == ROOT:
            returned += sum(amount for label, amount in parts if label)
        else:
            accounts[receiver].add(ordered(parts))
    held = {
        address(name): sum(amount for label, amount in account.parts if label)
        for name, account in accounts.items()
    }
    return sorted(ledger), {name: amount for name, amount in held.items() if amount}, returned


@pytest.mark.parametrize("method", ACCOUNTS)
def test_taint_equals_a_plain_model(case, method):
    rows, source, blocks = case
    with txgraph.open(source, chain_id=1337, covers=blocks) as node:
        taint = node.taint(address(ROOT), method=method)
    ledger, held, returned = tainted(rows, ACCOUNTS[method])
    found = pyarrow.table(taint.ledger).to_pylist()
    columns = ("log_index", "source", "hop", "amount_string")
    assert sorted(tuple(int(row[it]) for it in columns) for row in found) == ledger
    found = defaultdict(int)
    for row in pyarrow.table(taint.ends).to_pylist():
        name = "returned" if row["end"] == "returned" else "0x" + row["address"].hex()
        found[name] += int(row["amount_string"])
    assert found.pop("returned", 0) == returned
    assert found == held


def greatest_flow(rows):
    """By networkx, in a network with a vertex for each account and transfer."""
    network, last = networkx.DiGraph([("source", "never"), ("never", "target")]), {}
    network["source"]["never"]["capacity"] = 0

    def vertex(account, time):
        if account in last:
            network.add_edge(last[account], (account, time))
        last[account] = (account, time)
        return last[account]

    for time, (_, sender, receiver, value) in enumerate(rows):
        if sender != receiver:
            network.add_edge(vertex(sender, 2 * time), vertex(receiver, 2 * time + 1), capacity=value)
    ends = {ROOT: lambda it: ("source", it), END: lambda it: (it, "target")}
    network.add_edges_from([ends[it[0]](it) for it in network if it[0] in ends])
    return networkx.maximum_flow_value(network, "source", "target")


def test_the_maximum_flow_is_that_of_networkx(case, program):
    rows, source, blocks = case
    command = [program, "-q", "path", address(ROOT), address(END), "--source", source, "--chain-id"]
    command += ["1337", "--covers", blocks, "--hops", "all", "--max-flow", "--json"]
    done = subprocess.run(command, capture_output=True, check=True)
    flows = json.loads(done.stdout)["flows"]
    assert sum(int(it["at_most"]) for it in flows) == greatest_flow(rows)
    for flow in flows:
        assert sum(int(it["value"]) for it in flow["cut"]) == int(flow["at_most"])
