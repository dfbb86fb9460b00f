//! Decodes transfers from a node's JSON answers (`eth_getBlockByNumber`,
//! `eth_getBlockReceipts`), one rule after the other, without any optimization.

use crate::fixtures::Fixture;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;
use txgraph_transfers::{
    BlockTime, DEPOSIT, EIP7708_LOG_ADDRESS, Kind, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE,
    TokenStandard, Transfer, WITHDRAWAL, testing,
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

    for (index, (transaction, receipt)) in transactions.iter().zip(receipts).enumerate() {
        decoded.receipts += 1;
        let row = row(index, Some(word(&transaction["hash"])));
        let value = quantity(&transaction["value"]);
        if receipt["status"] == "0x1" && !value.is_zero() {
            let to = if transaction["to"].is_null() {
                &receipt["contractAddress"]
            } else {
                &transaction["to"]
            };
            decoded.transfers.push(Transfer {
                from_address: address(&transaction["from"]),
                to_address: address(to),
                value,
                ..row.clone()
            });
        }
        decode_logs(&row, &receipt["logs"], decoded);
    }

    if let Some(withdrawals) = block["withdrawals"].as_array() {
        for (sub, withdrawal) in withdrawals.iter().enumerate() {
            if quantity(&withdrawal["amount"]).is_zero() {
                continue;
            }
            decoded.transfers.push(Transfer {
                sub_index: u32::try_from(sub).expect("few withdrawals"),
                to_address: address(&withdrawal["address"]),
                value: quantity(&withdrawal["amount"]) * U256::from(1_000_000_000),
                kind: Kind::Withdrawal,
                ..row(transactions.len(), None)
            });
        }
    }
}

/// Decodes the logs of one transaction. `row` has block, time, index and hash.
pub fn decode_logs(row: &Transfer, logs: &Value, decoded: &mut Decoded) {
    let mut found: Vec<Transfer> = Vec::new();
    // Wraps are decided after all transfers of the transaction are known.
    let mut wraps: Vec<Transfer> = Vec::new();
    for log in list(logs) {
        decoded.logs += 1;
        let topics: Vec<B256> = list(&log["topics"]).iter().map(word).collect();
        let data: Bytes = text(&log["data"]).parse().expect("hex data");
        let Some(signature) = topics.first() else {
            continue;
        };
        let emitter = address(&log["address"]);
        let log_index = quantity(&log["logIndex"]).to::<u32>();
        let row = Transfer {
            log_index: Some(log_index),
            token_address: Some(emitter),
            ..row.clone()
        };

        // Indexed arguments are in topics, the others in data, one word each.
        let whole = data.len().is_multiple_of(32);
        let mut words: Vec<U256> = topics[1..].iter().map(|topic| (*topic).into()).collect();
        words.extend(data.chunks_exact(32).map(U256::from_be_slice));
        // ERC-1155 events index operator, sender and receiver, or nothing. With one or
        // two topics it is unknown which argument is indexed.
        let all_or_none = topics.len() == 4 || topics.len() == 1;

        match *signature {
            // A log of the protocol for native coin (EIP-7708): the value of the transaction, which
            // has a row, or a movement inside of it, which only some queries include.
            TRANSFER if emitter == EIP7708_LOG_ADDRESS => {}
            TRANSFER if whole && words.len() == 3 => {
                let erc721 = topics.len() == 4;
                let (from_address, to_address) = (low(words[0]), low(words[1]));
                found.push(Transfer {
                    from_address,
                    to_address,
                    value: if erc721 { U256::from(1) } else { words[2] },
                    token_id: erc721.then_some(words[2]),
                    token_standard: if erc721 {
                        TokenStandard::Erc721
                    } else {
                        TokenStandard::Erc20
                    },
                    kind: kind(from_address, to_address),
                    ..row
                });
            }
            // operator, from, to, id, value
            TRANSFER_SINGLE if whole && all_or_none && words.len() == 5 => {
                let (from_address, to_address) = (low(words[1]), low(words[2]));
                found.push(Transfer {
                    from_address,
                    to_address,
                    value: words[4],
                    token_id: Some(words[3]),
                    token_standard: TokenStandard::Erc1155,
                    kind: kind(from_address, to_address),
                    ..row
                });
            }
            // operator, from, to, offset of ids[], offset of values[]
            TRANSFER_BATCH if all_or_none && words.len() >= 5 => {
                let (from_address, to_address) = (low(words[1]), low(words[2]));
                let lists = array(&data, words[3]).zip(array(&data, words[4]));
                let Some((ids, values)) = lists.filter(|(ids, values)| ids.len() == values.len())
                else {
                    decoded.malformed += 1;
                    continue;
                };
                for (sub, (id, value)) in ids.into_iter().zip(values).enumerate() {
                    found.push(Transfer {
                        sub_index: u32::try_from(sub).expect("few items"),
                        from_address,
                        to_address,
                        value,
                        token_id: Some(id),
                        token_standard: TokenStandard::Erc1155,
                        kind: kind(from_address, to_address),
                        ..row.clone()
                    });
                }
            }
            TRANSFER | TRANSFER_SINGLE | TRANSFER_BATCH => decoded.malformed += 1,
            // The signature is common, so other shapes of it are not malformed wraps.
            DEPOSIT | WITHDRAWAL if whole && words.len() == 2 && topics.len() <= 2 => {
                let holder = low(words[0]);
                let wrap = *signature == DEPOSIT;
                wraps.push(Transfer {
                    from_address: if wrap { Address::ZERO } else { holder },
                    to_address: if wrap { holder } else { Address::ZERO },
                    value: words[1],
                    token_standard: TokenStandard::Erc20,
                    kind: if wrap { Kind::Wrap } else { Kind::Unwrap },
                    ..row
                });
            }
            _ => {}
        }
    }
    // Some wrapped coins also emit a Transfer. Each such Transfer accounts for one event.
    let mut unmatched: Vec<&Transfer> = found.iter().collect();
    let mut kept = Vec::new();
    for wrap in wraps {
        let same = |t: &&Transfer| {
            t.token_address == wrap.token_address
                && t.token_standard == TokenStandard::Erc20
                && (t.from_address, t.to_address, t.value)
                    == (wrap.from_address, wrap.to_address, wrap.value)
        };
        match unmatched.iter().position(same) {
            Some(at) => {
                unmatched.remove(at);
                decoded.wraps_deduplicated += 1;
            }
            None => kept.push(wrap),
        }
    }
    found.extend(kept);
    found.sort_by_key(Transfer::position);
    decoded.transfers.extend(found);
}

