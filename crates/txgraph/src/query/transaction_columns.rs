//! The transactions of transfers, for columns on request.

use super::blocks::reread;
#[cfg(feature = "rpc")]
use crate::Error;
use crate::{Capability, Result, Source};
use alloy_primitives::{B256, hex};
use std::{collections::BTreeMap, ops::ControlFlow};
use txgraph_export::{TransactionFacts, Transactions};
use txgraph_nodedb::{Block, Parts, Scratch};
use txgraph_transfers::{BlockRange, SourceError, Transfer};

/// The columns of transfers that state something of their transaction.
pub(crate) const COLUMNS: [&str; 4] = ["transaction_from", "transaction_to", "status", "method"];

impl Source {
    /// Reads the transactions of transfers: from the data directory of the node, and above the
    /// newest block in it from the server of its head, if there is one. The transfers are in total
    /// order.
    ///
    /// # Errors
    ///
    /// [`SourceError::Reorged`] if a block was replaced since its transfers were read. If the
    /// source has no transactions, or a receipt was pruned.
    pub(crate) fn add_transactions<'t>(
        &self,
        facts: &mut Transactions,
        transfers: impl Iterator<Item = &'t Transfer>,
    ) -> Result<()> {
        // The hashes of the wanted transactions, by block and index.
        let mut wanted: BTreeMap<u64, BTreeMap<u32, B256>> = BTreeMap::new();
        for transfer in transfers {
            if let Some(hash) = transfer.transaction_hash {
                let of_block = wanted.entry(transfer.block_number).or_default();
                of_block.insert(transfer.transaction_index, hash);
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let node = self.node(Capability::Info)?;
        #[cfg(feature = "rpc")]
        if let Some(head) = self.with_head() {
            let above = wanted.split_off(&head.stored_tip()?.saturating_add(1));
            facts.extend(head.facts(&above)?);
        }
        let parts = Parts {
            headers: false,
            receipts: true,
            transactions: true,
            senders: true,
            withdrawals: false,
        };
        let mut scratch = Scratch::default();
        for (number, of_block) in wanted {
            self.check_interrupted()?;
            let blocks = BlockRange::one(number);
            let mut read = Vec::new();
            reread("reading transactions", || {
                read.clear();
                let snapshot = node.db().snapshot()?;
                snapshot.for_each_block(blocks, parts, &mut scratch, &mut |block| {
                    read = of_transactions(block, &of_block)?;
                    Ok(ControlFlow::Continue(()))
                })
            })?;
            if read.len() != of_block.len() || read.iter().any(|(.., is_same)| !is_same) {
                return Err(SourceError::Reorged { block: number }.into());
            }
            facts.extend(read.into_iter().map(|(index, it, _)| ((number, index), it)));
        }
        Ok(())
    }
}

#[cfg(feature = "rpc")]
impl crate::source::NodeWithHead {
    /// Asks for the transactions of blocks above those in the files.
    fn facts(
        &self,
        wanted: &BTreeMap<u64, BTreeMap<u32, B256>>,
    ) -> Result<Vec<((u64, u32), TransactionFacts)>> {
        let of_block = |(block, of_block): (&u64, &BTreeMap<u32, B256>)| {
            let block = *block;
            let all = of_block.iter();
            all.map(move |(index, hash)| ((block, *index), *hash))
                .collect::<Vec<_>>()
        };
        let (places, hashes): (Vec<_>, Vec<_>) = wanted.iter().flat_map(of_block).unzip();
        let found = self.rpc().transactions(&hashes)?;
        let mut facts = Vec::with_capacity(found.len());
        for ((block, index), found) in places.into_iter().zip(found) {
            let here = |found: &txgraph_rpc::FoundTransaction| {
                (found.block, found.index) == (block, index)
            };
            let Some(found) = found.filter(here) else {
                return Err(SourceError::Reorged { block }.into());
            };
            let success = found.success.ok_or_else(|| {
                Error::unavailable(format!(
                    "the receipts of block {block} do not show what succeeded"
                ))
            })?;
            let facts_of = TransactionFacts {
                from: found.from,
                to: found.to,
                success,
                method: found.to.and_then(|_| method_of(&found.input)),
            };
            facts.push(((block, index), facts_of));
        }
        Ok(facts)
    }
}

/// The wanted transactions of a block, each with whether it has the wanted hash.
fn of_transactions(
    block: &mut Block<'_>,
    wanted: &BTreeMap<u32, B256>,
) -> txgraph_nodedb::Result<Vec<(u32, TransactionFacts, bool)>> {
    let mut read = Vec::with_capacity(wanted.len());
    let mut wanted = wanted.iter().peekable();
    let mut index = 0;
    while let Some(&(&next, hash)) = wanted.peek()
        && let Some(receipt) = block.next_receipt()?
    {
        let success = receipt.success;
        if index == next {
            let stored = block.stored_transaction(index)?;
            let facts = TransactionFacts {
                from: block.sender(index)?,
                to: stored.to(),
                success,
                method: method(&stored),
            };
            read.push((index, facts, stored.hash() == *hash));
            wanted.next();
        }
        index += 1;
    }
    Ok(read)
}

/// The called function: its signature if it is a common one, else its selector.
fn method(stored: &txgraph_nodedb::StoredTransaction) -> Option<String> {
    stored.to()?;
    method_of(stored.input())
}

fn method_of(input: &[u8]) -> Option<String> {
    let selector = *input.first_chunk::<4>()?;
    #[cfg(feature = "replay")]
    if let Some(signature) = common().signatures(selector).next() {
        return Some(signature);
    }
    Some(hex::encode_prefixed(selector))
}

/// The signatures of common standards.
#[cfg(feature = "replay")]
fn common() -> &'static txgraph_abi::Dictionary {
    static COMMON: std::sync::LazyLock<txgraph_abi::Dictionary> =
        std::sync::LazyLock::new(txgraph_abi::Dictionary::common);
    &COMMON
}
