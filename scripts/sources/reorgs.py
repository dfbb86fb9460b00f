"""Replaces the last blocks of a chain just before a request of a query is answered."""

from anvil import SENDERS
from check import report
from server import Proxy

QUERIES = {
    "tokens": ("--standard", "erc20,erc721,erc1155"),
    "values": ("--kind", "transfer,mint,burn,wrap,unwrap,value"),
    "inside": ("--with-internal", "--kind", "value,internal,burn,fee,priority"),
    "verified": ("--check-roots",),
    # Some of these transfers are always replaced.
    "graph": ("--root", SENDERS[1], "--hops", "2"),
}
# Small requests, one after another.
OPTIONS = "#batch=6,range=15,connections=1"
unchanged = lambda _, answers: answers


def run(node, txgraph, traffic, count):
    """Asks `count` times. The reorganizations are spread over the requests of each query."""
    outcomes, wrong = [], []
    for name, query in QUERIES.items():
        asked = (*query, "--blocks", ":")
        command = "graph" if name == "graph" else "transfers"
        ask = lambda url: txgraph.answer([f"rpc:{url}"], *asked, command=command)
        requests = []
        with Proxy(node.url, unchanged, requests.append) as server:
            ask(server.url + OPTIONS)
        per_query = count // len(QUERIES)
        for case in range(per_query):
            traffic.run(5)
            # The first and the last, too.
            at = case * (len(requests) - 1) // max(per_query - 1, 1)
            depth = traffic.random.randrange(1, 7)
            before = ask(node.url)
            replaced = []

            def replace(request):
                if request.number == at:
                    replaced.append(traffic.replace(depth))

            with Proxy(node.url, unchanged, replace) as server:
                answer = ask(server.url + OPTIONS)
            # Threads decide how calls are joined in requests: there may have been one fewer.
            if not replaced:
                traffic.replace(depth)
            after = ask(node.url)
            assert not before.code and not after.code, (before, after)
            if answer.code:
                outcome = f"exit {answer.code}"
            else:
                chains = {"new chain": after.rows, "old chain": before.rows}
                # The last block of either chain may have no row of this query.
                if before.rows == after.rows:
                    chains = {"both chains": after.rows}
                outcome = next((it for it, rows in chains.items() if rows == answer.rows), "MIXED")
            print(f"  {name}, request {at} of {len(requests)}, {depth} blocks: {outcome}", flush=True)
            outcomes.append(outcome)
            if outcome not in ("new chain", "old chain", "both chains"):
                wrong.append(f"{name}, request {at}: {outcome}\n{answer.text[-800:]}")
    report("reorganizations", outcomes, wrong)
