"""What txgraph answers, in the form of the expected rows, and comparisons."""

import csv
import io
import subprocess
import sys


class Txgraph:
    def __init__(self, program):
        self.program = program

    def start(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)

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
    print(f"balances: those of all {len(accounts)} accounts are equal", flush=True)
