//! Where a contract was created: in the change sets of accounts, and by replay of one block.

use super::{Trace, TransactionName};
use crate::{
    BlockSpec, Capability, Order, ReceiptDetail, Result, Source, query::blocks::reread,
    source::RethNode,
};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY};
use std::ops::ControlFlow;
use txgraph_evm::Fork;
use txgraph_nodedb::{Account, Scratch, Snapshot};
use txgraph_replay::{StoredBlock, TransactionReplay};
use txgraph_transfers::{BlockRange, BlockRanges, Participation, Roles, SourceError};
use txgraph_work::{Ordered, ordered};

/// Blocks whose change sets are searched by one thread at a time.
const CHUNK_BLOCKS: u64 = 20_000;

/// Where a contract was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The block. In block 0 it is part of the genesis.
    pub block: u64,
    /// The transaction that created it, if that is known.
    pub by: Option<Creator>,
    /// Why the transaction is not known.
    pub without_creator: Option<String>,
}

impl Creation {
    const fn known(block: u64, by: Creator) -> Self {
        Self {
            block,
            by: Some(by),
            without_creator: None,
        }
    }
}

/// Who created a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Creator {
    /// The index of the transaction in its block.
    pub index: u32,
    /// Its hash.
    pub hash: B256,
    /// Who signed it.
    pub sender: Address,
    /// The account whose `CREATE` or `CREATE2` made the contract; the sender, if the transaction
    /// itself created it.
    pub creator: Address,
}

impl Source {
    /// Where the code that an account has now was created. `None` if it was before the first
    /// block whose changes the node keeps.
    ///
    /// Uses an index with transactions by address, or the node's history index if it can be read.
    /// Otherwise the change sets of accounts are searched backwards, some ten microseconds for each
    /// block and thread.
    ///
    /// # Errors
    ///
    /// If the source keeps no change sets, or they cannot be read.
    pub fn creation_of(&self, contract: Address) -> Result<Option<Creation>> {
        let node = self.node(Capability::State)?;
        if let Some(creation) = self.indexed_creation(node, contract)? {
            return Ok(Some(creation));
        }
        let Some(block) = self.block_of_creation(node, contract)? else {
            return Ok(None);
        };
        let creation = self.created_in(node, block, contract);
        // An account without code uses no nonce twice, so what it created is not created again.
        let is_final = creation.by.is_some_and(|by| by.creator == by.sender);
        let later = match is_final {
            true => None,
            false => self.block_of_last_creation(node, contract, block)?,
        };
        Ok(Some(match later {
            Some(later) => self.created_in(node, later, contract),
            None => creation,
        }))
    }

    /// The creation in a block.
    fn created_in(&self, node: &RethNode, block: u64, contract: Address) -> Creation {
        let (by, without_creator) = match block {
            0 => (None, None),
            _ => match self.creator_in(node, block, contract) {
                Ok(Some(by)) => (Some(by), None),
                Ok(None) => (
                    None,
                    Some("no transaction of the block created it".to_owned()),
                ),
                Err(error) => (None, Some(error.message)),
            },
        };
        Creation {
            block,
            by,
            without_creator,
        }
    }

    /// The block in which a contract was created again for the last time, after it was created in
    /// `block` and destroyed, by the node's history index.
    fn block_of_last_creation(
        &self,
        node: &RethNode,
        contract: Address,
        block: u64,
    ) -> Result<Option<u64>> {
        let snapshot = node.db().snapshot()?;
        if snapshot.state_coverage()?.indexed_from > block {
            return Ok(None);
        }
        let rules = node.rules().ok();
        let mut last_without = None;
        let mut next = snapshot.next_account_change(contract, block)?;
        while let Some(block) = next {
            self.check_interrupted()?;
            match snapshot.account_before(block, contract)? {
                Some(before) if !has_code(before.as_ref()) => last_without = Some(block),
                _ => {
                    // Since Cancun, code stays (EIP-6780).
                    let header = snapshot.header(block)?;
                    let fork = rules.as_ref().map(|rules| rules.at(&header).fork);
                    if fork.is_some_and(|fork| fork >= Fork::Cancun) {
                        break;
                    }
                }
            }
            next = snapshot.next_account_change(contract, block)?;
        }
        Ok(last_without)
    }

