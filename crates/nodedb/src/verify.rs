//! Proofs of a block against its header. A scan checks what is free: gas, counts and
//! hashes. The proofs check every byte, which is expensive: all transactions and receipts
//! are encoded and hashed, and senders are recovered.

use crate::{Block, Error, Receipt, Result, Snapshot};
use alloy_consensus::{EthereumReceipt, TxReceipt, TxType, proofs};
use alloy_eips::Encodable2718;
use alloy_primitives::{B256, Bloom};
use alloy_rlp::{Encodable, Header};
use txgraph_base::{ChainFamily, KnownChain};

/// A receipt as the receipts root of a header contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedReceipt {
    /// The EIP-2718 encoding, with the bloom filter.
    pub bytes: Vec<u8>,
    /// The bloom filter of the logs.
    pub bloom: Bloom,
    /// The number of logs.
    pub log_count: u32,
}

impl Block<'_> {
    /// Proves the block: its hash, transactions root, receipts root, bloom filter and
    /// withdrawals root follow from what is stored. Calls [`Self::check_transactions`], so
    /// senders are proven too.
    ///
    /// Before Byzantium, receipts are compared with gas and bloom filter only: they contained
    /// a state root, which reth does not store. Headers before London do not say which form
    /// receipts have, so for unknown chains this holds up to London.
    ///
    /// On the OP stack, receipts of deposits are hashed without their nonce before Canyon, as
    /// op-geth did. The withdrawals root is not checked there: since Isthmus it is the storage
    /// root of a contract.
    ///
    /// Needs all parts of the block; [`Parts::withdrawals`](crate::Parts) must be set.
    pub fn check_roots(&mut self) -> Result<()> {
        self.check_header()?;
        self.check_receipts()?;
        self.check_transactions()?;
        if let Some(expected) = self.header()?.withdrawals_root
            && self.snapshot.family() == ChainFamily::Ethereum
        {
            let root = proofs::calculate_withdrawals_root(self.withdrawals());
            self.require("withdrawals root", root == expected)?;
        }
        Ok(())
    }

    /// Proves the transactions of the block and their senders: the header has the block
    /// hash, the transactions have the header's transactions root, and every stored
    /// sender is the signer of its transaction.
    ///
    /// The header commits to signatures, not to senders, so each signer is recovered:
    /// about 50 µs a transaction. Where the node stores no sender there is nothing to
    /// compare, and [`Self::sender`] recovers it too. High `s` values are accepted: they
    /// were valid before Homestead (EIP-2), and a changed `s` changes the root.
    ///
    /// # Errors
    ///
    /// [`Error::WrongSender`] for a stored sender that did not sign,
    /// [`Error::Inconsistent`] for a wrong root.
    pub fn check_transactions(&mut self) -> Result<()> {
        let expected = self.check_header()?.transactions_root;
        let transactions = (0..self.body.tx_count)
            .map_while(|index| u32::try_from(index).ok())
            .map(|index| self.stored_transaction(index))
            .collect::<Result<Vec<_>>>()?;
        let root = proofs::calculate_transaction_root(&transactions);
        self.require("transactions root", root == expected)?;
        for (index, transaction) in (0..).zip(&transactions) {
            let Some(stored) = self.stored_sender(index)? else {
                continue;
            };
            let recovered = self.recovered_sender(index, transaction)?;
            if stored != recovered {
                return Err(Error::WrongSender {
                    block: self.number,
                    index,
                    stored,
                    recovered,
                });
            }
        }
        Ok(())
    }

    fn check_receipts(&mut self) -> Result<()> {
        let receipts = self.encoded_receipts()?;
        let bloom = (receipts.iter()).fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom);
        let header = self.header()?;
        let (expected, root) = (header.logs_bloom, header.receipts_root);
        self.require("logs bloom", bloom == expected)?;
        if self.may_have_state_roots()? {
            return Ok(());
        }
        let bytes: Vec<&[u8]> = receipts.iter().map(|receipt| &receipt.bytes[..]).collect();
        let found = proofs::ordered_trie_root_encoded(&bytes);
        self.require("receipts root", found == root)
    }

    /// Returns all receipts as the receipts root of the header contains them, since Byzantium.
    pub fn encoded_receipts(&mut self) -> Result<Vec<EncodedReceipt>> {
        let position = (self.next_receipt, self.cumulative_gas_used);
        (self.next_receipt, self.cumulative_gas_used) = (0, 0);
        let mut receipts = Vec::new();
        while let Some(receipt) = self.next_receipt()? {
            receipts.push(encode(&receipt)?);
        }
        (self.next_receipt, self.cumulative_gas_used) = position;
        Ok(receipts)
    }

    /// Returns whether the receipts root can be one of receipts with state roots, which reth does not
    /// store: before Byzantium (EIP-658), and on unknown chains before London.
    pub fn may_have_state_roots(&mut self) -> Result<bool> {
        if self.header()?.base_fee_per_gas.is_some() {
            return Ok(false);
        }
        let byzantium = self.snapshot.byzantium()?;
        Ok(byzantium.is_none_or(|first| self.number < first))
    }

    fn require(&self, what: &str, is_equal: bool) -> Result<()> {
        if is_equal {
            return Ok(());
        }
        let what = format!("the stored data does not have the header's {what}");
        Err(Error::Inconsistent {
            block: self.number,
            what,
        })
    }
}

