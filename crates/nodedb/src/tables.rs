//! Tables of the MDBX environment, and decoders of their rows
//! (`crates/storage/db-api/src/tables/mod.rs` of reth). Keys are big-endian, plain `u64`
//! values little-endian.

use crate::{
    BodyIndices, Header, Withdrawal,
    compact::{Flags, Malformed, Reader},
    header,
};
use alloy_primitives::B256;
use std::ffi::CStr;

/// The tables that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Metadata,
    StageCheckpoints,
    PruneCheckpoints,
    ChainState,
    VersionHistory,
    HeaderNumbers,
    BlockBodyIndices,
    BlockOmmers,
    BlockWithdrawals,
    TransactionBlocks,
    TransactionHashNumbers,
    TransactionSenders,
    Receipts,
    AccountChangeSets,
    StorageChangeSets,
    AccountsHistory,
    StoragesHistory,
    PlainAccountState,
    PlainStorageState,
    HashedAccounts,
    HashedStorages,
    Bytecodes,
}

impl Table {
    pub(crate) const COUNT: usize = Self::Bytecodes as usize + 1;

    pub(crate) const fn name(self) -> &'static CStr {
        match self {
            Self::Metadata => c"Metadata",
            Self::StageCheckpoints => c"StageCheckpoints",
            Self::PruneCheckpoints => c"PruneCheckpoints",
            Self::ChainState => c"ChainState",
            Self::VersionHistory => c"VersionHistory",
            Self::HeaderNumbers => c"HeaderNumbers",
            Self::BlockBodyIndices => c"BlockBodyIndices",
            Self::BlockOmmers => c"BlockOmmers",
            Self::BlockWithdrawals => c"BlockWithdrawals",
            Self::TransactionBlocks => c"TransactionBlocks",
            Self::TransactionHashNumbers => c"TransactionHashNumbers",
            Self::TransactionSenders => c"TransactionSenders",
            Self::Receipts => c"Receipts",
            Self::AccountChangeSets => c"AccountChangeSets",
            Self::StorageChangeSets => c"StorageChangeSets",
            Self::AccountsHistory => c"AccountsHistory",
            Self::StoragesHistory => c"StoragesHistory",
            Self::PlainAccountState => c"PlainAccountState",
            Self::PlainStorageState => c"PlainStorageState",
            Self::HashedAccounts => c"HashedAccounts",
            Self::HashedStorages => c"HashedStorages",
            Self::Bytecodes => c"Bytecodes",
        }
    }
}

