//! Payments of the outermost frame of a transaction before its first instruction, which depend on
//! the state (EIP-2780): authorizations, its account, and the access to the account of its code.

use crate::{
    code::Code,
    env::{Authorization, Transaction},
    fork::Fork,
    frame::Context,
    gas,
    inspect::FrameKind,
    source::Failed,
};
use alloy_primitives::{Bytes, KECCAK256_EMPTY, U256, keccak256, map::HashMap};
use std::sync::Arc;

/// Loads the account of an authorization, unless it is not valid (EIP-7702).
fn authority(cx: &mut Context<'_>, authorization: &Authorization) -> Result<Option<u32>, Failed> {
    let Authorization {
        chain_id,
        nonce,
        authority,
        ..
    } = *authorization;
    let any_chain = chain_id.is_zero();
    if !any_chain && chain_id != U256::from(cx.chain_id) || nonce == u64::MAX {
        return Ok(None);
    }
    let Some(authority) = authority else {
        return Ok(None);
    };
    let account = cx.load(authority)?;
    cx.journal.mark_accessed(account);
    cx.journal.warm_account(account);
    let has_own_code =
        cx.journal.account(account).has_code() && cx.code(account)?.delegate.is_none();
    let entry = cx.journal.account(account);
    Ok((!has_own_code && entry.nonce == nonce).then_some(account))
}

/// Sets the code of an authority (EIP-7702).
fn delegate(cx: &mut Context<'_>, account: u32, authorization: &Authorization) {
    let (hash, code) = if authorization.address.is_zero() {
        (KECCAK256_EMPTY, Bytes::new())
    } else {
        let code = Code::delegation(authorization.address);
        (keccak256(&code), code)
    };
    let code = Arc::new(cx.codes.prepare(&code));
    cx.journal.set_code(account, hash, code);
    cx.journal.set_nonce(account, authorization.nonce + 1);
}

/// Payments of a transaction's authorizations for an authority (EIP-2780).
#[derive(Clone, Copy, Debug)]
struct Paid {
    /// The write to the account.
    write: bool,
    /// The state of the delegation, or it was there before.
    delegation: bool,
}

/// Applies the authorizations. Since EIP-2780 the frame of `cx.request` pays for what they add to
/// the state; returns whether its gas suffices.
pub(crate) fn apply_authorizations(cx: &mut Context<'_>, tx: &Transaction) -> Result<bool, Failed> {
    let mut all_paid: HashMap<u32, Paid> = HashMap::default();
    for authorization in &tx.authorizations {
        let Some(account) = authority(cx, authorization)? else {
            continue;
        };
        let entry = cx.journal.account(account);
        let (address, is_new) = (entry.address, entry.is_empty());
        if cx.fork < Fork::Amsterdam {
            if entry.exists {
                cx.journal.refund += cx.schedule.authorization_refund;
            }
            delegate(cx, account, authorization);
            continue;
        }
        // An authority has no other code than a delegation.
        let delegation = entry.has_code();
        let is_paid = address == tx.caller || Some(address) == tx.to && !tx.value.is_zero();
        let paid = all_paid.entry(account).or_insert(Paid {
            write: is_paid,
            delegation,
        });
        let (mut gas, mut bytes) = (0, 0);
        if !std::mem::replace(&mut paid.write, true) {
            gas += gas::ACCOUNT_WRITE;
        }
        if is_new {
            bytes += gas::ACCOUNT_STATE_BYTES;
        }
        if !authorization.address.is_zero() && !std::mem::replace(&mut paid.delegation, true) {
            bytes += gas::DELEGATION_STATE_BYTES;
        }
        if !(pay(cx, gas) && pay_state(cx, bytes)) {
            return Ok(false);
        }
        delegate(cx, account, authorization);
    }
    Ok(true)
}

/// Takes gas from `cx.request`, if it suffices; returns whether it does.
fn pay(cx: &mut Context<'_>, gas: i64) -> bool {
    let suffices = gas <= cx.request.gas;
    if suffices {
        cx.request.gas -= gas;
    }
    suffices
}

/// The same for bytes of state (EIP-8037).
fn pay_state(cx: &mut Context<'_>, bytes: i64) -> bool {
    let gas = bytes * cx.schedule.state_byte;
    let paid = cx.journal.state_gas.take(gas, cx.request.gas);
    paid.is_some_and(|paid| pay(cx, paid))
}

/// Charges the outermost frame for its account, if that is new (EIP-2780); returns whether its gas
/// suffices.
pub(crate) fn pay_for_account(cx: &mut Context<'_>) -> Result<bool, Failed> {
    let creates = cx.request.kind == FrameKind::Create;
    let account = match creates {
        true => cx.load(cx.request.address)?,
        false => cx.request.account,
    };
    cx.journal.mark_accessed(account);
    let makes_account = creates || !cx.request.value.is_zero();
    if makes_account && cx.journal.account(account).is_empty() {
        cx.request.new_account = true;
        return Ok(pay_state(cx, gas::ACCOUNT_STATE_BYTES));
    }
    Ok(true)
}

/// Finds the code of the outermost frame. For the code of a delegate, the frame pays for the
/// access to it since EIP-2780, if `pays`; returns whether its gas suffices.
pub(crate) fn load_code(cx: &mut Context<'_>, pays: bool) -> Result<bool, Failed> {
    if cx.request.kind == FrameKind::Create {
        return Ok(true);
    }
    cx.journal.mark_accessed(cx.request.account);
    let code = cx.code_number(cx.request.account)?;
    let delegate = cx.journal.codes.get(code).delegate;
    let Some(delegate) = delegate.filter(|_| cx.fork >= Fork::Prague) else {
        cx.request.code = Some(code);
        return Ok(true);
    };
    if pays {
        let cold_extra = match cx.is_cold(&delegate) {
            true => cx.schedule.cold_account,
            false => 0,
        };
        if !pay(cx, gas::WARM_ACCESS + cold_extra) {
            return Ok(false);
        }
    }
    let (account, _) = cx.access(delegate)?;
    cx.journal.mark_accessed(account);
    cx.request.delegated = true;
    cx.request.code = Some(cx.code_number(account)?);
    Ok(true)
}
