"""A development chain of anvil, and random transactions for it and for others."""

import gzip
import json

from programs import PARTS, Programs, deployment
from server import Server
from tokens import TRANSFER, call_data, call_emitter, emitter, random_log

BENEFICIARY = "0x" + "bf" * 20
GENESIS_TIME = 1_700_000_000
# The first accounts of the well-known mnemonic, whose keys anvil has.
SENDERS = [
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
    "0x90f79bf6eb2c4f870365e785982e1f101e93b906",
]
EMITTERS = {f"log{topics}": emitter(topics) for topics in range(1, 5)}
# Names itself as beneficiary. Nothing moves, but servers built on revm report a movement.
SELFISH = {"selfish": "30ff"}
# The same, after it sent 4 wei to its caller: what is reported then may be true.
DOUBTFUL = "5f5f5f5f6004335af15030ff"


class Anvil(Server):
    """A running anvil, which mines on request. Eight blocks are not final."""

    def __init__(self, anvil, home, fork):
        super().__init__(home, SENDERS)
        command = [anvil, "--port", self.port, "--hardfork", fork, "--no-mining", "--order", "fifo"]
        command += ["--timestamp", str(GENESIS_TIME), "--slots-in-an-epoch", "4"]
        command += ["--gas-limit", "60000000"]
        self.run_server(command)

    def start(self):
        super().start()
        self.ask("anvil_setCoinbase", BENEFICIARY)
        self.first = self.accounts(0)

    def prices(self):
        return {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": hex(10**9)}

    def mine(self):
        self.ask("evm_mine", {"timestamp": hex(GENESIS_TIME + 12 * (self.tip() + 1))})

    def mined(self, hashes):
        self.mine()
        return super().mined(hashes)

    def accounts(self, _block):
        """The balances of all accounts at the tip, which only `mine` moves."""
        state = gzip.decompress(bytes.fromhex(self.ask("anvil_dumpState")[2:]))
        accounts = json.loads(state)["accounts"].items()
        return {key.lower(): int(it["balance"], 16) for key, it in accounts}

    def initial(self):
        return self.first


class Traffic:
    """Random transactions that move ether and tokens."""

    def __init__(self, node, seed, is_cancun=True):
        self.node = node
        deployed = PARTS | EMITTERS | SELFISH
        if not is_cancun:
            # Ether that is sent to a destroyed contract is gone, and no trace says it.
            deployed |= {"destroyer": PARTS["sink"]}
        receipts = node.mined(
            node.send([node.transaction(data=deployment(it)) for it in deployed.values()])
        )
        self.parts = {name: it["contractAddress"] for name, it in zip(deployed, receipts)}
        # No program names the destroyer as its own beneficiary: what anvil then reports has two meanings.
        self.programs = Programs(seed, self.parts, self.log, ["destroyer", "selfish"])
        self.random = self.programs.random

    def log(self):
        return call_emitter(self.programs.parts, *random_log(self.random, self.programs.wallets))

    def transaction(self):
        pick, programs = self.random.choice, self.programs
        kind = self.random.randrange(10)
        value, sender = pick([0, 5, 10**6, 10**18]), pick(list(self.node.nonces))
        someone = "0x" + programs.someone().hex()
        if kind <= 1:
            return self.node.transaction(someone, value, sender=sender)
        if kind == 2:
            return self.node.transaction(self.parts["selfish"], pick([0, 5]), sender=sender)
        if kind == 3:
            to = self.parts[pick(["forwarder", "reverter", "destroyer", "token"])]
            data = (b"\0" * 12 + programs.someone()).hex()
            return self.node.transaction(to, value, data, sender=sender)
        if kind <= 5:
            topics, data = random_log(self.random, programs.wallets)
            to = self.parts[f"log{len(topics)}"]
            return self.node.transaction(to, 0, call_data(topics, data).hex(), sender=sender)
        return self.node.transaction(None, value, programs.code(3).hex(), sender=sender)

    def tokens(self):
        """Receipts of a block with a transfer of a token in each of three transactions."""
        word = lambda at: bytes([at]).rjust(32, b"\0")
        some = [
            self.node.transaction(
                self.parts["log3"],
                0,
                call_data([bytes.fromhex(TRANSFER), word(at), word(9)], word(at)).hex(),
            )
            for at in range(1, 4)
        ]
        return self.node.mined(self.node.send(some))

    def run(self, count):
        """Receipts of `count` transactions, up to four in a block. Some blocks have none."""
        receipts = []
        while len(receipts) < count:
            some = [
                self.transaction() for _ in range(min(self.random.randrange(5), count - len(receipts)))
            ]
            receipts += self.node.mined(self.node.send(some))
        return receipts

    def replace(self, depth):
        """Replaces the last blocks by others."""
        some = []
        for at, sender in enumerate(self.node.nonces):
            topics, data = random_log(self.random, self.programs.wallets)
            calls = [(self.parts[f"log{len(topics)}"], 0, call_data(topics, data).hex())]
            calls += [("0x" + self.programs.wallets[0].hex(), self.random.randrange(10**9), "")]
            call = self.node.transaction(*calls[at % 2], sender=sender)
            del call["nonce"]
            some.append([call, self.random.randrange(depth)])
        self.node.ask("anvil_reorg", depth, some)
        for sender in self.node.nonces:
            self.node.nonces[sender] = int(
                self.node.ask("eth_getTransactionCount", sender, "latest"), 16
            )
