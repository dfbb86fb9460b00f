"""Damages the files of real exports: an answer is whole, or says what is missing, or fails."""

import csv
import io
import json
import re
import shutil

from check import SILENT, report

QUERY = ("--with-internal", "--kind", "transfer,mint,burn,wrap,unwrap,value,internal,withdrawal")


def rows_of(path):
    """The rows of a text file, as lists of names and cells."""
    text = path.read_text()
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text)))
    return [json.loads(line) for line in text.splitlines()]


def write(path, rows, names):
    if path.suffix != ".csv":
        path.write_text("".join(json.dumps(it) + "\n" for it in rows))
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def damage_rows(random, path, others):
    """Changes the rows of a text file. `others` are rows of another chain. Returns what was done."""
    rows = rows_of(path)
    if not rows:
        return None
    names, at = list(rows[0]), random.randrange(len(rows))
    column = random.choice(names)
    what = random.choice(
        ["drop", "double", "reorder", "empty", "drop some", "add foreign", "replace by foreign"]
    )
    if what == "drop":
        del rows[at]
    elif what == "double":
        rows.insert(random.randrange(len(rows)), rows[at])
    elif what == "reorder":
        random.shuffle(rows)
    elif what == "empty":
        # Without an error, a call succeeded.
        if column == "error":
            return None
        rows[at] = rows[at] | {column: "" if path.suffix == ".csv" else None}
    elif what == "drop some":
        del rows[at : at + 10]
    elif not others or (what == "replace by foreign" and "own" in path.name):
        # Nothing in a row of transfers is of its block.
        return None
    elif what == "add foreign":
        rows.append(random.choice(others))
    else:
        rows[at] = others[at % len(others)]
    if "logs" in path.name and is_hidden(rows_of(path), rows):
        return None
    write(path, rows, names)
    return f"{what}, row {at}, {column}"


def is_hidden(before, after):
    """Whether nothing shows that logs are missing: they are the last of their block, and its bloom
    filter has nothing of them that it does not have of others."""
    words = lambda row: set(
        re.findall(
            "0x[0-9a-f]{40,64}", str({it: row[it] for it in row if "topic" in it or it == "address"})
        )
    )
    for lost in (it for it in before if it not in after):
        left = [it for it in after if it["block_number"] == lost["block_number"]]
        is_last = all(int(it["log_index"] or 0) < int(lost["log_index"]) for it in left)
        if left and is_last and words(lost) <= set().union(*map(words, left)):
            return True
    return False


def damage_bytes(random, path):
    data = path.read_bytes()
    at = random.randrange(len(data))
    what = random.choice(["cut", "remove", "copy"])
    if what == "cut":
        path.write_bytes(data[:at])
    elif what == "remove":
        path.unlink()
    else:
        shutil.copy(path, path.with_name(f"copy-{path.name}"))
    return f"{what}, byte {at} of {len(data)}"


def run(txgraph, random, exports, foreign, chain, home, count):
    """Damages copies of the exports `count` times. `foreign` are the same exports of another chain."""
    outcomes, wrong = [], []
    whole = {it: txgraph.answer([it], *chain, *QUERY) for it in exports}
    for case in range(count):
        source, other = random.choice(list(zip(exports, foreign)))
        kind, folder = source.split(":")
        copy = home / "damaged"
        shutil.copytree(folder, copy)
        path = random.choice([it for it in sorted(copy.iterdir()) if it.stat().st_size])
        has_rows = path.suffix != ".parquet" and not path.name.endswith(".meta.json")
        if not has_rows or random.random() < 0.25:
            done = damage_bytes(random, path)
        else:
            twin = path.parent.parent / other.split(":")[1] / path.name
            done = damage_rows(random, path, rows_of(twin) if twin.exists() else [])
        if done:
            answer = txgraph.answer([f"{kind}:{copy}"], *chain, *QUERY)
            outcome = answer.outcome(whole[source]) or SILENT
            print(f"  {source.split('/')[-1]} {path.name}: {done}: {outcome}", flush=True)
            is_stated = outcome.startswith("states")
            outcomes.append("states what is missing" if is_stated else outcome)
            if outcome == SILENT:
                wrong.append(f"{path.name}: {done}: {len(answer.rows)} rows\n{answer.text[-600:]}")
        shutil.rmtree(copy)
    report("damaged exports", outcomes, wrong)
