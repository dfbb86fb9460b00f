//! `KECCAK256`.

use crate::{
    frame::{Context, Fault, Frame},
    gas::KECCAK_WORD,
    stack::Operands,
};

/// `KECCAK256`
pub(crate) fn keccak256(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<2>,
) -> Result<(), Fault> {
    let (offset, len) = (operands.at(0), operands.at(1));
    frame.charge_words(len, KECCAK_WORD)?;
    cx.source.check_wanted()?;
    let (offset, len) = frame.range(cx.memory, offset, len)?;
    let hash = cx.keccaks.hash(&frame.memory()[offset..offset + len]);
    operands.put(1, hash);
    Ok(())
}
