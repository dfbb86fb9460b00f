//! Arithmetic whose gas depends on its operands.

use crate::{
    frame::{Context, Fault, Frame},
    stack::Operands,
};

/// `EXP`: gas per byte of the exponent (EIP-160).
pub(crate) fn exp(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<2>,
) -> Result<(), Fault> {
    let (base, exponent) = (operands.at(0), operands.at(1));
    frame.charge(cx.schedule.exp_byte * i64::from(exponent.byte_len()))?;
    operands.put(1, base.pow(exponent));
    Ok(())
}
