//! Encodes values of reth's tables that no published crate encodes. Formats as in reth's
//! `crates/storage/db-api/src/models`, `crates/stages/types/src/checkpoints.rs` and
//! `crates/prune/types/src/checkpoint.rs`.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes, U256};
use reth_codecs::Compact;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// An account in the state tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Transactions sent; for a contract, contracts created.
    pub nonce: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Hash of the code; `None` without code.
    pub code_hash: Option<B256>,
}

/// An account of block 0.
#[derive(Clone, Debug, Default)]
pub struct FirstAccount {
    /// Balance in wei.
    pub balance: U256,
    /// Nonce; contracts begin with one.
    pub nonce: u64,
    /// Code; empty for an account that is not a contract.
    pub code: Bytes,
    /// Slots that are not zero.
    pub storage: BTreeMap<B256, U256>,
}

/// The stored form of a transaction.
#[derive(Debug)]
pub(super) struct StoredRow {
    pub(super) hash: B256,
    pub(super) sender: Address,
    pub(super) transaction: Vec<u8>,
    pub(super) receipt: Vec<u8>,
}

/// Encodes a transaction, receipt or header with reth's codec.
pub(super) fn compact(row: &impl Compact) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    row.to_compact(&mut bytes);
    bytes
}

/// Encodes a number in big-endian order without leading zero bytes.
fn trimmed(number: u64) -> Vec<u8> {
    number
        .to_be_bytes()
        .into_iter()
        .skip_while(|&byte| byte == 0)
        .collect()
}

/// Encodes a number as LEB128.
fn varuint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).expect("7 bits");
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn nibble(bytes: &[u8]) -> u8 {
    u8::try_from(bytes.len()).expect("at most 8")
}

/// Encodes `StoredBlockBodyIndices`.
pub(super) fn body_indices(first_tx: u64, tx_count: u64) -> Vec<u8> {
    let (first, count) = (trimmed(first_tx), trimmed(tx_count));
    let flags = nibble(&first) | nibble(&count) << 4;
    [vec![flags], first, count].concat()
}

/// Encodes `StoredBlockWithdrawals`.
pub(super) fn withdrawals(withdrawals: &[Withdrawal]) -> Vec<u8> {
    let mut bytes = varuint(withdrawals.len());
    for withdrawal in withdrawals {
        let index = trimmed(withdrawal.index);
        let validator = trimmed(withdrawal.validator_index);
        let amount = trimmed(withdrawal.amount);
        let flags = [nibble(&index) | nibble(&validator) << 4, nibble(&amount)];
        let item = [
            &flags[..],
            &index,
            &validator,
            withdrawal.address.as_slice(),
            &amount,
        ]
        .concat();
        bytes.extend(varuint(item.len()));
        bytes.extend(item);
    }
    bytes
}

/// Encodes `Account`.
pub(super) fn account(account: &Account) -> Vec<u8> {
    let nonce = trimmed(account.nonce);
    let balance = account.balance.to_be_bytes_trimmed_vec();
    let flags = u16::from(nibble(&nonce))
        | u16::try_from(balance.len()).expect("at most 32") << 4
        | u16::from(account.code_hash.is_some()) << 10;
    let code = account
        .code_hash
        .as_ref()
        .map_or(&[][..], |hash| hash.as_slice());
    [&flags.to_le_bytes()[..], &nonce, &balance, code].concat()
}

/// Decodes the output of [`account`].
pub(super) fn read_account(bytes: &[u8]) -> Option<Account> {
    let (flags, rest) = bytes.split_first_chunk::<2>()?;
    let flags = u16::from_le_bytes(*flags);
    let (nonce, rest) = rest.split_at_checked(usize::from(flags & 0xf))?;
    let (balance, rest) = rest.split_at_checked(usize::from(flags >> 4 & 0x3f))?;
    let code_hash = (flags >> 10 & 1 == 1).then_some(rest);
    Some(Account {
        nonce: nonce
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
        balance: U256::try_from_be_slice(balance)?,
        code_hash: match code_hash {
            Some(hash) => Some(B256::try_from(hash).ok()?),
            None => None,
        },
    })
}

