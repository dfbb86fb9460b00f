//! Data of accounts and of the message.

use crate::{
    frame::{Context, Fault, Frame},
    stack::Operands,
    word::Word,
};

/// Accesses the account whose address is on top of the stack, and charges for a cold access.
fn access(cx: &mut Context<'_>, frame: &mut Frame, operands: Operands<1>) -> Result<u32, Fault> {
    cx.visit(frame, operands.at(0).to_address())
}

/// `BALANCE`
pub(crate) fn balance(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    let account = access(cx, frame, operands)?;
    operands.put(0, cx.journal.account(account).balance);
    Ok(())
}

/// `SELFBALANCE` (EIP-1884)
pub(crate) fn self_balance(cx: &Context<'_>, frame: &Frame) -> Word {
    cx.journal.account(frame.account).balance
}

/// `EXTCODESIZE`
pub(crate) fn extcodesize(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    let account = access(cx, frame, operands)?;
    let code = cx.code(account)?;
    operands.put(0, Word::new(code.bytes().len() as u64));
    Ok(())
}

/// `EXTCODEHASH` (EIP-1052): zero for an account that is empty or does not exist.
pub(crate) fn extcodehash(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    let account = access(cx, frame, operands)?;
    let entry = cx.journal.account(account);
    let hash = if entry.is_empty() {
        Word::ZERO
    } else {
        entry.code_hash.into()
    };
    operands.put(0, hash);
    Ok(())
}

/// `CALLDATALOAD`: reads zeros beyond the end.
#[inline(always)]
pub(crate) fn calldataload(frame: &Frame, offset: Word) -> Word {
    let data = frame.input.bytes();
    let offset = usize::try_from(offset.saturating_u64()).unwrap_or(usize::MAX);
    let rest = data.get(offset..).unwrap_or_default();
    match rest.first_chunk::<32>() {
        Some(bytes) => Word::from_be_bytes(bytes),
        None => {
            let mut padded = [0; 32];
            padded[..rest.len()].copy_from_slice(rest);
            Word::from_be_bytes(&padded)
        }
    }
}
