//! The timed work: a transaction or a frame, by each engine, on the same state.

use super::measure::{Answer, Subject};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{ExecuteEvm, context::TxEnv};
use txgraph_evm::{Block, Evm, Fork, Message, State, Transaction};
use txgraph_evm_tools::{call::Call, program::Program};
use txgraph_revm_peer::{
    flat::FlatState,
    runner::{StateRevm, revm_on},
};

/// The fork of all programs.
pub(crate) const FORK: Fork = Fork::Cancun;

/// A block without fees and with a gas limit for any transaction.
pub(super) fn block() -> Block {
    Call::default().block()
}

/// Wraps a call in a transaction whose frame has the gas of the call.
pub(crate) fn transaction(call: &Call) -> Transaction {
    let zeros = call.data.iter().filter(|byte| **byte == 0).count() as u64;
    let intrinsic = 21_000 + 4 * zeros + 16 * (call.data.len() as u64 - zeros);
    Transaction {
        caller: call.caller,
        to: Some(call.to),
        gas_limit: call.gas + intrinsic,
        value: call.value,
        input: call.data.clone(),
        ..Transaction::default()
    }
}

/// The code that runs execute.
#[derive(Clone, Debug, Default)]
pub(crate) enum Codes {
    /// The same code in every run.
    #[default]
    Same,
    /// New code of this account in every run, by hash. No run executed it before.
    Fresh(Address, Vec<B256>),
    /// New init code in every run.
    FreshInput(Vec<Bytes>),
}

/// Our interpreter: a whole transaction.
#[derive(Debug)]
pub(crate) struct OurTransaction {
    evm: Evm,
    state: State<FlatState>,
    block: Block,
    transaction: Transaction,
    codes: Codes,
    next: usize,
}

impl OurTransaction {
    /// Creates it with its own state.
    pub(crate) fn new(state: FlatState, transaction: Transaction, codes: Codes) -> Self {
        let (evm, state) = (Evm::new(FORK, 1), State::new(state));
        Self {
            evm,
            state,
            block: block(),
            transaction,
            codes,
            next: 0,
        }
    }

    fn outcome(&mut self) -> txgraph_evm::Outcome {
        self.state.clear();
        match &self.codes {
            Codes::Same => {}
            Codes::Fresh(address, hashes) => {
                if self.next == hashes.len() {
                    // All variants were executed: drop the prepared code.
                    (self.evm, self.next) = (Evm::new(FORK, 1), 0);
                }
                self.state
                    .source_mut()
                    .set_code(*address, hashes[self.next]);
            }
            Codes::FreshInput(inputs) => {
                self.next %= inputs.len();
                self.transaction.input = inputs[self.next].clone();
            }
        }
        self.next += 1;
        self.evm
            .execute_transaction(&mut self.state, &self.block, &self.transaction)
            .expect("the results were compared before")
    }
}

impl Subject for OurTransaction {
    fn name(&self) -> &'static str {
        "own"
    }

    fn answer(&mut self) -> Answer {
        self.outcome().into()
    }
}

/// Our interpreter: bare frames in turn.
#[derive(Debug)]
pub(crate) struct OurFrame {
    name: &'static str,
    evm: Evm,
    state: State<FlatState>,
    block: Block,
    messages: Vec<Message>,
    next: usize,
}

impl OurFrame {
    /// Creates it for a call.
    pub(crate) fn new(call: &Call) -> Self {
        let state = FlatState::new(&call.state);
        Self::of_messages("own, frame", state, vec![call.message()])
    }

    /// Creates it for messages, each of which is one run.
    pub(crate) fn of_messages(
        name: &'static str,
        state: FlatState,
        messages: Vec<Message>,
    ) -> Self {
        Self {
            name,
            evm: Evm::new(FORK, 1),
            state: State::new(state),
            block: block(),
            messages,
            next: 0,
        }
    }

    fn outcome(&mut self) -> txgraph_evm::Outcome {
        self.state.clear();
        let message = &self.messages[self.next];
        self.next = (self.next + 1) % self.messages.len();
        self.evm
            .call(&mut self.state, &self.block, message)
            .expect("a state in memory can be read")
    }
}

impl Subject for OurFrame {
    fn name(&self) -> &'static str {
        self.name
    }

    fn answer(&mut self) -> Answer {
        self.outcome().into()
    }
}

/// revm: a whole transaction.
pub(crate) struct RevmTransaction {
    evm: StateRevm,
    transaction: TxEnv,
    codes: Codes,
    next: usize,
}

impl RevmTransaction {
    /// Creates it with its own state. New code is analyzed in every run, as after a read
    /// from disk.
    pub(crate) fn new(mut state: FlatState, transaction: &Transaction, codes: Codes) -> Self {
        state.analyzes_each_time = matches!(codes, Codes::Fresh(..));
        let transaction = txgraph_revm_peer::transaction(transaction);
        Self {
            evm: revm_on(FORK, &block(), state),
            transaction,
            codes,
            next: 0,
        }
    }

    fn result(&mut self) -> revm::context::result::ExecutionResult {
        match &self.codes {
            Codes::Same => {}
            Codes::Fresh(address, hashes) => {
                self.next %= hashes.len();
                let database = &mut self.evm.ctx.journaled_state.database;
                database.set_code(*address, hashes[self.next]);
            }
            Codes::FreshInput(inputs) => {
                self.next %= inputs.len();
                self.transaction.data = inputs[self.next].clone();
            }
        }
        self.next += 1;
        let done = self.evm.transact(self.transaction.clone());
        done.expect("the results were compared before").result
    }
}

impl Subject for RevmTransaction {
    fn name(&self) -> &'static str {
        "revm"
    }

    fn answer(&mut self) -> Answer {
        self.result().into()
    }
}

/// A transfer to an account without code, which measures the overhead alone.
pub(crate) fn plain_transfer() -> Program {
    let mut call = Call {
        caller: Address::repeat_byte(0x11),
        to: Address::repeat_byte(0x22),
        value: U256::from(1),
        ..Call::default()
    };
    for (address, balance) in [(call.caller, u64::MAX), (call.to, 1)] {
        call.state.entry(address).or_default().balance = U256::from(balance);
    }
    Program {
        name: "transfer".to_owned(),
        call,
    }
}
