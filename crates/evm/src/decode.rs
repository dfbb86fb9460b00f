//! Decodes code into instructions of eight bytes, grouped in blocks, for the fast loop.
//!
//! A *block* is a sequence of instructions that is entered only at its first and left only at its
//! last one. So its requirements are checked once: the gas that its instructions cost whatever
//! their operands, and a height of the stack at which none of them underflows or overflows.
//! Blocks begin at `JUMPDEST`s and after `JUMPI`, calls and creations, which need the exact gas.
//! They end with these, with `JUMP`, and with instructions that end the frame.
//!
//! Most time is lost between blocks, so a jump checks the header of its target itself instead of
//! executing a `BLOCK` instruction. A jump to a constant contains the slot of that header. A jump
//! to anything but a destination goes to [`INVALID_TARGET`], a block with one instruction that
//! halts. A run of `JUMPDEST`s is one block, however long it is.
//!
//! Sequences that compilers often generate are fused into one instruction ([`fused`]).
//!
//! An instruction whose gas depends on its operands may run out of gas where careful code, which has
//! not paid for the rest of the block, would go on. So the `arg` of every such instruction is the
//! position of its first byte within the block: careful code takes over there
//! ([`Decoded::before`]).

use crate::{
    decoded::{Decoded, INVALID_TARGET, Instruction},
    fork::Fork,
    fused,
    gas::Schedule,
    jumpdest::instruction_len,
    opcode::{self, FACTS},
    word::Word,
};

/// A block ends when it costs more than this, so that its gas fits an `imm`. No real code does.
const BLOCK_GAS_MAX: u64 = 1 << 30;
/// A block ends when it has more bytes than this, so that positions within it fit an `arg`.
const BLOCK_BYTES_MAX: usize = u16::MAX as usize - 64;

/// The maximum height of the stack, in words.
const STACK_WORDS: i32 = 1024;
const WORD_BYTES: i32 = 32;

/// Decodes code of `len` bytes, with the padding of [`Code`](crate::code::Code).
pub(crate) fn decode(padded: &[u8], len: usize, fork: Fork) -> Decoded {
    let mut decoder = Decoder::new(padded, len, fork);
    decoder.run();
    decoder.finish()
}

/// The block that is being decoded.
#[derive(Default)]
struct Block {
    /// The slot of its header.
    header: usize,
    /// The position of its first byte.
    begin: usize,
    gas: u64,
    /// The current height, relative to that at entry, in words.
    height: i32,
    /// The minimum height at entry, in words.
    need: i32,
    /// The maximum of `height`.
    growth: i32,
    /// The slots of `GAS` and `SSTORE`, each with the gas of the block up to and including it.
    /// These two need the gas that the block has paid for later instructions.
    exact: Vec<(usize, u64)>,
}

struct Decoder<'a> {
    /// The code with its padding.
    padded: &'a [u8],
    /// The length of the code.
    len: usize,
    fork: Fork,
    schedule: &'static Schedule,
    out: Vec<Instruction>,
    constants: Vec<Word>,
    targets: Vec<u32>,
    blocks: Vec<(u32, u32)>,
    /// The slots of jumps, whose `imm` is still a position in the code.
    jumps: Vec<usize>,
    /// The first and the last position of each run of two or more `JUMPDEST`s.
    runs: Vec<(usize, usize)>,
    block: Block,
    /// The position of the current instruction.
    at: usize,
    /// The position of the latest constant.
    pushed_at: usize,
}

impl<'a> Decoder<'a> {
    fn new(padded: &'a [u8], len: usize, fork: Fork) -> Self {
        Self {
            padded,
            len,
            fork,
            schedule: Schedule::of(fork),
            out: Vec::with_capacity(len + len / 4 + 8),
            constants: Vec::new(),
            targets: vec![INVALID_TARGET; len],
            blocks: Vec::with_capacity(len / 8 + 1),
            jumps: Vec::with_capacity(len / 8 + 1),
            runs: Vec::new(),
            block: Block::default(),
            at: 0,
            pushed_at: 0,
        }
    }

