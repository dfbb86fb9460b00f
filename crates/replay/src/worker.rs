//! The data of one thread, and its inputs: blocks and the states before them.

use crate::{BlockRules, BlockSource, ChainRules, Error, Result, StateHistory, StoredBlock};
use std::sync::Arc;
use txgraph_evm::{CodeCache, Evm, Fork, StateMemory, StateSource};
use txgraph_nodedb::{BlockRange, Header, Scratch};

/// The interpreter and the buffers of one thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) evm: Evm,
    /// The memory of the state of the last block.
    pub(crate) state_memory: StateMemory,
    #[cfg(feature = "oracle")]
    pub(crate) peer_codes: crate::oracle::RevmCodes,
    scratch: Scratch,
}

/// Code analysed by the engines, shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    own: Arc<CodeCache>,
    #[cfg(feature = "oracle")]
    peer: crate::oracle::RevmCodes,
}

impl Worker {
    pub(crate) fn new(rules: &ChainRules, codes: &Codes) -> Self {
        Self {
            evm: Evm::with_code_cache(Fork::Frontier, rules.chain_id, Arc::clone(&codes.own)),
            state_memory: StateMemory::default(),
            #[cfg(feature = "oracle")]
            peer_codes: codes.peer.clone(),
            scratch: Scratch::default(),
        }
    }

    /// Reads consecutive blocks, as [`BlockSource::read`] does.
    pub(crate) fn read(
        &mut self,
        source: &impl BlockSource,
        blocks: BlockRange,
        verify: bool,
        read: &mut Vec<StoredBlock>,
    ) -> Result<()> {
        if blocks.first == 0 {
            return Err(Error::Genesis);
        }
        source.read(blocks, &mut self.scratch, verify, read)
    }

    /// Reads one block.
    pub(crate) fn read_one(
        &mut self,
        source: &impl BlockSource,
        number: u64,
        verify: bool,
    ) -> Result<StoredBlock> {
        let blocks = BlockRange {
            first: number,
            last: number,
        };
        let mut read = Vec::new();
        self.read(source, blocks, verify, &mut read)?;
        // `read` returns all blocks or an error.
        read.pop().ok_or(Error::Replaced { block: number })
    }
}

/// Returns the rules of a block. Fails if its header has fields of another fork or its transactions
/// are signed for another chain: the hash of block 0, which selects the rules, does not contain the
/// chain id.
pub(crate) fn rules_of(chain: &ChainRules, block: &StoredBlock) -> Result<BlockRules> {
    let mut signed = block
        .transactions
        .iter()
        .filter_map(|it| it.transaction.chain_id);
    if let Some(found) = signed.find(|id| *id != chain.chain_id) {
        return Err(Error::WrongChainId {
            block: block.header.number,
            found,
            expected: chain.chain_id,
        });
    }
    rules_at(chain, &block.header)
}

/// Returns the rules of a block by its header.
///
/// # Errors
///
/// The header has fields of another fork: the dates of the forks are not those of this chain.
pub(crate) fn rules_at(chain: &ChainRules, header: &Header) -> Result<BlockRules> {
    let rules = chain.at(header);
    let of_amsterdam = rules.fork >= Fork::Amsterdam;
    for (field, is_there) in [
        (
            "block access list hash",
            header.block_access_list_hash.is_some(),
        ),
        ("slot number", header.slot_number.is_some()),
    ] {
        if is_there != of_amsterdam {
            return Err(Error::WrongFork {
                block: header.number,
                fork: rules.fork,
                field,
                is_there,
            });
        }
    }
    Ok(rules)
}

/// Returns the state before a block, on the branch of the block.
pub(crate) fn state_before<'h, H: StateHistory>(
    history: &'h H,
    block: &StoredBlock,
    reads_ahead: bool,
) -> Result<H::At<'h>> {
    let number = block.header.number;
    let failed = |source| Error::State {
        block: number,
        transaction: None,
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
