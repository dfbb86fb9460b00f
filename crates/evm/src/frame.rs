//! A call frame while it does not run, and the context that all frames of an execution share.

use crate::{
    code::{Code, CodeCache},
    env::Block,
    fork::Fork,
    gas::{self, Schedule},
    inspect::{FrameKind, Inspector},
    keccak::KeccakCache,
    memory::{Memory, growth_cost},
    outcome::Halt,
    precompiles::LineCache,
    source::{Failed, Source},
    stack::Stack,
    state::{Checkpoint, Journal, NO_CODE},
    word::Word,
};
use alloy_primitives::{Address, B256};

/// Why an instruction failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The frame halts.
    Halt(Halt),
    /// The state source failed, which ends the whole execution.
    Source,
}

impl From<Halt> for Fault {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl From<Failed> for Fault {
    fn from(Failed: Failed) -> Self {
        Self::Source
    }
}

/// State that the instructions of all frames read and change.
pub(crate) struct Context<'a> {
    pub(crate) fork: Fork,
    pub(crate) schedule: &'static Schedule,
    pub(crate) chain_id: u64,
    pub(crate) block: &'a Block,
    pub(crate) origin: Address,
    pub(crate) gas_price: Word,
    pub(crate) blob_hashes: &'a [B256],
    pub(crate) journal: &'a mut Journal,
    pub(crate) source: &'a mut dyn Source,
    pub(crate) codes: &'a CodeCache,
    pub(crate) memory: &'a mut Memory,
    pub(crate) keccaks: &'a mut KeccakCache,
    pub(crate) lines: &'a mut LineCache,
    pub(crate) inspector: Option<&'a mut dyn Inspector>,
    /// Whether the inspector receives every instruction.
    pub(crate) steps: bool,
    /// The maximum number of bytes that the execution may keep in addition to the memory of frames;
    /// `usize::MAX`: no limit.
    pub(crate) memory_limit: usize,
    /// The bytes that the prepared init code of all running creations may use.
    pub(crate) init_code_bytes: usize,
    /// The request of a call or creation, until its frame begins.
    pub(crate) request: Request,
    /// The number of frames around the current one.
    pub(crate) depth: usize,
}

impl Context<'_> {
    /// Returns the number of an account, which is read if necessary.
    #[inline]
    pub(crate) fn load(&mut self, address: Address) -> Result<u32, Failed> {
        self.journal.load(self.source, address)
    }

    /// Accesses an account; returns its number, and whether it was cold (EIP-2929).
    #[inline]
    pub(crate) fn access(&mut self, address: Address) -> Result<(u32, bool), Failed> {
        let account = self.load(address)?;
        let cold = self.fork >= Fork::Berlin
            && self.journal.warm_account(account)
            && !crate::precompiles::is_precompile(self.fork, &address);
        Ok((account, cold))
    }

    /// Whether an access to an account would be cold (EIP-2929), without reading it.
    #[cold]
    pub(crate) fn is_cold(&self, address: &Address) -> bool {
        self.fork >= Fork::Berlin
            && !crate::precompiles::is_precompile(self.fork, address)
            && self.journal.is_cold(address)
    }

    /// Returns the number of an account's code, which is read if necessary.
    pub(crate) fn code_number(&mut self, account: u32) -> Result<u32, Failed> {
        self.journal.code(self.source, self.codes, account)
    }

    /// Returns an account's code, which is read if necessary.
    pub(crate) fn code(&mut self, account: u32) -> Result<&Code, Failed> {
        let number = self.code_number(account)?;
        Ok(self.journal.codes.get(number))
    }

    /// Fails if `more` bytes would exceed the limit of an untrusted run. Called by instructions
    /// that make the execution keep more.
    #[inline(always)]
    pub(crate) fn check_memory_limit(&self, more: usize) -> Result<(), Halt> {
        match self.memory_limit {
            usize::MAX => Ok(()),
            limit => self.check_footprint(limit, more),
        }
    }

    #[cold]
    #[inline(never)]
    fn check_footprint(&self, limit: usize, more: usize) -> Result<(), Halt> {
        let kept = self.journal.footprint() + self.init_code_bytes;
        if kept.saturating_add(more) > limit {
            return Err(Halt::MemoryLimit);
        }
        Ok(())
    }

    /// Accesses an account for a frame, which pays for a cold one (EIP-2929).
    #[inline]
    pub(crate) fn visit(&mut self, frame: &mut Frame, address: Address) -> Result<u32, Fault> {
        self.visit_for(frame, address, self.schedule.cold_account)
    }

    /// Accesses an account for a frame, which pays `cold_extra` if the account was cold.
    #[inline]
    pub(crate) fn visit_for(
        &mut self,
        frame: &mut Frame,
        address: Address,
        cold_extra: i64,
    ) -> Result<u32, Fault> {
        self.check_memory_limit(0)?;
        // What cannot be paid is not read.
        if frame.gas < cold_extra && self.is_cold(&address) {
            return Err(Halt::OutOfGas.into());
        }
        let (account, cold) = self.access(address)?;
        if cold {
            frame.charge(cold_extra)?;
        }
        self.journal.mark_accessed(account);
        Ok(account)
    }

    /// Charges a frame for bytes of state (EIP-8037).
    #[inline]
    pub(crate) fn charge_state(&mut self, frame: &mut Frame, bytes: i64) -> Result<(), Fault> {
        if self.schedule.state_byte == 0 {
            return Ok(());
        }
        let gas = bytes * self.schedule.state_byte;
        let paid = self.journal.state_gas.take(gas, frame.gas);
        frame.gas -= paid.ok_or(Halt::OutOfGas)?;
        Ok(())
    }

    /// Gives back to a frame what it paid for bytes of state (EIP-8037).
    pub(crate) fn give_back_state(&mut self, frame: &mut Frame, bytes: i64) {
        let gas = bytes * self.schedule.state_byte;
        frame.gas += self.journal.state_gas.give_back(gas);
    }
}

