//! Copies into memory. Operands: target, source, length in bytes.

use crate::{
    frame::{Context, Fault, Frame},
    outcome::Halt,
    stack::Operands,
};

/// `CALLDATACOPY`: reads zeros beyond the end.
pub(crate) fn calldatacopy(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<3>,
) -> Result<(), Fault> {
    let (to, from, len) = (operands.at(0), operands.at(1), operands.at(2));
    frame.charge_copy(len)?;
    let to = frame.range(cx.memory, to, len)?;
    let input = frame.input;
    frame.copy_padded(to, input.bytes(), from);
    Ok(())
}

/// `CODECOPY`: reads zeros beyond the end.
pub(crate) fn codecopy(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<3>,
) -> Result<(), Fault> {
    let (to, from, len) = (operands.at(0), operands.at(1), operands.at(2));
    frame.charge_copy(len)?;
    let to = frame.range(cx.memory, to, len)?;
    let code = cx.journal.codes.get(frame.code);
    frame.copy_padded(to, code.bytes(), from);
    Ok(())
}

/// `EXTCODECOPY`: reads zeros beyond the end.
pub(crate) fn extcodecopy(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<4>,
) -> Result<(), Fault> {
    let (to, from, len) = (operands.at(1), operands.at(2), operands.at(3));
    frame.charge_copy(len)?;
    // A body that runs out of gas has no effect.
    let memory_len = frame.memory_len;
    let to = frame.range(cx.memory, to, len)?;
    let account = cx
        .visit(frame, operands.at(0).to_address())
        .inspect_err(|_| frame.memory_len = memory_len)?;
    if len.is_zero() {
        return Ok(());
    }
    let code = cx.code(account)?;
    frame.copy_padded(to, code.bytes(), from);
    Ok(())
}

/// `RETURNDATACOPY` (EIP-211): halts beyond the end.
pub(crate) fn returndatacopy(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<3>,
) -> Result<(), Fault> {
    let (to, from, len) = (operands.at(0), operands.at(1), operands.at(2));
    let end = from.saturating_u64().saturating_add(len.saturating_u64());
    if end > cx.memory.returned.len() as u64 {
        return Err(Halt::ReturnDataOutOfBounds.into());
    }
    frame.charge_copy(len)?;
    let to = frame.range(cx.memory, to, len)?;
    frame.copy_padded(to, &cx.memory.returned, from);
    Ok(())
}

/// `MCOPY` (EIP-5656): source and target may overlap.
pub(crate) fn mcopy(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<3>,
) -> Result<(), Fault> {
    let (to, from, len) = (operands.at(0), operands.at(1), operands.at(2));
    frame.charge_copy(len)?;
    // Memory grows to the end of the later range.
    let later = if to.lt(from) { from } else { to };
    frame.range(cx.memory, later, len)?;
    let (to, len) = frame.range(cx.memory, to, len)?;
    let (from, _) = frame.range(cx.memory, from, operands.at(2))?;
    frame.memory_mut().copy_within(from..from + len, to);
    Ok(())
}
