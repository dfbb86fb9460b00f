//! Block headers (`reth-core: crates/codecs/src/alloy/header.rs`).

use crate::{
    compact::{Flags, Malformed, Reader},
    error::Result,
    jar_reader::PeekCell,
};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256, keccak256};
use alloy_rlp::Encodable;

/// A block header with all its fields, and its stored hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The block number.
    pub number: u64,
    /// The stored block hash. [`Header::recompute_hash`] computes it from the fields.
    pub hash: B256,
    /// The hash of the previous block.
    pub parent_hash: B256,
    /// The block time in unix seconds.
    pub timestamp: u64,
    /// The gas used by the block.
    pub gas_used: u64,
    /// The gas limit of the block.
    pub gas_limit: u64,
    /// The fee recipient (the miner before the merge).
    pub beneficiary: Address,
    /// EIP-1559: base fee in wei; since London.
    pub base_fee: Option<u64>,
    /// Root of the transactions trie.
    pub transactions_root: B256,
    /// Root of the receipts trie.
    pub receipts_root: B256,
    /// Root of the withdrawals trie (EIP-4895); since Shanghai.
    pub withdrawals_root: Option<B256>,
    /// Bloom filter over addresses and topics of all logs.
    pub logs_bloom: Bloom,
    /// Hash of the list of ommers.
    pub ommers_hash: B256,
    /// Root of the state trie after the block.
    pub state_root: B256,
    /// Proof-of-work difficulty; 0 after the merge.
    pub difficulty: U256,
    /// Proof-of-work mix hash; after the merge the randao value (EIP-4399).
    pub mix_hash: B256,
    /// Proof-of-work nonce.
    pub nonce: u64,
    /// EIP-4844: blob gas of the block; since Cancun.
    pub blob_gas_used: Option<u64>,
    /// EIP-4844: running excess of blob gas.
    pub excess_blob_gas: Option<u64>,
    /// EIP-4788: root of the parent beacon block.
    pub parent_beacon_block_root: Option<B256>,
    /// EIP-7685: hash of the execution requests; since Prague.
    pub requests_hash: Option<B256>,
    /// EIP-7928: hash of the block access list; since Amsterdam.
    pub block_access_list_hash: Option<B256>,
    /// EIP-7843: slot number; since Amsterdam.
    pub slot_number: Option<u64>,
    /// Free bytes, chosen by the builder of the block.
    pub extra_data: Bytes,
}

impl Header {
    /// Converts a header of `alloy-consensus`, which has this hash.
    pub fn from_alloy(header: &alloy_consensus::Header, hash: B256) -> Self {
        Self {
            number: header.number,
            hash,
            parent_hash: header.parent_hash,
            timestamp: header.timestamp,
            gas_used: header.gas_used,
            gas_limit: header.gas_limit,
            beneficiary: header.beneficiary,
            base_fee: header.base_fee_per_gas,
            transactions_root: header.transactions_root,
            receipts_root: header.receipts_root,
            withdrawals_root: header.withdrawals_root,
            logs_bloom: header.logs_bloom,
            ommers_hash: header.ommers_hash,
            state_root: header.state_root,
            difficulty: header.difficulty,
            mix_hash: header.mix_hash,
            nonce: header.nonce.into(),
            blob_gas_used: header.blob_gas_used,
            excess_blob_gas: header.excess_blob_gas,
            parent_beacon_block_root: header.parent_beacon_block_root,
            requests_hash: header.requests_hash,
            block_access_list_hash: header.block_access_list_hash,
            slot_number: header.slot_number,
            extra_data: header.extra_data.clone(),
        }
    }

    /// Converts the header to the type of `alloy-consensus`.
    pub fn to_alloy(&self) -> alloy_consensus::Header {
        alloy_consensus::Header {
            parent_hash: self.parent_hash,
            ommers_hash: self.ommers_hash,
            beneficiary: self.beneficiary,
            state_root: self.state_root,
            transactions_root: self.transactions_root,
            receipts_root: self.receipts_root,
            logs_bloom: self.logs_bloom,
            difficulty: self.difficulty,
            number: self.number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            nonce: B64::from(self.nonce),
            base_fee_per_gas: self.base_fee,
            withdrawals_root: self.withdrawals_root,
            blob_gas_used: self.blob_gas_used,
            excess_blob_gas: self.excess_blob_gas,
            parent_beacon_block_root: self.parent_beacon_block_root,
            requests_hash: self.requests_hash,
            block_access_list_hash: self.block_access_list_hash,
            slot_number: self.slot_number,
        }
    }

    /// Computes the hash of the fields: the Keccak-256 of their RLP encoding.
    pub fn recompute_hash(&self) -> B256 {
        self.recompute_hash_with(&mut Vec::new())
    }

    /// Like [`Self::recompute_hash`], with a reusable buffer.
    pub(crate) fn recompute_hash_with(&self, rlp: &mut Vec<u8>) -> B256 {
        rlp.clear();
        self.encode(rlp);
        keccak256(rlp)
    }

    /// Appends the RLP encoding of the fields.
    pub(crate) fn encode(&self, rlp: &mut Vec<u8>) {
        self.to_alloy().encode(rlp);
    }

    /// Returns whether the last receipt's cumulative gas must equal `gas_used`. Since
    /// Amsterdam they differ (EIP-7778 counts gas before refunds).
    pub(crate) const fn gas_is_cumulative(&self) -> bool {
        self.block_access_list_hash.is_none() && self.slot_number.is_none()
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
    let nonce = reader.u64(nonce_len)?;
    let base_fee = reader.optional_u64(has_base_fee)?;
    let blob_gas_used = reader.optional_u64(has_blob_gas_used)?;
    let excess_blob_gas = reader.optional_u64(has_excess_blob_gas)?;
    let parent_beacon_block_root = reader.optional_b256(has_parent_beacon_block_root)?;
    let extension = if has_extension {
        extension(reader.nested()?)?
    } else {
        Extension::default()
    };
    Ok(Header {
        number,
        hash,
        parent_hash,
        timestamp,
        gas_used,
        gas_limit,
        beneficiary,
        base_fee,
        transactions_root,
        receipts_root,
        withdrawals_root,
        logs_bloom,
        ommers_hash,
        state_root,
        difficulty,
        mix_hash,
        nonce,
        blob_gas_used,
        excess_blob_gas,
        parent_beacon_block_root,
        requests_hash: extension.requests_hash,
        block_access_list_hash: extension.block_access_list_hash,
        slot_number: extension.slot_number,
        extra_data: Bytes::copy_from_slice(reader.rest()),
    })
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
