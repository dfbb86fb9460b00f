//! The chain of a server, and what it answers without faults.

use super::Limits;
use crate::fixtures::{Fixture, number};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub(super) blocks: Vec<Value>,
    pub(super) receipts: Vec<Value>,
    pub(super) traces: BTreeMap<u64, Value>,
}

/// HTTP status, code and message.
pub(super) type Refused = (u16, i64, &'static str);

/// A refusal with the usual HTTP status.
const fn refused(code: i64, message: &'static str) -> Refused {
    (200, code, message)
}

impl Chain {
    pub(super) fn of(fixture: &Fixture) -> Self {
        let receipts = fixture.lines("receipts");
        let mut chain = Self {
            blocks: fixture.lines("blocks").collect(),
            receipts: receipts.map(|mut line| line["receipts"].take()).collect(),
            traces: BTreeMap::new(),
        };
        if fixture.has("call-traces") {
            for mut line in fixture.lines("call-traces") {
                let block = line["block"].as_u64().expect("a block number");
                chain.traces.insert(block, line["result"].take());
            }
        }
        chain
    }

    pub(super) fn answer(
        &self,
        chain_id: u64,
        limits: &Limits,
        method: &str,
        params: &Value,
    ) -> Result<Value, Refused> {
        if limits.without.contains(&method) {
            let no_method = refused(-32601, "the method does not exist");
            return Err(limits.refusal.unwrap_or(no_method));
        }
        let chain = self;
        let tip = (chain.blocks.len() as u64).saturating_sub(1);
        let hex = |number: u64| Value::from(format!("{number:#x}"));
        Ok(match method {
            "eth_chainId" => hex(chain_id),
            "eth_blockNumber" if limits.syncing => hex(0),
            "eth_syncing" if limits.syncing => {
                json!({"currentBlock": "0x0", "highestBlock": hex(tip)})
            }
            "eth_syncing" => false.into(),
            "eth_blockNumber" => hex(tip),
            "eth_getBlockByNumber" => {
                let number = match params[0].as_str() {
                    Some("finalized") => match limits.finalized {
                        Some(number) => number,
                        None => return Err(refused(-39001, "finalized block not found")),
                    },
                    _ => number(&params[0]),
                };
                let mut block = chain.block(number);
                if params[1] == false && block.is_object() {
                    let transactions = block["transactions"].as_array().expect("transactions");
                    let hashes = transactions.iter().map(|it| it["hash"].clone()).collect();
                    block["transactions"] = Value::Array(hashes);
                }
                block
            }
            "eth_getBlockReceipts" => at(&chain.receipts, number(&params[0])),
            "eth_getTransactionReceipt" => {
                let all = chain
                    .receipts
                    .iter()
                    .flat_map(|it| it.as_array().expect("receipts"));
                let mut all = all.filter(|receipt| receipt["transactionHash"] == params[0]);
                all.next().cloned().unwrap_or_default()
            }
            "eth_getTransactionByHash" => {
                let all = chain
                    .blocks
                    .iter()
                    .flat_map(|it| it["transactions"].as_array().expect("transactions"));
                let mut all = all.filter(|transaction| transaction["hash"] == params[0]);
                all.next().cloned().unwrap_or_default()
            }
            "eth_getLogs" => self.logs(limits, &params[0])?,
            "debug_traceBlockByNumber" => chain
                .traces
                .get(&number(&params[0]))
                .cloned()
                .unwrap_or_else(|| json!([])),
            "trace_block" => chain.flat_traces(number(&params[0])),
            _ => return Err(refused(-32601, "the method does not exist")),
        })
    }

    fn logs(&self, limits: &Limits, filter: &Value) -> Result<Value, Refused> {
        let (first, last) = match &filter["blockHash"] {
            Value::Null => (number(&filter["fromBlock"]), number(&filter["toBlock"])),
            hash => {
                let block = self.blocks.iter().find(|block| block["hash"] == *hash);
                let block = block.ok_or(refused(-32000, "unknown block"))?;
                let number = number(&block["number"]);
                (number, number)
            }
        };
        if limits.range.is_some_and(|most| last - first >= most) {
            let too_large = refused(-32602, "block range exceeds the limit");
            return Err(limits.refusal.unwrap_or(too_large));
        }
        let listed = |list: &Value, value: &Value| {
            list.is_null() || list.as_array().is_some_and(|list| list.contains(value))
        };
        let blocks = self
            .receipts
            .iter()
            .skip(usize::try_from(first).expect("small"));
        let blocks = blocks.take(usize::try_from(last - first + 1).expect("small"));
        let logs = blocks
            .flat_map(|receipts| receipts.as_array().expect("receipts"))
            .flat_map(|receipt| receipt["logs"].as_array().expect("logs"))
            .filter(|log| listed(&filter["address"], &log["address"]))
            .filter(|log| {
                let topic = &log["topics"][0];
                !topic.is_null() && listed(&filter["topics"][0], topic)
            });
        let logs: Vec<Value> = logs.cloned().collect();
        match limits.logs.is_some_and(|most| logs.len() > most) {
            true => Err(refused(-32005, "query returned more than 10000 results")),
            false => Ok(Value::Array(logs)),
        }
    }
}

fn at(values: &[Value], index: u64) -> Value {
    let index = usize::try_from(index).expect("small");
    values.get(index).cloned().unwrap_or_default()
}

impl Chain {
    fn block(&self, number: u64) -> Value {
        at(&self.blocks, number)
    }

    /// Gives a block and those after it other hashes.
    pub(super) fn replace(&mut self, first: u64) {
        let first = usize::try_from(first).expect("small");
        for block in first..self.blocks.len() {
            let hash = self.blocks[block]["hash"]
                .as_str()
                .expect("a hash")
                .to_owned();
            let other: String = hash.chars().rev().take(64).collect();
            let other = format!("0x{other}");
            let receipts = self.receipts[block..].iter_mut();
            for value in self.blocks[block..].iter_mut().chain(receipts) {
                let text = value.to_string().replace(&hash, &other);
                *value = serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    /// Removes the last transaction of a block and those after it, and the bloom filters of logs.
    pub(super) fn shorten(&mut self, first: u64) {
        let blocks = usize::try_from(first).expect("small")..self.blocks.len();
        for number in blocks {
            let block = &mut self.blocks[number];
            block.as_object_mut().expect("a block").remove("logsBloom");
            let receipts = &mut self.receipts[number];
            let traces = self
                .traces
                .entry(number as u64)
                .or_insert_with(|| json!([]));
            for list in [&mut block["transactions"], receipts, traces] {
                // One stays: a block without transactions has no receipts root.
                match list.as_array_mut() {
                    Some(list) if list.len() > 1 => drop(list.pop()),
                    _ => {}
                }
            }
        }
    }

    /// The call traces of a block in the form of `trace_block`.
    fn flat_traces(&self, number: u64) -> Value {
        let block = self.block(number);
        let mut traces = Vec::new();
        let of_block = self.traces.get(&number).and_then(Value::as_array);
        for (position, traced) in of_block.into_iter().flatten().enumerate() {
            let about = json!({
                "blockHash": block["hash"],
                "transactionHash": block["transactions"][position]["hash"],
                "transactionPosition": position,
            });
            flatten(&traced["result"], &mut Vec::new(), &about, &mut traces);
        }
        Value::Array(traces)
    }
}

fn flatten(frame: &Value, address: &mut Vec<usize>, about: &Value, traces: &mut Vec<Value>) {
    let kind = frame["type"].as_str().expect("a type").to_lowercase();
    let mut trace = about.clone();
    trace["traceAddress"] = json!(address);
    if !frame["error"].is_null() {
        trace["error"] = frame["error"].clone();
    }
    let (from, to, value) = (&frame["from"], &frame["to"], &frame["value"]);
    match kind.as_str() {
        "create" | "create2" => {
            trace["type"] = "create".into();
            trace["action"] = json!({"from": from, "value": value});
            trace["result"] = json!({"address": to});
        }
        "selfdestruct" => {
            trace["type"] = "suicide".into();
            trace["action"] = json!({"address": from, "refundAddress": to, "balance": value});
        }
        _ => {
            trace["type"] = "call".into();
            trace["action"] = json!({"callType": kind, "from": from, "to": to, "value": value});
        }
    }
    traces.push(trace);
    for (index, call) in frame["calls"].as_array().into_iter().flatten().enumerate() {
        address.push(index);
        flatten(call, address, about, traces);
        address.pop();
    }
}
