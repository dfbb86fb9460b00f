"""Gives anvil the transactions of a chain, block by block: anvil.py URL NODE CHAIN.

CHAIN is a file of blocks in RLP, in order. NODE is the URL of a server that knows their senders. anvil makes its own blocks of them, with the same numbers, times and
transactions, so that their logs are the same but for the hashes of blocks. A transaction with blobs is sent without
them, by its sender and unsigned, so that its hash differs, too.
"""

import http.client
import json
import sys


def item(data, at):
    """An item of RLP: whether it is a list, the start of its content, and its end."""
    first = data[at]
    if first < 0x80:
        return False, at, at + 1
    is_list, short = first >= 0xC0, first - (0xC0 if first >= 0xC0 else 0x80)
    start, length = at + 1, short
    if short > 55:
        start += short - 55
        length = int.from_bytes(data[at + 1 : start], "big")
    return is_list, start, start + length


def items(data, start, end):
    """The items of a list: whether each is a list, its whole bytes, and its content."""
    while start < end:
        is_list, content, after = item(data, start)
        yield is_list, data[start:after], data[content:after]
        start = after


def blocks(data):
    """Of each block: header fields, and transactions as nodes accept them."""
    for _, _, block in items(data, 0, len(data)):
        (_, _, header), (_, _, body), *_ = items(block, 0, len(block))
        fields = [content for _, _, content in items(header, 0, len(header))]
        transactions = [whole if is_list else content for is_list, whole, content in items(body, 0, len(body))]
        yield fields, transactions


class Server:
    """A server of JSON-RPC, asked one call after another: anvil works on those of a batch in any order."""

    def __init__(self, url):
        self.url = url
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=300)

    def ask(self, method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.connection.request("POST", "/", body, {"content-type": "application/json"})
        answer = json.load(self.connection.getresponse())
        if "error" in answer:
            raise SystemExit(f"{self.url}: {method} {str(params)[:300]}: {answer['error']}")
        return answer["result"]


def unsigned(transaction, sender):
    """A transaction with blobs as one of its sender without them."""
    fields = [content for _, _, content in items(transaction, 1, len(transaction))]
    fields = [content for _, _, content in items(fields[0], 0, len(fields[0]))]
    _, nonce, tip, fee, gas, to, value, data, *_ = fields
    number = lambda it: hex(int.from_bytes(it, "big"))
    return {
        "from": sender,
        "to": "0x" + to.hex(),
        "nonce": number(nonce),
        "gas": number(gas),
        "maxFeePerGas": number(fee),
        "maxPriorityFeePerGas": number(tip),
        "value": number(value),
        "input": "0x" + data.hex(),
    }


def main():
    anvil, node = Server(sys.argv[1]), Server(sys.argv[2])
    with open(sys.argv[3], "rb") as file:
        data = file.read()
    for fields, transactions in blocks(data):
        number = int.from_bytes(fields[8], "big")
        if number == 0:
            continue
        anvil.ask("anvil_setCoinbase", "0x" + fields[2].hex())
        anvil.ask("anvil_setNextBlockBaseFeePerGas", hex(int.from_bytes(fields[15], "big")))
        anvil.ask("evm_setNextBlockTimestamp", hex(int.from_bytes(fields[11], "big")))
        for index, transaction in enumerate(transactions):
            if transaction[0] == 3:
                place = [hex(number), hex(index)]
                # It closes connections that rest.
                node.connection.close()
                known = node.ask("eth_getTransactionByBlockNumberAndIndex", *place)
                anvil.ask("eth_sendTransaction", unsigned(transaction, known["from"]))
            else:
                anvil.ask("eth_sendRawTransaction", "0x" + transaction.hex())
        anvil.ask("evm_mine")


main()