    /// The newest creation that the index has, provided that none followed in blocks that it does not
    /// have.
    fn indexed_creation(&self, node: &RethNode, contract: Address) -> Result<Option<Creation>> {
        if let Some(creation) = self.first_creation(contract)? {
            return Ok(Some(creation));
        }
        let created = self.transactions(contract).order(Order::NewestFirst);
        let inside = created.clone().inside();
        let found = match inside.first_indexed(Roles::CREATIONS)? {
            None => created.first_indexed(Roles::CREATIONS)?,
            found => found,
        };
        let Some(it) = found else {
            return Ok(None);
        };
        let tip = self.tip_block()?.0;
        if let Some(later) = it
            .block
            .checked_add(1)
            .and_then(|next| BlockRange::new(next, tip))
        {
            let unindexed = BlockRanges::from(later).subtract(&created.indexed(later)?);
            if unindexed.blocks() > CHUNK_BLOCKS {
                return Ok(None);
            }
            for blocks in unindexed.iter() {
                let search = || without_code(&node.db().snapshot()?, contract, blocks);
                if reread("reading change sets", search)?.is_some() {
                    return Ok(None);
                }
            }
        }
        if it.roles.among(Roles::CREATED).is_some() {
            return self.created_by_sender(it);
        }
        let (block, index) = (it.block, it.transaction);
        let name = TransactionName::Position { block, index };
        let (replay, _) = self
            .replay()
            .transaction(name)
            .trace(Trace::Call)
            .one(None)?;
        Ok(creator_of(&replay, contract).map(|by| Creation::known(block, by)))
    }

    /// The creation, if it is the first transaction of a contract in the index, and itself created the
    /// contract. A sender uses no nonce twice, so no later transaction did. A busy contract has millions
    /// of transactions after it.
    fn first_creation(&self, contract: Address) -> Result<Option<Creation>> {
        let first = self.transactions(contract).first_indexed(Roles::ENDS)?;
        match first.filter(|it| it.roles.among(Roles::CREATED).is_some()) {
            Some(it) => self.created_by_sender(it),
            None => Ok(None),
        }
    }

    /// The creation of a contract by a transaction itself.
    fn created_by_sender(&self, it: Participation) -> Result<Option<Creation>> {
        let place = (it.block, it.transaction);
        let read = self.transactions_at(&[place].into(), ReceiptDetail::None)?;
        Ok(read.get(&place).map(|it| {
            let by = Creator {
                index: it.index,
                hash: it.hash,
                sender: it.sender,
                creator: it.sender,
            };
            Creation::known(place.0, by)
        }))
    }

    /// The block of the last creation, or of the first one that the node's history index has.
    fn block_of_creation(&self, node: &RethNode, contract: Address) -> Result<Option<u64>> {
        let snapshot = node.db().snapshot()?;
        let coverage = snapshot.state_coverage()?;
        let Some(accounts) = coverage.accounts else {
            return Ok(None);
        };
        // The state after a block needs the change sets behind it. The state of block 0 is the
        // genesis.
        let first = match accounts.first {
            0 => 0,
            first => first + 1,
        };
        // Indexed from its first block on, so that no change is overlooked.
        if coverage.indexed_from <= accounts.first {
            return Ok(by_index(&snapshot, contract, first)?);
        }
        let tip = snapshot.tip();
        drop(snapshot);
        // The change set of a block leads to the state before it.
        let mut end = Some(tip);
        let chunks = std::iter::from_fn(|| {
            let last = end.filter(|last| *last >= first)?;
            let begin = last.saturating_sub(CHUNK_BLOCKS - 1).max(first);
            end = begin.checked_sub(1);
            Some(BlockRange { first: begin, last })
        });
        let control = &node.control;
        let search = |(): &mut (), blocks: BlockRange| {
            let found = reread("reading change sets", || {
                without_code(&node.db().snapshot()?, contract, blocks)
            });
            match &found {
                Ok(None) => ControlFlow::Continue(found),
                _ => ControlFlow::Break(found),
            }
        };
        let mut found = Ok(None);
        let ended = ordered(
            &control.threads,
            64,
            &control.cancel,
            chunks,
            || (),
            search,
            |result| {
                found = result;
                ControlFlow::<()>::Continue(())
            },
        )
        .map_err(txgraph_replay::Error::from)?;
        if ended == Ordered::Canceled {
            return Err(SourceError::Interrupted.into());
        }
        Ok(found?)
    }

