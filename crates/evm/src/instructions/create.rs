//! `CREATE` and `CREATE2`.

use crate::{
    fork::Fork,
    frame::{Context, Fault, Frame, Request},
    gas::{self, ACCOUNT_STATE_BYTES, INIT_CODE_WORD, KECCAK_WORD},
    inspect::FrameKind,
    outcome::Halt,
    refusal::creation_refusal,
    stack::Operands,
};

/// Charges for the creation and stores a [`Request`]. The machine creates the frame.
///
/// Operands: value, offset and length of the init code, salt (`CREATE2` only).
#[expect(
    unsafe_code,
    reason = "the frame requested reads the memory of this one"
)]
pub(crate) fn create<const N: usize>(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<N>,
) -> Result<(), Fault> {
    frame.may_change()?;
    let (value, offset, len) = (operands.at(0), operands.at(1), operands.at(2));
    let mut per_word = 0;
    if cx.fork >= Fork::Shanghai {
        if len.saturating_u64() > 2 * cx.schedule.code_max as u64 {
            return Err(Halt::InitCodeTooLarge.into());
        }
        per_word += INIT_CODE_WORD;
    }
    let kind = if N == 4 {
        per_word += KECCAK_WORD;
        FrameKind::Create2
    } else {
        FrameKind::Create
    };
    frame.charge_words(len, per_word)?;
    let input = frame.range(cx.memory, offset, len)?;
    let address = if N == 4 {
        let (at, len) = input;
        let salt = operands.at(3).to_be_bytes();
        (frame.address).create2_from_code(salt, &frame.memory()[at..at + len])
    } else {
        let nonce = cx.journal.account(frame.account).nonce;
        frame.address.create(nonce)
    };

    cx.memory.returned.clear();
    // SAFETY: this frame does not run until the requested frame has ended. The machine copies the
    // init code before that frame runs.
    let input = unsafe { frame.input_of(input) };
    cx.request = Request {
        kind,
        caller: frame.address,
        payer: frame.account,
        address,
        code_address: address,
        value,
        transfer: value,
        input,
        ..Request::default()
    };
    if cx.schedule.state_byte != 0 {
        pay_for_account(cx, frame)?;
    }
    let mut gas = frame.gas;
    if cx.fork >= Fork::TangerineWhistle {
        gas = gas::all_but_one_64th(gas);
    }
    frame.gas -= gas;
    cx.request.gas = gas;
    Ok(())
}

/// Charges the creator for the account, unless the creation cannot begin or the account exists
/// (EIP-8037).
fn pay_for_account(cx: &mut Context<'_>, frame: &mut Frame) -> Result<(), Fault> {
    if creation_refusal(cx, cx.depth + 1).is_some() {
        return Ok(());
    }
    let account = cx.load(cx.request.address)?;
    cx.journal.mark_accessed(account);
    if cx.journal.account(account).is_empty() {
        cx.charge_state(frame, ACCOUNT_STATE_BYTES)?;
        cx.request.new_account = true;
    }
    Ok(())
}
