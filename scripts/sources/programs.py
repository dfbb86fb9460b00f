"""Random programs that move ether, as code for the EVM."""

import random

TRANSFER = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def push(number, size=None):
    raw = number if isinstance(number, bytes) else number.to_bytes((number.bit_length() + 7) // 8, "big")
    if not raw and size is None:
        return b"\x5f"
    raw = raw.rjust(size, b"\0") if size else raw
    return bytes([0x5F + len(raw)]) + raw


def address(text):
    return bytes.fromhex(text[2:])


def call(opcode, target, value, argument=None):
    """CALL, CALLCODE, DELEGATECALL or STATICCALL with an address as argument. The result is dropped."""
    code = b""
    if argument is not None:
        code += push(argument) + push(0) + b"\x52"
    code += push(0) + push(0) + push(32 if argument is not None else 0) + push(0)
    if opcode in (0xF1, 0xF2):
        code += push(value)
    return code + target + b"\x5a" + bytes([opcode]) + b"\x50"


# Contracts that the programs call. The argument is an address.
PARTS = {
    "sink": "00",
    "reverter": "5f5ffd",
    # Sends half of the value that it receives.
    "forwarder": "5f5f5f5f600234045f355af15000",
    "destroyer": "5f35ff",
    # A token log of a contract, between movements of ether.
    "token": "60075f52" + "33" + "30" + "7f" + TRANSFER + "60205fa300",
}


def deployment(runtime):
    """Init code of a contract, in hex."""
    size = len(runtime) // 2
    return bytes([0x60, size, 0x60, 10, 0x5F, 0x39, 0x60, size, 0x5F, 0xF3]).hex() + runtime


class Programs:
    """Random code that moves ether, run as init code."""

    def __init__(self, seed, parts, log=None, hidden=()):
        """`log` returns code that makes a log. The parts `hidden` are in no argument."""
        self.random, self.log, self.hidden = random.Random(seed), log, hidden
        self.parts = {name: address(at) for name, at in parts.items()}
        self.wallets = [bytes([0x77] * 19 + [n]) for n in range(1, 7)]

    def someone(self):
        known = [at for name, at in self.parts.items() if name not in self.hidden]
        return self.random.choice([*self.wallets, *known])

    def value(self):
        return self.random.choice([0, 1, 1, 2, 3, 3, 1000, 10**5, 10**15, 10**30])

    def code(self, depth):
        pick = self.random.choice
        parts, blobs = [], []
        for _ in range(self.random.randint(1, 5)):
            kind = self.random.randrange(10)
            if kind <= 2:
                target = push(self.someone())
                parts.append(call(0xF1, target, self.value(), self.someone().rjust(32, b"\0")))
            elif kind == 3:
                target = pick([b"\x30", b"\x33", b"\x32"])  # itself, its caller, the origin
                parts.append(call(0xF1, target, self.value()))
            elif kind == 4:
                opcode = pick([0xF2, 0xF4, 0xFA])
                target = push(pick([self.parts["forwarder"], self.parts["destroyer"]]))
                parts.append(call(opcode, target, self.value(), self.someone().rjust(32, b"\0")))
            elif kind == 5 and self.log:
                parts.append(self.log())
            elif kind == 5:
                target = push(pick([self.parts["destroyer"], self.parts["token"]]))
                parts.append(call(0xF1, target, self.value(), self.someone().rjust(32, b"\0")))
            elif depth > 0:
                parts.append((pick([0xF0, 0xF5]), self.value(), len(blobs)))
                blobs.append(self.code(depth - 1))
        parts.append(self.end())
        return assemble(parts, blobs, self.random)

    def end(self):
        pick = self.random.choice
        kind = self.random.randrange(16)
        if kind <= 1:
            return push(0) + push(0) + b"\xfd"
        if kind == 2:
            return b"\xfe"
        if kind <= 6:
            return pick([push(self.someone()), b"\x30", b"\x33", b"\x32"]) + b"\xff"
        return push(0) + push(0) + b"\xf3"


def assemble(parts, blobs, salt):
    """Code, then the init code of the contracts that it creates."""
    creation = 4 + 4 + 1 + 1 + 4 + 1 + 33 + 33 + 1 + 1
    size = sum(len(part) if isinstance(part, bytes) else creation for part in parts)
    at, offsets = size, []
    for blob in blobs:
        offsets.append(at)
        at += len(blob)
    code = b""
    for part in parts:
        if isinstance(part, bytes):
            code += part
            continue
        opcode, value, number = part
        length = push(len(blobs[number]), 3)
        one = length + push(offsets[number], 3) + b"\x5f" + b"\x39"
        one += push(salt.getrandbits(64), 32) if opcode == 0xF5 else b""
        one += length + b"\x5f" + push(value, 32) + bytes([opcode]) + b"\x50"
        code += one + b"\x5b" * (creation - len(one))
    return code + b"".join(blobs)
