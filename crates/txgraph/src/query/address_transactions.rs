//! The transactions in which an address takes part.

use super::blocks::{Order, ReceiptDetail, SIGNED, chunks};
use crate::{Capability, Result, Source};
use alloy_primitives::Address;
use std::ops::ControlFlow;
use txgraph_nodedb::Block;
use txgraph_transfers::{BlockRange, BlockRanges, Participation, Roles, SourceError};

/// Blocks that are replayed before they are looked at.
const REPLAYED_BLOCKS: u64 = 64;

/// Asks for the transactions of an address. See [`Source::transactions`].
#[derive(Clone, Debug)]
#[must_use = "a query is run by `for_each`"]
pub struct AddressTransactions<'s> {
    source: &'s Source,
    address: Address,
    blocks: Option<BlockRange>,
    order: Order,
    inside: bool,
}

impl Source {
    /// Asks for the transactions that an address sends, receives, or is created by. They come from the
    /// index where it has transactions by address, else all blocks are read.
    pub const fn transactions(&self, address: Address) -> AddressTransactions<'_> {
        AddressTransactions {
            source: self,
            address,
            blocks: None,
            order: Order::OldestFirst,
            inside: false,
        }
    }

    /// The nonce of a sender after a block: the number of the transactions that it had sent. `None`
    /// unless the index has the transactions of all blocks up to that one.
    ///
    /// # Errors
    ///
    /// If the source is not a node, or cannot be read.
    pub fn indexed_nonce(&self, sender: Address, block: u64) -> Result<Option<u64>> {
        let Some(blocks) = BlockRange::new(0, block) else {
            return Ok(None);
        };
        let sent = self.transactions(sender).order(Order::NewestFirst);
        if sent.indexed(blocks)? != blocks.into() {
            return Ok(None);
        }
        let last = sent.blocks(blocks).first_indexed(Roles::SENDER)?;
        let last = last.map(|it| (it.block, it.transaction));
        let detail = ReceiptDetail::WithoutLogs;
        let last = self.transactions_at(&last.into_iter().collect(), detail)?;
        let last = last.into_values().next();
        Ok(Some(last.map_or(0, |it| it.nonce().saturating_add(1))))
    }
}

/// Gets transactions in order, until it breaks.
type Each<'a> = dyn FnMut(Participation) -> Result<ControlFlow<()>> + 'a;