/// The request of a call or creation instruction.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: FrameKind,
    pub(crate) caller: Address,
    /// The account that pays the value: the caller or creator.
    pub(crate) payer: u32,
    /// The account in whose name the frame runs.
    pub(crate) address: Address,
    pub(crate) code_address: Address,
    /// The number of the account `address`.
    pub(crate) account: u32,
    /// `CALLVALUE` in the frame.
    pub(crate) value: Word,
    /// The wei that move.
    pub(crate) transfer: Word,
    pub(crate) input: Input,
    pub(crate) gas: i64,
    pub(crate) is_static: bool,
    /// The account whose code runs if `code` is `None`.
    pub(crate) code_account: u32,
    /// The number of the code to run; `None` until it is known.
    pub(crate) code: Option<u32>,
    /// The code comes from a delegation (EIP-7702), by which precompiled contracts do not run.
    pub(crate) delegated: bool,
    /// State gas was paid for a new account, and is given back if the frame fails (EIP-8037).
    pub(crate) new_account: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            kind: FrameKind::Call,
            caller: Address::ZERO,
            payer: 0,
            address: Address::ZERO,
            code_address: Address::ZERO,
            account: 0,
            value: Word::ZERO,
            transfer: Word::ZERO,
            input: Input::NONE,
            gas: 0,
            is_static: false,
            code_account: 0,
            code: None,
            delegated: false,
            new_account: false,
        }
    }
}

/// Calldata or init code: outside of the memory of frames, or in the memory of the calling frame,
/// which does not run as long as its callee runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    start: *const u8,
    len: usize,
    /// Its position in the buffer of all memories, which may move.
    in_memory: Option<usize>,
}

impl Input {
    pub(crate) const NONE: Self = Self {
        start: std::ptr::dangling(),
        len: 0,
        in_memory: None,
    };

    /// Bytes outside of the memory of frames.
    ///
    /// # Safety
    /// The bytes outlive every call of [`bytes`](Self::bytes) on this input and its copies: the
    /// execution for which they are the outermost input, at whose end the machine drops them.
    #[expect(unsafe_code, reason = "erases the lifetime of the bytes")]
    pub(crate) unsafe fn outside(bytes: &[u8]) -> Self {
        Self {
            start: bytes.as_ptr(),
            len: bytes.len(),
            in_memory: None,
        }
    }

    fn rebase(&mut self, base: *mut u8) {
        if let Some(at) = self.in_memory {
            self.start = base.wrapping_add(at);
        }
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "the makers' contracts keep the bytes valid")]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: by the contract of `outside` or `Frame::input_of`, `start` and `len` describe
        // initialized bytes that nothing writes while the input is in use.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// A call frame. Contains the registers of the loop while the frame does not run.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) stack: Stack,
    pub(crate) gas: i64,
    /// The position in the code, or the slot of a block if `decoded`.
    pub(crate) position: usize,
    /// Whether it runs decoded code.
    pub(crate) decoded: bool,

    /// The start of its memory, as of the last [`rebase`](Self::rebase).
    memory: *mut u8,
    /// The length of its memory in bytes, a multiple of 32.
    pub(crate) memory_len: usize,
    /// The position of its memory in the buffer of all memories.
    memory_start: usize,

    /// The number of its code.
    pub(crate) code: u32,
    pub(crate) input: Input,
    pub(crate) kind: FrameKind,
    pub(crate) caller: Address,
    pub(crate) address: Address,
    /// The number of the account `address`.
    pub(crate) account: u32,
    pub(crate) value: Word,
    pub(crate) is_static: bool,
    /// The same as in its [`Request`].
    pub(crate) new_account: bool,

    /// The place in its memory for the output of a call, and at its end the place of its own
    /// output: offset and length.
    pub(crate) output: (usize, usize),
    /// The state before its first instruction.
    pub(crate) checkpoint: Checkpoint,
    pub(crate) gas_limit: i64,
}

