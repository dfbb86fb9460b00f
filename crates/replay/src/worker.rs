//! The data of one thread, and its inputs: blocks and the states before them.

use crate::{BlockRules, BlockSource, ChainRules, Error, Result, StateHistory, StoredBlock};
use std::sync::Arc;
use txgraph_evm::{CodeCache, Evm, Fork, StateMemory, StateSource};
use txgraph_nodedb::{BlockRange, Header, Scratch};

/// The interpreter and the buffers of one thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) evm: Evm,
    /// Memory for the last block's state.
    pub(crate) state_memory: StateMemory,
    #[cfg(feature = "oracle")]
    pub(crate) peer_codes: crate::oracle::RevmCodes,
    scratch: Scratch,
}

/// Code analyzed by the engines, shared by all threads.
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
        let blocks = BlockRange::one(number);
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
/// The header has fields of another fork: the fork dates belong to another chain.
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
    let failed = |source| Error::state(number, source);
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, B256, Bytes, U256};
    use txgraph_evm::{Account, Block, Message, State, Status, opcode::*};

    const CONTRACT: Address = Address::repeat_byte(0xcc);

    /// One contract, which counts the slots that are read.
    struct Counting {
        code: Vec<u8>,
        slots: usize,
    }

    impl StateSource for Counting {
        type Error = std::convert::Infallible;

        fn account(&mut self, address: Address) -> Result<Option<Account>, Self::Error> {
            let account = Account {
                nonce: 1,
                code_hash: alloy_primitives::keccak256(&self.code),
                ..Account::default()
            };
            Ok((address == CONTRACT).then_some(account))
        }

        fn storage(&mut self, _: Address, _: U256) -> Result<U256, Self::Error> {
            self.slots += 1;
            Ok(U256::ZERO)
        }

        fn code(&mut self, _: B256) -> Result<Bytes, Self::Error> {
            Ok(self.code.clone().into())
        }

        fn block_hash(&mut self, _: u64) -> Result<B256, Self::Error> {
            Ok(B256::ZERO)
        }
    }

    /// Executes with this gas and returns why it ended, and the number of slots that were read.
    fn run(evm: &mut Evm, code: &[u8], gas_limit: u64, is_static: bool) -> (Status, usize) {
        let mut state = State::new(Counting {
            code: code.to_vec(),
            slots: 0,
        });
        let message = Message {
            to: Some(CONTRACT),
            gas_limit,
            is_static,
            ..Message::default()
        };
        let outcome = evm.call(&mut state, &Block::default(), &message);
        let status = outcome.unwrap().status;
        (status, state.source().slots)
    }

    /// Code that many threads executed before is executed as if it were new.
    #[test]
    fn reasons_and_reads_do_not_depend_on_earlier_executions() {
        let block = [PUSH0, SLOAD, POP, PUSH0, PUSH0, SSTORE];
        let code = [&block[..], &[PUSH0, POP].repeat(100)].concat();
        let codes = Codes::default();
        let mut used = Evm::with_code_cache(Fork::Osaka, 1, Arc::clone(&codes.own));
        for _ in 0..100 {
            run(&mut used, &code, 100_000, false);
        }
        for gas in 0..6_000 {
            let new = Codes::default();
            let mut fresh = Evm::with_code_cache(Fork::Osaka, 1, Arc::clone(&new.own));
            let expected = run(&mut fresh, &code, gas, true);
            assert_eq!(run(&mut used, &code, gas, true), expected, "{gas}");
        }
    }
}