fn kind(from: Address, to: Address) -> Kind {
    if from.is_zero() {
        Kind::Mint
    } else if to.is_zero() {
        Kind::Burn
    } else {
        Kind::Transfer
    }
}

/// Returns the array of words at `offset` of `data`: its length, then its items. `None`
/// if it is not within `data`.
fn array(data: &[u8], offset: U256) -> Option<Vec<U256>> {
    let word = |at: usize| Some(U256::from_be_slice(data.get(at..at.checked_add(32)?)?));
    let offset = usize::try_from(offset).ok()?;
    let length = usize::try_from(word(offset)?).ok()?;
    if length > data.len() / 32 {
        return None;
    }
    (0..length).map(|i| word(offset + 32 + 32 * i)).collect()
}

/// The address in the low 20 bytes of a word. The upper 12 are ignored.
fn low(word: U256) -> Address {
    Address::from_word(word.into())
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
    use serde_json::json;

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

    #[test]
    fn native_coin_is_counted_once() {
        let (payer, payee) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let log = |index: &str| {
            json!({
                "address": EIP7708_LOG_ADDRESS,
                "topics": [TRANSFER, payer.into_word(), payee.into_word()],
                "data": B256::with_last_byte(7),
                "logIndex": index,
            })
        };
        let block = json!({
            "number": "0x1",
            "timestamp": "0x2",
            "transactions": [{
                "hash": B256::repeat_byte(3), "from": payer, "to": payee, "value": "0x7",
            }],
        });
        let receipts = json!([{ "status": "0x1", "logs": [log("0x0"), log("0x1")] }]);
        let mut decoded = Decoded::default();
        decode_block(&block, &receipts, &mut decoded);
        let kinds: Vec<_> = decoded
            .transfers
            .iter()
            .map(|t| (t.log_index, t.kind))
            .collect();
        assert_eq!(kinds, [(None, Kind::Value)]);
    }

    #[test]
    fn arrays_out_of_bounds_are_malformed() {
        let mut data = vec![0u8; 128];
        data[95] = 1;
        let array = |data: &[u8], offset: u64| super::array(data, U256::from(offset));
        assert_eq!(array(&data, 64), Some(vec![U256::ZERO]));
        assert_eq!(array(&data, 96), Some(vec![]));
        assert_eq!(array(&data, 97), None);
        data[95] = 2;
        assert_eq!(array(&data, 64), None);
        assert_eq!(super::array(&data, U256::MAX), None);
        assert_eq!(quantity(&json!("0x28")), U256::from(40));
    }
}
