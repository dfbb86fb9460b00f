"""Compares every source with every other, on chains of real servers, and with faults."""

import argparse
import pathlib
import signal
import sys
import tempfile

import damage
import faults
import reorgs
import tokens
from anvil import DOUBTFUL, Anvil, Traffic
from check import Txgraph, balances, equal
from exports import Exports
from node import Node
from programs import deployment

OUTSIDE = ["transfer", "mint", "burn", "wrap", "unwrap", "value"]
KINDS = ",".join([*OUTSIDE, "internal", "withdrawal"])
INSIDE = ("--with-internal", "--kind", KINDS)


def same(name, answer, rows):
    """Files do not show whether a contract that names itself burns its balance. They count these."""
    if answer.code:
        raise SystemExit(f"{name}: {answer.text}")
    lost = len(rows) - len(answer.rows)
    if lost and any(it.endswith(f"before Cancun: {lost}") for it in answer.caveats):
        name, is_burn = (
            f"{name}, without {lost} burns",
            lambda it: it["kind"] == "burn" and not it["token_address"],
        )
        kept = [[it for it in some if not is_burn(it)] for some in (answer.rows, rows)]
        return equal(name, *kept, "rpc")
    return equal(name, answer.rows, rows, "rpc")


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
    balances(node.initial(), node.accounts(end - 1), paid)
    equal("verified", ask([source], *INSIDE, "--check-roots"), rows, "unverified")
    equal("single requests", ask([f"{source}#batch=1,range=7"], *INSIDE), rows, "batches")

    exports = Exports(options.python, node, home, has_parity)
    half = end // 2
    whole = {
        "etl, traces of geth": f"etl:{exports.etl('etl-geth', end, 'csv' if has_parity else 'json')}"
    }
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
    own = home / "own"
    own.mkdir()
    txgraph.run("transfers", "--source", source, *INSIDE, "--output", own / "own.csv")
    whole["csv"] = f"csv:{own}"
    for name, other in whole.items():
        same(name, txgraph.answer([other], *chain, *INSIDE, "--blocks", everything), rows)
    # A lake has no block that can be replaced.
    lake = home / "lake"
    txgraph.run("lake", "build", "--source", source, "--with-internal", "--reorg-buffer", 0, lake)
    final = int(node.ask("eth_getBlockByNumber", "finalized", False)["number"], 16)
    stored = [it for it in rows if int(it["block_number"]) <= final]
    equal("lake", txgraph.transfers(f"lake:{lake}", f"0:{final + 1}", *INSIDE), stored, "rpc")
    lake = f"lake:{lake}"
    joints = {
        "etl, then rpc": [first, source],
        "rpc, then etl": [source, first],
        "lake, then rpc": [lake, source],
    }
    joints["csv, then rpc"] = [whole["csv"], source]
    if last:
        joints |= {"etl, then cryo": [first, last], "cryo, etl, lake, rpc": [last, first, lake, source]}
        joints["cryo, then lake"] = [whole["cryo, CSV"], lake]
    for name, joint in joints.items():
        same(name, txgraph.answer(joint, *chain, *INSIDE, "--blocks", everything), rows)
    graph = ("--root", next(iter(node.nonces)), "--hops", 3, *chain, "--blocks", everything)
    hops = txgraph.answer([source], *graph, command="graph")
    assert not hops.code and hops.rows, hops
    for name, joint in ({it: [source] for it, source in whole.items()} | joints).items():
        same(f"graph, {name}", txgraph.answer(joint, *graph, command="graph"), hops.rows)
    return whole


def doubtful(node, txgraph, home, options):
    """A trace that has two meanings is refused, and counted in files."""
    created = node.mined(node.send([node.transaction(data=deployment(DOUBTFUL))]))[0]["contractAddress"]
    node.mined(node.send([node.transaction(created, 9)]))
    tip = node.tip()
    refused = txgraph.answer([f"rpc:{node.url}"], *INSIDE, "--blocks", tip)
    assert refused.code == 3, refused
    folder = Exports(options.python, node, home, True).etl("etl-doubtful", tip + 1, "csv")
    answer = txgraph.answer([f"etl:{folder}"], *INSIDE, "--chain-id", 31337, "--blocks", tip)
    assert len(answer.rows) == 3 and answer.caveats[-1].endswith("may have moved nothing: 1"), answer
    print("a trace with two meanings: exit 3, and stated of files", flush=True)


def made(node, seed, count, is_cancun=True):
    """Makes the chain. The receipts of random transactions."""
    node.start()
    traffic = Traffic(node, seed, is_cancun)
    # Faults need a final block with tokens, and one that is not.
    return traffic, traffic.tokens() + traffic.run(count) + traffic.tokens()


def on_anvil(txgraph, home, options):
    """Each fork has transactions of its own. The last chain meets faults, and rows of the one before it."""
    exports = []
    for at, fork in enumerate(("shanghai", "cancun", "osaka")):
        print(f"-- anvil, {fork}", flush=True)
        folder = home / fork
        with Anvil(options.anvil, folder, fork) as node:
            is_last = fork == "osaka"
            traffic, receipts = made(node, options.seed + at, options.count, fork != "shanghai")
            exports.append(compare(node, txgraph, folder, options, receipts, True))
            if fork == "cancun":
                doubtful(node, txgraph, folder, options)
            if is_last:
                end = node.tip() + 1
                faults.run(node, txgraph, end)
                # Changes the chain.
                reorgs.run(node, txgraph, traffic, options.count // 3)
    chain = ("--chain-id", 31337, "--blocks", f"0:{end}")
    files = [list(it.values()) for it in exports]
    damage.run(txgraph, traffic.random, files[-1], files[-2], chain, home, 2 * options.count)


def on_geth(txgraph, home, options):
    print("-- geth", flush=True)
    # A fork that does not come.
    with Node(options.geth, home / "geth", 1_000_000) as node:
        _, receipts = made(node, options.seed, options.count // 2)
        node.withdraw_until(node.tip() + 3)
        compare(node, txgraph, home / "geth", options, receipts, False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--anvil", required=True)
    parser.add_argument("--geth", required=True)
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
        on_geth(txgraph, home, options)
        on_anvil(txgraph, home, options)


main()
