//! Executions end soon when their source no longer wants them.

use alloy_primitives::{Address, B256, Bytes, U256, bytes};
use std::sync::Arc;
use txgraph_evm::{
    Account, Block, CodeCache, DecodeAfter, Error, Evm, Fork, Halt, MemoryState, MemoryStateError,
    Message, State, StateSource, Status,
};

const CONTRACT: Address = Address::repeat_byte(0xcc);

/// A state that wants an execution until it was asked so often.
struct Impatient {
    state: MemoryState,
    left: Option<usize>,
    asked: usize,
}

#[derive(Debug)]
enum Ended {
    State,
    NotWanted,
}

impl From<MemoryStateError> for Ended {
    fn from(_: MemoryStateError) -> Self {
        Self::State
    }
}

impl StateSource for Impatient {
    type Error = Ended;

    fn account(&mut self, address: Address) -> Result<Option<Account>, Ended> {
        Ok(self.state.account(address)?)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Ended> {
        Ok(self.state.storage(address, key)?)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, Ended> {
        Ok(self.state.code(code_hash)?)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Ended> {
        Ok(self.state.block_hash(number)?)
    }

    fn check_wanted(&mut self) -> Result<(), Ended> {
        self.asked += 1;
        match &mut self.left {
            Some(0) => Err(Ended::NotWanted),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Runs code with careful instructions; returns why it ended, and how often it was asked for.
fn run(code: &Bytes, left: Option<usize>) -> (Result<Status, Ended>, usize) {
    let mut state = MemoryState::default();
    state.insert(CONTRACT, U256::ZERO, 1, code.clone());
    let source = Impatient {
        state,
        left,
        asked: 0,
    };
    let codes = CodeCache::default().with_decode_after(DecodeAfter::NEVER);
    let mut evm = Evm::with_code_cache(Fork::Osaka, 1, Arc::new(codes));
    let message = Message {
        to: Some(CONTRACT),
        gas_limit: 20_000_000,
        ..Message::default()
    };
    let mut state = State::new(source);
    let ended = match evm.call(&mut state, &Block::default(), &message) {
        Ok(outcome) => Ok(outcome.status),
        Err(Error::Source(ended)) => Err(ended),
        Err(error) => panic!("{error:?}"),
    };
    (ended, state.source().asked)
}

#[test]
fn loops_end_when_they_are_not_wanted() {
    for code in [
        // Jumps.
        bytes!("5b5f56"),
        // A jump with a condition.
        bytes!("5b60015f57"),
        // Hashes of 100,000 bytes.
        bytes!("5b620186a05f20505f56"),
        // Calls of a precompiled contract.
        bytes!("5b5f5f60205f60025afa505f56"),
    ] {
        let (ended, asked) = run(&code, None);
        let is_spent = matches!(ended, Ok(Status::Halt(Halt::OutOfGas)));
        assert!(is_spent, "{code}: {ended:?}");
        assert!(asked > 20, "{code}: {asked}");
        for left in [0, 1, 10] {
            let (ended, asked) = run(&code, Some(left));
            assert!(matches!(ended, Err(Ended::NotWanted)), "{code}: {ended:?}");
            assert_eq!(asked, left + 1, "{code}");
        }
    }
}
