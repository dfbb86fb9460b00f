"""Asks a server with web3.py and typed-etherscan, and compares the answers with those of a node.

Usage: clients.py URL FOLDER, where FOLDER has the node's answers, one JSON document a line.
"""

import asyncio
import json
import sys

from typed_etherscan import Etherscan
from web3 import Web3

url, folder = sys.argv[1:]


def lines(name):
    with open(f"{folder}/{name}.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


blocks = lines("blocks")
receipts = {it["transactionHash"]: it for line in lines("receipts") for it in line["receipts"]}
last = len(blocks) - 1
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def with_web3():
    web3 = Web3(Web3.HTTPProvider(url))
    assert web3.eth.block_number == last
    for node in blocks:
        block = web3.eth.get_block(int(node["number"], 16), full_transactions=True)
        assert block["hash"].to_0x_hex() == node["hash"]
        hashes = [it["hash"].to_0x_hex() for it in block["transactions"]]
        assert hashes == [it["hash"] for it in node["transactions"]], node["number"]
    found = web3.eth.get_logs({"fromBlock": 0, "toBlock": last, "topics": [TRANSFER]})
    logs = [log for it in receipts.values() for log in it["logs"] if log["topics"][:1] == [TRANSFER]]
    assert [log["data"].to_0x_hex() for log in found] == [log["data"] for log in logs]
    return len(blocks) + 1


async def with_etherscan():
    client = Etherscan.new("any key", base_url=url)
    chain = str(Web3(Web3.HTTPProvider(url)).eth.chain_id)
    named = {}
    for block in blocks:
        for it in block["transactions"]:
            created = receipts[it["hash"]]["contractAddress"]
            for address in {it["from"], it["to"], created} - {None}:
                named.setdefault(address, []).append(it["hash"])
    asked = 0
    async with client:
        busiest = sorted(named.items(), key=lambda it: (-len(it[1]), it[0]))[:15]
        for address, hashes in busiest:
            for sort in ("asc", "desc"):
                # Pages are read up to the first that is short; each row is checked strictly.
                paged = client.account.transactions_paged(chainid=chain, address=address, offset=6, sort=sort)
                found = [row["hash"] for row in await paged]
                assert found == (hashes if sort == "asc" else hashes[::-1]), (address, sort)
                asked += 1
        for address, _ in busiest:
            word = "0x" + address[2:].rjust(64, "0")
            paged = client.account.erc20_transfers_paged(chainid=chain, address=address, offset=5, sort="asc")
            found = [(row["hash"], row["value"]) for row in await paged]
            logs = [log for it in receipts.values() for log in it["logs"]]
            logs = [log for log in logs if len(log["topics"]) == 3 and log["topics"][0] == TRANSFER]
            logs = [log for log in logs if word in log["topics"][1:] and len(log["data"]) == 66]
            expected = [(log["transactionHash"], int(log["data"], 16)) for log in logs]
            assert set(expected) <= set(found), (address, set(expected) - set(found))
            asked += 1
    return asked


print(f"web3.py: {with_web3()} calls, all as the node")
print(f"typed-etherscan: {asyncio.run(with_etherscan())} calls, all as the node")
