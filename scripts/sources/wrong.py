"""What servers answer that is wrong, and how they refuse.

Each fault is met once or always, in a final block or near the tip.
"""

import json
import threading

from server import failed

LOGS, RECEIPTS, BLOCK = "eth_getLogs", "eth_getBlockReceipts", "eth_getBlockByNumber"
# Logs of ranges, not logs of a block with this hash.
RANGES = "eth_getLogs by range"
TRACES, PARITY = "debug_traceBlockByNumber", "trace_block"
TOKENS = ("--standard", "erc20,erc721,erc1155")
# A token of the block follows.
ONE = ("--token",)
VALUES = ("--kind", "transfer,mint,burn,wrap,unwrap,value")
INSIDE = ("--with-internal", "--kind", "value,internal,burn,fee,priority")


def setting(**fields):
    return lambda items: [it | fields for it in items]


def without(*names):
    return lambda items: [{key: it[key] for key in it if key not in names} for it in items]


def first(change):
    """Changes the first item only."""
    return lambda items: change(items[:1]) + items[1:]


def swapped(*names):
    """Swaps these fields of the first two items, or the items."""

    def change(items):
        if len(items) < 2:
            return items
        one, two, *rest = items
        if not names:
            return [two, one, *rest]
        one, two = ({**one, **{it: two[it] for it in names}}, {**two, **{it: one[it] for it in names}})
        return [one, two, *rest]

    return change


HASH, WORD = "0x" + "99" * 32, "0x" + "00" * 31 + "07"
doubled = lambda items: [it for it in items for _ in range(2)]
reverse = lambda items: items[::-1]
shorter = lambda items: items[:-1]
nothing = lambda items: []
later = lambda items: [it | {"blockTimestamp": hex(int(it["blockTimestamp"], 16) + 1)} for it in items]
# Items of a block: (name, method, query, change, whether nothing shows it if the block is final).
ITEMS = [
    ("logs doubled", LOGS, TOKENS, doubled, False),
    ("logs reversed", LOGS, TOKENS, reverse, False),
    ("logs removed", LOGS, TOKENS, setting(removed=True), False),
    ("logs of another hash", LOGS, TOKENS, setting(blockHash=HASH), False),
    ("logs of another block", LOGS, TOKENS, setting(blockNumber="0xfffff"), False),
    ("logs of an older block", LOGS, TOKENS, setting(blockNumber="0x1"), False),
    ("logs of another contract", LOGS, ONE, setting(address="0x" + "12" * 20), False),
    ("logs later", LOGS, TOKENS, later, True),
    ("logs without a block", LOGS, TOKENS, setting(blockNumber=None), False),
    ("logs without an index", LOGS, TOKENS, without("logIndex"), False),
    ("logs with one index", LOGS, TOKENS, setting(logIndex="0x0"), False),
    ("logs null", LOGS, TOKENS, lambda items: [None for _ in items], False),
    ("no logs", RANGES, TOKENS, nothing, True),
    ("receipts doubled", RECEIPTS, VALUES, doubled, False),
    ("receipts reversed", RECEIPTS, VALUES, reverse, False),
    ("receipts swapped", RECEIPTS, VALUES, swapped("transactionHash", "transactionIndex"), False),
    ("last receipt missing", RECEIPTS, VALUES, shorter, False),
    ("no receipts", RECEIPTS, VALUES, nothing, False),
    ("receipts null", RECEIPTS, VALUES, lambda items: [None for _ in items], False),
    ("receipts of another hash", RECEIPTS, VALUES, setting(blockHash=HASH), False),
    ("receipts without status", RECEIPTS, VALUES, without("status"), False),
    ("receipts with status 2", RECEIPTS, VALUES, setting(status="0x2"), False),
    ("receipts without logs", RECEIPTS, VALUES, setting(logs=[]), False),
    ("receipts without fields", RECEIPTS, VALUES, without("logs"), False),
    ("receipts without gas", RECEIPTS, INSIDE, without("gasUsed"), False),
    ("traces doubled", TRACES, INSIDE, doubled, False),
    ("traces swapped", TRACES, INSIDE, swapped(), False),
    ("traces swapped, no hash", TRACES, INSIDE, lambda it: without("txHash")(swapped()(it)), False),
    ("last trace missing", TRACES, INSIDE, shorter, False),
    ("no traces", TRACES, INSIDE, nothing, False),
    ("traces null", TRACES, INSIDE, lambda items: [None for _ in items], False),
    ("traces failed", TRACES, INSIDE, lambda items: [{"error": "timeout"} for _ in items], False),
    ("Parity's last trace missing", PARITY, INSIDE, shorter, True),
    ("no traces of Parity", PARITY, INSIDE, nothing, False),
    ("traces of Parity doubled", PARITY, INSIDE, doubled, False),
    ("traces of Parity of another hash", PARITY, INSIDE, setting(blockHash=HASH), False),
]
# Changes of a block.
BLOCKS = [
    ("block null", lambda it: None),
    ("block without transactions", lambda it: it | {"transactions": []}),
    ("last transaction missing", lambda it: it | {"transactions": it["transactions"][:-1]}),
    ("transactions doubled", lambda it: it | {"transactions": doubled(it["transactions"])}),
    ("transactions reversed", lambda it: it | {"transactions": reverse(it["transactions"])}),
    ("transactions null", lambda it: it | {"transactions": [None for _ in it["transactions"]]}),
    (
        "transactions by hash",
        lambda it: it | {"transactions": [one["hash"] for one in it["transactions"]]},
    ),
    ("block of another number", lambda it: it | {"number": "0x1"}),
    ("block of another hash", lambda it: it | {"hash": HASH}),
    ("block of another parent", lambda it: it | {"parentHash": HASH}),
    ("block without bloom", lambda it: it | {"logsBloom": "0x" + "00" * 256}),
    ("block without fields", lambda it: {"number": it["number"]}),
]
RANGE = "You can make eth_getLogs requests with up to a 10 block range."
# Refusals of too large queries: (status, code, text).
TOO_WIDE = [(status, -32600, RANGE) for status in (200, 400, 403, 413, 422, 429, 500)] + [
    (400, 35, "ranges over 10000 blocks are not supported on freetier"),
    (200, -32005, "query returned more than 10000 results"),
    (200, -32000, "logs matched by query exceeds limit of 10000"),
    (408, 30, "Request timeout on the free tier, please upgrade your tier to the paid one"),
    (200, -32602, "query exceeds max block range 100000"),
]
BEHIND = [
    "header not found",
    "block #{} not found",
    "block not found",
    "unknown block",
    "block not found: {}",
]
BEHIND += ["One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found"]
PRUNED = [
    "pruned history unavailable",
    "old data not available due to pruning",
    "No state available for block {}",
]
NO_METHOD = [
    (400, -32600, "eth_getBlockReceipts is not available on the Free tier"),
    (400, -32600, "Unsupported method: eth_getBlockReceipts"),
    (200, -32601, "the method eth_getBlockReceipts does not exist/is not available"),
]
NO_TRACES = "Archive, Debug and Trace requests are not available on free tier"


