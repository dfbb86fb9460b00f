//! The small interpreter under the ladder: raw code, one `match`, words of `ruint`.

use super::policy::{Gas, cost_of};
use alloy_primitives::{U256, keccak256, map::HashMap};
use txgraph_block::opcodes::immediate_bytes;
use txgraph_evm::opcode as op;
use txgraph_evm_tools::program::Program;

const WORDS_MAX: usize = 1024;
/// Bytes of memory; the programs need much less.
const MEMORY_MAX: usize = 1 << 24;

/// Code with what is found out ahead: jump destinations and costs of blocks.
#[derive(Debug)]
pub struct Code {
    /// `STOP`s follow.
    bytes: Vec<u8>,
    dests: Vec<bool>,
    /// By the place where a block begins: the sum of its instructions' costs.
    blocks: Vec<u32>,
    /// By place: what the rest of its block costs, paid ahead.
    ahead: Vec<u32>,
}

impl Code {
    /// Looks through `code`. A block begins at the start, at each `JUMPDEST` and behind
    /// each `JUMPI`, and ends with a jump, an end or before the next one's start.
    pub fn new(code: &[u8]) -> Self {
        let mut bytes = code.to_vec();
        bytes.extend([0; 34]);
        let len = bytes.len();
        let mut parsed = Self {
            dests: vec![false; len],
            blocks: vec![0; len],
            ahead: vec![0; len],
            bytes,
        };
        let (mut starts, mut places) = (vec![false; len], Vec::new());
        starts[0] = true;
        let mut at = 0;
        while at < code.len() {
            let opcode = parsed.bytes[at];
            places.push(at);
            parsed.dests[at] = opcode == op::JUMPDEST;
            starts[at] |= opcode == op::JUMPDEST;
            at += 1 + immediate_bytes(opcode);
            if opcode == op::JUMPI {
                starts[at] = true;
            }
        }
        let mut cost: u32 = 0;
        for &at in places.iter().rev() {
            let opcode = parsed.bytes[at];
            if matches!(
                opcode,
                op::JUMP | op::JUMPI | op::STOP | op::RETURN | op::REVERT
            ) {
                cost = 0;
            }
            parsed.ahead[at] = cost;
            #[expect(clippy::cast_possible_truncation, reason = "at most 1,875 gas")]
            {
                cost += cost_of(opcode) as u32;
            }
            if starts[at] {
                parsed.blocks[at] = cost;
                cost = 0;
            }
        }
        parsed
    }
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Stopped or returned.
    pub success: bool,
    /// Of the frame, before refunds.
    pub gas_used: u64,
    /// Returned.
    pub output: Vec<u8>,
}

/// Why the loop ended.
enum End {
    Output(usize, usize),
    /// Out of gas, a bad jump, an instruction that is not known here.
    Halt,
}

/// A slot that was met.
#[derive(Clone, Copy)]
struct Slot {
    original: U256,
    present: U256,
}

struct Machine {
    stack: Box<[U256; WORDS_MAX]>,
    memory: Vec<u8>,
    slots: HashMap<U256, Slot>,
}

impl Machine {
    /// The slot, and what finding it costs.
    fn slot(&mut self, program: &Program, key: U256) -> (&mut Slot, u64) {
        let mut cost = 100;
        let slot = self.slots.entry(key).or_insert_with(|| {
            cost = 2_100;
            let account = program.state.get(&program.to);
            let value = account.and_then(|account| account.storage.get(&key));
            let value = value.copied().unwrap_or_default();
            Slot {
                original: value,
                present: value,
            }
        });
        (slot, cost)
    }

    /// Makes `offset..offset + len` exist; nothing when that is too far, or the cost.
    fn grow(&mut self, offset: U256, len: U256) -> Option<(usize, usize, u64)> {
        let (offset, len) = (usize::try_from(offset).ok(), usize::try_from(len).ok()?);
        if len == 0 {
            return Some((0, 0, 0));
        }
        let offset = offset?;
        let end = offset.checked_add(len).filter(|end| *end <= MEMORY_MAX)?;
        if end <= self.memory.len() {
            return Some((offset, len, 0));
        }
        let cost = |words: usize| (3 * words + words * words / 512) as u64;
        let (before, after) = (self.memory.len() / 32, end.div_ceil(32));
        self.memory.resize(after * 32, 0);
        Some((offset, len, cost(after) - cost(before)))
    }
}