    fn run(&mut self) {
        // The block at INVALID_TARGET accepts any height.
        self.emit(fused::BLOCK, 0, 0);
        self.emit(fused::BLOCK, u16::MAX, 0);
        self.emit(fused::INVALID_JUMP, 0, 0);
        let bytes = self.padded;
        // One byte of padding is decoded: the `STOP` after the code.
        let end = self.len + 1;
        let mut pc = 0;
        self.begin_block(pc);
        while pc < end {
            let byte = bytes[pc];
            let facts = &FACTS[usize::from(byte)];
            self.at = pc;
            if pc - self.block.begin > BLOCK_BYTES_MAX {
                self.end_block();
                self.begin_block(pc);
            }
            if byte == opcode::JUMPDEST {
                if self.block.gas != 0 || self.out.len() != self.block.header + 2 {
                    self.end_block();
                    self.begin_block(pc);
                }
                self.targets[pc] = self.block.header as u32;
                if bytes[pc + 1] == opcode::JUMPDEST {
                    pc = self.begin_run(pc);
                    continue;
                }
            }
            if !facts.exists(self.fork) || byte == opcode::INVALID {
                self.emit(fused::UNKNOWN, u16::from(byte), 0);
                self.end_block();
                pc = self.skip_unreachable(pc + 1, end);
                continue;
            }
            let next = pc + 1 + usize::from(facts.immediate);
            if let opcode::DUPN..=opcode::EXCHANGE = byte {
                let Some(depths) = opcode::operand_depths(byte, bytes[pc + 1]) else {
                    // An invalid operand may be a jump destination.
                    self.count(byte);
                    self.emit(fused::UNKNOWN, u16::from(byte), 0);
                    self.end_block();
                    pc = self.skip_unreachable(next, end);
                    continue;
                };
                self.deep_access(byte, depths);
                pc = next + 1;
                continue;
            }
            self.count(byte);
            match byte {
                opcode::JUMPDEST => {}
                opcode::PUSH0..=opcode::PUSH32 => {
                    self.push(Word::from_be_slice(&bytes[pc + 1..next]))
                }
                opcode::PC => self.push(Word::new(pc as u64)),
                opcode::JUMPI => self.jump_if(),
                opcode::JUMP => self.jump(),
                opcode::GAS | opcode::SSTORE => {
                    self.block.exact.push((self.out.len(), self.block.gas));
                    self.emit(byte, self.within(pc), 0);
                }
                _ => self.operation(byte),
            }
            pc = match byte {
                opcode::JUMP
                | opcode::STOP
                | opcode::RETURN
                | opcode::REVERT
                | opcode::SELFDESTRUCT => {
                    self.end_block();
                    self.skip_unreachable(next, end)
                }
                opcode::JUMPI
                | opcode::CALL
                | opcode::CALLCODE
                | opcode::DELEGATECALL
                | opcode::STATICCALL
                | opcode::CREATE
                | opcode::CREATE2 => {
                    self.end_block();
                    self.begin_block(next);
                    next
                }
                // An access counts once it is paid (EIP-7928), so nothing after it may be paid
                // before.
                opcode::BALANCE
                | opcode::EXTCODESIZE
                | opcode::EXTCODECOPY
                | opcode::EXTCODEHASH
                | opcode::SLOAD
                | opcode::SSTORE
                    if self.fork >= Fork::Amsterdam =>
                {
                    self.end_block();
                    self.begin_block(next);
                    next
                }
                _ if self.block.gas > BLOCK_GAS_MAX => {
                    self.end_block();
                    self.begin_block(next);
                    next
                }
                _ => next,
            };
        }
        // A push that the end of the code cuts short leaves the last block open.
        self.emit(opcode::STOP, 0, 0);
        self.end_block();
        self.end_runs();
    }

    /// Makes one block of a run of `JUMPDEST`s, which pays for all but the last one. The last
    /// one begins the block of the instructions after it. Returns its position.
    fn begin_run(&mut self, first: usize) -> usize {
        let run = self.padded[first..self.len].iter();
        let len = run.take_while(|byte| **byte == opcode::JUMPDEST).count();
        let last = first + len - 1;
        self.block.gas += self.jumpdest_gas() * (last - first) as u64;
        self.runs.push((first, last));
        last
    }

    /// Adds the blocks for jumps into the middle of runs. They pay for the rest of the run and
    /// go to its last `JUMPDEST`.
    fn end_runs(&mut self) {
        for (first, last) in std::mem::take(&mut self.runs) {
            for pc in first + 1..last {
                self.begin_block(pc);
                self.targets[pc] = self.block.header as u32;
                self.block.gas = self.jumpdest_gas() * (last - pc) as u64;
                self.jumps.push(self.out.len());
                self.emit(fused::JUMP_TO, 0, last as u32);
                self.end_block();
            }
        }
    }

    fn jumpdest_gas(&self) -> u64 {
        u64::from(self.schedule.base[usize::from(opcode::JUMPDEST)])
    }

    /// Skips unreachable code from `pc` to the next `JUMPDEST`.
    fn skip_unreachable(&mut self, mut pc: usize, end: usize) -> usize {
        let bytes = self.padded;
        // `pc` begins an instruction, so a `JUMPDEST` here is not data.
        while pc < end - 1 && bytes[pc] != opcode::JUMPDEST {
            pc += instruction_len(bytes[pc]);
        }
        if pc < end - 1 {
            self.begin_block(pc);
            pc
        } else {
            end
        }
    }

