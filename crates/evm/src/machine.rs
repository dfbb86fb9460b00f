//! Nested frames: creates a frame for each call and creation, runs the innermost one, and returns
//! its result to its caller.
//!
//! Frames, their stacks and the buffer of their memories are reused. There is no recursion: 1,025
//! frames need no more of the thread's stack than one.

use crate::{
    code::Code,
    fork::Fork,
    frame::{Context, Fault, Frame, Input, Request},
    gas::{self, ACCOUNT_STATE_BYTES},
    inspect::{FrameEnd, FrameKind, FrameStart},
    interpreter::{self, Exit},
    outcome::{Halt, Status},
    precompiles,
    refusal::{creation_refusal, refusal},
    source::Failed,
    stack::StackChunk,
    word::Word,
};
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, keccak256};
use std::sync::Arc;

/// The frames and stacks, which are kept between executions.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    stacks: Vec<StackChunk>,
    frames: Vec<Frame>,
}

/// How a frame ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) gas_left: i64,
    /// The output of the outermost frame, or of a request without a frame.
    pub(crate) output: Bytes,
    pub(crate) created: Option<Address>,
}

impl Ended {
    fn halt(halt: Halt) -> Self {
        Self {
            status: Status::Halt(halt),
            gas_left: 0,
            output: Bytes::new(),
            created: None,
        }
    }

    /// The call could not begin. Its gas is returned.
    fn refused(halt: Halt, gas: i64) -> Self {
        Self {
            gas_left: gas,
            ..Self::halt(halt)
        }
    }
}

/// The result of beginning a request.
enum Begun {
    /// A frame must run.
    Frame,
    /// The request has already ended.
    Ended(Ended),
}

impl Machine {
    /// Executes `cx.request` as the outermost frame.
    pub(crate) fn execute(&mut self, cx: &mut Context<'_>) -> Result<Ended, Failed> {
        cx.depth = 0;
        let ended = self.run(cx);
        if ended.is_err() {
            // These frames have not ended.
            for frame in &mut self.frames {
                frame.input = Input::NONE;
            }
        }
        ended
    }

    /// Runs `cx.request` and all that it calls. No frame that ends keeps its input.
    fn run(&mut self, cx: &mut Context<'_>) -> Result<Ended, Failed> {
        if let Begun::Ended(ended) = self.begin(cx, 0)? {
            return Ok(ended);
        }
        loop {
            let frame = &mut self.frames[cx.depth];
            let ended = match interpreter::run(cx, frame) {
                Exit::Again => {
                    cx.source.check_wanted()?;
                    continue;
                }
                Exit::Request => {
                    cx.depth += 1;
                    let memory_start = frame.memory_end();
                    match self.begin(cx, memory_start)? {
                        Begun::Frame => continue,
                        Begun::Ended(ended) => {
                            cx.depth -= 1;
                            resume_without_frame(cx, &mut self.frames[cx.depth], ended);
                            continue;
                        }
                    }
                }
                Exit::Done => finish(cx, frame)?,
                Exit::Revert => {
                    frame.gas += cx.journal.state_gas.of_frame;
                    cx.journal.revert(frame.checkpoint);
                    Status::Revert
                }
                Exit::Fault(Fault::Halt(halt)) => fail(cx, frame, halt),
                Exit::Fault(Fault::Source) => return Err(Failed),
            };
            if is_creation(frame.kind) {
                cx.init_code_bytes -= cx.journal.codes.get(frame.code).footprint();
                // It may be large.
                cx.journal.codes.remove(frame.code);
            }
            if ended == Status::Success {
                let begin = &frame.checkpoint.state_gas;
                // The gas for the caller.
                frame.gas += cx.journal.state_gas.end_frame(begin);
            }
            report_exit(cx, frame, ended);
            frame.input = Input::NONE;
            if cx.depth == 0 {
                return Ok(outermost(frame, ended));
            }
            cx.depth -= 1;
            let [caller, callee] = &mut self.frames[cx.depth..cx.depth + 2] else {
                unreachable!("a frame below the outermost has a caller");
            };
            resume(cx, caller, callee, ended);
        }
    }

