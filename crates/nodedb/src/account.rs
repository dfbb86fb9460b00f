//! Decoders of accounts, storage values and code
//! (`reth-core: crates/primitives-traits/src/{account,storage}.rs`).

use crate::compact::{Flags, Malformed, Reader};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};

/// An account without its code and storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The number of transactions sent, or of contracts created.
    pub nonce: u64,
    /// The balance in wei.
    pub balance: U256,
    /// The Keccak-256 of the code; [`KECCAK256_EMPTY`] without code.
    pub code_hash: B256,
}

/// Decodes a value of `PlainAccountState` or `HashedAccounts`.
pub(crate) fn account(value: &[u8]) -> Result<Account, Malformed> {
    let mut reader = Reader::new(value);
    let mut flags = Flags::read(&mut reader, 2)?;
    let (nonce_len, balance_len, has_code) = (flags.next(4), flags.next(6), flags.flag());
    flags.finish()?;
    let account = Account {
        nonce: reader.u64(nonce_len)?,
        balance: reader.u256(balance_len)?,
        code_hash: reader.optional_b256(has_code)?.unwrap_or(KECCAK256_EMPTY),
    };
    reader.finish()?;
    Ok(account)
}

/// The account before a change as it is stored. Most changes are not the first one of their account after
/// some block, so that only their address matters.
#[derive(Clone, Copy, Debug)]
pub struct AccountBefore<'a>(&'a [u8]);

impl AccountBefore<'_> {
    /// Decodes it; `None` if the account did not exist.
    pub fn decode(self) -> Result<Option<Account>, Malformed> {
        match self.0 {
            [] => Ok(None),
            stored => account(stored).map(Some),
        }
    }
}

/// Decodes the address of a row of account changes.
pub(crate) fn account_before(row: &[u8]) -> Result<(Address, AccountBefore<'_>), Malformed> {
    let mut reader = Reader::new(row);
    let address = reader.address()?;
    Ok((address, AccountBefore(reader.rest())))
}

/// Decodes a value of `PlainStorageState` or `HashedStorages`, or a row of storage changes in
/// MDBX: the slot, plain or hashed, and its value.
pub(crate) fn storage_entry(value: &[u8]) -> Result<(B256, U256), Malformed> {
    let mut reader = Reader::new(value);
    let slot = reader.b256()?;
    let len = reader.rest().len();
    Ok((slot, reader.u256(len)?))
}

/// Decodes a row of storage changes in a static file: address, slot and previous value.
pub(crate) fn storage_before(row: &[u8]) -> Result<(Address, B256, U256), Malformed> {
    let mut reader = Reader::new(row);
    let address = reader.address()?;
    let (slot, before) = storage_entry(reader.rest())?;
    Ok((address, slot, before))
}

/// Decodes a value of `Bytecodes`: the code, which must have the hash of its key.
pub(crate) fn code(value: &[u8], hash: B256) -> Result<&[u8], Malformed> {
    let code = unhashed_code(value)?;
    if keccak256(code) == hash {
        Ok(code)
    } else {
        Err("the code does not have the hash of its key")
    }
}

fn unhashed_code(value: &[u8]) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(value);
    let len = u32::from_be_bytes(*reader.array()?);
    let bytes = reader.take(usize::try_from(len).map_err(|_| "a length does not fit")?)?;
    match reader.byte()? {
        // Raw code, or an EIP-7702 delegation.
        0 | 4 => {
            reader.finish()?;
            Ok(bytes)
        }
        // Analyzed code: padded, followed by its length without padding and by a jump table
        // of revm.
        2 => {
            let len = u64::from_be_bytes(*reader.array()?);
            let len = usize::try_from(len).map_err(|_| "a length does not fit")?;
            bytes
                .get(..len)
                .ok_or("the code is longer than its padded form")
        }
        _ => Err("an unknown format of code"),
    }
}

/// See [`crate::fuzzing`].
pub(crate) fn fuzz(bytes: &[u8]) {
    let _ = account(bytes);
    let _ = account_before(bytes).map(|(_, before)| before.decode());
    let _ = storage_entry(bytes);
    let _ = storage_before(bytes);
    let _ = code(bytes, B256::ZERO);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    #[test]
    fn decodes_accounts() {
        let empty = Account {
            nonce: 0,
            balance: U256::ZERO,
            code_hash: KECCAK256_EMPTY,
        };
        assert_eq!(account(&[0, 0]), Ok(empty));
        // Nonce of one byte, balance of two, a code hash.
        let mut row = hex!("2104 07 0102").to_vec();
        row.extend([9; 32]);
        let expected = Account {
            nonce: 7,
            balance: U256::from(0x0102),
            code_hash: B256::repeat_byte(9),
        };
        assert_eq!(account(&row), Ok(expected));
        row.push(0);
        assert!(account(&row).is_err(), "trailing byte");
        assert!(account(&hex!("0008")).is_err(), "unknown flag");
        let mut change = vec![0xaa; 20];
        for (more, before) in [(&[][..], Ok(None)), (&[0, 0][..], Ok(Some(empty)))] {
            change.extend(more);
            let (address, stored) = account_before(&change).unwrap();
            assert_eq!(address, Address::repeat_byte(0xaa));
            assert_eq!(stored.decode(), before);
        }
        // Damage beyond the address matters only if the account is needed.
        change.push(0);
        assert!(account_before(&change).unwrap().1.decode().is_err());
    }

    #[test]
    fn decodes_storage() {
        let mut row = vec![1; 32];
        assert_eq!(storage_entry(&row), Ok((B256::repeat_byte(1), U256::ZERO)));
        row.extend([1, 0]);
        assert_eq!(
            storage_entry(&row),
            Ok((B256::repeat_byte(1), U256::from(256)))
        );
        row.extend([1; 31]);
        assert!(storage_entry(&row).is_err());
        assert!(storage_before(&[0; 51]).is_err());
    }

    #[test]
    fn decodes_code() {
        let code = hex!("6001");
        let hash = keccak256(code);
        assert_eq!(super::code(&hex!("00000002 6001 00"), hash), Ok(&code[..]));
        // Padded, two bytes long, one byte of jump table.
        let analyzed = hex!("00000004 60010000 02 0000000000000002 00");
        assert_eq!(super::code(&analyzed, hash), Ok(&code[..]));
        assert!(
            super::code(&hex!("00000002 6002 00"), hash).is_err(),
            "hash"
        );
        assert!(unhashed_code(&hex!("00000002 6001 01")).is_err(), "removed");
        assert!(unhashed_code(&hex!("00000003 6001 00")).is_err(), "short");
        let beyond = hex!("00000002 6001 02 0000000000000003");
        assert!(unhashed_code(&beyond).is_err());
    }
}
