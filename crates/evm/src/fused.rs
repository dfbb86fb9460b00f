//! Instructions of decoded code that are not opcodes, most of them fused from several opcodes.
//!
//! They use a range of bytes that no opcode has. So every byte has an arm in the loop, and the
//! loop needs no bounds check.

use crate::opcode::{self, FACTS};

// The byte alone distinguishes opcodes from fused instructions.
const _: () = {
    let mut byte = FIRST as usize;
    while byte < END as usize {
        assert!(
            FACTS[byte].name.is_empty(),
            "an opcode has the byte of a fused instruction: move the range FIRST..END"
        );
        byte += 1;
    }
};

/// The first byte.
pub(crate) const FIRST: u8 = BLOCK;
/// The header of a block: `arg` is the minimum height of the stack at entry, `imm` the gas. The
/// `arg` of the next slot is how far above the minimum the height may be. Heights are in bytes.
pub(crate) const BLOCK: u8 = 0xa5;
/// Halts: the target of a jump is not a destination.
pub(crate) const INVALID_JUMP: u8 = 0xa6;
/// A byte (`arg`) that the fork does not have, or `INVALID`.
pub(crate) const UNKNOWN: u8 = 0xa7;
/// A constant of at most four bytes.
pub(crate) const PUSH: u8 = 0xa8;
/// A wider constant: number `imm` of the constants.
pub(crate) const PUSH_WIDE: u8 = 0xa9;
/// `PUSH JUMP`; `imm` is the slot of the target's header.
pub(crate) const JUMP_TO: u8 = 0xaa;
/// `PUSH JUMPI`.
pub(crate) const JUMPI_TO: u8 = 0xab;
/// `ISZERO PUSH JUMPI`.
pub(crate) const JUMPI_TO_IF_ZERO: u8 = 0xac;
/// `LT PUSH JUMPI` and similar; those with `UNLESS` have an `ISZERO` in between.
pub(crate) const JUMPI_TO_IF_LT: u8 = 0xad;
pub(crate) const JUMPI_TO_IF_GT: u8 = 0xae;
pub(crate) const JUMPI_TO_IF_SLT: u8 = 0xaf;
pub(crate) const JUMPI_TO_IF_SGT: u8 = 0xb0;
pub(crate) const JUMPI_TO_IF_EQ: u8 = 0xb1;
pub(crate) const JUMPI_TO_UNLESS_LT: u8 = 0xb2;
pub(crate) const JUMPI_TO_UNLESS_GT: u8 = 0xb3;
pub(crate) const JUMPI_TO_UNLESS_SLT: u8 = 0xb4;
pub(crate) const JUMPI_TO_UNLESS_SGT: u8 = 0xb5;
pub(crate) const JUMPI_TO_UNLESS_EQ: u8 = 0xb6;
/// `PUSH op`: the constant is the first operand.
pub(crate) const PUSH_ADD: u8 = 0xb7;
pub(crate) const PUSH_MUL: u8 = 0xb8;
pub(crate) const PUSH_AND: u8 = 0xb9;
pub(crate) const PUSH_OR: u8 = 0xba;
pub(crate) const PUSH_SHL: u8 = 0xbb;
pub(crate) const PUSH_SHR: u8 = 0xbc;
pub(crate) const PUSH_SAR: u8 = 0xbd;
pub(crate) const PUSH_EQ: u8 = 0xbe;
pub(crate) const PUSH_LT: u8 = 0xbf;
pub(crate) const PUSH_GT: u8 = 0xc0;
pub(crate) const PUSH_SUB: u8 = 0xc1;
pub(crate) const PUSH_MLOAD: u8 = 0xc2;
pub(crate) const PUSH_MSTORE: u8 = 0xc3;
/// `PUSH SWAP1 op`: the constant is the second operand.
pub(crate) const SUB_PUSHED: u8 = 0xc4;
pub(crate) const DIV_PUSHED: u8 = 0xc5;
/// `PUSH op` with a wide constant: number `imm` of the constants.
pub(crate) const PUSH_WIDE_AND: u8 = 0xc6;
pub(crate) const PUSH_WIDE_ADD: u8 = 0xc7;
/// `SWAPn POP`, n in `arg`.
pub(crate) const SWAP_POP: u8 = 0xc8;
pub(crate) const POP_POP: u8 = 0xc9;
/// `DUPn PUSH`: n in `arg`.
pub(crate) const DUP_PUSH: u8 = 0xca;
/// `DUPn MLOAD`.
pub(crate) const DUP_MLOAD: u8 = 0xcb;
/// `DUPn op`.
pub(crate) const DUP_ADD: u8 = 0xcc;
pub(crate) const DUP_SUB: u8 = 0xcd;
/// `DUP1 PUSH EQ PUSH JUMPI`, which compares a function selector. The constant is in the next
/// slot.
pub(crate) const JUMPI_TO_IF_SELECTOR: u8 = 0xce;
/// `DUPn DUPm`: n in the low byte of `arg`, m in its high byte.
pub(crate) const DUP_DUP: u8 = 0xcf;
/// `SWAPn SWAPm`.
pub(crate) const SWAP_SWAP: u8 = 0xd0;
/// `SWAP1 SUB`.
pub(crate) const SWAP_SUB: u8 = 0xd1;
/// `ISZERO ISZERO`.
pub(crate) const IS_NOT_ZERO: u8 = 0xd2;
/// The byte after the last.
pub(crate) const END: u8 = 0xd3;

