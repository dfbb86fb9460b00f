//! Block headers (`reth-core: crates/codecs/src/alloy/header.rs`).

use crate::{
    compact::{Flags, Malformed, Reader},
    error::Result,
    jar_reader::PeekCell,
};
use alloy_primitives::{B64, B256, Bloom, Bytes, keccak256};
use alloy_rlp::Encodable;
use std::ops::Deref;

/// A block header, and its stored hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// All fields.
    pub fields: alloy_consensus::Header,
    /// The stored block hash. [`Header::recompute_hash`] computes it from the fields.
    pub hash: B256,
}

impl Deref for Header {
    type Target = alloy_consensus::Header;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl Header {
    /// Decodes the RLP encoding, of which the hash is the Keccak-256; `None` if it is none.
    pub fn from_rlp(rlp: &[u8]) -> Option<Self> {
        Some(Self {
            fields: alloy_rlp::decode_exact(rlp).ok()?,
            hash: keccak256(rlp),
        })
    }

    /// Computes the hash of the fields: the Keccak-256 of their RLP encoding.
    pub fn recompute_hash(&self) -> B256 {
        self.recompute_hash_with(&mut Vec::new())
    }

    /// Like [`Self::recompute_hash`], with a reusable buffer.
    pub(crate) fn recompute_hash_with(&self, rlp: &mut Vec<u8>) -> B256 {
        rlp.clear();
        self.fields.encode(rlp);
        keccak256(rlp)
    }

    /// Returns whether the last receipt's cumulative gas must equal `gas_used`. Since
    /// Amsterdam they differ (EIP-7778 counts gas before refunds).
    pub(crate) const fn gas_is_cumulative(&self) -> bool {
        self.fields.block_access_list_hash.is_none() && self.fields.slot_number.is_none()
    }
}

/// Decodes column 0 of the headers jar. `hash` is column 2.
pub(crate) fn decode(value: &[u8], hash: B256) -> Result<Header, Malformed> {
    let mut reader = Reader::new(value);
    let mut flags = Flags::read(&mut reader, 4)?;
    let has_withdrawals_root = flags.flag();
    let difficulty_len = flags.next(6);
    let number_len = flags.next(4);
    let gas_limit_len = flags.next(4);
    let gas_used_len = flags.next(4);
    let timestamp_len = flags.next(4);
    let nonce_len = flags.next(4);
    let has_base_fee = flags.flag();
    let has_blob_gas_used = flags.flag();
    let has_excess_blob_gas = flags.flag();
    let has_parent_beacon_block_root = flags.flag();
    let has_extension = flags.flag();
    flags.finish()?;

    let parent_hash = reader.b256()?;
    let ommers_hash = reader.b256()?;
    let beneficiary = reader.address()?;
    let state_root = reader.b256()?;
    let transactions_root = reader.b256()?;
    let receipts_root = reader.b256()?;
    let withdrawals_root = reader.optional_b256(has_withdrawals_root)?;
    let logs_bloom = Bloom::from(reader.array::<256>()?);
    let difficulty = reader.u256(difficulty_len)?;
    let number = reader.u64(number_len)?;
    let gas_limit = reader.u64(gas_limit_len)?;
    let gas_used = reader.u64(gas_used_len)?;
    let timestamp = reader.u64(timestamp_len)?;
    if timestamp == u64::MAX {
        return Err("the time is 2^64-1, after which no block can follow");
    }
    let mix_hash = reader.b256()?;
    let nonce = B64::from(reader.u64(nonce_len)?);
    let base_fee_per_gas = reader.optional_u64(has_base_fee)?;
    let blob_gas_used = reader.optional_u64(has_blob_gas_used)?;
    let excess_blob_gas = reader.optional_u64(has_excess_blob_gas)?;
    let parent_beacon_block_root = reader.optional_b256(has_parent_beacon_block_root)?;
    let extension = if has_extension {
        extension(reader.nested()?)?
    } else {
        Extension::default()
    };
    let fields = alloy_consensus::Header {
        parent_hash,
        ommers_hash,
        beneficiary,
        state_root,
        transactions_root,
        receipts_root,
        logs_bloom,
        difficulty,
        number,
        gas_limit,
        gas_used,
        timestamp,
        extra_data: Bytes::copy_from_slice(reader.rest()),
        mix_hash,
        nonce,
        base_fee_per_gas,
        withdrawals_root,
        blob_gas_used,
        excess_blob_gas,
        parent_beacon_block_root,
        requests_hash: extension.requests_hash,
        block_access_list_hash: extension.block_access_list_hash,
        slot_number: extension.slot_number,
    };
    Ok(Header { fields, hash })
}

/// The bloom filter of a header. Only the requested bytes are decompressed.
pub struct LogsBloom<'a> {
    header: PeekCell<'a>,
    start: usize,
}

impl<'a> LogsBloom<'a> {
    /// Finds the filter in column 0 of the headers jar.
    pub(crate) fn new(mut header: PeekCell<'a>) -> Result<Self> {
        let has_withdrawals_root = header.byte(0)? & 1;
        // Flags; parent, ommers, beneficiary; roots of state, transactions, receipts (and
        // withdrawals).
        let roots = 3 + usize::from(has_withdrawals_root);
        Ok(Self {
            header,
            start: 4 + 32 + 32 + 20 + roots * 32,
        })
    }

    /// Returns one of its 256 bytes. Cheapest in ascending order and at low positions.
    #[inline]
    pub fn byte(&mut self, index: u8) -> Result<u8> {
        self.header.byte(self.start + usize::from(index))
    }
}

impl std::fmt::Debug for LogsBloom<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogsBloom").finish_non_exhaustive()
    }
}

/// Fields of forks after Cancun.
#[derive(Default)]
struct Extension {
    requests_hash: Option<B256>,
    block_access_list_hash: Option<B256>,
    slot_number: Option<u64>,
}

fn extension(mut reader: Reader<'_>) -> Result<Extension, Malformed> {
    let mut flags = Flags::read(&mut reader, 1)?;
    let (has_requests, has_access_list, has_slot) = (flags.flag(), flags.flag(), flags.flag());
    // A later field would change the hash; this error is more precise.
    if flags.finish().is_err() {
        return Err("a header field of a later fork");
    }
    let extension = Extension {
        requests_hash: reader.optional_b256(has_requests)?,
        block_access_list_hash: reader.optional_b256(has_access_list)?,
        slot_number: reader.optional_u64(has_slot)?,
    };
    reader.finish()?;
    Ok(extension)
}
