"""Compares every source that txgraph has with every other, on chains of real servers, and with faults."""

import argparse
import pathlib
import signal
import sys
import tempfile

import faults
import reorgs
import tokens
from anvil import Anvil, Traffic
from check import Txgraph, balances, equal, placed
from exports import Exports
from node import Node

OUTSIDE = ["transfer", "mint", "burn", "wrap", "unwrap", "value"]
KINDS = ",".join([*OUTSIDE, "internal", "withdrawal"])
INSIDE = ("--with-internal", "--kind", KINDS)


def compare(node, txgraph, home, options, receipts, has_parity):
    """Every source and every joint of sources has the same rows as the server."""
    end = node.tip() + 1
    source, everything = f"rpc:{node.url}", f"0:{end}"
    chain = ("--chain-id", int(node.ask("eth_chainId"), 16))

    def ask(sources, *more):
        named = [it for one in sources for it in ("--source", one)]
        return txgraph.rows("transfers", *named, "--blocks", everything, *more)

    rows = ask([source], *INSIDE)
    print(f"{end} blocks, {len(receipts)} transactions, {len(rows)} rows", flush=True)
    logged = [it for receipt in receipts for it in tokens.of_receipt(receipt)]
    equal("tokens", [tokens.placed(it) for it in rows if it["token_address"]], logged, "their logs")
    paid = ask([source], "--with-internal", "--token", "eth", "--kind", f"{KINDS},fee,priority")
    balances(node.initial(), node.accounts(), paid)
    equal("verified", ask([source], *INSIDE, "--verify"), rows, "unverified")
    equal("single requests", ask([f"{source}#batch=1,range=7"], *INSIDE), rows, "batches")

    exports = Exports(options.python, node, home, has_parity)
    half = end // 2
    whole = {"etl, traces of geth": f"etl:{exports.etl('etl-geth', end, 'csv' if has_parity else 'json')}"}
    first, last = f"etl:{exports.etl('etl-half', half, 'json')}", None
    if has_parity:
        whole["etl, traces of Parity"] = f"etl:{exports.etl('etl-parity', end, 'json', parity=True)}"
        whole["cryo, Parquet"] = f"cryo:{exports.cryo('cryo-parquet')}"
        whole["cryo, CSV"] = f"cryo:{exports.cryo('cryo-csv', csv=True)}"
        last = f"cryo:{exports.cryo('cryo-half', start=half - 3)}"
    else:
        # Without traces, and no table of cryo has withdrawals.
        cryo = f"cryo:{exports.cryo('cryo-parquet')}"
        is_outside = lambda it: it["kind"] in OUTSIDE and (it["token_address"] or it["kind"] == "value")
        found = ask([cryo], *chain, "--kind", ",".join(OUTSIDE))
        equal("cryo, without traces", found, [it for it in rows if is_outside(it)], "rpc")
    own = home / "own.csv"
    txgraph.run("transfers", "--source", source, *INSIDE, "--output", own)
    whole["csv"] = f"csv:{own}"
    for name, other in whole.items():
        equal(name, ask([other], *chain, *INSIDE), rows, "rpc")
    # A lake has no block that can be replaced.
    lake = home / "lake"
    txgraph.run("lake", "build", "--source", source, "--with-internal", "--reorg-buffer", 0, lake)
    final = int(node.ask("eth_getBlockByNumber", "finalized", False)["number"], 16)
    stored = [it for it in rows if int(it["block_number"]) <= final]
    equal("lake", txgraph.transfers(f"lake:{lake}", f"0:{final + 1}", *INSIDE), stored, "rpc")
    lake = f"lake:{lake}"
    joints = {"etl, then rpc": [first, source], "rpc, then etl": [source, first], "lake, then rpc": [lake, source]}
    joints["csv, then rpc"] = [whole["csv"], source]
    if last:
        joints |= {"etl, then cryo": [first, last], "cryo, etl, lake, rpc": [last, first, lake, source]}
        joints["cryo, then lake"] = [whole["cryo, CSV"], lake]
    for name, joint in joints.items():
        equal(name, ask(joint, *chain, *INSIDE), rows, "rpc")
    return whole


def run(node, txgraph, home, options, is_cancun, has_parity, is_last=False):
    node.start()
    traffic = Traffic(node, options.seed, is_cancun)
    receipts = traffic.run(options.count)
    if not has_parity:
        node.withdraw_until(node.tip() + 3)
    whole = compare(node, txgraph, home, options, receipts, has_parity)
    if is_last:
        #faults.run(node, txgraph, node.tip() + 1)
        reorgs.run(node, txgraph, traffic, options.count // 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--anvil")
    parser.add_argument("--geth")
    parser.add_argument("--python", required=True, help="a Python that has cryo and ethereum-etl")
    parser.add_argument("--txgraph", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    options = parser.parse_args()
    # Ends with the exception that stops the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    txgraph = Txgraph(options.txgraph)
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        for fork in ("shanghai", "cancun", "osaka"):
            print(f"-- anvil, {fork}", flush=True)
            with Anvil(options.anvil, home / fork, fork) as node:
                run(node, txgraph, home / fork, options, fork != "shanghai", True, fork == "osaka")
        print("-- geth", flush=True)
        # A fork that does not come.
        with Node(options.geth, home / "geth", 1_000_000) as node:
            run(node, txgraph, home / "geth", options, True, False)


main()
