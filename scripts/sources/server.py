"""A server of another project that ends with this program, and one in front of it that changes answers."""

import dataclasses
import http.server
import json
import signal
import socket
import subprocess
import threading
import time
import urllib.request

GAS = 6_000_000


def post(url, body):
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def call(name, method, params):
    return {"jsonrpc": "2.0", "id": name, "method": method, "params": params}


def ask_all(url, calls):
    """The complete answers to calls, in the same order."""
    answers = json.loads(post(url, json.dumps(calls).encode()))
    by_id = {it["id"]: it for it in answers}
    return [by_id[it["id"]] for it in calls]


class Server:
    """A process that answers JSON-RPC on a free port of 127.0.0.1. A log of it is in `home`."""

    def __init__(self, home, senders):
        self.home = home
        self.nonces = dict.fromkeys(senders, 0)
        home.mkdir(exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def run_server(self, command):
        self.log = open(self.home / "server.log", "w")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

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
        raise SystemExit(f"{what}: " + (self.home / "server.log").read_text()[-2000:])

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

        self.wait("the server did not start", answers)

    def ask(self, method, *params):
        return self.ask_all(method, [params])[0]

    def ask_all(self, method, calls):
        asked = [call(at, method, it) for at, it in enumerate(calls)]
        answers = ask_all(self.url, asked) if asked else []
        for params, answer in zip(calls, answers):
            if "error" in answer:
                raise SystemExit(f"{method} {params}: {answer['error']}")
        return [it["result"] for it in answers]

    def tip(self):
        return int(self.ask("eth_blockNumber"), 16)

    def transaction(self, to=None, value=0, data="", listed=(), sender=None):
        sender = sender or next(iter(self.nonces))
        transaction = {"from": sender, "nonce": hex(self.nonces[sender]), "value": hex(value)}
        transaction |= {"gas": hex(GAS), "input": "0x" + data} | self.prices()
        self.nonces[sender] += 1
        if to:
            transaction["to"] = to
        if listed:
            transaction["accessList"] = [{"address": it, "storageKeys": []} for it in listed]
        return transaction

    def prices(self):
        """The price of gas of a transaction, if the server does not choose one."""
        return {}

    def send(self, transactions):
        """Hashes. Transactions of one call are often in one block."""
        return self.ask_all("eth_sendTransaction", [[it] for it in transactions])

    def mined(self, hashes):
        """Receipts, once all are there."""
        receipts = {}

        def found():
            calls = [
                call(it, "eth_getTransactionReceipt", [it]) for it in hashes if it not in receipts
            ]
            # An error, too, says that they are not there: geth indexes transactions later.
            answers = ask_all(self.url, calls) if calls else []
            receipts.update((it["id"], it["result"]) for it in answers if it.get("result"))
            return len(receipts) == len(hashes)

        self.wait("transactions are not mined", found)
        return [receipts[one] for one in hashes]


@dataclasses.dataclass
class Request:
    """What a proxy was asked."""

    path: str
    headers: dict
    calls: list
    is_batch: bool
    # The number of the request, from 0.
    number: int


class Proxy:
    """A server in front of another one.

    `respond` takes the request and the answers of the server. It returns the answer, in JSON or as
    bytes, or a pair of an HTTP status and one. `before` is called before a request is forwarded.
    """

    def __init__(self, url, respond, before=lambda _: None):
        # Whether an answer was changed.
        self.has_changed = False
        proxy, numbers, lock = self, iter(range(1 << 40)), threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    is_batch = isinstance(asked, list)
                    calls = asked if is_batch else [asked]
                    request = Request(self.path, self.headers, calls, is_batch, next(numbers))
                    before(request)
                answers = ask_all(url, calls)
                answer = respond(request, answers)
                proxy.has_changed |= answer != answers
                status, answer = answer if isinstance(answer, tuple) else (200, answer)
                if isinstance(answer, list) and not is_batch:
                    answer = answer[0] if answer else None
                if not isinstance(answer, bytes):
                    answer = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def failed(call, code, message):
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}}


def without_traces(node):
    """A server that answers like a node, but refuses to trace."""

    def respond(request, answers):
        refused = [
            failed(it, -32601, "the method does not exist")
            for it in request.calls
            if it["method"].startswith(("debug_", "trace_"))
        ]
        return refused if refused else answers

    return Proxy(node.url, respond)
