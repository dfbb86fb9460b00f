//! Runs a case on both engines and compares outcome, gas, refund, logs, output and state.

#![expect(
    clippy::iter_over_hash_type,
    reason = "the iterated values go into sorted maps"
)]

use crate::{
    RevmCodes,
    case::{CHAIN_ID, Case},
    database::Source,
    outcome::{commit, outcome},
    translate::mainnet,
};
use alloy_primitives::{Address, B256, Bytes, Log, U256, keccak256};
use revm::{ExecuteEvm, context::result::EVMError};
use std::sync::Arc;
use txgraph_evm::{
    Account, CodeCache, DecodeAfter, Error, Evm, Fork, FrameEnd, Inspector, MemoryState,
    MemoryStateError, Outcome, State, StateSource, Status,
};

/// The results of a case.
#[derive(Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// Result of each transaction; `None` if it was invalid.
    pub transactions: Vec<Option<TransactionResult>>,
    /// State after the last transaction, without code: accounts have its hash.
    pub state: MemoryState,
}

/// The parts of a transaction's result on which both engines must agree.
#[derive(Debug, PartialEq, Eq)]
pub struct TransactionResult {
    /// `success`, `revert` or `halt`. The engines name the reasons of a halt differently.
    pub status: &'static str,
    /// Gas used after refunds.
    pub gas_used: u64,
    /// Refund before its limit.
    pub gas_refunded: u64,
    /// Logs, in order.
    pub logs: Vec<Log>,
    /// Return data, or data of a revert.
    pub output: Bytes,
}

/// Facts of a case beyond its results, in which the forms of our interpreter must not differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// How each frame ended, with the reason of a halt, and the gas that it used.
    pub frames: Vec<(Status, u64)>,
    /// The reads from the state, in order.
    pub reads: Vec<Read>,
}

/// A read from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// An account.
    Account(Address),
    /// A storage slot of an account.
    Slot(Address, U256),
    /// Code by its hash.
    Code(B256),
    /// The hash of a block.
    BlockHash(u64),
}

/// Our interpreter in each of its forms: they must not differ in any result.
#[derive(Debug)]
pub struct Forms([Form; 4]);

#[derive(Debug)]
struct Form {
    name: &'static str,
    evm: Evm,
    steps: bool,
}

impl Default for Forms {
    fn default() -> Self {
        let form = |name, decode_after, steps| {
            let codes = Arc::new(CodeCache::default().with_decode_after(decode_after));
            let evm = Evm::with_code_cache(Fork::LATEST, CHAIN_ID, codes);
            Form { name, evm, steps }
        };
        Self([
            form("not decoded", DecodeAfter::NEVER, false),
            form("decoded while it runs", DecodeAfter::executed(1), false),
            form("decoded", DecodeAfter::AT_ONCE, false),
            form("step by step", DecodeAfter::NEVER, true),
        ])
    }
}

impl Forms {
    /// Executes a case in each form, step by step only if `with_steps`. Returns the results of the
    /// first form.
    ///
    /// # Panics
    ///
    /// If a form has other results, or other [`Evidence`].
    pub fn result(&mut self, case: &Case, with_steps: bool) -> CaseResult {
        let mut forms = self.0.iter_mut();
        let mut run = |form: &mut Form| ours(&mut form.evm, case, form.steps);
        let first = forms.next().map(&mut run).expect("there are several forms");
        for form in forms.filter(|form| with_steps || !form.steps) {
            assert_eq!(
                run(form),
                first,
                "seed {} ({}), {}\n{case:#?}",
                case.seed,
                form.name,
                case.fork
            );
        }
        first.0
    }
}

/// Executes `case` on revm and in each form of our interpreter.
///
/// # Panics
///
/// If the results differ.
pub fn assert_agreement(forms: &mut Forms, case: &Case, with_steps: bool) {
    assert_eq!(
        forms.result(case, with_steps),
        theirs(case),
        "seed {}, ours first\n{case:#?}",
        case.seed
    );
}

