//! Arithmetic whose gas depends on its operands.

use crate::{
    frame::{Context, Fault, Frame},
    stack::Stack,
};

/// `EXP`: gas per byte of the exponent (EIP-160).
pub(crate) fn exp(cx: &mut Context<'_>, frame: &mut Frame, stack: Stack) -> Result<(), Fault> {
    let (base, exponent) = (stack.at(0), stack.at(1));
    frame.charge(cx.schedule.exp_byte * i64::from(exponent.byte_len()))?;
    stack.put(1, base.pow(exponent));
    Ok(())
}
