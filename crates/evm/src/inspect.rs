//! Observes an execution: call frames, and on request every instruction.

use crate::outcome::Status;
use alloy_primitives::{Address, Log, U256};

/// Receives the events of an execution. By default all methods do nothing.
pub trait Inspector {
    /// Whether [`step`](Self::step) is called. If not, execution runs at full speed, and frames,
    /// logs and destructions are still reported. Called once per execution.
    fn needs_steps(&self) -> bool {
        false
    }

    /// Called before an instruction, whose gas is not yet charged.
    fn step(&mut self, _step: &Step<'_>) {}

    /// Called after an instruction, with the gas left. The difference to [`Step::gas`] was charged;
    /// of a call's part for its frame, some may be returned. Called before that frame begins, and
    /// not if the instruction halted.
    fn step_end(&mut self, _gas_left: u64) {}

    /// Called when a frame begins, also for frames that fail at once and precompiled contracts.
    fn enter(&mut self, _frame: &FrameStart<'_>) {}

    /// Called when the innermost frame has ended. Unless `status` is success, the changes and logs
    /// of this frame and all its callees are undone.
    fn exit(&mut self, _end: &FrameEnd<'_>) {}

    /// Called when `SELFDESTRUCT` moves `amount` wei.
    fn selfdestruct(&mut self, _contract: Address, _beneficiary: Address, _amount: U256) {}

    /// Called when a log is written. It may be undone with its frame.
    fn log(&mut self, _log: &Log) {}
}

impl<I: Inspector + ?Sized> Inspector for &mut I {
    fn needs_steps(&self) -> bool {
        (**self).needs_steps()
    }

    fn step(&mut self, step: &Step<'_>) {
        (**self).step(step);
    }

    fn step_end(&mut self, gas_left: u64) {
        (**self).step_end(gas_left);
    }

    fn enter(&mut self, frame: &FrameStart<'_>) {
        (**self).enter(frame);
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        (**self).exit(end);
    }

    fn selfdestruct(&mut self, contract: Address, beneficiary: Address, amount: U256) {
        (**self).selfdestruct(contract, beneficiary, amount);
    }

    fn log(&mut self, log: &Log) {
        (**self).log(log);
    }
}

/// The origin of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// The transaction's own message, and `CALL`.
    Call,
    /// Code of another account runs in the name of the caller.
    CallCode,
    /// Like [`CallCode`](Self::CallCode), with the caller and value of the calling frame (EIP-7).
    DelegateCall,
    /// A call without changes of the state (EIP-214).
    StaticCall,
    /// Runs init code.
    Create,
    /// Runs init code; the address depends on a salt (EIP-1014).
    Create2,
}

impl FrameKind {
    /// The instruction that begins such a frame, as call tracers name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "CALL",
            Self::CallCode => "CALLCODE",
            Self::DelegateCall => "DELEGATECALL",
            Self::StaticCall => "STATICCALL",
            Self::Create => "CREATE",
            Self::Create2 => "CREATE2",
        }
    }
}

/// A frame that begins.
#[derive(Clone, Copy, Debug)]
pub struct FrameStart<'a> {
    /// Its origin.
    pub kind: FrameKind,
    /// The depth; 0 for the outermost frame.
    pub depth: usize,
    /// `CALLER` in the frame.
    pub caller: Address,
    /// `ADDRESS` in the frame: the account in whose name it runs.
    pub address: Address,
    /// The account whose code runs.
    pub code_address: Address,
    /// The wei that move from `caller` to `address`. [`FrameKind::DelegateCall`] and
    /// [`FrameKind::CallCode`] move nothing, whatever this value is.
    pub value: U256,
    /// Calldata or init code.
    pub input: &'a [u8],
    /// The gas that it may use.
    pub gas_limit: u64,
}

/// A frame that ended.
#[derive(Clone, Copy, Debug)]
pub struct FrameEnd<'a> {
    /// How it ended.
    pub status: Status,
    /// The depth; 0 for the outermost frame.
    pub depth: usize,
    /// The gas used by it and all its callees.
    pub gas_used: u64,
    /// The data that it returned or reverted with.
    pub output: &'a [u8],
    /// The new contract, if a creation succeeded.
    pub created: Option<Address>,
}

/// An instruction that is about to be executed.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its position in the code.
    pub pc: usize,
    /// Its byte.
    pub opcode: u8,
    /// The gas left before it.
    pub gas: u64,
    /// The depth, counted as in EIP-3155: 1 for the outermost frame.
    pub depth: usize,
    /// The account in whose name the frame runs.
    pub address: Address,
    /// The stack, top last: four limbs of 64 bits each, least significant first.
    pub stack: &'a [[u64; 4]],
    /// The memory of the frame, a multiple of 32 bytes.
    pub memory: &'a [u8],
    /// The return data of the last call.
    pub return_data: &'a [u8],
    /// The refund counter, which may be below zero within a transaction.
    pub refund: i64,
}
