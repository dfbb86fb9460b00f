//! Memory, once the loop made sure that it covers what is accessed.

use crate::{
    frame::{Context, Fault, Frame},
    stack::Stack,
    word::Word,
};

/// `MLOAD`
#[inline(always)]
pub(crate) fn mload(frame: &Frame, offset: Word) -> Word {
    frame.read_word(offset.0[0])
}

/// `MSTORE`
#[inline(always)]
pub(crate) fn mstore(frame: &mut Frame, offset: Word, word: Word) {
    frame.write_word(offset.0[0], word);
}

/// `MSTORE8`
#[inline(always)]
pub(crate) fn mstore8(frame: &mut Frame, offset: Word, word: Word) {
    frame.memory_mut()[offset.0[0] as usize] = word.0[0] as u8;
}

/// `RETURN` and `REVERT`: what the frame gives back.
pub(crate) fn output(cx: &mut Context<'_>, frame: &mut Frame, stack: Stack) -> Result<(), Fault> {
    frame.output = frame.range(cx.memory, stack.at(0), stack.at(1))?;
    Ok(())
}