/// Encodes `AccountBeforeTx`: the address, and the account if it existed.
pub(super) fn account_before(address: Address, before: Option<&Account>) -> Vec<u8> {
    let mut bytes = address.to_vec();
    bytes.extend(before.map(account).unwrap_or_default());
    bytes
}

/// Encodes `StorageEntry`: the slot, hashed or not, and its value.
pub(super) fn storage_entry(slot: B256, value: U256) -> Vec<u8> {
    [slot.as_slice(), &value.to_be_bytes_trimmed_vec()].concat()
}

/// Encodes `IntegerList`: ascending numbers as a treemap of bitmaps.
pub(super) fn block_numbers(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers
        .iter()
        .copied()
        .collect::<RoaringTreemap>()
        .serialize_into(&mut bytes)
        .expect("writing to memory succeeds");
    bytes
}

/// Encodes raw `Bytecode`.
pub(super) fn bytecode(code: &[u8], delegation: bool) -> Vec<u8> {
    let length = u32::try_from(code.len()).expect("short code").to_be_bytes();
    let variant = if delegation { 4 } else { 0 };
    [&length[..], code, &[variant]].concat()
}

/// Encodes `StageCheckpoint` without stage data.
pub(super) fn stage_checkpoint(block: u64) -> Vec<u8> {
    let block = trimmed(block);
    [vec![nibble(&block)], block].concat()
}

/// Encodes the `StageCheckpoint` of `Finish`. Hashed state is behind the blocks if `state` is
/// below `block`: then the stage data is variant 7 of `StageUnitCheckpoint`,
/// `FinishCheckpoint` with `partial_state_trie`.
pub(super) fn finish_checkpoint(block: u64, state: u64) -> Vec<u8> {
    if state >= block {
        return stage_checkpoint(block);
    }
    let (block, state) = (trimmed(block), trimmed(state));
    let data = [vec![7, 1], varuint(state.len()), state].concat();
    [
        vec![nibble(&block) | 0x10],
        block,
        varuint(data.len()),
        data,
    ]
    .concat()
}

/// Encodes `PruneCheckpoint` of a segment that was pruned up to and including `block` and
/// `tx`, by `PruneMode::Before`.
pub(super) fn prune_checkpoint(block: u64, tx: Option<u64>, before: u64) -> Vec<u8> {
    let mut bytes = vec![1 | u8::from(tx.is_some()) << 1];
    for number in [Some(block), tx].into_iter().flatten() {
        let number = trimmed(number);
        bytes.extend(varuint(number.len()));
        bytes.extend(number);
    }
    bytes.push(2);
    bytes.extend(trimmed(before));
    bytes
}

/// Encodes `ClientVersion`: three strings, each as a vector of bytes.
pub(super) fn client_version(strings: [&str; 3]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for string in strings {
        bytes.extend(varuint(string.len()));
        for &byte in string.as_bytes() {
            bytes.extend([1, byte]);
        }
    }
    bytes
}