impl Snapshot<'_> {
    /// Returns the first Byzantium block (EIP-658), for chains where it is known and not the
    /// first block.
    fn byzantium(&self) -> Result<Option<u64>> {
        if let Some(known) = self.byzantium.get() {
            return Ok(*known);
        }
        let genesis_hash = self.block_hash(self.genesis_block())?;
        Ok(*self.byzantium.get_or_init(|| byzantium_of(&genesis_hash)))
    }
}

fn byzantium_of(genesis_hash: &B256) -> Option<u64> {
    let rules = KnownChain::by_genesis(genesis_hash)?.rules?;
    let fork = rules
        .by_number
        .iter()
        .find(|(_, name)| *name == "Byzantium");
    fork.map(|(block, _)| *block)
}

fn encode(receipt: &Receipt<'_>) -> Result<EncodedReceipt> {
    let (bytes, bloom) = match TxType::try_from(receipt.tx_type) {
        Ok(tx_type) => {
            let receipt = EthereumReceipt {
                tx_type,
                success: receipt.success,
                cumulative_gas_used: receipt.cumulative_gas_used,
                logs: receipt.to_logs()?,
            };
            let receipt = receipt.into_with_bloom();
            (receipt.encoded_2718(), receipt.logs_bloom)
        }
        // Types of the OP stack.
        Err(_) => encode_op(receipt)?,
    };
    Ok(EncodedReceipt {
        bytes,
        bloom,
        log_count: receipt.log_count,
    })
}

/// Encodes a receipt of type 0x7d or 0x7e. Nonce and version of a deposit are encoded only if
/// there is a version (op-geth: `core/types/receipt.go`, `EncodeIndex`).
fn encode_op(receipt: &Receipt<'_>) -> Result<(Vec<u8>, Bloom)> {
    let logs = receipt.to_logs()?;
    let bloom = alloy_primitives::logs_bloom(&logs);
    let mut fields = Vec::new();
    receipt.success.encode(&mut fields);
    receipt.cumulative_gas_used.encode(&mut fields);
    bloom.encode(&mut fields);
    logs.encode(&mut fields);
    if let (Some(nonce), Some(version)) = (receipt.deposit_nonce, receipt.deposit_version) {
        nonce.encode(&mut fields);
        version.encode(&mut fields);
    }
    let mut encoded = vec![receipt.tx_type];
    let head = Header {
        list: true,
        payload_length: fields.len(),
    };
    head.encode(&mut encoded);
    encoded.extend(fields);
    Ok((encoded, bloom))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    #[test]
    fn byzantium_is_known_for_mainnet() {
        let mainnet = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
        assert_eq!(byzantium_of(&mainnet), Some(4_370_000));
        assert_eq!(byzantium_of(&B256::ZERO), None);
    }
}
