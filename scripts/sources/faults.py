"""Asks a server through another one that answers wrongly, refuses, or is behind.

The answer must be whole or an error, and whole where the query can be answered in another way.
"""

import base64
import concurrent.futures

from check import SILENT, report
from server import Proxy, failed
from wrong import BLOCK, TOKENS, cases

SECRETS = ["SecretOfPath1", "SecretOfQuery2", "SecretOfUser3", "SecretOfLogin4"]


def run(node, txgraph, end):
    """Runs all cases."""
    everything = ("--blocks", f"0:{end}")
    source = f"rpc:{node.url}"
    targets = busy(node, txgraph.answer([source], *everything, *TOKENS).rows)
    asked = {query for _, query, _, _ in cases(end - 1, targets)}
    whole = {it: txgraph.answer([source], *everything, *it) for it in asked}
    assert all(not it.code and it.rows and not it.caveats for it in whole.values()), whole

    def case(name, query, respond, must):
        with Proxy(node.url, respond) as server:
            answer = txgraph.answer([f"rpc:{server.url}"], *everything, *query)
        outcome = answer.outcome(whole[query]) or SILENT
        if not server.has_changed:
            outcome += ", no answer was changed"
        is_right = outcome == must if must else outcome == "whole" or outcome.startswith("exit ")
        return name, outcome, None if is_right else f"must be {must}\n{answer.text[-600:]}"

    outcomes, wrong = [], []
    # Most cases wait.
    pool = concurrent.futures.ThreadPoolExecutor(40)
    try:
        for name, outcome, problem in pool.map(lambda it: case(*it), cases(end - 1, targets)):
            print(f"  {name}: {outcome}", flush=True)
            outcomes.append(outcome)
            wrong += [f"{name}: {problem}"] if problem else []
    finally:
        pool.shutdown(cancel_futures=True)
    report("faults", outcomes, wrong)
    secrets(node, txgraph, everything)


def busy(node, rows):
    """A final block and one near the tip with tokens in many transactions, and a token of each."""
    final = int(node.ask(BLOCK, "finalized", False)["number"], 16)
    places = {(int(it["block_number"]), it["transaction_index"]) for it in rows}
    count = lambda row: sum(block == int(row["block_number"]) for block, _ in places)
    found = {}
    for row in sorted(rows, key=count):
        block = int(row["block_number"])
        found["final" if block <= final else "tip"] = (block, row["token_address"])
    assert len(found) == 2, "there are no tokens near the tip"
    return found


def secrets(node, txgraph, everything):
    """Servers repeat what they were asked for. Keys in it are in nothing that is printed or written."""
    path, query, user, login = SECRETS
    basic = base64.b64encode(f"{user}:{login}".encode()).decode()

    def echo(request):
        return f"Cannot POST {request.path} as {request.headers.get('authorization')} {basic}"

    answers = {
        "page": lambda request, _: (404, f"<pre>{echo(request)}</pre>".encode()),
        "error": lambda request, _: [failed(it, -32000, echo(request)) for it in request.calls],
        "refusal": lambda request, _: (401, [failed(it, -32000, echo(request)) for it in request.calls]),
    }
    for name, respond in answers.items():
        with Proxy(node.url, respond) as server:
            host = server.url.removeprefix("http://")
            url = f"rpc:http://{user}:{login}@{host}/v2/{path}?apikey={query}"
            answer = txgraph.answer([url], *everything)
        assert answer.code, answer
        found = [it for it in [*SECRETS, basic] if it in answer.text]
        if found:
            raise SystemExit(f"keys, {name}: {found} in {answer.text}")
    print(f"keys: none is in the output of {len(answers)} refusals", flush=True)