    /// Ends `cx.request` before its outermost frame begins: its gas does not suffice.
    pub(crate) fn out_of_gas(cx: &mut Context<'_>) -> Ended {
        cx.depth = 0;
        let ended = Ended::halt(Halt::OutOfGas);
        report_enter(cx);
        report_end(cx, &ended);
        ended
    }

    /// Creates the frame for `cx.request` at `cx.depth`.
    fn begin(&mut self, cx: &mut Context<'_>, memory_start: usize) -> Result<Begun, Failed> {
        cx.source.check_wanted()?;
        let begun = match cx.request.kind {
            FrameKind::Create | FrameKind::Create2 => self.begin_create(cx, memory_start)?,
            _ => {
                report_enter(cx);
                self.begin_call(cx, memory_start)?
            }
        };
        if let Begun::Ended(ended) = &begun {
            report_end(cx, ended);
        }
        Ok(begun)
    }

    fn begin_call(&mut self, cx: &mut Context<'_>, memory_start: usize) -> Result<Begun, Failed> {
        let gas = cx.request.gas;
        if let Some(refused) = refusal(cx, cx.depth) {
            return Ok(Begun::Ended(Ended::refused(refused, gas)));
        }
        let checkpoint = cx.journal.checkpoint();
        let account = cx.request.account;
        match cx.request.kind {
            // A static call also touches, by zero wei.
            FrameKind::Call | FrameKind::StaticCall => transfer(cx, account),
            _ => {}
        }
        if !cx.request.delegated
            && let Some(precompile) = precompiles::get(cx.fork, &cx.request.code_address)
        {
            let input = cx.request.input;
            let (fork, gas_limit) = (cx.fork, gas.cast_unsigned());
            let ran = precompiles::run(fork, precompile, cx.lines, input.bytes(), gas_limit);
            let ended = match ran {
                Ok((used, output)) => Ended {
                    status: Status::Success,
                    gas_left: gas - used.cast_signed(),
                    output,
                    created: None,
                },
                Err(halt) => {
                    cx.journal.revert(checkpoint);
                    Ended::halt(halt)
                }
            };
            return Ok(Begun::Ended(ended));
        }
        let code = match cx.request.code.take() {
            Some(code) => code,
            None => cx.code_number(cx.request.code_account)?,
        };
        if cx.journal.codes.get(code).bytes().is_empty() {
            return Ok(Begun::Ended(Ended {
                status: Status::Success,
                gas_left: gas,
                output: Bytes::new(),
                created: None,
            }));
        }
        let frame = self.frame(cx.depth);
        frame.begin_with(cx, code, memory_start, checkpoint);
        Ok(Begun::Frame)
    }

    fn begin_create(&mut self, cx: &mut Context<'_>, memory_start: usize) -> Result<Begun, Failed> {
        let gas = cx.request.gas;
        report_enter(cx);
        if let Some(refused) = creation_refusal(cx, cx.depth) {
            return Ok(Begun::Ended(Ended::refused(refused, gas)));
        }
        if cx.depth > 0 {
            let creator = cx.request.payer;
            let nonce = cx.journal.account(creator).nonce;
            cx.journal.set_nonce(creator, nonce + 1);
        }
        let input = cx.request.input;
        let account = cx.load(cx.request.address)?;
        cx.journal.mark_accessed(account);
        if cx.fork >= Fork::Berlin {
            cx.journal.warm_account(account);
        }
        let entry = cx.journal.account(account);
        if entry.nonce != 0 || entry.has_code() || cx.journal.has_storage(cx.source, account)? {
            return Ok(Begun::Ended(Ended::halt(Halt::AddressCollision)));
        }
        cx.request.account = account;
        let footprint = Code::footprint_of(input.bytes().len());
        if let Err(halt) = cx.check_memory_limit(footprint) {
            return Ok(Begun::Ended(Ended::halt(halt)));
        }
        let checkpoint = cx.journal.checkpoint();
        cx.journal.mark_created(account);
        if cx.fork >= Fork::SpuriousDragon {
            cx.journal.set_nonce(account, 1);
        }
        transfer(cx, account);
        let code = Arc::new(cx.codes.prepare(input.bytes()));
        let code = cx.journal.codes.add(code);
        cx.init_code_bytes += footprint;
        cx.request.input = Input::NONE;
        let frame = self.frame(cx.depth);
        frame.begin_with(cx, code, memory_start, checkpoint);
        Ok(Begun::Frame)
    }

