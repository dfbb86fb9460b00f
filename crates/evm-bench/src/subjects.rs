//! What is timed: a transaction or a frame, by each engine, on one state.

use crate::measure::{Answer, Subject};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{ExecuteEvm, context::TxEnv};
use txgraph_evm::{Block, Evm, Fork, Message, State, Transaction};
use txgraph_evm_tools::program::Program;
use txgraph_revm_peer::{
    flat::FlatState,
    runner::{Peer, peer, summary},
};

/// The rules that the programs were measured under.
pub const FORK: Fork = Fork::Cancun;

/// A block that charges no fees and holds any transaction.
pub fn block() -> Block {
    Program::default().block()
}

/// The program's call as a transaction whose frame has the program's gas.
pub fn transaction(program: &Program) -> Transaction {
    let zeros = program.data.iter().filter(|byte| **byte == 0).count() as u64;
    let intrinsic = 21_000 + 4 * zeros + 16 * (program.data.len() as u64 - zeros);
    Transaction {
        caller: program.caller,
        to: Some(program.to),
        gas_limit: program.gas + intrinsic,
        value: program.value,
        input: program.data.clone(),
        ..Transaction::default()
    }
}

/// Whose code an execution meets.
#[derive(Clone, Debug, Default)]
pub enum Codes {
    /// The same each time.
    #[default]
    Same,
    /// Each run other code for this account, which no run met before: hashes of it.
    Fresh(Address, Vec<B256>),
    /// Each run other init code.
    FreshInput(Vec<Bytes>),
}

/// The embedded interpreter: a whole transaction.
#[derive(Debug)]
pub struct OwnTransaction {
    evm: Evm,
    state: State<FlatState>,
    block: Block,
    transaction: Transaction,
    codes: Codes,
    next: usize,
}

impl OwnTransaction {
    /// On a state of its own.
    pub fn new(state: FlatState, transaction: Transaction, codes: Codes) -> Self {
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
                    // All were met: forget what was made of them.
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
            .expect("the answers were compared before")
    }
}

impl Subject for OwnTransaction {
    fn name(&self) -> &'static str {
        "own"
    }

    fn answer(&mut self) -> Answer {
        let outcome = self.outcome();
        Answer {
            success: outcome.is_success(),
            gas_used: outcome.gas_used,
            output: outcome.output.to_vec(),
        }
    }

    fn run(&mut self) -> u64 {
        self.outcome().gas_used
    }
}

/// The embedded interpreter: a bare frame.
#[derive(Debug)]
pub struct OwnFrame {
    evm: Evm,
    state: State<FlatState>,
    block: Block,
    message: Message,
}

impl OwnFrame {
    /// The program's call.
    pub fn new(program: &Program) -> Self {
        let state = State::new(FlatState::new(&program.state));
        Self {
            evm: Evm::new(FORK, 1),
            state,
            block: program.block(),
            message: program.message(),
        }
    }

    fn outcome(&mut self) -> txgraph_evm::Outcome {
        self.state.clear();
        self.evm
            .call(&mut self.state, &self.block, &self.message)
            .expect("a state in memory can be read")
    }
}

impl Subject for OwnFrame {
    fn name(&self) -> &'static str {
        "own, frame"
    }

    fn answer(&mut self) -> Answer {
        let outcome = self.outcome();
        Answer {
            success: outcome.is_success(),
            gas_used: outcome.gas_used,
            output: outcome.output.to_vec(),
        }
    }

    fn run(&mut self) -> u64 {
        self.outcome().gas_used
    }
}

/// revm: a whole transaction.
pub struct PeerTransaction {
    evm: Peer,
    transaction: TxEnv,
    codes: Codes,
    next: usize,
}

impl PeerTransaction {
    /// On a state of its own. Of fresh code it makes what it needs each time, as after
    /// a read from disk.
    pub fn new(mut state: FlatState, transaction: &Transaction, codes: Codes) -> Self {
        state.analyse_anew = matches!(codes, Codes::Fresh(..));
        let transaction = txgraph_revm_peer::transaction(transaction);
        Self {
            evm: peer(FORK, &block(), state),
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
        done.expect("the answers were compared before").result
    }
}

impl Subject for PeerTransaction {
    fn name(&self) -> &'static str {
        "revm"
    }

    fn answer(&mut self) -> Answer {
        let (success, gas_used, output) = summary(&self.result());
        Answer {
            success,
            gas_used,
            output,
        }
    }

    fn run(&mut self) -> u64 {
        self.result().tx_gas_used()
    }
}

/// A transfer from `caller` to an account without code, for the overhead alone.
pub fn plain_transfer() -> Program {
    let caller = Address::repeat_byte(0x11);
    let mut program = Program {
        name: "transfer".to_owned(),
        caller,
        to: Address::repeat_byte(0x22),
        value: U256::from(1),
        ..Program::default()
    };
    let account = program.state.entry(caller).or_default();
    account.balance = U256::from(u64::MAX);
    let account = program.state.entry(program.to).or_default();
    account.balance = U256::from(1);
    program
}
