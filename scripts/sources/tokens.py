"""Logs of tokens: random ones, and a decoder of receipts that shares nothing with txgraph."""

from programs import TRANSFER

SINGLE = "c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"
BATCH = "4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"
DEPOSIT = "e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c"
WITHDRAWAL = "7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65"
APPROVAL = "8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"
ZERO = "0x" + "00" * 20


def emitter(topics):
    """A contract that makes a log of what it is called with: first the topics, then the data."""
    size = f"{32 * topics:02x}"
    read = "".join(f"60{32 * at:02x}35" for at in reversed(range(topics)))
    return f"60{size}360360{size}5f37{read}60{size}36035f{0xA0 + topics:02x}00"


def random_log(random, people):
    """Topics and data, as words of one log."""
    word = lambda number: number.to_bytes(32, "big")
    someone = lambda: random.choice([bytes(20), *people]).rjust(32, b"\0")
    amount = lambda: word(random.choice([0, 1, 7, 10**18, 2**256 - 1]))
    name = bytes.fromhex(
        random.choice([TRANSFER] * 6 + [SINGLE, SINGLE, BATCH, BATCH, DEPOSIT, WITHDRAWAL, APPROVAL])
    )
    if name.hex() in (DEPOSIT, WITHDRAWAL):
        topics, data = [name, someone()], [amount()]
    elif name.hex() == SINGLE:
        topics, data = [name, someone(), someone(), someone()], [amount(), amount()]
    elif name.hex() == BATCH:
        count = random.randrange(4)
        items = [amount() for _ in range(2 * count)]
        topics = [name, someone(), someone(), someone()]
        data = [word(64), word(96 + 32 * count)]
        data += [word(count), *items[:count], word(count), *items[count:]]
    else:
        # Three parameters, of which the first are indexed. Now and then one too many.
        words = [someone(), someone(), amount(), amount()][: random.choice([3, 3, 3, 3, 3, 4])]
        indexed = random.choice([2, 2, 2, 3, 0, 1])
        topics, data = [name, *words[:indexed]], words[indexed:]
    data = b"".join(data)
    # A log that ends too early is no transfer.
    return topics, data[:-1] if data and random.random() < 0.05 else data


def array(data, offset):
    at = int.from_bytes(data[offset : offset + 32], "big")
    count = int.from_bytes(data[at : at + 32], "big")
    words = data[at + 32 : at + 32 + 32 * count]
    return [int.from_bytes(words[32 * it : 32 * it + 32], "big") for it in range(count)]


def events(log):
    """What a log moved: (from, to, value, id, standard, kind)."""
    topics = [bytes.fromhex(it[2:]) for it in log["topics"]]
    data = bytes.fromhex(log["data"][2:])
    name, words = topics[0].hex(), topics[1:] + [data[at : at + 32] for at in range(0, len(data), 32)]
    if len(data) % 32:
        return
    ends = lambda first: ["0x" + it[12:].hex() for it in words[first : first + 2]]
    numbers = [int.from_bytes(it, "big") for it in words]
    kind = lambda start, end: "mint" if start == ZERO else "burn" if end == ZERO else "transfer"
    if name == TRANSFER and len(words) == 3:
        start, end = ends(0)
        if len(topics) == 4:
            yield start, end, 1, numbers[2], "erc721", kind(start, end)
        else:
            yield start, end, numbers[2], None, "erc20", kind(start, end)
    elif name == SINGLE and len(topics) == 4 and len(data) == 64:
        start, end = ends(1)
        yield start, end, numbers[4], numbers[3], "erc1155", kind(start, end)
    elif name == BATCH and len(topics) == 4:
        start, end = ends(1)
        for token, value in zip(array(data, 0), array(data, 32)):
            yield start, end, value, token, "erc1155", kind(start, end)
    elif name == DEPOSIT and len(words) == 2:
        yield ZERO, ends(0)[0], numbers[1], None, "erc20", "wrap"
    elif name == WITHDRAWAL and len(words) == 2:
        yield ends(0)[0], ZERO, numbers[1], None, "erc20", "unwrap"


def of_receipt(receipt):
    """The rows of tokens: (block, transaction, log, position in it, token, …)."""
    rows = []
    for log in receipt["logs"]:
        place = [int(log[it], 16) for it in ("blockNumber", "transactionIndex", "logIndex")]
        rows += [(*place, at, log["address"].lower(), *it) for at, it in enumerate(events(log))]
    # A coin that says the same twice, as a mint or burn and as a wrap, moved it once.
    moved = [
        it[4:8] for it in rows if it[8:] == (None, "erc20", "mint") or it[8:] == (None, "erc20", "burn")
    ]
    kept = []
    for row in rows:
        if row[10] in ("wrap", "unwrap") and row[4:8] not in moved:
            kept.append(row)
        elif row[10] in ("wrap", "unwrap"):
            moved.remove(row[4:8])
        else:
            kept.append(row)
    return kept


def placed(row):
    """A row of txgraph in this form."""
    place = [int(row[it]) for it in ("block_number", "transaction_index", "log_index", "sub_index")]
    ends = (row["from_address"], row["to_address"], int(row["value"]))
    token = int(row["token_id"]) if row["token_id"] else None
    return (*place, row["token_address"], *ends, token, row["token_standard"], row["kind"])


def call_data(topics, data):
    return b"".join(topics) + data


def call_emitter(parts, topics, data):
    """Code that calls the emitter for this number of topics."""
    whole = call_data(topics, data)
    code = b""
    for at in range(0, len(whole), 32):
        code += (
            b"\x7f" + whole[at : at + 32].ljust(32, b"\0") + b"\x61" + at.to_bytes(2, "big") + b"\x52"
        )
    code += b"\x5f\x5f\x61" + len(whole).to_bytes(2, "big") + b"\x5f\x5f\x73"
    return code + parts[f"log{len(topics)}"] + b"\x5a\xf1\x50"
