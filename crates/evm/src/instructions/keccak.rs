//! `KECCAK256`.

use crate::{
    frame::{Context, Fault, Frame},
    gas::KECCAK_WORD,
    stack::Stack,
};

/// `KECCAK256`
pub(crate) fn keccak256(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    stack: Stack,
) -> Result<(), Fault> {
    let (offset, len) = (stack.at(0), stack.at(1));
    frame.charge_words(len, KECCAK_WORD)?;
    let (offset, len) = frame.range(cx.memory, offset, len)?;
    let hash = cx.keccaks.hash(&frame.memory()[offset..offset + len]);
    stack.put(1, hash);
    Ok(())
}
