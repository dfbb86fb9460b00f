//! Bytecode to mnemonics.

use alloy_primitives::{U256, hex};
use std::{collections::BTreeSet, fmt::Write};
use txgraph_block::opcodes;
use txgraph_evm::opcode::{DUPN, EXCHANGE, operand_depths};

const JUMP: u8 = 0x56;
const JUMPI: u8 = 0x57;
const JUMPDEST: u8 = 0x5b;

/// Options of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing {
    /// Write labels at the targets of constant jumps.
    pub labels: bool,
    /// Write the position of each instruction as a comment.
    pub offsets: bool,
}

/// One instruction.
struct Instruction<'a> {
    at: usize,
    opcode: u8,
    immediate: &'a [u8],
    /// The code ends within the immediate bytes.
    is_cut: bool,
    /// This byte is the operand of the opcode before it (EIP-8024).
    operand_of: Option<u8>,
}

fn instructions(code: &[u8]) -> impl Iterator<Item = Instruction<'_>> {
    let mut at = 0;
    let mut before = None;
    std::iter::from_fn(move || {
        let opcode = *code.get(at)?;
        let operand_of = before.filter(|before| {
            (DUPN..=EXCHANGE).contains(before) && operand_depths(*before, opcode).is_some()
        });
        before = operand_of.is_none().then_some(opcode);
        let width = opcodes::immediate_bytes(opcode);
        let end = (at + 1 + width).min(code.len());
        let instruction = Instruction {
            at,
            opcode,
            immediate: &code[at + 1..end],
            is_cut: at + 1 + width > end,
            operand_of,
        };
        at = end;
        Some(instruction)
    })
}

/// Turns bytecode into mnemonics, one per line, which [`assemble`](super::assemble) turns
/// into the same bytes. Bytes that are not instructions become `DATA`.
pub fn disassemble(code: &[u8], listing: Listing) -> String {
    let targets = if listing.labels {
        jump_targets(code)
    } else {
        BTreeSet::new()
    };
    let digits = format!("{:x}", code.len()).len().max(2);
    let label = |at: usize| format!("L_{at:0digits$x}");
    let mut text = String::new();
    let all: Vec<Instruction<'_>> = instructions(code).collect();
    for (index, step) in all.iter().enumerate() {
        if targets.contains(&step.at) {
            let _ = writeln!(text, "{}:", label(step.at));
        }
        let jumps =
            matches!(all.get(index + 1), Some(next) if [JUMP, JUMPI].contains(&next.opcode));
        let line = match opcodes::name(step.opcode) {
            _ if step.operand_of.is_some() => {
                let of = step.operand_of.and_then(opcodes::name).unwrap_or_default();
                format!("DATA 0x{:02x} ; operand of {of}", step.opcode)
            }
            Some(name) if step.is_cut => {
                let bytes = hex::encode(&code[step.at..]);
                format!("DATA 0x{bytes} ; {name}, truncated by the end of the code")
            }
            Some(name) => match target(step).filter(|at| jumps && targets.contains(at)) {
                Some(at) => format!("{name} {}", label(at)),
                None if step.immediate.is_empty() => name.to_owned(),
                None => format!("{name} 0x{}", hex::encode(step.immediate)),
            },
            None => format!("DATA 0x{:02x}", step.opcode),
        };
        let indent = if targets.is_empty() { "" } else { "    " };
        let line = format!("{indent}{line}");
        let _ = match listing.offsets {
            true => writeln!(text, "{line:<40} ; {:0digits$x}", step.at),
            false => writeln!(text, "{line}"),
        };
    }
    text
}

/// The targets of pushes that are followed by a jump.
fn jump_targets(code: &[u8]) -> BTreeSet<usize> {
    let dests: BTreeSet<usize> = instructions(code)
        .filter(|step| step.opcode == JUMPDEST)
        .map(|step| step.at)
        .collect();
    let mut targets = BTreeSet::new();
    let mut pushed = None;
    for step in instructions(code) {
        if [JUMP, JUMPI].contains(&step.opcode) {
            targets.extend(pushed.filter(|at| dests.contains(at)));
        }
        pushed = target(&step);
    }
    targets
}

/// The pushed value, if it can be a position.
fn target(step: &Instruction<'_>) -> Option<usize> {
    if step.immediate.is_empty() || step.is_cut || step.immediate.len() > 32 {
        return None;
    }
    U256::from_be_slice(step.immediate).try_into().ok()
}
