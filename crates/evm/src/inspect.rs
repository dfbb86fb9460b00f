//! Watching an execution: call frames, and on request every instruction.

use crate::outcome::Status;
use alloy_primitives::{Address, Log, U256};

/// Told what happens. All methods do nothing unless written.
pub trait Inspector {
    /// Whether [`step`](Self::step) is wanted. `false` leaves execution at full
    /// speed: frames, logs and destructions are still told. Asked once per execution.
    fn wants_steps(&self) -> bool {
        false
    }

    /// Before an instruction, its gas not yet charged.
    fn step(&mut self, _step: &Step<'_>) {}

    /// After an instruction, with the gas that is left then: the difference to
    /// [`Step::gas`] was charged, of which a call's part for its frame may come back.
    /// Told before that frame begins, and not when the instruction halted.
    fn step_end(&mut self, _gas_left: u64) {}

    /// A frame begins (also one that fails at once, and precompiled contracts).
    fn enter(&mut self, _frame: &FrameStart<'_>) {}

    /// The innermost frame ended. Unless `status` is success its changes, logs and
    /// those of all frames within it are undone.
    fn exit(&mut self, _end: &FrameEnd<'_>) {}

    /// `SELFDESTRUCT` moves `amount` wei.
    fn selfdestruct(&mut self, _contract: Address, _beneficiary: Address, _amount: U256) {}

    /// A log was written (and may be undone with its frame).
    fn log(&mut self, _log: &Log) {}
}

impl<I: Inspector + ?Sized> Inspector for &mut I {
    fn wants_steps(&self) -> bool {
        (**self).wants_steps()
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

/// Why a frame runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// The transaction's own message, and `CALL`.
    Call,
    /// Foreign code in one's own name.
    CallCode,
    /// As [`CallCode`](Self::CallCode), with caller and value kept (EIP-7).
    DelegateCall,
    /// No writes (EIP-214).
    StaticCall,
    /// Init code runs.
    Create,
    /// Init code runs; the address comes from a salt (EIP-1014).
    Create2,
}

/// A frame that begins.
#[derive(Clone, Copy, Debug)]
pub struct FrameStart<'a> {
    /// Why it runs.
    pub kind: FrameKind,
    /// 0: the outermost.
    pub depth: usize,
    /// Who called; `CALLER` in the frame.
    pub caller: Address,
    /// In whose name it runs; `ADDRESS` in the frame.
    pub address: Address,
    /// Whose code runs.
    pub code_address: Address,
    /// Wei that move from `caller` to `address`; [`FrameKind::DelegateCall`] and
    /// [`FrameKind::CallCode`] move none, whatever stands here.
    pub value: U256,
    /// Calldata or init code.
    pub input: &'a [u8],
    /// Gas it may use.
    pub gas_limit: u64,
}

/// A frame that ended.
#[derive(Clone, Copy, Debug)]
pub struct FrameEnd<'a> {
    /// How.
    pub status: Status,
    /// 0: the outermost.
    pub depth: usize,
    /// By it and all frames within.
    pub gas_used: u64,
    /// Returned or reverted with.
    pub output: &'a [u8],
    /// The contract, when a creation succeeded.
    pub created: Option<Address>,
}

/// An instruction about to be executed.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its position in the code.
    pub pc: usize,
    /// The byte.
    pub opcode: u8,
    /// Gas left before it.
    pub gas: u64,
    /// 1: the outermost frame, as EIP-3155 counts.
    pub depth: usize,
    /// In whose name the frame runs.
    pub address: Address,
    /// The top is last; four limbs of 64 bits each, least significant first.
    pub stack: &'a [[u64; 4]],
    /// Of the frame, a multiple of 32 bytes.
    pub memory: &'a [u8],
    /// What the last call returned.
    pub return_data: &'a [u8],
    /// The counter, which may be below zero within a transaction.
    pub refund: i64,
}