/// Executes a case on our interpreter, with an inspector of frames or of every step.
fn ours(evm: &mut Evm, case: &Case, steps: bool) -> (CaseResult, Evidence) {
    evm.set_fork(case.fork);
    let mut evidence = Evidence::default();
    let mut frames = Frames {
        steps,
        ended: Vec::new(),
    };
    let mut state = State::new(CaseState {
        state: case.state.clone(),
        reads: &mut evidence.reads,
    });
    let transactions = case.transactions.iter().map(|transaction| {
        match evm.execute_transaction_inspected(&mut state, &case.block, transaction, &mut frames) {
            Ok(outcome) => {
                frames.ended.push((outcome.status, outcome.gas_used));
                Some(outcome.into())
            }
            Err(Error::Invalid(_)) => None,
            Err(Error::Source(error)) => panic!("{error}"),
        }
    });
    let transactions = transactions.collect();
    let mut after = case.state.clone();
    after.apply(&state.changes());
    let result = CaseResult {
        transactions,
        state: without_code(after),
    };
    evidence.frames = frames.ended;
    (result, evidence)
}

/// Executes a case on revm.
pub fn theirs(case: &Case) -> CaseResult {
    let reads = &mut Vec::new();
    let state = CaseState {
        state: case.state.clone(),
        reads,
    };
    let codes = RevmCodes::default();
    let mut evm = mainnet(case.fork, CHAIN_ID, &case.block, Source { state, codes });
    let mut transactions = Vec::new();
    for transaction in &case.transactions {
        let executed = match evm.transact(crate::transaction(transaction)) {
            Ok(executed) => executed,
            Err(EVMError::Database(error)) => panic!("{error}"),
            Err(_) => {
                transactions.push(None);
                continue;
            }
        };
        transactions.push(Some(outcome(executed.result).into()));
        let CaseState { state, .. } = &mut evm.ctx.journaled_state.database.state;
        for (address, account) in executed.state {
            commit(case.fork, state, address, account);
        }
    }
    let after = evm.ctx.journaled_state.database.state.state;
    CaseResult {
        transactions,
        state: without_code(after),
    }
}

/// Records how frames end. If it asks for every step, the interpreter executes instruction by
/// instruction.
struct Frames {
    steps: bool,
    ended: Vec<(Status, u64)>,
}

impl Inspector for Frames {
    fn needs_steps(&self) -> bool {
        self.steps
    }

    fn exit(&mut self, frame: &FrameEnd<'_>) {
        self.ended.push((frame.status, frame.gas_used));
    }
}

impl From<Outcome> for TransactionResult {
    fn from(outcome: Outcome) -> Self {
        Self {
            status: match outcome.status {
                Status::Success => "success",
                Status::Revert => "revert",
                Status::Halt(_) => "halt",
            },
            gas_used: outcome.gas_used,
            gas_refunded: outcome.gas_refunded,
            logs: outcome.logs,
            output: outcome.output,
        }
    }
}

/// The state of a case for either engine. Records what is read.
#[derive(Debug)]
struct CaseState<'a> {
    state: MemoryState,
    reads: &'a mut Vec<Read>,
}

impl StateSource for CaseState<'_> {
    type Error = MemoryStateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, MemoryStateError> {
        self.reads.push(Read::Account(address));
        self.state.account(address)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, MemoryStateError> {
        self.reads.push(Read::Slot(address, key));
        self.state.storage(address, key)
    }

    fn code(&mut self, hash: B256) -> Result<Bytes, MemoryStateError> {
        self.reads.push(Read::Code(hash));
        self.state.code(hash)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, MemoryStateError> {
        self.reads.push(Read::BlockHash(number));
        Ok(keccak256(number.to_be_bytes()))
    }
}

/// A state keeps code that no account has any more.
fn without_code(mut state: MemoryState) -> MemoryState {
    state.codes.clear();
    state
}
