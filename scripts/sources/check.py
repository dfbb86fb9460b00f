"""What txgraph answers, in the form of the expected rows, and comparisons."""

import collections
import csv
import dataclasses
import io
import json
import pathlib
import subprocess
import sys
import tempfile


SILENT = "WRONG, AND NOTHING IS SAID"


def report(what, outcomes, wrong):
    """Prints how often there was each outcome. Ends the program if some are wrong."""
    counts = collections.Counter(outcomes).most_common()
    print(f"{len(outcomes)} {what}: {', '.join(f'{count} {it}' for it, count in counts)}", flush=True)
    if wrong:
        raise SystemExit("\n".join(wrong))


@dataclasses.dataclass
class Answer:
    code: int
    rows: list
    caveats: list
    # All that was printed and written.
    text: str

    def outcome(self, whole):
        """How the answer compares with a whole one; `None` if something is wrong and not said."""
        if self.code:
            return f"exit {self.code}"
        if self.rows == whole.rows:
            return "whole"
        said = [it for it in self.caveats if it not in whole.caveats]
        if not said:
            return None
        others = "" if is_part(self.rows, whole.rows) else ", and has other rows"
        return f"states {'; '.join(said)}{others}"


def is_part(rows, whole):
    """Whether nothing is in the rows that is not in all of them, in the same order.

    Their times may be missing. The remaining logs of a transaction are numbered from the start.
    """
    names = [it for it in whole[0] if it not in ("sub_index", "block_timestamp")] if whole else []

    def same(row, one):
        times = row["block_timestamp"], one["block_timestamp"]
        return times[0] in ("", times[1]) and all(row[it] == one[it] for it in names)

    left = iter(whole)
    return all(any(same(row, one) for one in left) for row in rows)


class Txgraph:
    def __init__(self, program):
        self.program = program

    def start(self, *arguments):
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def answer(self, sources, *arguments, command="transfers"):
        """Transfers that some sources have, with what is said about them."""
        named = [it for one in sources for it in ("--source", one)]
        with tempfile.TemporaryDirectory() as folder:
            rows, stats = (pathlib.Path(folder) / name for name in ("rows.csv", "stats"))
            done = self.start(command, *named, *arguments, "--output", rows, "--stats", stats)
            meta = pathlib.Path(f"{rows}.meta.json")
            texts = {it: it.read_text() for it in (rows, stats, meta) if it.exists()}
        found = table(texts[rows]) if rows in texts else []
        caveats = json.loads(texts[meta])["scan"].get("caveats", []) if meta in texts else []
        everything = done.stdout + done.stderr + "".join(texts.values())
        if done.returncode < 0 or "panicked" in done.stderr:
            raise SystemExit(f"txgraph {arguments}: {done.returncode} {done.stderr}")
        return Answer(done.returncode, found, caveats, everything)

    def run(self, *arguments):
        done = self.start(*arguments)
        if done.returncode:
            raise SystemExit(f"txgraph {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def rows(self, *arguments):
        return table(self.run(*arguments, "--format", "csv"))

    def transfers(self, source, blocks, *arguments):
        return self.rows("transfers", "--source", source, "--blocks", blocks, *arguments)


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def placed(row):
    """A row in the form of the expected ones."""
    place = (int(row[it]) for it in ("block_number", "transaction_index", "sub_index"))
    return (*place, row["from_address"], row["to_address"], int(row["value"]), row["kind"])


def native(rows):
    assert all(row["token_address"] == row["log_index"] == "" for row in rows), rows
    return [placed(row) for row in rows]


def equal(what, found, expected, of="geth"):
    if found != expected:
        for one, other in zip([*found, None], [*expected, None]):
            if one != other:
                raise SystemExit(f"{what} differ: txgraph {one}, {of} {other}")
    print(f"{what}: {len(found)} are equal", flush=True)


def balances(sums, accounts, rows):
    """Adds all rows to the first balances. The sums must be the balances of all accounts."""
    sums = dict(sums)
    for row in rows:
        value = int(row["value"])
        start, end = row["from_address"], row["to_address"]
        if row["kind"] != "withdrawal":
            sums[start] = sums.get(start, 0) - value
        if row["kind"] not in ("burn", "fee"):
            sums[end] = sums.get(end, 0) + value
    wrong = [one for one in sums.keys() | accounts.keys() if sums.get(one, 0) != accounts.get(one, 0)]
    for one in sorted(wrong):
        has, sum_is = accounts.get(one, 0), sums.get(one, 0)
        print(f"{one} has {has} wei, the movements give {sum_is}", file=sys.stderr)
    if wrong:
        raise SystemExit(f"{len(wrong)} of {len(accounts)} balances differ")
    print(f"balances of all {len(accounts)} accounts are equal", flush=True)