impl AddressTransactions<'_> {
    /// Only these blocks. Default: all.
    pub const fn blocks(mut self, blocks: BlockRange) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// The order. Default: the oldest first.
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Also those in which the address takes part in calls inside. They come from an index that has
    /// them and internal transfers, else all blocks are replayed.
    pub const fn inside(mut self) -> Self {
        self.inside = true;
        self
    }

    /// Passes the transactions to `each`, in order, until it breaks.
    ///
    /// # Errors
    ///
    /// If the source is not a node, if blocks that the index does not have are missing, if the chain
    /// is reorganized in the meantime, and the error of `each`.
    pub fn for_each(
        &self,
        mut each: impl FnMut(Participation) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (source, blocks) = (self.source, self.range()?);
        // The hash of a block fixes all blocks below it, also in the index.
        let hash = source.block_hash(blocks.last)?;
        let indexed = self.indexed(blocks)?;
        let others = BlockRanges::from(blocks).subtract(&indexed);
        let indexed = indexed.iter().map(|blocks| (blocks, true));
        let others = others.iter().map(|blocks| (blocks, false));
        let mut parts: Vec<_> = indexed.chain(others).collect();
        parts.sort_unstable();
        if self.order == Order::NewestFirst {
            parts.reverse();
        }
        for (blocks, is_indexed) in parts {
            let flow = match (is_indexed, self.inside) {
                (true, _) => self.of_index(blocks, &mut each)?,
                (false, false) => self.of_blocks(blocks, &mut each)?,
                (false, true) => self.of_replay(blocks, &mut each)?,
            };
            if flow.is_break() {
                break;
            }
        }
        match source.block_hash(blocks.last)? == hash {
            true => Ok(()),
            false => Err(SourceError::Reorged { block: blocks.last }.into()),
        }
    }

    /// The blocks in which the address may take part: the blocks of its transactions where the index
    /// has them, and all blocks that the index does not have.
    ///
    /// # Errors
    ///
    /// If the source is not a node, or the index is damaged.
    pub fn candidate_blocks(&self) -> Result<BlockRanges> {
        let blocks = self.range()?;
        let indexed = self.indexed(blocks)?;
        let others = BlockRanges::from(blocks).subtract(&indexed);
        let mut all: Vec<_> = others.iter().collect();
        for blocks in indexed.iter() {
            let _ = self.of_index(blocks, &mut |it| {
                let block = BlockRange::one(it.block);
                if all.last() != Some(&block) {
                    all.push(block);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(BlockRanges::new(all))
    }

    /// The first transaction that the index has, in the order of the query, in which the address has
    /// one of these roles.
    pub(super) fn first_indexed(&self, roles: Roles) -> Result<Option<Participation>> {
        let mut found = None;
        let mut parts: Vec<_> = self.indexed(self.range()?)?.iter().collect();
        if self.order == Order::NewestFirst {
            parts.reverse();
        }
        for blocks in parts {
            let flow = self.of_index(blocks, &mut |it| {
                found = it.roles.among(roles).map(|_| it);
                Ok(match found {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                })
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(found)
    }

    fn range(&self) -> Result<BlockRange> {
        match self.blocks {
            Some(blocks) => Ok(blocks),
            None => Ok(BlockRange::from_to(0, self.source.tip_block()?.0)),
        }
    }

    /// The roles that are asked for.
    #[cfg(feature = "index")]
    const fn roles(&self) -> Roles {
        match self.inside {
            false => Roles::ENDS,
            true => Roles::ALL,
        }
    }

    /// The blocks that the index answers.
    #[cfg(feature = "index")]
    pub(super) fn indexed(&self, blocks: BlockRange) -> Result<BlockRanges> {
        let node = self.source.node(Capability::Blocks)?;
        // An index contains what was read before; verification has to read it again.
        let is_used = node.config.check_roots != Some(true);
        match node.open_index()?.filter(|_| is_used) {
            Some(index) if index.has_transactions(self.inside) => {
                let runs = index.canonical_runs(node.source()?, blocks)?;
                let runs = runs.iter().filter_map(|run| run.blocks.intersect(&blocks));
                Ok(runs.collect())
            }
            _ => Ok(BlockRanges::default()),
        }
    }

    /// No blocks, without the feature `index`.
    #[cfg(not(feature = "index"))]
    pub(super) fn indexed(&self, _: BlockRange) -> Result<BlockRanges> {
        self.source.node(Capability::Blocks)?;
        Ok(BlockRanges::default())
    }

    #[cfg(feature = "index")]
    fn of_index(&self, blocks: BlockRange, each: &mut Each<'_>) -> Result<ControlFlow<()>> {
        let node = self.source.node(Capability::Blocks)?;
        let Some(index) = node.open_index()? else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut failed = None;
        let newest_first = self.order == Order::NewestFirst;
        let flow = index.transactions_of(self.address, blocks, newest_first, &mut |it| {
            let wanted = it.roles.among(self.roles());
            let done = self.source.check_interrupted();
            let done = done.and_then(|()| match wanted {
                Some(roles) => each(Participation { roles, ..it }),
                None => Ok(ControlFlow::Continue(())),
            });
            match done {
                Ok(flow) => flow,
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(flow), Err)
    }

    /// Never called, without the feature `index`.
    #[cfg(not(feature = "index"))]
    fn of_index(&self, _: BlockRange, _: &mut Each<'_>) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    /// Reads who sends and receives the transactions of blocks.
    fn of_blocks(&self, blocks: BlockRange, each: &mut Each<'_>) -> Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        let read = |block: &mut Block<'_>| {
            let found = ends(block, self.address)?;
            Ok((!found.is_empty()).then_some(found))
        };
        (self.source).scan_blocks(blocks, self.order, SIGNED, read, |found| {
            flow = deliver(found, self.order, each)?;
            Ok(flow)
        })?;
        Ok(flow)
    }

    /// Replays blocks, and looks at the calls inside of transactions.
    fn of_replay(&self, blocks: BlockRange, each: &mut Each<'_>) -> Result<ControlFlow<()>> {
        use crate::{BlockSpec, Error};
        // Block 0 has no transactions.
        let Some(blocks) = BlockRange::new(blocks.first.max(1), blocks.last) else {
            return Ok(ControlFlow::Continue(()));
        };
        for chunk in chunks(blocks, self.order, std::iter::repeat(REPLAYED_BLOCKS)) {
            let mut found = Vec::new();
            let replay = self.source.replay();
            let replay = replay.blocks(BlockSpec::through(chunk.first, chunk.last));
            replay.for_each(|block| {
                if let Some(mismatch) = block.mismatches.first() {
                    return Err(Error::disagrees(mismatch));
                }
                for it in &block.transactions {
                    let roles = it.roles_of(self.address);
                    found.extend(
                        roles.map(|roles| {
                            Participation::new(it.block, it.index, self.address, roles)
                        }),
                    );
                }
                Ok(())
            })?;
            if deliver(found, self.order, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Passes on what was found in the order of the chain.
fn deliver(
    mut found: Vec<Participation>,
    order: Order,
    each: &mut Each<'_>,
) -> Result<ControlFlow<()>> {
    if order == Order::NewestFirst {
        found.reverse();
    }
    for it in found {
        if each(it)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The transactions of a block of which an address is an end.
fn ends(block: &mut Block<'_>, address: Address) -> txgraph_nodedb::Result<Vec<Participation>> {
    let mut found = Vec::new();
    txgraph_reader::transaction_ends(block, |it| {
        found.extend((it.address == address).then_some(it));
    })?;
    Participation::settle(&mut found);
    Ok(found)
}