/// The opcode of an instruction that is not fused.
pub(crate) fn opcode_of(op: u8) -> Option<u8> {
    (!(FIRST..END).contains(&op)).then_some(op)
}

/// The fused form of `byte PUSH JUMPI`; with `ISZERO` in between if not `holds`.
pub(crate) fn compare(byte: u8, holds: bool) -> Option<u8> {
    Some(match (byte, holds) {
        (opcode::LT, true) => JUMPI_TO_IF_LT,
        (opcode::GT, true) => JUMPI_TO_IF_GT,
        (opcode::SLT, true) => JUMPI_TO_IF_SLT,
        (opcode::SGT, true) => JUMPI_TO_IF_SGT,
        (opcode::EQ, true) => JUMPI_TO_IF_EQ,
        (opcode::LT, false) => JUMPI_TO_UNLESS_LT,
        (opcode::GT, false) => JUMPI_TO_UNLESS_GT,
        (opcode::SLT, false) => JUMPI_TO_UNLESS_SLT,
        (opcode::SGT, false) => JUMPI_TO_UNLESS_SGT,
        (opcode::EQ, false) => JUMPI_TO_UNLESS_EQ,
        _ => return None,
    })
}

/// The fused form of `PUSH byte`.
pub(crate) fn pushed_first(byte: u8) -> Option<u8> {
    Some(match byte {
        opcode::ADD => PUSH_ADD,
        opcode::MUL => PUSH_MUL,
        opcode::SUB => PUSH_SUB,
        opcode::AND => PUSH_AND,
        opcode::OR => PUSH_OR,
        opcode::SHL => PUSH_SHL,
        opcode::SHR => PUSH_SHR,
        opcode::SAR => PUSH_SAR,
        opcode::EQ => PUSH_EQ,
        opcode::LT => PUSH_LT,
        opcode::GT => PUSH_GT,
        opcode::MLOAD => PUSH_MLOAD,
        opcode::MSTORE => PUSH_MSTORE,
        _ => return None,
    })
}

/// The fused form of `DUPn byte`.
pub(crate) fn dup_with(byte: u8) -> Option<u8> {
    Some(match byte {
        opcode::MLOAD => DUP_MLOAD,
        opcode::ADD => DUP_ADD,
        opcode::SUB => DUP_SUB,
        opcode::DUP1..=opcode::DUP16 => DUP_DUP,
        _ => return None,
    })
}
