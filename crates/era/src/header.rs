//! Block headers: the fields that proofs and transfers need.

use crate::{error::Malformed, rlp::Items};
use alloy_primitives::{B256, Bloom, U256, keccak256};

const BLOOM_BYTES: usize = 256;

/// The place of the block access list's hash after the withdrawals root: it follows the blob gas,
/// its excess, the root of the beacon block and the hash of requests.
const ACCESS_LIST: usize = 4;

/// A header. Its hash covers fields that are not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) hash: B256,
    pub(crate) parent_hash: B256,
    pub(crate) ommers_hash: B256,
    pub(crate) transactions_root: B256,
    pub(crate) receipts_root: B256,
    pub(crate) logs_bloom: Bloom,
    pub(crate) difficulty: U256,
    pub(crate) number: u64,
    pub(crate) timestamp: u64,
    /// Since Shanghai.
    pub(crate) withdrawals_root: Option<B256>,
    /// Whether it has the hash of a block access list (EIP-7928): since Amsterdam.
    pub(crate) has_access_list: bool,
}

impl Header {
    /// Decodes the RLP of a header. Fields of later forks are left out.
    pub(crate) fn decode(rlp: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Items::of_list(rlp)?;
        let parent_hash = fields.hash()?;
        let ommers_hash = fields.hash()?;
        // Beneficiary and state root.
        fields.fixed::<20>()?;
        fields.fixed::<32>()?;
        let transactions_root = fields.hash()?;
        let receipts_root = fields.hash()?;
        let logs_bloom = Bloom::from(fields.fixed::<BLOOM_BYTES>()?);
        let difficulty = fields.wide_number()?;
        let number = fields.number()?;
        // Gas limit and gas used.
        fields.number()?;
        fields.number()?;
        let timestamp = fields.number()?;
        // Extra data, mix hash and nonce.
        fields.string()?;
        fields.fixed::<32>()?;
        fields.fixed::<8>()?;
        let (mut withdrawals_root, mut has_access_list) = (None, false);
        if !fields.is_empty() {
            // Base fee.
            fields.wide_number()?;
            if !fields.is_empty() {
                withdrawals_root = Some(fields.hash()?);
            }
            for number in 0.. {
                if fields.is_empty() {
                    break;
                }
                fields.string()?;
                has_access_list |= number == ACCESS_LIST;
            }
        }
        Ok(Self {
            hash: keccak256(rlp),
            parent_hash,
            ommers_hash,
            transactions_root,
            receipts_root,
            logs_bloom,
            difficulty,
            number,
            timestamp,
            withdrawals_root,
            has_access_list,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_rlp::Encodable;

    #[test]
    fn fields_equal_those_of_alloy() {
        let root = B256::repeat_byte;
        let frontier = alloy_consensus::Header {
            parent_hash: root(1),
            transactions_root: root(2),
            receipts_root: root(3),
            logs_bloom: Bloom::repeat_byte(4),
            difficulty: U256::from(5),
            number: 6,
            timestamp: 7,
            ..Default::default()
        };
        let london = alloy_consensus::Header {
            base_fee_per_gas: Some(8),
            ..frontier.clone()
        };
        let osaka = alloy_consensus::Header {
            withdrawals_root: Some(root(9)),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(1),
            parent_beacon_block_root: Some(root(10)),
            requests_hash: Some(root(11)),
            ..london.clone()
        };
        let amsterdam = alloy_consensus::Header {
            block_access_list_hash: Some(root(12)),
            slot_number: Some(13),
            ..osaka.clone()
        };
        for header in [frontier, london, osaka, amsterdam] {
            let mut rlp = Vec::new();
            header.encode(&mut rlp);
            let decoded = Header::decode(&rlp).unwrap();
            assert_eq!(decoded.hash, header.hash_slow());
            assert_eq!(decoded.parent_hash, header.parent_hash);
            assert_eq!(decoded.ommers_hash, header.ommers_hash);
            assert_eq!(decoded.transactions_root, header.transactions_root);
            assert_eq!(decoded.receipts_root, header.receipts_root);
            assert_eq!(decoded.logs_bloom, header.logs_bloom);
            assert_eq!(decoded.difficulty, header.difficulty);
            assert_eq!((decoded.number, decoded.timestamp), (6, 7));
            assert_eq!(decoded.withdrawals_root, header.withdrawals_root);
            let has_access_list = header.block_access_list_hash.is_some();
            assert_eq!(decoded.has_access_list, has_access_list);
            rlp.pop();
            assert!(Header::decode(&rlp).is_err());
        }
    }
}