    fn emit(&mut self, op: u8, arg: u16, imm: u32) {
        self.out.push(Instruction { op, arg, imm });
    }

    fn begin_block(&mut self, pc: usize) {
        let header = self.out.len();
        self.blocks.push((header as u32, pc as u32));
        self.block.header = header;
        self.block.begin = pc;
        self.block.gas = 0;
        self.block.height = 0;
        self.block.need = 0;
        self.block.growth = 0;
        self.emit(fused::BLOCK, 0, 0);
        self.emit(fused::BLOCK, 0, 0);
    }

    fn end_block(&mut self) {
        let Block {
            header,
            gas,
            need,
            growth,
            ..
        } = self.block;
        let lowest = need * WORD_BYTES;
        let room = (STACK_WORDS - growth) * WORD_BYTES - lowest;
        // If no height suffices, one that is never reached makes the check fail.
        let (lowest, room) = if room < 0 {
            (i32::from(u16::MAX), 0)
        } else {
            (lowest, room)
        };
        self.out[header].arg = lowest as u16;
        self.out[header].imm = gas as u32;
        self.out[header + 1].arg = room as u16;
        for (slot, so_far) in self.block.exact.drain(..) {
            self.out[slot].imm = (gas - so_far) as u32;
        }
    }

    /// Adds the gas and the stack changes of an opcode to the block.
    fn count(&mut self, byte: u8) {
        self.count_needing(byte, i32::from(FACTS[usize::from(byte)].inputs));
    }

    /// The same for an opcode that needs `words` words.
    fn count_needing(&mut self, byte: u8, words: i32) {
        let block = &mut self.block;
        block.gas += u64::from(self.schedule.base[usize::from(byte)]);
        block.need = block.need.max(words - block.height);
        block.height += FACTS[usize::from(byte)].change();
        block.growth = block.growth.max(block.height);
    }

    /// An instruction that accesses the words at two depths, of which the second is deeper.
    fn deep_access(&mut self, byte: u8, (first, second): (u8, u8)) {
        self.count_needing(byte, i32::from(second) + 1);
        self.emit(byte, u16::from(first) | u16::from(second) << 8, 0);
    }

    /// The `n`-th instruction from the end, if it belongs to the block.
    fn last(&self, n: usize) -> Option<Instruction> {
        let at = self.out.len().checked_sub(n)?;
        (at >= self.block.header + 2).then(|| self.out[at])
    }

    /// A position in the code, within the block.
    fn within(&self, pc: usize) -> u16 {
        (pc - self.block.begin) as u16
    }

    fn push(&mut self, value: Word) {
        self.pushed_at = self.at;
        match value.to_u64().map(u32::try_from) {
            Some(Ok(small)) => match self.last(1) {
                Some(last) if is_dup(last.op) => {
                    self.out.pop();
                    self.emit(
                        fused::DUP_PUSH,
                        u16::from(last.op - opcode::DUP1) + 1,
                        small,
                    );
                }
                _ => self.emit(fused::PUSH, 0, small),
            },
            _ => {
                let at = self.constants.len() as u32;
                self.constants.push(value);
                self.emit(fused::PUSH_WIDE, 0, at);
            }
        }
    }

    /// Removes a constant that was pushed last. An instruction fused with it stays.
    fn take_constant(&mut self) -> Option<u32> {
        let last = self.last(1)?;
        match last.op {
            fused::PUSH => {
                self.out.pop();
                Some(last.imm)
            }
            fused::DUP_PUSH => {
                self.out.pop();
                self.emit(opcode::DUP1 + last.arg as u8 - 1, 0, 0);
                Some(last.imm)
            }
            _ => None,
        }
    }

    fn jump(&mut self) {
        match self.take_constant() {
            Some(target) => {
                self.jumps.push(self.out.len());
                self.emit(fused::JUMP_TO, 0, target);
            }
            None => self.emit(opcode::JUMP, 0, 0),
        }
    }

    fn jump_if(&mut self) {
        let Some(target) = self.take_constant() else {
            self.emit(opcode::JUMPI, 0, 0);
            return;
        };
        // Two negations have no effect on a condition.
        if self
            .last(1)
            .is_some_and(|last| last.op == fused::IS_NOT_ZERO)
        {
            self.out.pop();
        }
        let last = self.last(1).map_or(fused::END, |last| last.op);
        let (taken, op) = match fused::opcode_of(last) {
            Some(opcode::ISZERO) => {
                let before = self.last(2).and_then(|before| fused::opcode_of(before.op));
                match before.and_then(|before| fused::compare(before, false)) {
                    Some(op) => (2, op),
                    None => (1, fused::JUMPI_TO_IF_ZERO),
                }
            }
            Some(last) => match fused::compare(last, true) {
                Some(op) => (1, op),
                None => (0, fused::JUMPI_TO),
            },
            None => (0, fused::JUMPI_TO),
        };
        if last == fused::PUSH_EQ && self.fuse_selector(target) {
            return;
        }
        self.out.truncate(self.out.len() - taken);
        self.jumps.push(self.out.len());
        self.emit(op, 0, target);
    }

