"""A development chain of geth."""

import json
import random
import subprocess

from server import Server

KEY = "b71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291"
SENDER = "0x71562b71999873db5b286df957af199ec94617f7"
# Receives the priority fees.
BENEFICIARY = "0x" + "bf" * 20
CHAIN_ID = 735_708
FUNDS = 1 << 128
# In the future: geth then adds one second for each block, so that the block of a fork is known.
GENESIS_TIME = 4_000_000_000
# All accounts, receipts and states stay readable.
KEEP = ["--state.scheme", "hash", "--cache.preimages"]


class Node(Server):
    """A running geth. Amsterdam begins with block `fork`."""

    def __init__(self, geth, home, fork):
        super().__init__(home, [SENDER])
        self.geth, self.fork = geth, fork
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
        command = [geth, "--dev", "--dev.gaslimit", "60000000", "--gcmode", "archive", *KEEP]
        command += [*data, *secret, "--ipcdisable", "--nodiscover"]
        command += ["--http", "--http.addr", "127.0.0.1", "--http.port", self.port]
        command += ["--http.api", "eth,debug,dev,net,web3"]
        self.run_server(command)

    def run(self, *arguments):
        done = subprocess.run([self.geth, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"geth {arguments[0]}: {done.stderr}")
        return done.stdout

    def start(self):
        super().start()
        self.ask("dev_setFeeRecipient", BENEFICIARY)

    def withdraw_until(self, block):
        """Makes blocks with withdrawals until there is this one."""
        choice = random.Random(block)
        for number in range(self.tip() + 1, block + 1):
            index = hex(number)
            to = SENDER if choice.random() < 0.5 else "0x" + bytes([0x99] * 20).hex()
            paid = {"index": index, "validatorIndex": "0x7", "address": to}
            self.ask("dev_addWithdrawal", {**paid, "amount": hex(choice.randrange(10**12))})
            self.wait("no block was made", lambda: self.tip() >= number)

    def accounts(self, block):
        """The balances of all accounts after a block: others may follow."""
        found, start = {}, "0x"
        while start:
            page = self.ask("debug_accountRange", hex(block), start, 256, True, True, True)
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

    def initial(self):
        """The balances of the genesis block."""
        alloc = self.genesis["alloc"].items()
        return {"0x" + key.removeprefix("0x"): int(it["balance"], 0) for key, it in alloc}