impl Frame {
    /// An empty frame, which [`begin`](Self::begin) fills.
    pub(crate) fn new(stack: Stack) -> Self {
        Self {
            stack,
            gas: 0,
            position: 0,
            decoded: false,
            memory: std::ptr::dangling_mut(),
            memory_len: 0,
            memory_start: 0,
            code: NO_CODE,
            input: Input::NONE,
            kind: FrameKind::Call,
            caller: Address::ZERO,
            address: Address::ZERO,
            account: 0,
            value: Word::ZERO,
            is_static: false,
            new_account: false,
            output: (0, 0),
            checkpoint: Checkpoint::default(),
            gas_limit: 0,
        }
    }

    /// Fills the frame from a request. Its memory begins at `memory_start`.
    pub(crate) fn begin(
        &mut self,
        bottom: Stack,
        request: &Request,
        code: u32,
        memory_start: usize,
        checkpoint: Checkpoint,
    ) {
        self.stack = bottom;
        self.gas = request.gas;
        self.gas_limit = request.gas;
        self.memory_len = 0;
        self.memory_start = memory_start;
        self.code = code;
        self.input = request.input;
        self.kind = request.kind;
        self.caller = request.caller;
        self.address = request.address;
        self.account = request.account;
        self.value = request.value;
        self.is_static = request.is_static;
        self.new_account = request.new_account;
        self.output = (0, 0);
        self.checkpoint = checkpoint;
    }

    /// Updates the pointers into the buffer of all memories, which may have moved.
    pub(crate) fn rebase(&mut self, memory: &mut Memory) {
        let base = memory.base();
        self.memory = base.wrapping_add(self.memory_start);
        self.input.rebase(base);
    }

    /// The position at which the memory of a callee begins.
    pub(crate) fn memory_end(&self) -> usize {
        self.memory_start + self.memory_len
    }

    #[inline(always)]
    pub(crate) fn charge(&mut self, gas: i64) -> Result<(), Fault> {
        self.gas -= gas;
        if self.gas < 0 {
            return Err(Halt::OutOfGas.into());
        }
        Ok(())
    }

    /// Fails in a static frame (EIP-214).
    #[inline(always)]
    pub(crate) fn may_change(&self) -> Result<(), Fault> {
        if self.is_static {
            return Err(Halt::StaticViolation.into());
        }
        Ok(())
    }

    /// Whether memory has `len` bytes at `offset`.
    #[inline(always)]
    pub(crate) fn covers(&self, offset: u64, len: u64) -> bool {
        offset.saturating_add(len) <= self.memory_len as u64
    }

    /// Grows memory to `offset + len` and returns this range: offset and length. An empty range
    /// costs nothing.
    #[inline]
    pub(crate) fn range(
        &mut self,
        memory: &mut Memory,
        offset: Word,
        len: Word,
    ) -> Result<(usize, usize), Fault> {
        let (offset, len) = (offset.saturating_u64(), len.saturating_u64());
        if len == 0 {
            return Ok((0, 0));
        }
        if !self.covers(offset, len) {
            self.grow(memory, offset, len)?;
        }
        Ok((offset as usize, len as usize))
    }

