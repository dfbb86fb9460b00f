//! The transactions of transfers: who signed them, and what columns on request state of them.

use super::blocks::{SIGNED, reread};
use crate::{Capability, Error, Result, Source};
use alloy_primitives::{Address, B256};
use std::{collections::BTreeMap, ops::ControlFlow};
use txgraph_export::{TransactionFacts, Transactions};
use txgraph_nodedb::{Block, Parts, Result as NodeResult, Scratch};
use txgraph_transfers::{BlockRange, SourceError, Transfer};

/// The columns of transfers that state something of their transaction.
pub(crate) const COLUMNS: [&str; 4] = ["transaction_from", "transaction_to", "status", "method"];

/// Wanted transactions of a block, by index, with their hashes if these are known.
type OfBlock<W = B256> = BTreeMap<u32, W>;

/// The same, by block.
type Wanted<W = B256> = BTreeMap<u64, OfBlock<W>>;

/// A part of a transaction, with its block and index, and whether it has the wanted hash.
pub(super) type Found<T> = ((u64, u32), T, bool);

/// Reads wanted transactions of a block.
type Read<W, T> = fn(&mut Block<'_>, &OfBlock<W>) -> NodeResult<Vec<Found<T>>>;

/// Blocks that a thread reads at a time, under one snapshot.
const BLOCKS_READ: usize = 64;

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
        #[cfg_attr(
            not(feature = "rpc"),
            expect(unused_mut, reason = "no server has some of them")
        )]
        let mut wanted = wanted(transfers);
        #[cfg(feature = "rpc")]
        for found in self.take_served(&mut wanted)? {
            let success = found.success.ok_or_else(|| {
                Error::unavailable(format!(
                    "the receipts of block {} do not show what succeeded",
                    found.block
                ))
            })?;
            let of_server = TransactionFacts {
                from: found.from,
                to: found.to,
                success,
                method: found.to.and_then(|_| method_of(&found.input)),
            };
            facts.insert((found.block, found.index), of_server);
        }
        let parts = Parts {
            receipts: true,
            ..SIGNED
        };
        self.stored_transactions(wanted, parts, facts_of, facts)
    }

    /// Who signed the transactions of transfers, by block and index. Of withdrawals, which are in no
    /// transaction, and of transfers without the hash of their transaction it states nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Reorged`](crate::ErrorKind::Reorged) if a block was replaced since its transfers
    /// were read. If the source is not a node.
    pub fn initiators<'t>(
        &self,
        transfers: impl IntoIterator<Item = &'t Transfer>,
    ) -> Result<BTreeMap<(u64, u32), Address>> {
        #[cfg_attr(
            not(feature = "rpc"),
            expect(unused_mut, reason = "no server has some of them")
        )]
        let mut wanted = wanted(transfers);
        let mut all = BTreeMap::new();
        #[cfg(feature = "rpc")]
        for found in self.take_served(&mut wanted)? {
            all.insert((found.block, found.index), found.from);
        }
        self.stored_transactions(wanted, SIGNED, signers_of, &mut all)?;
        Ok(all)
    }

    /// Reads wanted transactions of the files with `read`, on all threads.
    pub(super) fn stored_transactions<W: Send, T: Send>(
        &self,
        wanted: Wanted<W>,
        parts: Parts,
        read: Read<W, T>,
        all: &mut BTreeMap<(u64, u32), T>,
    ) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let node = self.node(Capability::Info).map_err(|error| {
            let why = "transactions and who signed them are read from the data directory of a node";
            Error::new(error.kind, format!("{}: {why}", self.spec()))
        })?;
        let read = |blocks: Vec<(u64, OfBlock<W>)>, scratch: &mut Scratch| {
            reread("reading transactions", || {
                let snapshot = node.db().snapshot()?;
                let mut found = Vec::new();
                for (number, of_block) in &blocks {
                    let block = BlockRange::one(*number);
                    let before = found.len();
                    snapshot.for_each_block(block, parts, scratch, &mut |block| {
                        found.extend(read(block, of_block)?);
                        Ok(ControlFlow::Continue(()))
                    })?;
                    let all = found.iter().skip(before);
                    let same = all.filter(|(.., is_same)| *is_same).count();
                    if same < of_block.len() {
                        return Ok(Err(*number));
                    }
                }
                Ok(Ok(found))
            })
        };
        let mut wanted = wanted.into_iter();
        let chunks = std::iter::from_fn(|| {
            let chunk: Vec<_> = wanted.by_ref().take(BLOCKS_READ).collect();
            (!chunk.is_empty()).then_some(chunk)
        });
        self.in_order(chunks, read, |found| {
            let found = found.map_err(|block| SourceError::Reorged { block })?;
            all.extend(found.into_iter().map(|(place, read, _)| (place, read)));
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Asks the server of the head for the transactions of blocks above those in the files, and
    /// leaves the others.
    #[cfg(feature = "rpc")]
    fn take_served(&self, wanted: &mut Wanted) -> Result<Vec<txgraph_rpc::FoundTransaction>> {
        let Some(head) = self.with_head() else {
            return Ok(Vec::new());
        };
        let above = wanted.split_off(&head.stored_tip()?.saturating_add(1));
        let of_block = |(block, of_block): (u64, OfBlock)| {
            let all = of_block.into_iter();
            all.map(move |(index, hash)| ((block, index), hash))
        };
        let (places, hashes): (Vec<_>, Vec<_>) = above.into_iter().flat_map(of_block).unzip();
        let found = head.rpc().transactions(&hashes)?;
        let here =
            |((block, index), found): ((u64, u32), Option<txgraph_rpc::FoundTransaction>)| {
                let found = found.filter(|it| (it.block, it.index) == (block, index));
                found.ok_or_else(|| SourceError::Reorged { block }.into())
            };
        places.into_iter().zip(found).map(here).collect()
    }
}

/// The transactions of transfers. Withdrawals have none.
fn wanted<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> Wanted {
    let mut wanted = Wanted::new();
    for transfer in transfers {
        if let Some(hash) = transfer.transaction_hash {
            let of_block = wanted.entry(transfer.block_number).or_default();
            of_block.insert(transfer.transaction_index, hash);
        }
    }
    wanted
}

/// Reads the facts that columns state of the wanted transactions of a block.
fn facts_of(block: &mut Block<'_>, wanted: &OfBlock) -> NodeResult<Vec<Found<TransactionFacts>>> {
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
            read.push(((block.number, index), facts, stored.hash() == *hash));
            wanted.next();
        }
        index += 1;
    }
    Ok(read)
}

/// Who signed the wanted transactions of a block.
fn signers_of(block: &mut Block<'_>, wanted: &OfBlock) -> NodeResult<Vec<Found<Address>>> {
    let signer = |(index, hash): (&u32, &B256)| {
        let is_same = block.stored_transaction(*index)?.hash() == *hash;
        Ok(((block.number, *index), block.sender(*index)?, is_same))
    };
    wanted.iter().map(signer).collect()
}

/// The called function: its signature if it is a common one, else its selector.
fn method(stored: &txgraph_nodedb::StoredTransaction) -> Option<String> {
    stored.to()?;
    method_of(stored.input())
}

fn method_of(input: &[u8]) -> Option<String> {
    let selector = *input.first_chunk::<4>()?;
    if let Some(signature) = common().signatures(selector).next() {
        return Some(signature);
    }
    Some(alloy_primitives::hex::encode_prefixed(selector))
}

/// The signatures of common standards.
fn common() -> &'static txgraph_abi::Dictionary {
    static COMMON: std::sync::LazyLock<txgraph_abi::Dictionary> =
        std::sync::LazyLock::new(txgraph_abi::Dictionary::common);
    &COMMON
}
