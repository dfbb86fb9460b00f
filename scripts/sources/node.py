"""A development chain of geth, and a server in front of it that does not trace."""

import http.server
import json
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.request

KEY = "b71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291"
SENDER = "0x71562b71999873db5b286df957af199ec94617f7"
# Receives the priority fees.
BENEFICIARY = "0x" + "bf" * 20
CHAIN_ID = 735_708
FUNDS = 1 << 128
GAS = 6_000_000
# In the future: geth then adds one second for each block, so that the block of a fork is known.
GENESIS_TIME = 4_000_000_000
# All accounts, receipts and states stay readable.
KEEP = ["--state.scheme", "hash", "--cache.preimages"]


def post(url, body):
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


class Node:
    """A running geth. Amsterdam begins with block `fork`."""

    def __init__(self, geth, home, fork):
        self.geth, self.home, self.fork, self.nonce = geth, home, fork, 0
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        data = ["--datadir", home / "data"]
        secret = ["--password", home / "password"]
        (home / "key").write_text(KEY)
        (home / "password").write_text("password\n")
        self.genesis = json.loads(self.run("--dev", "dumpgenesis"))
        config = self.genesis["config"]
        config["chainId"] = CHAIN_ID
        config.pop("bogotaTime", None)
        config["amsterdamTime"] = GENESIS_TIME + fork
        blobs = config["blobSchedule"]
        blobs["osaka"] = blobs["amsterdam"] = blobs["prague"]
        self.genesis["alloc"][SENDER[2:]] = {"balance": hex(FUNDS)}
        self.genesis["gasLimit"] = hex(60_000_000)
        self.genesis["timestamp"] = hex(GENESIS_TIME)
        (home / "genesis.json").write_text(json.dumps(self.genesis))
        self.run("account", "import", *data, *secret, home / "key")
        self.run("init", *KEEP, *data, home / "genesis.json")
        self.log = open(home / "geth.log", "w")
        command = [geth, "--dev", "--dev.gaslimit", "60000000", "--gcmode", "archive", *KEEP]
        command += [*data, *secret, "--ipcdisable", "--nodiscover"]
        command += ["--http", "--http.addr", "127.0.0.1", "--http.port", str(port)]
        command += ["--http.api", "eth,debug,dev,net,web3"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def run(self, *arguments):
        done = subprocess.run([self.geth, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"geth {arguments[0]}: {done.stderr}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def fail(self, what):
        raise SystemExit(f"{what}: " + (self.home / "geth.log").read_text()[-2000:])

    def wait(self, what, is_done):
        until = time.monotonic() + 60
        while not is_done():
            if time.monotonic() > until or self.process.poll() is not None:
                self.fail(what)
            time.sleep(0.02)

    def start(self):
        def answers():
            try:
                return self.ask("eth_chainId")
            except OSError:
                return None

        self.wait("geth did not start", answers)
        self.ask("dev_setFeeRecipient", BENEFICIARY)

    def ask(self, method, *params):
        return self.ask_all(method, [params])[0]

    def ask_all(self, method, calls):
        asked = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": it} for it in calls]
        answers = json.loads(post(self.url, json.dumps(asked).encode()))
        for call, answer in zip(calls, answers):
            if "error" in answer:
                raise SystemExit(f"{method} {call}: {answer['error']}")
        return [answer["result"] for answer in answers]

    def tip(self):
        return int(self.ask("eth_blockNumber"), 16)

    def transaction(self, to=None, value=0, data="", listed=()):
        transaction = {"from": SENDER, "nonce": hex(self.nonce), "value": hex(value)}
        transaction |= {"gas": hex(GAS), "input": "0x" + data}
        self.nonce += 1
        if to:
            transaction["to"] = to
        if listed:
            transaction["accessList"] = [{"address": it, "storageKeys": []} for it in listed]
        return transaction

    def send(self, transactions):
        """Hashes. Transactions of one call are often in one block."""
        return self.ask_all("eth_sendTransaction", [[it] for it in transactions])

    def mined(self, hashes):
        """Receipts, once all are there."""
        receipts = {}

        def found():
            for one in hashes:
                receipts.setdefault(one, self.ask("eth_getTransactionReceipt", one))
                if receipts[one] is None:
                    del receipts[one]
                    return False
            return True

        self.wait("transactions are not mined", found)
        return [receipts[one] for one in hashes]

    def withdraw_until(self, block):
        """Makes blocks with withdrawals until there is this one."""
        choice = random.Random(block)
        for number in range(self.tip() + 1, block + 1):
            index = hex(number)
            to = SENDER if choice.random() < 0.5 else "0x" + bytes([0x99] * 20).hex()
            paid = {"index": index, "validatorIndex": "0x7", "address": to}
            self.ask("dev_addWithdrawal", {**paid, "amount": hex(choice.randrange(10**12))})
            self.wait("no block was made", lambda: self.tip() >= number)

    def accounts(self):
        """The balances of all accounts at the tip."""
        found, start = {}, "0x"
        while start:
            page = self.ask("debug_accountRange", "latest", start, 256, True, True, True)
            found |= {key.lower(): int(it["balance"]) for key, it in page["accounts"].items()}
            start = page.get("next")
        return found

    def rules(self, block):
        """The rules of a block, in the form of a bundle."""
        config = self.genesis["config"]
        blobs = config["blobSchedule"]["prague"]
        return {
            "fork": "Amsterdam" if block >= self.fork else "Osaka",
            "blob_target": blobs["target"],
            "blob_max": blobs["max"],
            "blob_update_fraction": blobs["baseFeeUpdateFraction"],
            "moves_dao": False,
            "deposit_contract": config.get("depositContractAddress", "0x" + "00" * 20),
        }


class WithoutTraces:
    """A server that answers like a node, but refuses to trace."""

    def __init__(self, node):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                asked = json.loads(body)
                calls = asked if isinstance(asked, list) else [asked]
                if any(it["method"].startswith(("debug_", "trace_")) for it in calls):
                    error = {"code": -32601, "message": "the method does not exist"}
                    refused = [{"jsonrpc": "2.0", "id": it["id"], "error": error} for it in calls]
                    answer = json.dumps(refused if isinstance(asked, list) else refused[0]).encode()
                else:
                    answer = post(node.url, body)
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