class Times:
    """Lets a fault happen this often."""

    def __init__(self, times):
        self.left, self.lock = times, threading.Lock()

    def take(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0


def block_of(call):
    """The first block that a call asks for."""
    number = call["params"][0] if call["params"] else None
    number = number.get("fromBlock") if isinstance(number, dict) else number
    return int(number, 16) if isinstance(number, str) and number.startswith("0x") else None


def range_of(call):
    filtered = call["params"][0] if call["params"] else None
    if call["method"] != LOGS or "toBlock" not in filtered:
        return 1
    return int(filtered["toBlock"], 16) - int(filtered["fromBlock"], 16) + 1


def of_items(method, change, block, times):
    """Changes the items of a block in the answers of a method."""
    times, number = Times(times), hex(block)

    def answered(call, answer):
        items = answer.get("result")
        is_range = call["method"] == LOGS and "fromBlock" in call["params"][0]
        if method not in (call["method"], RANGES if is_range else None) or not isinstance(items, list):
            return answer
        of_logs = method in (LOGS, RANGES)
        is_here = (
            (lambda it: it["blockNumber"] == number) if of_logs else lambda _: block_of(call) == block
        )
        mine = [it for it in items if is_here(it)]
        if not mine or not times.take():
            return answer
        at = next(at for at, it in enumerate(items) if is_here(it))
        return answer | {"result": items[:at] + change(mine) + items[at + len(mine) :]}

    return lambda request, answers: [answered(*it) for it in zip(request.calls, answers)]


def of_block(change, block, times):
    times = Times(times)

    def answered(call, answer):
        if call["method"] != BLOCK or block_of(call) != block or not times.take():
            return answer
        return answer | {"result": change(answer["result"])}

    return lambda request, answers: [answered(*it) for it in zip(request.calls, answers)]


def refusing(status, code, text, is_met, times=1 << 30):
    """Answers with an error, if a call is such a one. The status of a request applies to all its calls."""
    times = Times(times)

    def respond(request, answers):
        met = [is_met(it) for it in request.calls]
        if not any(met) or not times.take():
            return answers
        refused = [failed(it, code, text.format(block_of(it))) for it in request.calls]
        if status != 200:
            return status, refused
        return [no if is_here else yes for is_here, no, yes in zip(met, refused, answers)]

    return respond


def once(change, times=1, only=lambda request: True):
    """Changes whole answers."""
    times = Times(times)

    def respond(request, answers):
        return change(request, answers) if only(request) and times.take() else answers

    return respond


def cases(tip, targets):
    """(name, query, respond, what must come out; `None`: whole or an error)"""
    always, many = 1 << 30, lambda request: len(request.calls) > 2
    has = lambda *methods: lambda call: call["method"] in methods
    for place, (block, token) in targets.items():
        for often, times in (("once", 1), ("always", always)):
            about = f"{place}, {often}"
            for name, method, query, change, is_hidden in ITEMS:
                query = (*query, token) if query == ONE else query
                respond = of_items(method, change, block, times)
                if method == PARITY:
                    no_debug = refusing(200, -32601, "no such method", has(TRACES))
                    respond = lambda request, answers, it=respond: no_debug(
                        request, it(request, answers)
                    )
                if not (is_hidden and place == "final"):
                    yield f"{name}, {about}", query, respond, "whole" if method == RANGES else None
            for name, change in BLOCKS:
                yield f"{name}, {about}", VALUES, of_block(change, block, times), None
        for text in BEHIND:
            for method, query in (
                (BLOCK, VALUES),
                (RECEIPTS, VALUES),
                (LOGS, TOKENS),
                (TRACES, INSIDE),
            ):
                met = lambda call, it=method: call["method"] == it
                yield (
                    f"{text}, {method}, {place}",
                    query,
                    refusing(200, -32000, text, met, 2),
                    "whole",
                )
    for status, code, text in TOO_WIDE:
        is_wide = lambda call: range_of(call) > 10
        yield f"{status} {text}", TOKENS, refusing(status, code, text, is_wide), "whole"
    for status, code, text in NO_METHOD:
        yield f"{status} {text}", VALUES, refusing(status, code, text, has(RECEIPTS)), "whole"
    for text in PRUNED:
        old = lambda call: call["method"] in (BLOCK, LOGS, RECEIPTS) and (block_of(call) or 99) < 10
        yield text, VALUES, refusing(200, -32000, text, old), "exit 3"
    yield NO_TRACES, INSIDE, refusing(200, -32603, NO_TRACES, has(TRACES, PARITY)), "exit 2"
    yield f"{NO_TRACES}, debug", INSIDE, refusing(400, -32603, NO_TRACES, has(TRACES)), "whole"
    html = lambda status: lambda request, answers: (status, b"<html>no</html>")
    is_batch = lambda request: request.is_batch and len(request.calls) > 1
    yield "batches forbidden", VALUES, once(html(403), always, is_batch), "whole"
    small = lambda request, answers: [
        failed(it, 31, "Batch of more than 3 requests are not allowed on free tier")
        for it in request.calls
    ]
    yield "small batches", VALUES, once(small, always, many), "whole"
    large = lambda request, answers: (
        answers[:2] + [failed(it, -32003, "response too large") for it in request.calls[2:]]
    )
    yield "response too large", INSIDE, once(large, always, many), "whole"
    for status in (429, 500, 502, 503):
        yield f"status {status}, twice", VALUES, once(html(status), 2), "whole"
    cut = lambda request, answers: json.dumps(answers).encode()[:-20]
    for name, change, only in [
        ("no JSON", lambda request, answers: b"<html></html>", None),
        ("nothing", lambda request, answers: b"", None),
        ("null", lambda request, answers: b"null", None),
        ("cut JSON", cut, None),
        (
            "batch answered by an object",
            lambda request, answers: json.dumps(answers[0]).encode(),
            is_batch,
        ),
        ("empty batch", lambda request, answers: b"[]", is_batch),
        ("last answer missing", lambda request, answers: answers[:-1], is_batch),
        ("answer doubled", lambda request, answers: answers[:1] + answers, is_batch),
        ("answers reversed", lambda request, answers: answers[::-1], is_batch),
        ("ids swapped", lambda request, answers: swapped("id")(answers), is_batch),
        ("other ids", lambda request, answers: [it | {"id": 12345} for it in answers], None),
        ("no ids", lambda request, answers: without("id")(answers), None),
        ("null results", lambda request, answers: setting(result=None)(answers), None),
        ("no results", lambda request, answers: without("result")(answers), None),
        (
            "results and errors",
            lambda request, answers: setting(error={"code": 1, "message": "no"})(answers),
            None,
        ),
    ]:
        for often, times in (("once", 1), ("always", always)):
            # Not the first requests, which find out what the server is.
            when = lambda request, only=only: request.number > 2 and (only is None or only(request))
            must = "whole" if name == "answers reversed" else None
            yield f"{name}, {often}", VALUES, once(change, times, when), must
    height = lambda number: of_method("eth_blockNumber", hex(number))
    yield "no blocks yet", VALUES, height(0), "exit 3"
    yield "another chain", VALUES, of_method("eth_chainId", "0x1"), None
    for often, times in (("twice", 2), ("always", always)):
        must = "whole" if often == "twice" else None
        for query in (TOKENS, VALUES, INSIDE):
            yield f"behind, {often}, {query[-1]}", query, behind(tip - 4, times), must


def of_method(method, result):
    def answered(call, answer):
        return answer | {"result": result} if call["method"] == method else answer

    return lambda request, answers: [answered(*it) for it in zip(request.calls, answers)]


def behind(tip, times):
    """Some servers behind the URL do not have the last blocks: they answer as if there were nothing."""
    times = Times(times)

    def answered(call, answer):
        result = answer.get("result")
        if call["method"] == LOGS and isinstance(result, list):
            result = [it for it in result if int(it["blockNumber"], 16) <= tip]
        elif (block_of(call) or 0) > tip:
            result = None
        if result == answer.get("result") or not times.take():
            return answer
        return answer | {"result": result}

    return lambda request, answers: [answered(*it) for it in zip(request.calls, answers)]