    /// The frame of a depth, created when the depth is first reached.
    fn frame(&mut self, depth: usize) -> &mut Frame {
        if depth == self.frames.len() {
            let chunk = StackChunk::new();
            self.frames.push(Frame::new(chunk.bottom()));
            self.stacks.push(chunk);
        }
        let frame = &mut self.frames[depth];
        frame.stack = self.stacks[depth].bottom();
        frame
    }
}

impl Frame {
    fn begin_with(
        &mut self,
        cx: &mut Context<'_>,
        code: u32,
        memory_start: usize,
        checkpoint: crate::state::Checkpoint,
    ) {
        let codes = &cx.journal.codes;
        let ready = |code| codes.get(code).begin_run(cx.fork, codes.budget(code));
        self.decoded = !cx.steps && ready(code).is_some();
        self.position = if self.decoded { interpreter::FIRST } else { 0 };
        cx.journal.state_gas.begin_frame();
        self.begin(self.stack, &cx.request, code, memory_start, checkpoint);
        self.rebase(cx.memory);
        cx.memory.returned.clear();
    }
}

fn is_creation(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Create | FrameKind::Create2)
}

/// Moves the value of the request to `account`. A value of zero touches the account too.
fn transfer(cx: &mut Context<'_>, account: u32) {
    let amount = cx.request.transfer;
    if amount.is_zero() {
        cx.journal.touch(account);
        return;
    }
    let enough = cx.journal.subtract_balance(cx.request.payer, amount);
    debug_assert!(enough, "the balance was checked");
    cx.journal.add_balance(account, amount);
    cx.log_transfer(cx.request.payer, account, amount);
}

/// Ends a frame that succeeded. Stores the code of a creation.
fn finish(cx: &mut Context<'_>, frame: &mut Frame) -> Result<Status, Failed> {
    if !is_creation(frame.kind) {
        return Ok(Status::Success);
    }
    let (at, len) = frame.output;
    let code = &frame.memory()[at..at + len];
    let words = gas::words(len as u64);
    let deposit = cx.schedule.code_byte * len as i64 + cx.schedule.code_word * words;
    let refused = if cx.fork >= Fork::London && code.first() == Some(&0xef) {
        Some(Halt::CodeStartsWithEf)
    } else if len > cx.schedule.code_max {
        Some(Halt::CodeTooLarge)
    } else if frame.gas < deposit {
        if cx.fork == Fork::Frontier {
            // The contract is created without code (changed by EIP-2).
            frame.output = (0, 0);
            return Ok(Status::Success);
        }
        Some(Halt::CodeDepositOutOfGas)
    } else {
        None
    };
    if let Some(halt) = refused {
        return Ok(fail(cx, frame, halt));
    }
    if let Err(halt) = cx.check_memory_limit(Code::footprint_of(len)) {
        return Ok(fail(cx, frame, halt));
    }
    let code = Bytes::copy_from_slice(code);
    frame.gas -= deposit;
    if cx.charge_state(frame, len as i64).is_err() {
        return Ok(fail(cx, frame, Halt::CodeDepositOutOfGas));
    }
    if !code.is_empty() {
        let hash = keccak256(&code);
        let code = match cx.codes.get(&hash) {
            Some(code) => code,
            None => Arc::new(cx.codes.prepare(&code)),
        };
        cx.journal.set_code(frame.account, hash, code);
    } else {
        debug_assert_eq!(cx.journal.account(frame.account).code_hash, KECCAK256_EMPTY);
    }
    Ok(Status::Success)
}

