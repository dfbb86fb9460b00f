//! Code that is decoded: instructions of eight bytes, grouped in blocks. `decode.rs` writes it.

use crate::{jumpdest::instruction_len, opcode, word::Word};

/// One instruction: the byte of an opcode or of a [`fused`](crate::fused) instruction, with operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub(crate) struct Instruction {
    pub(crate) op: u8,
    pub(crate) arg: u16,
    pub(crate) imm: u32,
}

/// The slot of the block that halts.
pub(crate) const INVALID_TARGET: u32 = 0;
/// The slot of the block with the first instruction.
pub(crate) const ENTRY: u32 = 3;

/// Code that is decoded for one fork.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// Every path through them ends with one that ends the frame.
    pub(crate) instructions: Box<[Instruction]>,
    pub(crate) constants: Box<[Word]>,
    /// By position in the code: the slot of the block that begins there with a `JUMPDEST`, else
    /// [`INVALID_TARGET`].
    pub(crate) targets: Box<[u32]>,
    /// The slot and the position in the code of each block, ascending.
    pub(crate) blocks: Box<[(u32, u32)]>,
}

impl Decoded {
    /// The bytes that it uses on the heap.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        size_of_val(&*self.instructions)
            + size_of_val(&*self.constants)
            + size_of_val(&*self.targets)
            + size_of_val(&*self.blocks)
    }

    /// Where careful code takes over from the instruction at `slot`, which its block does not suffice
    /// to pay: the position in the code, and the gas that the block has paid from there on. `None` if
    /// nothing follows in the block, so that careful code would fail alike. `padded` is the code, `base`
    /// the prices by opcode.
    #[cold]
    pub(crate) fn before(
        &self,
        slot: usize,
        padded: &[u8],
        base: &[u16; 256],
    ) -> Option<(usize, i64)> {
        let block = self.blocks.partition_point(|(at, _)| *at as usize <= slot);
        let (header, begin) = self.blocks[block.checked_sub(1)?];
        let position = begin as usize + usize::from(self.instructions[slot].arg);
        let mut paid = i64::from(self.instructions[header as usize].imm);
        let mut pc = begin as usize;
        while pc < position {
            paid -= i64::from(base[usize::from(padded[pc])]);
            pc += decoded_len(padded[pc]);
        }
        let mut following = paid;
        loop {
            let byte = padded[pc];
            following -= i64::from(base[usize::from(byte)]);
            pc += decoded_len(byte);
            // What is fused with the instruction after it.
            if !matches!(byte, opcode::PC | opcode::PUSH0..=opcode::DUP16) {
                break;
            }
        }
        (following > 0).then_some((position, paid))
    }

    /// The position in the code of the block at `slot`.
    #[cold]
    pub(crate) fn position(&self, slot: u32) -> usize {
        let found = self.blocks.binary_search_by_key(&slot, |(slot, _)| *slot);
        found.map_or(0, |at| self.blocks[at].1 as usize)
    }
}

/// The number of bytes of an instruction, with the operand that EIP-8024 gives some of them.
fn decoded_len(byte: u8) -> usize {
    instruction_len(byte) + usize::from(matches!(byte, opcode::DUPN..=opcode::EXCHANGE))
}
