//! Storage, transient storage, and `SELFDESTRUCT`.

use crate::{
    fork::Fork,
    frame::{Context, Fault, Frame},
    gas::{
        ACCOUNT_STATE_BYTES, CALL_STIPEND, COLD_SLOT_EXTRA, SELFDESTRUCT_REFUND, SLOT_STATE_BYTES,
        SSTORE_SET, SstoreRule, WARM_ACCESS,
    },
    outcome::Halt,
    stack::Operands,
    word::Word,
};

/// `SLOAD`
pub(crate) fn sload(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    cx.check_memory_limit(0)?;
    let key = operands.at(0);
    // What cannot be paid is not read.
    if frame.gas < COLD_SLOT_EXTRA
        && cx.fork >= Fork::Berlin
        && cx.journal.is_slot_cold(frame.account, key)
    {
        return Err(Halt::OutOfGas.into());
    }
    let slot = cx.journal.slot(cx.source, frame.account, key)?;
    if cx.fork >= Fork::Berlin && cx.journal.warm_slot(slot) {
        frame.charge(COLD_SLOT_EXTRA)?;
    }
    cx.journal.mark_slot_accessed(slot);
    operands.put(0, cx.journal.slot_value(slot));
    Ok(())
}

/// `SSTORE`; `paid_ahead` is the gas that the block has paid for later instructions.
pub(crate) fn sstore(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<2>,
    paid_ahead: i64,
) -> Result<(), Fault> {
    frame.may_change()?;
    cx.check_memory_limit(0)?;
    let (key, value) = (operands.at(0), operands.at(1));
    let rule = cx.schedule.sstore;
    let mut cold_extra = 0;
    if let SstoreRule::Net {
        stipend_guard,
        cold,
        ..
    } = rule
    {
        if stipend_guard && frame.gas + paid_ahead <= CALL_STIPEND {
            return Err(Halt::OutOfGas.into());
        }
        cold_extra = cold;
    }
    let slot = cx.journal.slot(cx.source, frame.account, key)?;
    cx.journal.mark_slot_accessed(slot);
    let cold = cx.fork >= Fork::Berlin && !cx.journal.is_slot_warm(slot);
    let original = cx.journal.slot_original(slot);
    let present = cx.journal.slot_value(slot);
    let (gas, refund) = sstore_cost(rule, original, present, value);
    frame.charge(if cold { gas + cold_extra } else { gas })?;
    // Not before it is paid: a body that runs out of gas has no effect.
    if cold {
        cx.journal.warm_slot(slot);
    }
    cx.journal.refund += refund;
    if present.same(value) {
        return Ok(());
    }
    if cx.schedule.state_byte != 0 && original.is_zero() {
        // The slot is added to the state, or removed from it.
        if present.is_zero() {
            cx.charge_state(frame, SLOT_STATE_BYTES)?;
        } else if value.is_zero() {
            cx.give_back_state(frame, SLOT_STATE_BYTES);
        }
    }
    cx.journal.set_slot(slot, value);
    Ok(())
}

/// The gas and the refund for writing `new` over `present`. `original` is the value before the
/// transaction (EIP-1283, 2200, 3529).
#[inline]
fn sstore_cost(rule: SstoreRule, original: Word, present: Word, new: Word) -> (i64, i64) {
    let SstoreRule::Net {
        dirty,
        set,
        reset,
        clear_refund,
        ..
    } = rule
    else {
        return match (present.is_zero(), new.is_zero()) {
            (true, false) => (SSTORE_SET, 0),
            (false, true) => (5_000, 15_000),
            _ => (5_000, 0),
        };
    };
    if present.same(new) {
        return (dirty, 0);
    }
    if original.same(present) {
        return match (original.is_zero(), new.is_zero()) {
            (true, _) => (set, 0),
            (false, true) => (reset, clear_refund),
            (false, false) => (reset, 0),
        };
    }
    let mut refund = 0;
    if !original.is_zero() {
        if present.is_zero() {
            refund -= clear_refund;
        } else if new.is_zero() {
            refund += clear_refund;
        }
    }
    if original.same(new) {
        refund += if original.is_zero() { set } else { reset } - dirty;
    }
    (dirty, refund)
}

