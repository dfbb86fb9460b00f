//! `CREATE` and `CREATE2`.

use crate::{
    fork::Fork,
    frame::{Context, Fault, Frame, Request},
    gas::{self, ACCOUNT_STATE_BYTES, INIT_CODE_WORD, KECCAK_WORD},
    inspect::FrameKind,
    outcome::Halt,
    stack::Stack,
    word::Word,
};

/// Pays for the creation and leaves a [`Request`]; the frame is made outside of the
/// loop.
///
/// Operands: value, place and length of the init code(, salt).
pub(crate) fn create(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    stack: Stack,
    kind: FrameKind,
) -> Result<(), Fault> {
    frame.may_change()?;
    let (value, offset, len) = (stack.at(0), stack.at(1), stack.at(2));
    let mut per_word = 0;
    if cx.fork >= Fork::Shanghai {
        if len.saturating_u64() > 2 * cx.schedule.code_max as u64 {
            return Err(Halt::InitCodeTooLarge.into());
        }
        per_word += INIT_CODE_WORD;
    }
    let salt = if kind == FrameKind::Create2 {
        per_word += KECCAK_WORD;
        stack.at(3)
    } else {
        Word::ZERO
    };
    frame.charge_words(len, per_word)?;
    let input = frame.range(cx.memory, offset, len)?;
    // Given back if nothing is created.
    cx.charge_state(frame, ACCOUNT_STATE_BYTES)?;

    let mut gas = frame.gas;
    if cx.fork >= Fork::TangerineWhistle {
        gas = gas::all_but_one_64th(gas);
    }
    frame.gas -= gas;
    cx.memory.returned.clear();
    cx.request = Request {
        kind,
        caller: frame.address,
        payer: frame.account,
        value,
        transfer: value,
        input: frame.input_of(input),
        gas,
        salt,
        ..Request::default()
    };
    Ok(())
}