    /// Fuses `DUP1 PUSH EQ`, which is last, with the `PUSH JUMPI` that follows.
    fn fuse_selector(&mut self, target: u32) -> bool {
        let (Some(equal), Some(dup)) = (self.last(1), self.last(2)) else {
            return false;
        };
        if dup.op != opcode::DUP1 {
            return false;
        }
        self.out.truncate(self.out.len() - 2);
        self.jumps.push(self.out.len());
        self.emit(fused::JUMPI_TO_IF_SELECTOR, 0, target);
        self.emit(fused::JUMPI_TO_IF_SELECTOR, 0, equal.imm);
        true
    }

    /// Any other instruction, fused with the one before it if there is a fused form.
    fn operation(&mut self, byte: u8) {
        let at = self.within(self.at);
        let Some(last) = self.last(1) else {
            self.emit(byte, at, 0);
            return;
        };
        if let Some(op) = fused::pushed_first(byte)
            && let Some(constant) = self.take_constant()
        {
            self.emit(op, self.within(self.pushed_at), constant);
            return;
        }
        let fused = match (fused::opcode_of(last.op), byte) {
            (Some(opcode::SWAP1), opcode::SUB | opcode::DIV) => {
                self.out.pop();
                match self.take_constant() {
                    Some(constant) if byte == opcode::SUB => (fused::SUB_PUSHED, 0, constant),
                    Some(constant) => (fused::DIV_PUSHED, 0, constant),
                    None if byte == opcode::SUB => (fused::SWAP_SUB, 0, 0),
                    None => {
                        self.out.push(last);
                        (byte, at, 0)
                    }
                }
            }
            (Some(swap @ opcode::SWAP1..=opcode::SWAP16), opcode::POP) => {
                self.out.pop();
                (fused::SWAP_POP, u16::from(swap - opcode::SWAP1) + 1, 0)
            }
            (Some(opcode::POP), opcode::POP) => {
                self.out.pop();
                (fused::POP_POP, 0, 0)
            }
            (Some(opcode::ISZERO), opcode::ISZERO) => {
                self.out.pop();
                (fused::IS_NOT_ZERO, 0, 0)
            }
            (Some(dup @ opcode::DUP1..=opcode::DUP16), _) => {
                let n = u16::from(dup - opcode::DUP1) + 1;
                match fused::dup_with(byte) {
                    Some(op) if byte == opcode::MLOAD => {
                        self.out.pop();
                        (op, at - 1, u32::from(n))
                    }
                    Some(op) => {
                        self.out.pop();
                        let m = match byte {
                            opcode::DUP1..=opcode::DUP16 => u16::from(byte - opcode::DUP1) + 1,
                            _ => 0,
                        };
                        (op, n | m << 8, 0)
                    }
                    None => (byte, at, 0),
                }
            }
            (Some(swap @ opcode::SWAP1..=opcode::SWAP16), opcode::SWAP1..=opcode::SWAP16) => {
                self.out.pop();
                let (n, m) = (swap - opcode::SWAP1 + 1, byte - opcode::SWAP1 + 1);
                (fused::SWAP_SWAP, u16::from(n) | u16::from(m) << 8, 0)
            }
            (None, opcode::AND) if last.op == fused::PUSH_WIDE => {
                self.out.pop();
                (fused::PUSH_WIDE_AND, 0, last.imm)
            }
            (None, opcode::ADD) if last.op == fused::PUSH_WIDE => {
                self.out.pop();
                (fused::PUSH_WIDE_ADD, 0, last.imm)
            }
            _ => (byte, at, 0),
        };
        self.emit(fused.0, fused.1, fused.2);
    }

    fn finish(mut self) -> Decoded {
        for slot in self.jumps {
            let position = self.out[slot].imm as usize;
            let target = self.targets.get(position).copied();
            self.out[slot].imm = target.unwrap_or(INVALID_TARGET);
        }
        Decoded {
            instructions: self.out.into(),
            constants: self.constants.into(),
            targets: self.targets.into(),
            blocks: self.blocks.into(),
        }
    }
}

fn is_dup(op: u8) -> bool {
    (opcode::DUP1..=opcode::DUP16).contains(&op)
}
