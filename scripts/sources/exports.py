"""Runs cryo and ethereum-etl against a server, as their users do."""

import json
import subprocess

# The threads of cryo sometimes crash Python when it ends in the usual way.
CRYO = """
import cryo, json, os, sys
for options in json.loads(sys.argv[1]):
    cryo.freeze(**options)
os._exit(0)
"""
# It needs a function that newer versions of Python do not have.
ETL = """
import inspect, json, sys
inspect.getargspec = inspect.getfullargspec
from ethereumetl.cli import cli
for arguments in json.loads(sys.argv[1]):
    cli(arguments, standalone_mode=False)
"""


class Exports:
    """Exports of the first blocks of a server."""

    def __init__(self, python, node, home, has_parity):
        """`python` has both packages. `has_parity`: the server has the methods `trace_`."""
        self.python, self.url, self.home, self.has_parity = python, node.url, home, has_parity
        self.end = node.tip() + 1

    def run(self, program, options):
        command = [self.python, "-c", program, json.dumps(options)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{options}: {done.returncode} {done.stdout} {done.stderr}")

    def cryo(self, name, start=0, csv=False):
        """A folder of files with up to 20 blocks."""
        folder = self.home / name
        tables = ["blocks", "transactions", "logs", "traces"]
        options = {
            "datatype": tables if self.has_parity else tables[:3],
            "blocks": [f"{start}:{self.end}"],
            "include_columns": ["logs_bloom", "parent_hash"],
            "rpc": self.url,
            "u256_types": ["string"] if csv else ["binary", "string"],
            "chunk_size": 20,
            "inner_request_size": 10,
            "output_dir": str(folder),
            "hex": csv,
            "verbose": False,
            "no_report": True,
        }
        self.run(CRYO, [options | ({"file_format": "csv"} if csv else {})])
        return folder

    def etl(self, name, end, extension, parity=False):
        """A folder with the tables of the blocks before `end`, with traces of geth or of Parity."""
        folder = self.home / name
        folder.mkdir()
        at = lambda table: str(folder / f"{table}.{extension}")
        hashes, geth = str(self.home / "hashes"), str(self.home / "traces.json")
        server = ["-p", self.url]
        blocks = [*server, "-s", "0", "-e", str(end - 1)]
        steps = [
            ["export_blocks_and_transactions", *blocks]
            + ["--blocks-output", at("blocks"), "--transactions-output", at("transactions")],
            ["extract_field", "-i", at("transactions"), "-f", "hash", "-o", hashes],
            ["export_receipts_and_logs", *server, "-t", hashes]
            + ["--receipts-output", at("receipts"), "--logs-output", at("logs")],
        ]
        if parity:
            steps += [["export_traces", *blocks, "-o", at("traces")]]
        else:
            # geth does not trace the genesis block.
            steps += [["export_geth_traces", *server, "-s", "1", "-e", str(end - 1), "-o", geth]]
            steps += [["extract_geth_traces", "-i", geth, "-o", at("traces")]]
        self.run(ETL, steps)
        return folder
