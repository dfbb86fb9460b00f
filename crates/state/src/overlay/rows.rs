//! Changes as rows of fixed length that sort as bytes: account or slot, block, and the
//! previous value. Memory and files have the same rows.

use alloy_primitives::{Address, B256, U256};
use txgraph_nodedb::Account;

/// Key, block number (big-endian), value.
pub(crate) type Row<const ROW: usize> = [u8; ROW];

const BLOCK: usize = 8;

/// Address.
pub(crate) const ACCOUNT_KEY: usize = 20;
/// One byte for existence, nonce, balance, code hash.
pub(crate) const ACCOUNT_ROW: usize = ACCOUNT_KEY + BLOCK + 1 + 8 + 32 + 32;

/// Address and slot.
pub(crate) const STORAGE_KEY: usize = 20 + 32;
pub(crate) const STORAGE_ROW: usize = STORAGE_KEY + BLOCK + 32;

/// Returns the lowest row of a key and block, to search with.
pub(crate) fn probe<const KEY: usize, const ROW: usize>(key: [u8; KEY], block: u64) -> Row<ROW> {
    let mut row = [0; ROW];
    row[..KEY].copy_from_slice(&key);
    row[KEY..KEY + BLOCK].copy_from_slice(&block.to_be_bytes());
    row
}

/// Returns the block of a row.
pub(crate) fn block_of<const KEY: usize, const ROW: usize>(row: &Row<ROW>) -> u64 {
    field(row, KEY).map_or(0, u64::from_be_bytes)
}

/// Returns a field of a row. Positions and lengths are constant, so it is always present.
fn field<const N: usize>(row: &[u8], at: usize) -> Option<[u8; N]> {
    row.get(at..)?.first_chunk().copied()
}

pub(crate) fn storage_key(address: Address, slot: B256) -> [u8; STORAGE_KEY] {
    let mut key = [0; STORAGE_KEY];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(slot.as_slice());
    key
}

pub(crate) fn storage_row(
    address: Address,
    slot: B256,
    block: u64,
    before: U256,
) -> Row<STORAGE_ROW> {
    let mut row = probe(storage_key(address, slot), block);
    row[STORAGE_KEY + BLOCK..].copy_from_slice(&before.to_be_bytes::<32>());
    row
}

/// Returns slot and value of a storage row.
pub(crate) fn storage_of(row: &Row<STORAGE_ROW>) -> (B256, U256) {
    let slot = B256::from_slice(&row[20..STORAGE_KEY]);
    (slot, U256::from_be_slice(&row[STORAGE_KEY + BLOCK..]))
}

pub(crate) fn account_row(
    address: Address,
    block: u64,
    before: Option<Account>,
) -> Row<ACCOUNT_ROW> {
    let mut row = probe(address.into_array(), block);
    if let Some(account) = before {
        let value = &mut row[ACCOUNT_KEY + BLOCK..];
        value[0] = 1;
        value[1..9].copy_from_slice(&account.nonce.to_be_bytes());
        value[9..41].copy_from_slice(&account.balance.to_be_bytes::<32>());
        value[41..].copy_from_slice(account.code_hash.as_slice());
    }
    row
}

/// Returns the account of a row.
pub(crate) fn account_of(row: &Row<ACCOUNT_ROW>) -> Option<Account> {
    let value = &row[ACCOUNT_KEY + BLOCK..];
    (value[0] == 1).then(|| Account {
        nonce: field(value, 1).map_or(0, u64::from_be_bytes),
        balance: U256::from_be_slice(&value[9..41]),
        code_hash: B256::from_slice(&value[41..]),
    })
}

/// Sorts rows, and removes those that are never used.
pub(crate) fn compact<const KEY: usize, const ROW: usize>(
    rows: &mut Vec<Row<ROW>>,
    last_block: u64,
) {
    rows.sort_unstable();
    rows.dedup_by(|row, before| is_hidden::<KEY, ROW>(before, row, last_block));
}

/// Returns whether the previous row makes this one useless: it has the same key, and is
/// already above all requested blocks.
pub(crate) fn is_hidden<const KEY: usize, const ROW: usize>(
    before: &Row<ROW>,
    row: &Row<ROW>,
    last_block: u64,
) -> bool {
    before[..KEY] == row[..KEY] && block_of::<KEY, ROW>(before) > last_block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip() {
        let address = Address::repeat_byte(7);
        let account = Account {
            nonce: 0x0102,
            balance: U256::from(3).pow(U256::from(150)),
            code_hash: B256::repeat_byte(9),
        };
        for before in [None, Some(account)] {
            let row = account_row(address, 77, before);
            assert_eq!(account_of(&row), before);
            assert_eq!(block_of::<ACCOUNT_KEY, ACCOUNT_ROW>(&row), 77);
        }
        let slot = B256::with_last_byte(5);
        let row = storage_row(address, slot, 300, U256::MAX);
        assert_eq!(storage_of(&row), (slot, U256::MAX));
        assert_eq!(block_of::<STORAGE_KEY, STORAGE_ROW>(&row), 300);
        assert!(
            storage_row(address, slot, 255, U256::MAX) < row,
            "sorted by block"
        );
        let other = storage_row(address, B256::with_last_byte(6), 0, U256::ZERO);
        assert!(row < other, "sorted by slot first");
    }
}
