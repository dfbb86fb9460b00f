"""Asks a server with web3.py and typed-etherscan, and compares the answers with those of a node.

Usage: clients.py URL FOLDER, where FOLDER has the genesis and the node's answers, one JSON document a line.
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
with open(f"{folder}/genesis.json", encoding="utf-8") as file:
    allocated = {address for address, it in json.load(file)["alloc"].items() if int(it["balance"], 16) > 0}
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
    kept = web3.eth.filter({"fromBlock": 0, "toBlock": last, "topics": [TRANSFER]})
    assert kept.get_all_entries() == found and kept.get_new_entries() == []
    return len(blocks) + 3


async def with_etherscan():
    client = Etherscan.new("any key", base_url=url)
    chain = str(Web3(Web3.HTTPProvider(url)).eth.chain_id)
    named, tokens = {}, set()
    for block in blocks:
        for it in block["transactions"]:
            created = receipts[it["hash"]]["contractAddress"]
            for address in {it["from"], it["to"], created} - {None}:
                named.setdefault(address, []).append(it["hash"])
    asked = 0
    async with client:
        busiest = sorted(named.items(), key=lambda it: (-len(it[1]), it[0]))[:15]
        for address, hashes in busiest:
            # What the genesis allocates comes first.
            hashes = [f"GENESIS_{address[2:]}"] * (address in allocated) + hashes
            page = max(6, len(hashes) // 20)
            for sort in ("asc", "desc"):
                # Pages are read up to the first that is short; each row is checked strictly.
                paged = client.account.transactions_paged(chainid=chain, address=address, offset=page, sort=sort)
                found = [row["hash"] for row in await paged]
                assert found == (hashes if sort == "asc" else hashes[::-1]), (address, sort)
                asked += 1
        for address, hashes in busiest:
            page = max(5, len(hashes) // 20)
            word = "0x" + address[2:].rjust(64, "0")
            paged = client.account.erc20_transfers_paged(chainid=chain, address=address, offset=page, sort="asc")
            found = [(row["hash"], row["value"]) for row in await paged]
            logs = [log for it in receipts.values() for log in it["logs"]]
            logs = [log for log in logs if len(log["topics"]) == 3 and log["topics"][0] == TRANSFER]
            logs = [log for log in logs if word in log["topics"][1:] and len(log["data"]) == 66]
            expected = [(log["transactionHash"], int(log["data"], 16)) for log in logs]
            assert set(expected) <= set(found), (address, set(expected) - set(found))
            asked += 1
            # Each token states the balance that the list has.
            held = await client.account.address_token_balance_paged(chainid=chain, address=address, offset=2)
            for row in held:
                token = row["TokenAddress"]
                balance = await client.account.token_balance(chainid=chain, contractaddress=token, address=address)
                assert int(balance["result"]) == row["TokenQuantity"] > 0, (address, row)
                info = await client.tokens.info(chainid=chain, contractaddress=token)
                stated = [(it["tokenName"], it["symbol"], it["divisor"]) for it in info["result"]]
                assert stated == [(row["TokenName"], row["TokenSymbol"], row["TokenDivisor"])], row
                tokens.add(token)
                asked += 3
        for token in tokens:
            count = await client.tokens.holder_count(chainid=chain, contractaddress=token)
            holders = await client.tokens.holders(chainid=chain, contractaddress=token)
            assert count["result"] == len(holders["result"]) > 0, token
        countdown = await client.blocks.countdown(chain, blockno=last + 100)
        assert countdown["result"]["RemainingBlock"] == 100
        chains = await client.usage.chain_list()
        assert [it["chainid"] for it in chains["result"]] == [chain]
    return asked + 2 * len(tokens) + 2


print(f"web3.py: {with_web3()} calls, all as the node")
print(f"typed-etherscan: {asyncio.run(with_etherscan())} calls, all as the node")
