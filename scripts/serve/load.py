"""Asks txgraph, geth and anvil for the same logs with many clients: load.py FOLDER CLIENTS REQUESTS NAME=URL=PID…

The answers are compared first. The first server is asked REQUESTS times for each filter, the others a tenth as often,
which is enough for times. FOLDER has chain.json, which names a token and blocks.
"""

import json
import pathlib
import signal
import subprocess
import sys
import urllib.request

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
SAME = ("address", "topics", "data", "blockNumber", "logIndex", "transactionIndex", "transactionHash")
HERE = pathlib.Path(__file__).parent


def ask(url, request):
    asked = urllib.request.Request(url, request, {"content-type": "application/json"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return answer.read()


def logs(url, request):
    document = json.loads(ask(url, request))
    if "result" not in document:
        raise SystemExit(f"{url}: {document}")
    return [{name: log[name] for name in SAME} for log in document["result"]]


def memory(pid):
    """KiB of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def filters(token, tip):
    """The filters by name: the logs of a token in a few blocks, and the rare ones of an account in all."""
    of_token = {"address": token, "topics": [TRANSFER]}
    few = {"fromBlock": hex(tip - 19), "toBlock": hex(tip)}
    yield "20 blocks", of_token | few
    to = "0x" + "00" * 32
    yield "all blocks, one sender", {"address": token, "topics": [TRANSFER, to], "fromBlock": "0x0", "toBlock": hex(tip)}


def run(command):
    """What load.lua prints."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        # A line of each thread.
        for _ in range(2):
            if process.stderr.readline() != "done\n":
                raise SystemExit(f"wrk: {process.communicate()}")
        process.send_signal(signal.SIGINT)
        return json.loads(process.stdout.read().strip().splitlines()[-1])


def main():
    folder, clients, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    servers = [it.split("=") for it in sys.argv[4:]]
    chain = json.loads((folder / "chain.json").read_text())
    failed = 0
    for name, asked in filters(chain["token"], chain["tip"]):
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_getLogs", "params": [asked]}
        request = json.dumps(body).encode()
        (folder / "request").write_bytes(request)
        answers = {server: logs(url, request) for server, url, _ in servers}
        first = next(iter(answers.values()))
        wrong = [server for server, found in answers.items() if found != first]
        if wrong or not first:
            raise SystemExit(f"{name}: other logs than of {servers[0][0]}, or none: {wrong}")
        print(f"{name}: {len(first)} logs, the same of {', '.join(answers)}")
        for at, (server, url, pid) in enumerate(servers):
            (folder / "answer").write_bytes(ask(url, request))
            wanted = count if at == 0 else count // 10
            command = ["wrk", "-t", "2", "-c", clients, "-d", "600", "--timeout", "60", "-s", HERE / "load.lua", url]
            command += ["--", folder / "request", folder / "answer", str(wanted // 2)]
            before = memory(pid)
            found = run(command)
            after = memory(pid)
            failed += found["wrong"] + found["failed"]
            rate = found["answered"] / found["duration"] * 1e6
            print(
                f"  {server:8} {found['answered']:7} answers, {found['wrong']} wrong, {found['failed']} failed; "
                f"p50 {found['p50'] / 1000:.1f} ms, p99 {found['p99'] / 1000:.1f} ms, {rate:.0f} per second; "
                f"memory {before // 1024} MiB before, {after // 1024} MiB after",
                flush=True,
            )
    if failed:
        raise SystemExit(f"{failed} answers were wrong or missing")


main()
