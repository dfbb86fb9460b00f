// Asks a server with ethers, viem and micro-eth-signer, and compares the answers with those of a node.
// Usage: node clients.mjs URL FOLDER, where FOLDER has the node's answers, one JSON document a line.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { EtherscanProvider, JsonRpcProvider, Network } from "ethers";
import { RpcClient } from "micro-eth-signer/net.js";
import { history } from "micro-eth-signer/net/history.js";
import { createPublicClient, http } from "viem";

const [url, folder] = process.argv.slice(2);
const lines = (name) =>
  readFileSync(`${folder}/${name}.jsonl`, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const blocks = lines("blocks");
const receipts = lines("receipts").flatMap((line) => line.receipts);
const logs = lines("logs");
const state = lines("state");
// An account with coins.
const rich = JSON.parse(readFileSync(`${folder}/truth.json`, "utf8")).accounts.gas_station;
const last = blocks.length - 1;
const lower = (text) => text?.toLowerCase() ?? null;

// What a block or receipt of a client has in common with one of the node.
const sameBlock = (found, node) => {
  assert.equal(found.hash, node.hash);
  assert.equal(BigInt(found.number), BigInt(node.number));
  assert.equal(BigInt(found.timestamp), BigInt(node.timestamp));
  assert.equal(BigInt(found.gasUsed), BigInt(node.gasUsed));
  assert.equal(lower(found.miner), node.miner);
};
const sameLog = (found, node) => {
  assert.equal(lower(found.address), node.address);
  assert.deepEqual(found.topics, node.topics);
  assert.equal(found.data, node.data);
  assert.equal(BigInt(found.logIndex ?? found.index), BigInt(node.logIndex));
  assert.equal(found.transactionHash, node.transactionHash);
};

async function ethers() {
  const provider = new JsonRpcProvider(url);
  assert.equal(await provider.getBlockNumber(), last);
  for (const node of blocks) {
    const block = await provider.getBlock(Number(node.number), true);
    sameBlock(block, node);
    assert.deepEqual(block.prefetchedTransactions.map((it) => it.hash), node.transactions.map((it) => it.hash));
    block.prefetchedTransactions.forEach((it, at) => {
      assert.equal(lower(it.from), node.transactions[at].from);
      assert.equal(it.value, BigInt(node.transactions[at].value));
    });
  }
  for (const node of receipts) {
    const receipt = await provider.getTransactionReceipt(node.transactionHash);
    assert.equal(BigInt(receipt.status), BigInt(node.status));
    assert.equal(receipt.gasUsed, BigInt(node.gasUsed));
    assert.equal(lower(receipt.contractAddress), lower(node.contractAddress));
    assert.equal(receipt.logs.length, node.logs.length);
    receipt.logs.forEach((log, at) => sameLog(log, node.logs[at]));
  }
  for (const node of state) {
    assert.deepEqual(await provider.send(node.method, node.params), node.result, JSON.stringify(node));
  }
  assert.equal(await provider.estimateGas({ from: rich, to: blocks[last].miner, value: 1n }), 21_000n);
  // A loop without an end.
  const refused = ({ info }) => info.error.message.startsWith("gas required exceeds allowance");
  await assert.rejects(provider.estimateGas({ from: rich, data: "0x5b600056" }), refused);
  provider.destroy();
  return blocks.length + receipts.length + state.length + 2;
}

// The provider for Etherscan, at another URL. It knows the chains of Etherscan only.
async function etherscan(chainId) {
  class Own extends EtherscanProvider {
    getUrl(module, params) {
      return super.getUrl(module, params).replace(/^.*chainid=1&/, `${url}/v2/api?chainid=${chainId}&`);
    }
  }
  const provider = new Own(Network.from(1), "key");
  assert.equal(await provider.getBlockNumber(), last);
  for (const node of blocks.slice(-5)) {
    sameBlock(await provider.getBlock(Number(node.number)), node);
    for (const { hash, from } of node.transactions) {
      assert.equal(lower((await provider.getTransaction(hash)).from), from);
    }
  }
  const balances = state.filter((it) => it.method === "eth_getBalance" && Number(it.params[1]) === last);
  for (const { params, result } of balances.slice(0, 20)) {
    assert.equal(await provider.getBalance(params[0]), BigInt(result));
  }
  provider.destroy();
  return 5 + balances.length;
}

async function viem() {
  const client = createPublicClient({ transport: http(url) });
  for (const { params, result } of logs) {
    const found = await client.request({ method: "eth_getLogs", params: [params] });
    assert.deepEqual(found, result, JSON.stringify(params));
  }
  // viem reads no answer of more than 10 MB.
  const found = [];
  for (let from = 0; from <= last; from += 200) {
    const toBlock = BigInt(Math.min(from + 199, last));
    found.push(...(await client.getLogs({ fromBlock: BigInt(from), toBlock })));
  }
  const all = receipts.flatMap((receipt) => receipt.logs);
  assert.equal(found.length, all.length);
  found.forEach((log, at) => sameLog(log, all[at]));
  const { baseFeePerGas } = await client.getBlock();
  assert.equal(baseFeePerGas, BigInt(blocks[last].baseFeePerGas));
  assert.equal(await client.getBlobBaseFee(), 1n);
  const to = blocks[last].miner;
  assert.equal(await client.estimateGas({ account: rich, to, value: 1n }), 21_000n);
  const { accessList, gasUsed } = await client.createAccessList({ account: rich, to, value: 1n });
  assert.deepEqual([accessList, gasUsed], [[], 21_000n]);
  return logs.length + Math.ceil(blocks.length / 200) + 3;
}

// A wallet's history: every transaction that names the address, in both directions of paging.
async function wallet() {
  const call = async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const reply = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result, error } = await reply.json();
    if (error) throw Object.assign(new Error(error.message), { code: error.code });
    return result;
  };
  const client = new RpcClient({ call });
  const named = new Map();
  for (const block of blocks) {
    for (const { hash, from, to } of block.transactions) {
      for (const address of new Set([from, to])) {
        if (address) named.set(address, [...(named.get(address) ?? []), hash]);
      }
    }
  }
  const busiest = [...named].sort((a, b) => b[1].length - a[1].length).slice(0, 12);
  for (const [address, hashes] of busiest) {
    const pageSize = Math.max(7, Math.ceil(hashes.length / 20));
    for (const order of ["newest", "oldest"]) {
      const found = [];
      for await (const row of history(client, address, { depth: "full", order, source: "ots", pageSize })) {
        found.push(row.hash);
      }
      assert.equal(new Set(found).size, found.length, `${address}: a transaction twice`);
      const missing = hashes.filter((hash) => !found.includes(hash));
      assert.deepEqual(missing, [], `${address} ${order}`);
    }
  }
  return busiest.length * 2;
}

const chainId = await createPublicClient({ transport: http(url) }).getChainId();
for (const [name, check] of Object.entries({ ethers, etherscan, viem, wallet })) {
  console.log(`${name}: ${await check(chainId)} calls, all as the node`);
}
