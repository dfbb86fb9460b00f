//! Memory and output.

use crate::{
    frame::{Context, Fault, Frame},
    stack::Operands,
    word::Word,
};

/// `MSTORE8`; the loop has grown the memory.
#[inline(always)]
pub(crate) fn mstore8(frame: &mut Frame, offset: Word, word: Word) {
    frame.memory_mut()[offset.0[0] as usize] = word.0[0] as u8;
}

/// `RETURN` and `REVERT`: sets the output of the frame.
pub(crate) fn output(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<2>,
) -> Result<(), Fault> {
    frame.output = frame.range(cx.memory, operands.at(0), operands.at(1))?;
    cx.check_memory_limit(frame.output.1)?;
    Ok(())
}
