//! Decodes transfers from a node's JSON answers (`eth_getBlockByNumber`,
//! `eth_getBlockReceipts`) with the naive decoder of the tests of `transfers`.

use crate::fixtures::Fixture;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use txgraph_transfers::{
    BlockTime, DecodeCounts, TransactionView, Transfer, TransferFilter, WithdrawalView,
    WrappedNative,
    testing::{
        self,
        naive::{self, OwnedLog, Rules},
    },
};

/// The transfers of a block or a chain, with counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// All transfers in total order, with hashes.
    pub transfers: Vec<Transfer>,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of receipts.
    pub receipts: u64,
    /// Number of logs.
    pub logs: u64,
    /// Logs with a transfer signature and a shape of no standard.
    pub malformed: u64,
    /// `Deposit` and `Withdrawal` events that a `Transfer` also reports.
    pub wraps_deduplicated: u64,
}

/// Decodes the whole chain of `fixture` from its `blocks` and `receipts` answers.
pub fn decode_fixture(fixture: &Fixture) -> Decoded {
    let mut decoded = Decoded::default();
    for (block, receipts) in fixture.lines("blocks").zip(fixture.lines("receipts")) {
        decode_block(&block, &receipts["receipts"], &mut decoded);
    }
    decoded
}

/// Decodes one block. `block` is an answer of `eth_getBlockByNumber` with full
/// transactions, `receipts` the array of `eth_getBlockReceipts`. Every contract that logs
/// `Deposit` or `Withdrawal` counts as a wrapped coin (`WrappedNative::Any`).
pub fn decode_block(block: &Value, receipts: &Value, decoded: &mut Decoded) {
    decoded.blocks += 1;
    let number = quantity(&block["number"]).to::<u64>();
    let timestamp = quantity(&block["timestamp"]).to::<u64>();
    let transactions = list(&block["transactions"]);
    let receipts = list(receipts);
    assert_eq!(
        transactions.len(),
        receipts.len(),
        "block {number}: one receipt per transaction"
    );

    let row = |index: usize, hash: Option<B256>| Transfer {
        block_timestamp: BlockTime::new(timestamp),
        transaction_index: u32::try_from(index).expect("few transactions"),
        transaction_hash: hash,
        ..testing::transfer(number)
    };

    let filter = TransferFilter::default();
    let rules = everything(&filter);
    for (index, (transaction, receipt)) in transactions.iter().zip(receipts).enumerate() {
        decoded.receipts += 1;
        let value = quantity(&transaction["value"]);
        let success = receipt["status"] == "0x1";
        let view = (success && !value.is_zero()).then(|| TransactionView {
            from: address(&transaction["from"]),
            to: match &transaction["to"] {
                Value::Null => address(&receipt["contractAddress"]),
                to => address(to),
            },
            value,
            mint: U256::ZERO,
            success,
        });
        let row = row(index, Some(word(&transaction["hash"])));
        decode_transaction(&rules, &row, view.as_ref(), &receipt["logs"], decoded);
    }

    if let Some(withdrawals) = block["withdrawals"].as_array() {
        let withdrawals = withdrawals.iter().map(|it| WithdrawalView {
            address: address(&it["address"]),
            amount_gwei: quantity(&it["amount"]).to(),
        });
        let withdrawals: Vec<_> = withdrawals.collect();
        let row = row(transactions.len(), None);
        let counts = &mut DecodeCounts::default();
        let rows = naive::withdrawals(&rules, &row, &withdrawals, counts);
        decoded.transfers.extend(rows);
    }
}

/// Decodes the logs of one transaction. `row` has block, time, index and hash.
pub fn decode_logs(row: &Transfer, logs: &Value, decoded: &mut Decoded) {
    decode_transaction(
        &everything(&TransferFilter::default()),
        row,
        None,
        logs,
        decoded,
    );
}

/// Every transfer, with the wraps of every contract, on a chain without tokens of its own rules.
fn everything(filter: &TransferFilter) -> Rules<'_> {
    Rules {
        chain_id: 0,
        wrapped: &WrappedNative::Any,
        filter,
    }
}

fn decode_transaction(
    rules: &Rules<'_>,
    row: &Transfer,
    transaction: Option<&TransactionView>,
    logs: &Value,
    decoded: &mut Decoded,
) {
    let index = |log: &Value| quantity(&log["logIndex"]).to::<u32>();
    let logs = list(logs);
    let first = logs.first().map_or(0, index);
    let owned = |(expected, log): (u32, &Value)| {
        assert_eq!(
            index(log),
            expected,
            "logs of a transaction are consecutive"
        );
        let data: Bytes = text(&log["data"]).parse().expect("hex data");
        OwnedLog {
            address: address(&log["address"]),
            topics: list(&log["topics"]).iter().map(|it| word(it).0).collect(),
            data: data.into(),
        }
    };
    let logs: Vec<_> = (first..).zip(logs).map(owned).collect();
    let mut counts = DecodeCounts::default();
    let rows = naive::transaction(rules, row, transaction, first, &logs, &mut counts);
    decoded.transfers.extend(rows);
    decoded.logs += counts.logs;
    decoded.malformed += counts.malformed;
    decoded.wraps_deduplicated += counts.wraps_deduplicated;
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).expect("an array")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn word(value: &Value) -> B256 {
    text(value).parse().expect("32 bytes of hex")
}

fn address(value: &Value) -> Address {
    text(value).parse().expect("20 bytes of hex")
}

/// Parses a JSON-RPC quantity (`0x1f`).
pub fn quantity(value: &Value) -> U256 {
    text(value).parse().expect("a hex quantity")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use txgraph_transfers::{Kind, TokenStandard};

    /// Other code computed the statistics of the fixture from the same chain.
    #[test]
    fn counts_agree_with_the_chain_info() {
        for fixture in fixtures::committed() {
            let decoded = decode_fixture(&fixture);
            let counts = &fixture.chain_info["counts"];
            assert_eq!(decoded.logs, counts["logs"].as_u64().unwrap());
            assert_eq!(decoded.receipts, counts["txs"].as_u64().unwrap());
            let shapes = counts["transfer_log_shapes"].as_object().unwrap();
            let (mut erc20, mut erc721, mut malformed) = (0, 0, 0);
            for (shape, count) in shapes {
                let count = count.as_u64().unwrap();
                match shape.as_str() {
                    "erc20" | "erc20 with dirty topics" | "1 topics, 96 data bytes" => {
                        erc20 += count
                    }
                    "erc721" => erc721 += count,
                    _ => malformed += count,
                }
            }
            let standard = |wanted| {
                let of = |t: &&Transfer| {
                    t.token_standard == wanted && !matches!(t.kind, Kind::Wrap | Kind::Unwrap)
                };
                decoded.transfers.iter().filter(of).count() as u64
            };
            assert_eq!(standard(TokenStandard::Erc20), erc20);
            assert_eq!(standard(TokenStandard::Erc721), erc721);
            assert_eq!(decoded.malformed, malformed);
            let withdrawals = decoded
                .transfers
                .iter()
                .filter(|t| t.kind == Kind::Withdrawal);
            assert_eq!(
                withdrawals.count() as u64,
                counts["withdrawals"].as_u64().unwrap()
            );
            assert!(decoded.transfers.is_sorted_by_key(Transfer::position));
        }
    }
}