/// Ends a frame that halted: consumes its gas and undoes its changes.
fn fail(cx: &mut Context<'_>, frame: &mut Frame, halt: Halt) -> Status {
    cx.journal.revert(frame.checkpoint);
    frame.gas = 0;
    frame.output = (0, 0);
    Status::Halt(halt)
}

/// Returns the result of `callee` to its caller.
fn resume(cx: &mut Context<'_>, caller: &mut Frame, callee: &mut Frame, status: Status) {
    caller.gas += callee.gas;
    caller.rebase(cx.memory);
    cx.memory.returned.clear();
    let creates = is_creation(callee.kind);
    if callee.new_account && status != Status::Success {
        cx.give_back_state(caller, ACCOUNT_STATE_BYTES);
    }
    let (at, len) = callee.output;
    let output = &callee.memory()[at..at + len];
    if creates {
        let address = match status {
            Status::Success => callee.address.into(),
            _ => Word::ZERO,
        };
        caller.put_result(address);
        if status == Status::Revert {
            cx.memory.returned.extend_from_slice(output);
        }
    } else {
        let success = status == Status::Success;
        caller.put_result(Word::from_bool(success));
        cx.memory.returned.extend_from_slice(output);
        copy_output(caller, output);
    }
}

/// The same for a request that ended without a frame.
fn resume_without_frame(cx: &mut Context<'_>, caller: &mut Frame, ended: Ended) {
    caller.gas += ended.gas_left;
    let success = ended.status == Status::Success;
    let creates = is_creation(cx.request.kind);
    if cx.request.new_account && !success {
        cx.give_back_state(caller, ACCOUNT_STATE_BYTES);
    }
    // A creation without a frame has failed.
    caller.put_result(Word::from_bool(success && !creates));
    cx.memory.returned.extend_from_slice(&ended.output);
    copy_output(caller, &ended.output);
}

/// Copies the output into the memory of the caller, as far as the caller has reserved room.
fn copy_output(caller: &mut Frame, output: &[u8]) {
    // Reset, so that a frame that stops later has no output of its own.
    let (at, len) = std::mem::take(&mut caller.output);
    let len = len.min(output.len());
    if len > 0 {
        caller.memory_mut()[at..at + len].copy_from_slice(&output[..len]);
    }
}

fn outermost(frame: &Frame, status: Status) -> Ended {
    let (at, len) = frame.output;
    let creates = is_creation(frame.kind);
    Ended {
        status,
        gas_left: frame.gas,
        output: Bytes::copy_from_slice(&frame.memory()[at..at + len]),
        created: (creates && status == Status::Success).then_some(frame.address),
    }
}

fn report_enter(cx: &mut Context<'_>) {
    let request: &Request = &cx.request;
    if let Some(inspector) = &mut cx.inspector {
        inspector.enter(&FrameStart {
            kind: request.kind,
            depth: cx.depth,
            caller: request.caller,
            address: request.address,
            code_address: request.code_address,
            value: request.value.u256(),
            input: request.input.bytes(),
            gas_limit: request.gas.cast_unsigned(),
        });
    }
}

/// Reports the end of a request without a frame.
fn report_end(cx: &mut Context<'_>, ended: &Ended) {
    let (depth, gas) = (cx.depth, cx.request.gas);
    if let Some(inspector) = &mut cx.inspector {
        inspector.exit(&FrameEnd {
            status: ended.status,
            depth,
            gas_used: (gas - ended.gas_left).cast_unsigned(),
            output: &ended.output,
            created: ended.created,
        });
    }
}

fn report_exit(cx: &mut Context<'_>, frame: &Frame, status: Status) {
    let depth = cx.depth;
    if let Some(inspector) = &mut cx.inspector {
        let (at, len) = frame.output;
        let creates = is_creation(frame.kind);
        inspector.exit(&FrameEnd {
            status,
            depth,
            gas_used: (frame.gas_limit - frame.gas).cast_unsigned(),
            output: &frame.memory()[at..at + len],
            created: (creates && status == Status::Success).then_some(frame.address),
        });
    }
}
