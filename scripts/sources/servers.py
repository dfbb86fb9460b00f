"""Compares every source that txgraph has with every other, on chains of real servers, and with faults."""

import argparse
import pathlib
import signal
import sys
import tempfile

import tokens
from anvil import Anvil, Traffic
from check import Txgraph, balances, equal, placed
from exports import Exports
from node import Node

KINDS = "transfer,mint,burn,wrap,unwrap,value,internal,withdrawal"
INSIDE = ("--with-internal", "--kind", KINDS)


def compare(node, txgraph, home, options, receipts, has_parity):
    """Every source and every joint of sources has the same rows as the server."""
    end = node.tip() + 1
    source, everything = f"rpc:{node.url}", f"0:{end}"
    chain = ("--chain-id", int(node.ask("eth_chainId"), 16))
    ask = lambda sources, *more: txgraph.rows(
        "transfers", *(it for one in sources for it in ("--source", one)), "--blocks", everything, *more
    )
    rows = ask([source], *INSIDE)
    print(f"{end} blocks, {len(receipts)} transactions, {len(rows)} rows", flush=True)
    logged = [it for receipt in receipts for it in tokens.of_receipt(receipt)]
    found = [tokens.placed(it) for it in rows if it["token_address"]]
    equal("tokens", found, logged, "their logs")
    paid = ask([source], "--with-internal", "--token", "eth", "--kind", f"{KINDS},fee,priority")
    balances(node.initial(), node.accounts(), paid)
    equal("verified", ask([source], *INSIDE, "--verify"), rows, "unverified")
    equal("single requests", ask([f"{source}#batch=1,range=7"], *INSIDE), rows, "batches")

    exports = Exports(options.python, node, home, has_parity)
    half = end // 2
    folders = {"etl, geth's traces": f"etl:{exports.etl(end, 'csv')}"}
    folders["etl, half"] = f"etl:{exports.etl(half, 'json')}"
    if has_parity:
        folders["etl, Parity's traces"] = f"etl:{exports.etl(end, 'json', parity=True)}"
        folders["cryo, Parquet"] = f"cryo:{exports.cryo()}"
        folders["cryo, CSV"] = f"cryo:{exports.cryo(csv=True)}"
        folders["cryo, half"] = f"cryo:{exports.cryo(start=half)}"
    for name, folder in folders.items():
        if "half" not in name:
            equal(name, ask([folder], *chain, *INSIDE), rows, "rpc")
    return folders


def run(node, txgraph, home, options, is_cancun, has_parity):
    node.start()
    traffic = Traffic(node, options.seed, is_cancun)
    receipts = traffic.run(options.count)
    compare(node, txgraph, home, options, receipts, has_parity)


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
                run(node, txgraph, home / fork, options, fork != "shanghai", True)


main()