/// Runs a program's call. Logs are paid for and forgotten.
pub fn execute<G: Gas>(code: &Code, program: &Program) -> Ran {
    let mut machine = Machine {
        stack: Box::new([U256::ZERO; WORDS_MAX]),
        memory: Vec::new(),
        slots: HashMap::default(),
    };
    let mut gas = G::new(program.gas);
    let end = interpret(&mut gas, &mut machine, code, program);
    let (success, output) = match end {
        Some(End::Output(offset, len)) => (true, machine.memory[offset..offset + len].to_vec()),
        Some(End::Halt) | None => (false, Vec::new()),
    };
    let left = if success { gas.left() } else { 0 };
    // Without a counter nothing was used.
    Ran {
        success,
        gas_used: program.gas.saturating_sub(left),
        output,
    }
}

/// Nothing: the stack or gas ended.
#[inline(never)]
fn interpret<G: Gas>(
    counter: &mut G,
    machine: &mut Machine,
    code: &Code,
    program: &Program,
) -> Option<End> {
    let limit = program.gas;
    let mut gas = G::new(limit);
    let end = interpret_with(&mut gas, machine, code, program);
    *counter = gas;
    end
}

#[inline(always)]
fn interpret_with<G: Gas>(
    gas: &mut G,
    machine: &mut Machine,
    code: &Code,
    program: &Program,
) -> Option<End> {
    let mut height = 0usize;
    let mut pc = 0usize;
    let bytes = &code.bytes[..];

    macro_rules! pay {
        ($charge:expr) => {
            if !$charge {
                return Some(End::Halt);
            }
        };
    }
    macro_rules! pop {
        () => {{
            height = height.checked_sub(1)?;
            machine.stack[height]
        }};
    }
    macro_rules! push {
        ($word:expr) => {{
            *machine.stack.get_mut(height)? = $word;
            height += 1;
        }};
    }
    macro_rules! binary {
        ($opcode:expr, |$a:ident, $b:ident| $result:expr) => {{
            pay!(gas.instruction($opcode));
            let ($a, $b) = (pop!(), pop!());
            push!($result);
            pc += 1;
        }};
    }
    macro_rules! simple {
        ($opcode:expr, $result:expr) => {{
            pay!(gas.instruction($opcode));
            push!($result);
            pc += 1;
        }};
    }
    /// `JUMPDEST` pays for its block itself.
    macro_rules! enter_block {
        () => {
            if G::PER_BLOCK {
                pay!(gas.block(code.blocks[pc]));
            }
        };
    }
    macro_rules! touch {
        ($offset:expr, $len:expr) => {{
            let (offset, len, cost) = machine.grow($offset, $len)?;
            pay!(gas.operands(cost));
            (offset, len)
        }};
    }

    let flag = |condition: bool| U256::from(u64::from(condition));
    if bytes[0] != op::JUMPDEST {
        enter_block!();
    }
    loop {
        let opcode = bytes[pc];
        match opcode {
            op::STOP => return Some(End::Output(0, 0)),
            op::ADD => binary!(op::ADD, |a, b| a.wrapping_add(b)),
            op::MUL => binary!(op::MUL, |a, b| a.wrapping_mul(b)),
            op::SUB => binary!(op::SUB, |a, b| a.wrapping_sub(b)),
            op::DIV => binary!(op::DIV, |a, b| a.checked_div(b).unwrap_or_default()),
            op::MOD => binary!(op::MOD, |a, b| a.checked_rem(b).unwrap_or_default()),
            op::SDIV => binary!(op::SDIV, |a, b| signed_div(a, b)),
            op::SMOD => binary!(op::SMOD, |a, b| signed_rem(a, b)),
            op::ADDMOD => {
                pay!(gas.instruction(op::ADDMOD));
                let (a, b, n) = (pop!(), pop!(), pop!());
                push!(a.add_mod(b, n));
                pc += 1;
            }
            op::MULMOD => {
                pay!(gas.instruction(op::MULMOD));
                let (a, b, n) = (pop!(), pop!(), pop!());
                push!(a.mul_mod(b, n));
                pc += 1;
            }
            op::EXP => {
                pay!(gas.instruction(op::EXP));
                let (base, exponent) = (pop!(), pop!());
                pay!(gas.operands(50 * exponent.byte_len() as u64));
                push!(base.wrapping_pow(exponent));
                pc += 1;
            }
            op::LT => binary!(op::LT, |a, b| flag(a < b)),
            op::GT => binary!(op::GT, |a, b| flag(a > b)),
            op::SLT => binary!(op::SLT, |a, b| flag(signed_less(a, b))),
            op::SGT => binary!(op::SGT, |a, b| flag(signed_less(b, a))),
            op::EQ => binary!(op::EQ, |a, b| flag(a == b)),
            op::ISZERO => {
                pay!(gas.instruction(op::ISZERO));
                let word = pop!();
                push!(flag(word.is_zero()));
                pc += 1;
            }
            op::AND => binary!(op::AND, |a, b| a & b),
            op::OR => binary!(op::OR, |a, b| a | b),
            op::XOR => binary!(op::XOR, |a, b| a ^ b),
            op::NOT => {
                pay!(gas.instruction(op::NOT));
                let word = pop!();
                push!(!word);
                pc += 1;
            }
            op::SHL => binary!(op::SHL, |by, word| word << by.saturating_to::<usize>()),
            op::SHR => binary!(op::SHR, |by, word| word >> by.saturating_to::<usize>()),
            op::SAR => binary!(op::SAR, |by, word| word.arithmetic_shr(by.saturating_to())),
            op::KECCAK256 => {
                pay!(gas.instruction(op::KECCAK256));
                let (offset, len) = touch!(pop!(), pop!());
                pay!(gas.operands(6 * len.div_ceil(32) as u64));
                push!(keccak256(&machine.memory[offset..offset + len]).into());
                pc += 1;
            }
            op::ADDRESS => simple!(op::ADDRESS, program.to.into_word().into()),
            op::CALLER => simple!(op::CALLER, program.caller.into_word().into()),
            op::CALLVALUE => simple!(op::CALLVALUE, program.value),
            op::CALLDATASIZE => simple!(op::CALLDATASIZE, U256::from(program.data.len())),
            op::CALLDATALOAD => {
                pay!(gas.instruction(op::CALLDATALOAD));
                let offset: usize = pop!().saturating_to();
                let rest = program.data.get(offset..).unwrap_or_default();
                let mut word = [0; 32];
                let len = rest.len().min(32);
                word[..len].copy_from_slice(&rest[..len]);
                push!(U256::from_be_bytes(word));
                pc += 1;
            }
            op::POP => {
                pay!(gas.instruction(op::POP));
                pop!();
                pc += 1;
            }
            op::MLOAD => {
                pay!(gas.instruction(op::MLOAD));
                let (offset, _) = touch!(pop!(), U256::from(32));
                push!(U256::from_be_slice(&machine.memory[offset..offset + 32]));
                pc += 1;
            }
            op::MSTORE => {
                pay!(gas.instruction(op::MSTORE));
                let (offset, _) = touch!(pop!(), U256::from(32));
                let word = pop!().to_be_bytes::<32>();
                machine.memory[offset..offset + 32].copy_from_slice(&word);
                pc += 1;
            }
            op::MSTORE8 => {
                pay!(gas.instruction(op::MSTORE8));
                let (offset, _) = touch!(pop!(), U256::from(1));
                machine.memory[offset] = pop!().byte(0);
                pc += 1;
            }
            op::SLOAD => {
                let key = pop!();
                let (slot, cost) = machine.slot(program, key);
                let value = slot.present;
                pay!(gas.operands(cost));
                push!(value);
                pc += 1;
            }
            op::SSTORE => {
                let left = gas.left() + u64::from(if G::PER_BLOCK { code.ahead[pc] } else { 0 });
                pay!(left > 2_300);
                let (key, value) = (pop!(), pop!());
                let (slot, found) = machine.slot(program, key);
                let Slot { original, present } = *slot;
                slot.present = value;
                let cold = if found == 2_100 { 2_100 } else { 0 };
                let cost = match present == value || original != present {
                    true => 100,
                    false if original.is_zero() => 20_000,
                    false => 2_900,
                };
                pay!(gas.operands(cold + cost));
                pc += 1;
            }
            op::JUMP => {
                pay!(gas.instruction(op::JUMP));
                pc = pop!().saturating_to();
                pay!(code.dests.get(pc) == Some(&true));
            }
            op::JUMPI => {
                pay!(gas.instruction(op::JUMPI));
                let (to, condition) = (pop!(), pop!());
                if condition.is_zero() {
                    pc += 1;
                    if bytes[pc] != op::JUMPDEST {
                        enter_block!();
                    }
                } else {
                    pc = to.saturating_to();
                    pay!(code.dests.get(pc) == Some(&true));
                }
            }
            op::GAS => {
                pay!(gas.instruction(op::GAS));
                let ahead = if G::PER_BLOCK { code.ahead[pc] } else { 0 };
                push!(U256::from(gas.left() + u64::from(ahead)));
                pc += 1;
            }
            op::JUMPDEST => {
                enter_block!();
                pay!(gas.instruction(op::JUMPDEST));
                pc += 1;
            }
            op::PUSH0 => simple!(op::PUSH0, U256::ZERO),
            op::PUSH1 => {
                pay!(gas.instruction(op::PUSH1));
                push!(U256::from(bytes[pc + 1]));
                pc += 2;
            }
            0x61..=0x7f => {
                pay!(gas.instruction(op::PUSH1));
                let width = immediate_bytes(opcode);
                push!(U256::from_be_slice(&bytes[pc + 1..pc + 1 + width]));
                pc += 1 + width;
            }
            0x80..=0x8f => {
                pay!(gas.instruction(0x80));
                let from = height.checked_sub(usize::from(opcode - 0x80) + 1)?;
                push!(machine.stack[from]);
                pc += 1;
            }
            0x90..=0x9f => {
                pay!(gas.instruction(0x90));
                let with = height.checked_sub(usize::from(opcode - 0x90) + 2)?;
                machine.stack.swap(with, height - 1);
                pc += 1;
            }
            0xa0..=0xa4 => {
                pay!(gas.instruction(opcode));
                let (_, len) = touch!(pop!(), pop!());
                pay!(gas.operands(8 * len as u64));
                height = height.checked_sub(usize::from(opcode - 0xa0))?;
                pc += 1;
            }
            op::RETURN => {
                let (offset, len) = touch!(pop!(), pop!());
                return Some(End::Output(offset, len));
            }
            _ => return Some(End::Halt),
        }
    }
}

fn signed_less(a: U256, b: U256) -> bool {
    let (a_negative, b_negative) = (a.bit(255), b.bit(255));
    if a_negative == b_negative {
        a < b
    } else {
        a_negative
    }
}

fn magnitude(word: U256) -> U256 {
    if word.bit(255) {
        word.wrapping_neg()
    } else {
        word
    }
}

fn signed_div(a: U256, b: U256) -> U256 {
    let quotient = magnitude(a).checked_div(magnitude(b)).unwrap_or_default();
    if a.bit(255) == b.bit(255) {
        quotient
    } else {
        quotient.wrapping_neg()
    }
}

fn signed_rem(a: U256, b: U256) -> U256 {
    let rest = magnitude(a).checked_rem(magnitude(b)).unwrap_or_default();
    if a.bit(255) {
        rest.wrapping_neg()
    } else {
        rest
    }
}
