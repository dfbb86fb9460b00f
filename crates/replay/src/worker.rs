//! What one thread owns, and where it begins: blocks and the states before them.

use crate::{BlockRules, ChainRules, Error, Result, StateHistory, StoredBlock};
use std::sync::Arc;
use txgraph_evm::{CodeCache, Evm, Fork, StateSource};
use txgraph_nodedb::{Blocks, Header, NodeDb, Scratch};

/// What one thread owns.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) evm: Evm,
    #[cfg(feature = "oracle")]
    pub(crate) peer_codes: crate::oracle::PeerCodes,
    scratch: Scratch,
}

/// Code prepared by the engines, shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    own: Arc<CodeCache>,
    #[cfg(feature = "oracle")]
    peer: crate::oracle::PeerCodes,
}

impl Worker {
    pub(crate) fn new(rules: &ChainRules, codes: &Codes) -> Self {
        Self {
            evm: Evm::with_code_cache(Fork::Frontier, rules.chain_id, Arc::clone(&codes.own)),
            #[cfg(feature = "oracle")]
            peer_codes: codes.peer.clone(),
            scratch: Scratch::default(),
        }
    }

    /// Consecutive blocks under one short-lived snapshot.
    pub(crate) fn read(&mut self, db: &NodeDb, blocks: Blocks) -> Result<Vec<StoredBlock>> {
        if blocks.first == 0 {
            return Err(Error::Genesis);
        }
        StoredBlock::read(&db.snapshot()?, blocks, &mut self.scratch)
    }

    /// One block.
    pub(crate) fn read_one(&mut self, db: &NodeDb, number: u64) -> Result<StoredBlock> {
        let blocks = Blocks {
            first: number,
            last: number,
        };
        let read = self.read(db, blocks)?.pop();
        // As many as were asked for, or an error.
        read.ok_or(Error::Replaced { block: number })
    }
}

/// The rules of a block, unless its fork is too new.
pub(crate) fn rules_of(chain: &ChainRules, block: &StoredBlock) -> Result<BlockRules> {
    rules_at(chain, &block.header)
}

/// The same by its header.
pub(crate) fn rules_at(chain: &ChainRules, header: &Header) -> Result<BlockRules> {
    let rules = chain.at(header);
    if rules.fork > Fork::Osaka {
        return Err(Error::UnsupportedFork {
            block: header.number,
            fork: rules.fork,
        });
    }
    Ok(rules)
}

/// The state before a block, on the block's own branch.
pub(crate) fn state_before<'h, H: StateHistory>(
    history: &'h H,
    block: &StoredBlock,
    reads_ahead: bool,
) -> Result<H::At<'h>> {
    let number = block.header.number;
    let failed = |source| Error::State {
        block: number,
        source,
    };
    let parent = number.checked_sub(1).ok_or(Error::Genesis)?;
    let state = if reads_ahead {
        history.before_next(parent)
    } else {
        history.at(parent)
    };
    let mut state = state.map_err(failed)?;
    let hash = state
        .block_hash(parent)
        .map_err(|error| failed(error.into()))?;
    if hash != block.header.parent_hash {
        return Err(Error::Replaced { block: number });
    }
    Ok(state)
}
