"""Exports a chain from a server with cryo.

Usage: cryo.py PYTHON URL FOLDER, where PYTHON has the package; the files are in FOLDER/cryo.
"""

import json
import pathlib
import sys
import types
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "sources"))
from exports import Exports

python, url, folder = sys.argv[1:]


def tip():
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return int(json.load(answer)["result"], 16)


node = types.SimpleNamespace(url=url, tip=tip)
Exports(python, node, pathlib.Path(folder), has_parity=True).cryo("cryo")
