"""Replaces the last blocks of a chain just before a request of a question is answered."""

from server import Proxy

QUESTIONS = {
    "tokens": ("--standard", "erc20,erc721,erc1155"),
    "values": ("--kind", "transfer,mint,burn,wrap,unwrap,value"),
    "inside": ("--with-internal", "--kind", "value,internal,burn,fee,priority"),
    "verified": ("--verify",),
}
# Small requests, one after another.
OPTIONS = "#batch=6,range=15,connections=1"
unchanged = lambda _, answers: answers


def run(node, txgraph, traffic, count):
    """Asks so many times, with reorganizations that are spread over the requests of each question."""
    counts, wrong = {}, []
    for name, question in QUESTIONS.items():
        asked = (*question, "--blocks", ":")
        requests = []
        with Proxy(node.url, unchanged, requests.append) as server:
            txgraph.answer([f"rpc:{server.url}{OPTIONS}"], *asked)
        per_question = count // len(QUESTIONS)
        for case in range(per_question):
            traffic.run(5)
            at, depth = case * len(requests) // per_question, traffic.random.randrange(1, 7)
            before = txgraph.answer([f"rpc:{node.url}"], *asked)
            replace = lambda request: traffic.replace(depth) if request.number == at else None
            with Proxy(node.url, unchanged, replace) as server:
                answer = txgraph.answer([f"rpc:{server.url}{OPTIONS}"], *asked)
            after = txgraph.answer([f"rpc:{node.url}"], *asked)
            assert not before.code and not after.code and before.rows != after.rows, (before, after)
            if answer.code:
                outcome = f"exit {answer.code}"
            else:
                chains = {"new chain": after.rows, "old chain": before.rows}
                outcome = next((it for it, rows in chains.items() if rows == answer.rows), "MIXED")
            print(f"  {name}, request {at} of {len(requests)}, {depth} blocks: {outcome}", flush=True)
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome not in ("new chain", "old chain"):
                wrong.append(f"{name}, request {at}: {outcome}\n{answer.text[-800:]}")
    print(f"{sum(counts.values())} reorganizations: {', '.join(f'{n} {it}' for it, n in counts.items())}", flush=True)
    if wrong:
        raise SystemExit("\n".join(wrong))