/// Encodes a `u64` as a key.
pub(crate) const fn number_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Decodes a key that is or begins with a `u64`.
pub(crate) fn key_number(key: &[u8]) -> Result<u64, Malformed> {
    Reader::new(key)
        .array()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

/// Decodes a plain `u64` value.
pub(crate) fn plain_u64(value: &[u8]) -> Result<u64, Malformed> {
    let mut reader = Reader::new(value);
    let number = u64::from_le_bytes(*reader.array()?);
    reader.finish()?;
    Ok(number)
}

/// Decodes a value of `BlockBodyIndices`.
pub(crate) fn body_indices(value: &[u8]) -> Result<BodyIndices, Malformed> {
    let mut reader = Reader::new(value);
    let mut flags = Flags::read(&mut reader, 1)?;
    let (first_len, count_len) = (flags.next(4), flags.next(4));
    let body = BodyIndices {
        first_tx: reader.u64(first_len)?,
        tx_count: reader.u64(count_len)?,
    };
    reader.finish()?;
    match body.first_tx.checked_add(body.tx_count) {
        Some(_) => Ok(body),
        None => Err("transaction numbers overflow"),
    }
}

/// Decodes a value of `BlockWithdrawals`, and appends it to `into`.
pub(crate) fn withdrawals(value: &[u8], into: &mut Vec<Withdrawal>) -> Result<(), Malformed> {
    let mut reader = Reader::new(value);
    let count = reader.varuint()?;
    // Memory grows with the bytes that are present, not with the count.
    for _ in 0..count {
        let mut item = reader.nested()?;
        let mut flags = Flags::read(&mut item, 2)?;
        let (index, validator, amount) = (flags.next(4), flags.next(4), flags.next(4));
        flags.finish()?;
        into.push(Withdrawal {
            index: item.u64(index)?,
            validator_index: item.u64(validator)?,
            address: item.address()?,
            amount: item.u64(amount)?,
        });
        item.finish()?;
    }
    reader.finish()
}

/// Decodes a value of `BlockOmmers`: headers, without stored hashes.
pub(crate) fn ommers(value: &[u8]) -> Result<Vec<Header>, Malformed> {
    let mut reader = Reader::new(value);
    let count = reader.varuint()?;
    let mut ommers = Vec::new();
    for _ in 0..count {
        let mut ommer = header::decode(reader.nested()?.rest(), B256::ZERO)?;
        ommer.hash = ommer.recompute_hash();
        ommers.push(ommer);
    }
    reader.finish()?;
    Ok(ommers)
}

/// Decodes a value of `StageCheckpoints`: the block number and the raw stage data.
pub(crate) fn stage_checkpoint(value: &[u8]) -> Result<(u64, Option<&[u8]>), Malformed> {
    let mut reader = Reader::new(value);
    let mut flags = Flags::read(&mut reader, 1)?;
    let (len, has_data) = (flags.next(4), flags.flag());
    let block = reader.u64(len)?;
    let data = if has_data {
        Some(reader.nested()?.rest())
    } else {
        None
    };
    Ok((block, data))
}

/// Decodes a value of `VersionHistory`: version, commit and build time, each a compact
/// `Vec<u8>` (the count, then for each byte its length, 0 or 1, and the byte).
pub(crate) fn client_version(value: &[u8]) -> Result<[String; 3], Malformed> {
    let mut reader = Reader::new(value);
    let mut text = || -> Result<String, Malformed> {
        let count = reader.varuint()?;
        let mut bytes = Vec::new();
        for _ in 0..count {
            let byte = reader.nested()?.rest();
            match byte {
                [] => bytes.push(0),
                [byte] => bytes.push(*byte),
                _ => return Err("a byte is longer than one byte"),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let version = [text()?, text()?, text()?];
    reader.finish()?;
    Ok(version)
}

/// Decodes a value of `Metadata`: a SCALE byte vector.
pub(crate) fn scale_bytes(value: &[u8]) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(value);
    let first = reader.byte()?;
    let len = match first & 3 {
        0 => usize::from(first >> 2),
        1 => (usize::from(reader.byte()?) << 8 | usize::from(first)) >> 2,
        2 => {
            let [a, b, c] = *reader.array()?;
            (u32::from_le_bytes([first, a, b, c]) >> 2) as usize
        }
        _ => return Err("a length is too long"),
    };
    let bytes = reader.take(len)?;
    reader.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, hex};

    #[test]
    fn decodes_body_indices() {
        assert_eq!(
            body_indices(&[0]),
            Ok(BodyIndices {
                first_tx: 0,
                tx_count: 0
            })
        );
        assert_eq!(
            body_indices(&hex!("12 0107 03")),
            Ok(BodyIndices {
                first_tx: 0x0107,
                tx_count: 3
            })
        );
        assert!(body_indices(&hex!("12 0107 03 00")).is_err());
        assert!(body_indices(&[]).is_err());
        assert!(
            body_indices(&hex!("18 ffffffffffffffff 01")).is_err(),
            "overflow"
        );
    }

    #[test]
    fn decodes_a_withdrawal() {
        let mut found = Vec::new();
        let mut row = hex!("01 1b 1004 05").to_vec();
        row.extend([0xdd; 20]);
        row.extend(hex!("3b9aca00"));
        withdrawals(&row, &mut found).unwrap();
        let expected = Withdrawal {
            index: 0,
            validator_index: 5,
            address: Address::repeat_byte(0xdd),
            amount: 1_000_000_000,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn decodes_scale_bytes() {
        let json = br#"{"storage_v2":true}"#;
        let mut row = vec![19 << 2];
        row.extend(json);
        assert_eq!(scale_bytes(&row), Ok(&json[..]));
        let long = vec![7; 300];
        let mut row = (300u16 << 2 | 1).to_le_bytes().to_vec();
        row.extend(&long);
        assert_eq!(scale_bytes(&row), Ok(&long[..]));
        assert!(scale_bytes(&row[..100]).is_err());
    }
}