/// `TLOAD` (EIP-1153)
pub(crate) fn tload(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    operands.put(0, cx.journal.transient(frame.account, operands.at(0)));
    Ok(())
}

/// `TSTORE` (EIP-1153)
pub(crate) fn tstore(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<2>,
) -> Result<(), Fault> {
    frame.may_change()?;
    cx.check_memory_limit(0)?;
    cx.journal
        .set_transient(frame.account, operands.at(0), operands.at(1));
    Ok(())
}

/// `SELFDESTRUCT`: all wei move to the beneficiary, and the account is deleted. Since EIP-6780 it is
/// deleted only if it was created in the same transaction, and since EIP-8246 it keeps wei that it
/// sends to itself.
pub(crate) fn selfdestruct(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<1>,
) -> Result<(), Fault> {
    frame.may_change()?;
    let beneficiary = operands.at(0).to_address();
    let cold = cx.schedule.cold_account + WARM_ACCESS;
    let beneficiary = cx.visit_for(frame, beneficiary, cold)?;
    let balance = cx.journal.account(frame.account).balance;
    let makes_account = match cx.fork {
        Fork::Frontier | Fork::Homestead => false,
        Fork::TangerineWhistle => !cx.journal.account(beneficiary).exists,
        _ => !balance.is_zero() && cx.journal.account(beneficiary).is_empty(),
    };
    if makes_account {
        frame.charge(cx.schedule.new_beneficiary)?;
        cx.charge_state(frame, ACCOUNT_STATE_BYTES)?;
    }
    if let Some(inspector) = &mut cx.inspector {
        let beneficiary = cx.journal.account(beneficiary).address;
        inspector.selfdestruct(frame.address, beneficiary, balance.u256());
    }
    let destroys = cx.fork < Fork::Cancun || cx.journal.was_created_now(frame.account);
    if beneficiary != frame.account {
        let all = cx.journal.subtract_balance(frame.account, balance);
        debug_assert!(all, "an account has its own balance");
        cx.journal.add_balance(beneficiary, balance);
        cx.log_transfer(frame.account, beneficiary, balance);
    } else if destroys && cx.fork < Fork::Amsterdam {
        // Its wei are destroyed with it. Since EIP-8246 it keeps them.
        let all = cx.journal.subtract_balance(frame.account, balance);
        debug_assert!(all, "an account has its own balance");
    }
    if destroys && cx.journal.mark_destroyed(frame.account) && cx.fork < Fork::London {
        cx.journal.refund += SELFDESTRUCT_REFUND;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gas::Schedule;

    /// The examples of EIP-2200 and EIP-3529: the original value, then the values written in sequence;
    /// the gas and the refund of all writes.
    #[test]
    fn net_metering() {
        let cases: [(&[u64], i64, i64); 6] = [
            (&[0, 0, 0], 200, 0),
            (&[0, 1, 0], 20_100, 19_900),
            (&[1, 0], 2_900, 4_800),
            (&[1, 0, 1], 3_000, 2_800),
            (&[1, 2, 3], 3_000, 0),
            (&[1, 0, 2], 3_000, 0),
        ];
        let rule = Schedule::of(Fork::London).sstore;
        for (values, gas, refund) in cases {
            let original = Word::new(values[0]);
            let mut sum = (0, 0);
            for pair in values.windows(2) {
                let (present, new) = (Word::new(pair[0]), Word::new(pair[1]));
                let cost = sstore_cost(rule, original, present, new);
                sum = (sum.0 + cost.0, sum.1 + cost.1);
            }
            assert_eq!(sum, (gas, refund), "{values:?}");
        }
    }
}
