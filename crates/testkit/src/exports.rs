//! Writes a chain in the layout of tools that export chains, from the answers of its node.

use crate::fixtures::{Fixture, number};
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, path::Path};

/// A tool and its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportLayout {
    /// `export_all` of ethereum-etl: folders for ranges of blocks. Blocks are JSON, so that
    /// they have withdrawals.
    Etl,
    /// cryo's datasets logs, transactions and blocks as CSV. They have no withdrawals.
    Cryo,
}

/// Writes the blocks of a chain below `folder`, in files of `blocks_per_file` blocks.
pub fn write_export(folder: &Path, chain: &Fixture, layout: ExportLayout, blocks_per_file: u64) {
    let mut part = Part::default();
    let chain_id = chain.chain_id().expect("a chain id");
    let mut receipts = chain.lines("receipts").peekable();
    for block in chain.lines("blocks") {
        let number = number(&block["number"]);
        if number.is_multiple_of(blocks_per_file) && number > 0 {
            part.write(folder, layout, chain_id, number - 1);
            part = Part {
                first: number,
                ..Part::default()
            };
        }
        part.last = number;
        let has = |line: &Value| block_of(line) == number;
        let of_block = receipts.next_if(has).map(|line| line["receipts"].clone());
        part.add(layout, chain_id, &block, &of_block.unwrap_or(json!([])));
    }
    let last = part.last;
    part.write(folder, layout, chain_id, last);
}

fn block_of(line: &Value) -> u64 {
    match &line["block"] {
        Value::Number(number) => number.as_u64().expect("a block number"),
        text => number(text),
    }
}

/// The tables of some blocks.
#[derive(Default)]
struct Part {
    first: u64,
    last: u64,
    blocks: String,
    transactions: String,
    logs: String,
}

impl Part {
    fn add(&mut self, layout: ExportLayout, chain_id: u64, block: &Value, receipts: &Value) {
        let height = number(&block["number"]);
        let time = number(&block["timestamp"]);
        let transactions = items(&block["transactions"]);
        let (hash, parent) = (text(&block["hash"]), text(&block["parentHash"]));
        match layout {
            ExportLayout::Etl => {
                let withdrawals = block.get("withdrawals").map_or(&[][..], items);
                let withdrawals = withdrawals.iter().map(|item| {
                    json!({
                        "index": number(&item["index"]),
                        "validator_index": number(&item["validatorIndex"]),
                        "address": item["address"],
                        "amount": number(&item["amount"]),
                    })
                });
                let row = json!({
                    "type": "block", "number": height, "hash": hash, "parent_hash": parent,
                    "timestamp": time, "transaction_count": transactions.len(),
                    "withdrawals": withdrawals.collect::<Vec<_>>(),
                });
                writeln!(self.blocks, "{row}").expect("text");
            }
            ExportLayout::Cryo => {
                let author = text(&block["miner"]);
                writeln!(
                    self.blocks,
                    "{hash},{author},{height},0,,{time},,{chain_id}"
                )
                .expect("text");
            }
        }
        for (transaction, receipt) in transactions.iter().zip(items(receipts)) {
            self.transaction(layout, chain_id, time, transaction, receipt);
            for log in items(&receipt["logs"]) {
                self.log(layout, chain_id, log);
            }
        }
    }

    fn transaction(
        &mut self,
        layout: ExportLayout,
        chain_id: u64,
        time: u64,
        transaction: &Value,
        receipt: &Value,
    ) {
        let field = |name: &str| text(&transaction[name]);
        let (hash, nonce) = (field("hash"), number(&transaction["nonce"]));
        let (block, index) = (
            number(&transaction["blockNumber"]),
            number(&transaction["transactionIndex"]),
        );
        let (from, to) = (field("from"), field("to"));
        let value = alloy_primitives::U256::from_str_radix(&field("value")[2..], 16).expect("hex");
        let status = number(&receipt["status"]);
        match layout {
            ExportLayout::Etl => {
                let created = text(&receipt["contractAddress"]);
                writeln!(
                    self.transactions,
                    "{hash},{nonce},{block},{index},{from},{to},{value},{time},{status},{created}"
                )
            }
            ExportLayout::Cryo => writeln!(
                self.transactions,
                "{block},{index},{hash},{nonce},{from},{to},{value:#066x},{value},{},{chain_id}",
                status == 1
            ),
        }
        .expect("text");
    }

    fn log(&mut self, layout: ExportLayout, chain_id: u64, log: &Value) {
        let field = |name: &str| text(&log[name]);
        let (hash, address, data) = (field("transactionHash"), field("address"), field("data"));
        let (block, transaction, index) = (
            number(&log["blockNumber"]),
            number(&log["transactionIndex"]),
            number(&log["logIndex"]),
        );
        let mut topics: Vec<_> = items(&log["topics"]).iter().map(text).collect();
        match layout {
            ExportLayout::Etl => writeln!(
                self.logs,
                "{index},{hash},{transaction},,{block},{address},{data},\"{}\"",
                topics.join(",")
            ),
            ExportLayout::Cryo => {
                topics.resize(4, String::new());
                let bytes = (data.len() - 2) / 2;
                writeln!(
                    self.logs,
                    "{block},{transaction},{index},{hash},{address},{},{data},{bytes},{chain_id}",
                    topics.join(",")
                )
            }
        }
        .expect("text");
    }

    fn write(&self, folder: &Path, layout: ExportLayout, chain_id: u64, last: u64) {
        let first = self.first;
        for (table, header, rows) in [
            (
                "blocks",
                "block_hash,author,block_number,gas_used,extra_data,timestamp,base_fee_per_gas,chain_id",
                &self.blocks,
            ),
            (
                "transactions",
                match layout {
                    ExportLayout::Etl => {
                        "hash,nonce,block_number,transaction_index,from_address,to_address,value,\
                         block_timestamp,receipt_status,receipt_contract_address"
                    }
                    ExportLayout::Cryo => {
                        "block_number,transaction_index,transaction_hash,nonce,from_address,\
                         to_address,value_binary,value_string,success,chain_id"
                    }
                },
                &self.transactions,
            ),
            (
                "logs",
                match layout {
                    ExportLayout::Etl => {
                        "log_index,transaction_hash,transaction_index,block_hash,block_number,\
                         address,data,topics"
                    }
                    ExportLayout::Cryo => {
                        "block_number,transaction_index,log_index,transaction_hash,address,topic0,\
                         topic1,topic2,topic3,data,n_data_bytes,chain_id"
                    }
                },
                &self.logs,
            ),
        ] {
            let is_json = layout == ExportLayout::Etl && table == "blocks";
            let path = match layout {
                ExportLayout::Cryo => folder.join(format!(
                    "network_{chain_id}__{table}__{first:08}_to_{last:08}.csv"
                )),
                ExportLayout::Etl => {
                    let range = format!("start_block={first:08}/end_block={last:08}");
                    let extension = if is_json { "json" } else { "csv" };
                    let name = format!("{table}_{first:08}_{last:08}.{extension}");
                    folder.join(table).join(range).join(name)
                }
            };
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            let content = match is_json {
                true => rows.clone(),
                false => format!("{header}\n{rows}"),
            };
            fs::write(path, content).expect("a file");
        }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a field; empty for null.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
