//! Bytecode to mnemonics.

use alloy_primitives::{U256, hex};
use std::{collections::BTreeSet, fmt::Write};
use txgraph_block::opcodes;

const JUMP: u8 = 0x56;
const JUMPI: u8 = 0x57;
const JUMPDEST: u8 = 0x5b;

/// What a listing shows beside the mnemonics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing {
    /// Names for the places that constant jumps go to.
    pub labels: bool,
    /// The place of each instruction, as a comment.
    pub offsets: bool,
}

/// One step through the code.
struct Step<'a> {
    at: usize,
    opcode: u8,
    immediate: &'a [u8],
    /// The code ends before the immediate does.
    cut: bool,
}

fn steps(code: &[u8]) -> impl Iterator<Item = Step<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let opcode = *code.get(at)?;
        let width = opcodes::immediate_bytes(opcode);
        let end = (at + 1 + width).min(code.len());
        let step = Step {
            at,
            opcode,
            immediate: &code[at + 1..end],
            cut: at + 1 + width > end,
        };
        at = end;
        Some(step)
    })
}

/// Turns bytecode into mnemonics, one a line, that [`assemble`](super::assemble) turns
/// into the same bytes again. Bytes that are no instruction become `DATA`.
pub fn disassemble(code: &[u8], listing: Listing) -> String {
    let targets = if listing.labels {
        jump_targets(code)
    } else {
        BTreeSet::new()
    };
    let digits = format!("{:x}", code.len()).len().max(2);
    let label = |at: usize| format!("L_{at:0digits$x}");
    let mut text = String::new();
    let all: Vec<Step<'_>> = steps(code).collect();
    for (index, step) in all.iter().enumerate() {
        if targets.contains(&step.at) {
            let _ = writeln!(text, "{}:", label(step.at));
        }
        let jumps =
            matches!(all.get(index + 1), Some(next) if [JUMP, JUMPI].contains(&next.opcode));
        let line = match opcodes::name(step.opcode) {
            Some(name) if step.cut => {
                let bytes = hex::encode(&code[step.at..]);
                format!("DATA 0x{bytes} ; {name} that the end of the code cuts short")
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

/// Places that a push followed by a jump goes to.
fn jump_targets(code: &[u8]) -> BTreeSet<usize> {
    let dests: BTreeSet<usize> = steps(code)
        .filter(|step| step.opcode == JUMPDEST)
        .map(|step| step.at)
        .collect();
    let mut targets = BTreeSet::new();
    let mut pushed = None;
    for step in steps(code) {
        if [JUMP, JUMPI].contains(&step.opcode) {
            targets.extend(pushed.filter(|at| dests.contains(at)));
        }
        pushed = target(&step);
    }
    targets
}

/// The place that a push may mean.
fn target(step: &Step<'_>) -> Option<usize> {
    if step.immediate.is_empty() || step.cut || step.immediate.len() > 32 {
        return None;
    }
    U256::from_be_slice(step.immediate).try_into().ok()
}