    /// The transaction of a block that created a contract.
    fn creator_in(
        &self,
        node: &RethNode,
        number: u64,
        contract: Address,
    ) -> Result<Option<Creator>> {
        let mut read = Vec::new();
        StoredBlock::read(
            &node.db().snapshot()?,
            BlockRange::one(number),
            &mut Scratch::default(),
            false,
            &mut read,
        )?;
        let transactions = read.iter().flat_map(|block| &block.transactions);
        for (index, stored) in (0..).zip(transactions) {
            let transaction = &stored.transaction;
            let creates = || transaction.caller.create(transaction.nonce) == contract;
            if transaction.to.is_none() && creates() {
                return Ok(Some(Creator {
                    index,
                    hash: stored.hash,
                    sender: transaction.caller,
                    creator: transaction.caller,
                }));
            }
        }
        let mut found = None;
        let query = self.replay().blocks(BlockSpec::through(number, number));
        query.trace(Trace::Call).for_each(|block| {
            let creators = block.transactions.iter();
            found = creators
                .filter_map(|it| creator_of(it, contract))
                .next_back();
            Ok(())
        })?;
        Ok(found)
    }
}

/// Who created a contract in a transaction, if it did.
fn creator_of(replay: &TransactionReplay, contract: Address) -> Option<Creator> {
    let frames = replay.frames.iter().flat_map(|frames| frames.iter());
    let mut creations = frames
        .filter(|frame| frame.is_creation() && frame.address == contract && !frame.is_reverted);
    let frame = creations.next()?;
    Some(Creator {
        index: replay.index,
        hash: replay.hash,
        sender: replay.transaction.caller,
        creator: frame.caller,
    })
}

/// Finds the block of the creation with the history index: the first whose state has code.
fn by_index(
    snapshot: &Snapshot<'_>,
    contract: Address,
    first: u64,
) -> txgraph_nodedb::Result<Option<u64>> {
    let mut last_without = None;
    let mut next = match first.checked_sub(1) {
        Some(before) => snapshot.next_account_change(contract, before)?,
        None => Some(0),
    };
    while let Some(block) = next {
        if let Some(before) = snapshot.account_before(block, contract)? {
            match has_code(before.as_ref()) {
                // Since the change before.
                true => return Ok(last_without),
                false => last_without = Some(block),
            }
        }
        next = snapshot.next_account_change(contract, block)?;
    }
    Ok(last_without)
}

/// The last of some blocks before which an account had no code, and which changed it.
fn without_code(
    snapshot: &Snapshot<'_>,
    contract: Address,
    blocks: BlockRange,
) -> txgraph_nodedb::Result<Option<u64>> {
    for block in (blocks.first..=blocks.last).rev() {
        if let Some(before) = snapshot.account_before(block, contract)?
            && !has_code(before.as_ref())
        {
            return Ok(Some(block));
        }
    }
    Ok(None)
}

fn has_code(account: Option<&Account>) -> bool {
    account.is_some_and(|account| account.code_hash != KECCAK256_EMPTY)
}