    /// Charges for memory up to `offset + len`, and grows it.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, memory: &mut Memory, offset: u64, len: u64) -> Result<(), Fault> {
        let end = offset.saturating_add(len);
        if end > crate::memory::MEMORY_MAX as u64 {
            return Err(Halt::OutOfGas.into());
        }
        let end = (end as usize).next_multiple_of(32);
        self.charge(growth_cost(self.memory_len, end))?;
        let (from, to) = (self.memory_start + self.memory_len, self.memory_start + end);
        memory.grow(from, to)?;
        self.memory_len = end;
        self.rebase(memory);
        Ok(())
    }

    /// The memory.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a part of the buffer of all memories")]
    pub(crate) fn memory(&self) -> &[u8] {
        if self.memory_len == 0 {
            return &[];
        }
        // SAFETY: `grow` initialized that many bytes at `memory`. The frame is rebased when the
        // buffer moves, and the parts of other frames do not overlap.
        unsafe { std::slice::from_raw_parts(self.memory, self.memory_len) }
    }

    /// The memory, to write.
    #[inline(always)]
    #[expect(unsafe_code, reason = "a part of the buffer of all memories")]
    pub(crate) fn memory_mut(&mut self) -> &mut [u8] {
        if self.memory_len == 0 {
            return &mut [];
        }
        // SAFETY: as in `memory`; `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.memory_len) }
    }

    /// Reads the 32 bytes at `offset`.
    ///
    /// # Safety
    /// - Memory [`covers`](Self::covers) 32 bytes at `offset`.
    /// - The frame was rebased since the buffer of all memories last moved.
    #[inline(always)]
    #[expect(unsafe_code, reason = "bounds were checked when gas was")]
    pub(crate) unsafe fn read_word(&self, offset: u64) -> Word {
        debug_assert!(self.covers(offset, 32), "read beyond the memory");
        // SAFETY: by the contract, within `memory`, which `grow` initialized; bytes need no
        // alignment.
        let bytes = unsafe { self.memory.add(offset as usize).cast::<[u8; 32]>().read() };
        Word::from_be_bytes(&bytes)
    }

    /// Writes 32 bytes at `offset`.
    ///
    /// # Safety
    /// - Memory [`covers`](Self::covers) 32 bytes at `offset`.
    /// - The frame was rebased since the buffer of all memories last moved.
    #[inline(always)]
    #[expect(unsafe_code, reason = "bounds were checked when gas was")]
    pub(crate) unsafe fn write_word(&mut self, offset: u64, word: Word) {
        debug_assert!(self.covers(offset, 32), "write beyond the memory");
        // SAFETY: by the contract, within `memory`; bytes need no alignment.
        unsafe { (self.memory.add(offset as usize).cast::<[u8; 32]>()).write(word.to_be_bytes()) };
    }

    /// Writes the result of a call or creation on top of the stack, where the loop left room for
    /// it.
    #[expect(unsafe_code, reason = "the height is checked here")]
    pub(crate) fn put_result(&mut self, result: Word) {
        assert!(self.stack.height() > 0, "no room for a result");
        // SAFETY: the height is at least one. The machine owns the stack of each frame as long as
        // the frame, and nothing else accesses it while the frame does not run.
        unsafe { self.stack.put(0, result) }
    }

    /// A part of the memory as the input of a callee.
    ///
    /// # Safety
    /// - The frame does not run, and its memory does not shrink, while the input is in use.
    /// - The input is rebased ([`begin`](Self::begin), then [`rebase`](Self::rebase)) before it
    ///   is read after the buffer of all memories moved.
    #[expect(unsafe_code, reason = "erases the lifetime of the memory")]
    pub(crate) unsafe fn input_of(&self, (offset, len): (usize, usize)) -> Input {
        if len == 0 {
            return Input::NONE;
        }
        Input {
            start: self.memory().as_ptr().wrapping_add(offset),
            len,
            in_memory: Some(self.memory_start + offset),
        }
    }

    /// Copies `source` from `offset` on into memory at `to`, with zeros beyond its end.
    pub(crate) fn copy_padded(&mut self, to: (usize, usize), source: &[u8], offset: Word) {
        let (at, len) = to;
        let target = &mut self.memory_mut()[at..at + len];
        let from = usize::try_from(offset.saturating_u64()).unwrap_or(usize::MAX);
        let available = source.get(from..).unwrap_or_default();
        let copied = available.len().min(len);
        target[..copied].copy_from_slice(&available[..copied]);
        target[copied..].fill(0);
    }

    /// Charges for copied words, in addition to memory.
    #[inline(always)]
    pub(crate) fn charge_copy(&mut self, len: Word) -> Result<(), Fault> {
        self.charge_words(len, gas::COPY_WORD)
    }

    /// Charges `per_word` for each word of `len` bytes.
    #[inline(always)]
    pub(crate) fn charge_words(&mut self, len: Word, per_word: i64) -> Result<(), Fault> {
        // No gas limit pays for 2^40 bytes, and the product does not overflow.
        let bytes = len.saturating_u64().min(1 << 40);
        self.charge(gas::words(bytes) * per_word)
    }
}

// SAFETY: the pointers refer to memory that the machine around it owns, or that is borrowed for one
// execution. They are not used between executions.
#[expect(unsafe_code, reason = "the pointers are not used between executions")]
unsafe impl Send for Frame {}
