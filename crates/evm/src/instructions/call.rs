//! `CALL`, `CALLCODE`, `DELEGATECALL` and `STATICCALL`.

use crate::{
    fork::Fork,
    frame::{Context, Fault, Frame, Request},
    gas::{self, ACCOUNT_STATE_BYTES, CALL_STIPEND, WARM_ACCESS},
    inspect::FrameKind,
    outcome::Halt,
    stack::Operands,
    word::Word,
};

/// Charges for the call and stores a [`Request`]. The machine creates the frame.
///
/// Operands: gas, address, value (`CALL` and `CALLCODE` only), offset and length of the calldata,
/// offset and length of the output.
#[expect(
    unsafe_code,
    reason = "the frame requested reads the memory of this one"
)]
pub(crate) fn call<const N: usize>(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<N>,
    kind: FrameKind,
) -> Result<(), Fault> {
    let (value, rest) = if N == 7 {
        (operands.at(2), 3)
    } else {
        (Word::ZERO, 2)
    };
    if kind == FrameKind::Call && !value.is_zero() {
        frame.may_change()?;
    }
    let input = frame.range(cx.memory, operands.at(rest), operands.at(rest + 1))?;
    let output = frame.range(cx.memory, operands.at(rest + 2), operands.at(rest + 3))?;

    if !value.is_zero() {
        frame.charge(cx.schedule.call_value)?;
    }
    let code_address = operands.at(1).to_address();
    let code_account = cx.visit(frame, code_address)?;
    let (code, delegated) = code_of(cx, frame, code_account)?;
    let new_account = kind == FrameKind::Call && makes_account(cx, code_account, value);
    if new_account {
        frame.charge(cx.schedule.new_account)?;
        cx.charge_state(frame, ACCOUNT_STATE_BYTES)?;
    }

    let requested = operands.at(0).saturating_u64();
    let mut gas = i64::try_from(requested).unwrap_or(i64::MAX);
    if cx.fork >= Fork::TangerineWhistle {
        gas = gas.min(gas::all_but_one_64th(frame.gas));
    }
    if gas > frame.gas {
        return Err(Halt::OutOfGas.into());
    }
    frame.gas -= gas;
    if !value.is_zero() {
        gas += CALL_STIPEND;
    }

    cx.memory.returned.clear();
    // SAFETY: this frame does not run until the requested frame has ended. That frame copies the
    // input, and is rebased before it runs and whenever it grows the buffer.
    let input = unsafe { frame.input_of(input) };
    frame.output = output;
    let keeps_address = kind == FrameKind::CallCode || kind == FrameKind::DelegateCall;
    let delegate = kind == FrameKind::DelegateCall;
    cx.request = Request {
        kind,
        caller: if delegate {
            frame.caller
        } else {
            frame.address
        },
        payer: frame.account,
        address: if keeps_address {
            frame.address
        } else {
            code_address
        },
        account: if keeps_address {
            frame.account
        } else {
            code_account
        },
        code_address,
        code_account,
        value: if delegate { frame.value } else { value },
        transfer: if keeps_address { Word::ZERO } else { value },
        input,
        gas,
        is_static: frame.is_static || kind == FrameKind::StaticCall,
        code,
        delegated,
        new_account,
    };
    Ok(())
}

/// Whether the call creates an account, which costs more.
fn makes_account(cx: &Context<'_>, account: u32, value: Word) -> bool {
    let entry = cx.journal.account(account);
    if cx.fork >= Fork::SpuriousDragon {
        !value.is_zero() && entry.is_empty()
    } else {
        !entry.exists
    }
}

/// The number of the code that a call of the account runs: its own, or since EIP-7702 another account's.
/// The frame pays for the access to that account too.
///
/// Before EIP-7702 the result is `None`: the machine reads the code when the frame begins, and a
/// call that cannot begin does not need it.
fn code_of(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    account: u32,
) -> Result<(Option<u32>, bool), Fault> {
    if cx.fork < Fork::Prague {
        return Ok((None, false));
    }
    let code = cx.code_number(account)?;
    let Some(delegate) = cx.journal.codes.get(code).delegate else {
        return Ok((Some(code), false));
    };
    frame.charge(WARM_ACCESS)?;
    let account = cx.visit(frame, delegate)?;
    Ok((Some(cx.code_number(account)?), true))
}