/// Encodes a `Vec<u8>` in SCALE.
pub(super) fn scale(payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).expect("short payload");
    let mut bytes = if length < 64 {
        vec![u8::try_from(length << 2).expect("below 256")]
    } else {
        (length << 2 | 1).to_le_bytes().to_vec()
    };
    bytes.extend(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;
    use serde_json::Value;
    use signet_libmdbx::{Environment, EnvironmentFlags, Mode};
    use txgraph_testkit::{
        fixtures::{self, Fixture},
        naive::quantity,
    };

    /// Bytes that a real node wrote.
    #[test]
    fn encodings_match_a_real_node() {
        assert_eq!(body_indices(0, 0), [0]);
        assert_eq!(
            prune_checkpoint(999, Some(1031), 300),
            hex!("03 02 03e7 02 0407 02 012c")
        );
        let withdrawal = Withdrawal {
            index: 0,
            validator_index: 5,
            address: Address::repeat_byte(0xdd),
            amount: 1_000_000_000,
        };
        let bytes = withdrawals(&[withdrawal]);
        assert_eq!(bytes[..5], hex!("01 1b 10 04 05"));
        assert_eq!(bytes[25..], hex!("3b9aca00"));
        assert_eq!(scale(br#"{"storage_v2":true}"#)[0], 19 << 2);
        assert_eq!(stage_checkpoint(800), hex!("02 0320"));
        // `masked/v2`.
        assert_eq!(finish_checkpoint(126, 96), hex!("11 7e 04 07 01 01 60"));
        assert_eq!(finish_checkpoint(126, 126), stage_checkpoint(126));
    }

    /// All rows of a table of a real node.
    fn rows(fixture: &Fixture, table: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
        let flags = EnvironmentFlags {
            mode: Mode::ReadOnly,
            ..EnvironmentFlags::default()
        };
        let env = Environment::builder()
            .set_flags(flags)
            .set_max_dbs(64)
            .open(&fixture.path().join("db"));
        let tx = env.unwrap().begin_ro_sync().unwrap();
        let mut cursor = tx.cursor(tx.open_db(Some(table)).unwrap()).unwrap();
        let mut rows = Vec::new();
        let mut row = cursor.first().unwrap();
        while let Some(found) = row {
            rows.push(found);
            row = cursor.next().unwrap();
        }
        assert!(!rows.is_empty(), "{table} is empty");
        rows
    }

    #[test]
    fn rows_of_a_real_node_round_trip() {
        for fixture in fixtures::committed() {
            for (_, row) in rows(&fixture, "HashedAccounts") {
                assert_eq!(account(&read_account(&row).unwrap()), row);
            }
            for (_, row) in rows(&fixture, "StageCheckpoints") {
                let number = row[1..].iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
                assert_eq!(number, 40);
                assert_eq!(stage_checkpoint(number), row);
            }
            let blocks: Vec<Value> = fixture.lines("blocks").collect();
            let mut first_tx = 0;
            for ((_, row), block) in rows(&fixture, "BlockBodyIndices").iter().zip(&blocks) {
                let count = block["transactions"].as_array().unwrap().len() as u64;
                assert_eq!(*row, body_indices(first_tx, count));
                first_tx += count;
            }
            for (key, row) in rows(&fixture, "BlockWithdrawals") {
                let block = &blocks[usize::from(key[7])]["withdrawals"];
                let number = |value: &Value| quantity(value).to::<u64>();
                let paid = block.as_array().unwrap().iter().map(|it| Withdrawal {
                    index: number(&it["index"]),
                    validator_index: number(&it["validatorIndex"]),
                    address: it["address"].as_str().unwrap().parse().unwrap(),
                    amount: number(&it["amount"]),
                });
                assert_eq!(withdrawals(&paid.collect::<Vec<_>>()), row);
            }
            for (_, row) in rows(&fixture, "VersionHistory") {
                let reth = &fixture.chain_info["reth"];
                let version = reth["version"].as_str().unwrap().trim_end_matches("-dev");
                let commit = &reth["commit"].as_str().unwrap()[..8];
                let start = client_version([version, commit, ""]);
                assert!(row.starts_with(&start[..start.len() - 1]));
            }
        }
    }

    #[test]
    fn accounts_round_trip() {
        for nonce in [0, 1, 300, u64::MAX] {
            for balance in [U256::ZERO, U256::from(7), U256::MAX] {
                for code_hash in [None, Some(B256::repeat_byte(3))] {
                    let before = Account {
                        nonce,
                        balance,
                        code_hash,
                    };
                    assert_eq!(read_account(&account(&before)), Some(before));
                }
            }
        }
        assert_eq!(account(&Account::default()), [0, 0]);
        assert_eq!(read_account(&[0x0f, 0]), None);
    }
}
