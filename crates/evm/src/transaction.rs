//! The checks before a transaction, its intrinsic gas and its fees.

use crate::{
    env::{Block, Transaction, TransactionType},
    fork::Fork,
    gas::{self, Schedule},
    outcome::InvalidTransaction,
    source::Account,
};
use alloy_primitives::U256;

/// The first byte of a blob's versioned hash (EIP-4844).
const BLOB_HASH_VERSION: u8 = 1;
/// The maximum number of blobs of one transaction (EIP-7594).
const BLOBS_PER_TRANSACTION: u64 = 6;

/// The checks before a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checks {
    /// All checks of a transaction in a block.
    #[default]
    Block,
    /// The sender can be a contract (not EIP-3607), and fees of zero are not compared with the base fees: as nodes
    /// estimate gas.
    AnySender,
    /// In addition, the gas limits of the block and of the fork do not apply: as nodes execute calls.
    AnySenderAndGas,
}

/// The prices of a valid transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bill {
    /// The gas before the first instruction.
    pub(crate) intrinsic: Intrinsic,
    /// The wei per gas, of which the base fee is burnt.
    pub(crate) gas_price: U256,
    /// The wei per gas for the beneficiary.
    pub(crate) tip: U256,
    /// The wei for blobs, which are burnt.
    pub(crate) blob_fee: U256,
}

/// The gas that a transaction costs, whatever the state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Intrinsic {
    /// The gas before the first instruction.
    pub(crate) gas: u64,
    /// The minimum of gas, whatever the transaction executes (EIP-7623).
    pub(crate) floor: u64,
}

/// The checks that need only the block and the transaction.
pub(crate) fn check(
    fork: Fork,
    chain_id: u64,
    block: &Block,
    tx: &Transaction,
    checks: Checks,
) -> Result<Bill, InvalidTransaction> {
    check_type(fork, chain_id, tx)?;
    let (gas_price, tip) = check_fees(fork, block, tx, checks)?;
    let blob_fee = check_blobs(fork, block, tx, checks)?;
    if tx.transaction_type == TransactionType::SetCode {
        if tx.to.is_none() {
            return Err(InvalidTransaction::CannotCreate);
        }
        if tx.authorizations.is_empty() {
            return Err(InvalidTransaction::NoAuthorizations);
        }
    }
    let intrinsic = check_gas(fork, block, tx, checks)?;
    if tx.nonce == u64::MAX {
        return Err(InvalidTransaction::NonceOverflow);
    }
    Ok(Bill {
        intrinsic,
        gas_price,
        tip,
        blob_fee,
    })
}

fn check_type(fork: Fork, chain_id: u64, tx: &Transaction) -> Result<(), InvalidTransaction> {
    let since = match tx.transaction_type {
        TransactionType::Legacy => Fork::Frontier,
        TransactionType::AccessList => Fork::Berlin,
        TransactionType::DynamicFee => Fork::London,
        TransactionType::Blob => Fork::Cancun,
        TransactionType::SetCode => Fork::Prague,
    };
    if fork < since {
        return Err(InvalidTransaction::TypeNotSupported(
            tx.transaction_type as u8,
        ));
    }
    match tx.chain_id {
        Some(got) if got != chain_id => Err(InvalidTransaction::WrongChainId {
            want: chain_id,
            got,
        }),
        None if tx.transaction_type != TransactionType::Legacy => {
            Err(InvalidTransaction::MissingChainId)
        }
        _ => Ok(()),
    }
}

/// Returns the wei per gas, in total and for the beneficiary (EIP-1559).
fn check_fees(
    fork: Fork,
    block: &Block,
    tx: &Transaction,
    checks: Checks,
) -> Result<(U256, U256), InvalidTransaction> {
    let (fee, base_fee) = (tx.max_fee_per_gas, block.base_fee);
    let is_free = fee.is_zero() && checks >= Checks::AnySender;
    if fork < Fork::London || is_free {
        return Ok((fee, fee));
    }
    if fee < base_fee {
        return Err(InvalidTransaction::FeeBelowBaseFee { fee, base_fee });
    }
    let room = fee - base_fee;
    let tip = match tx.max_priority_fee_per_gas {
        Some(priority) if priority > fee => return Err(InvalidTransaction::PriorityFeeAboveFee),
        Some(priority) => priority.min(room),
        None => room,
    };
    Ok((base_fee + tip, tip))
}

/// Returns the wei for the blobs (EIP-4844).
fn check_blobs(
    fork: Fork,
    block: &Block,
    tx: &Transaction,
    checks: Checks,
) -> Result<U256, InvalidTransaction> {
    if tx.transaction_type != TransactionType::Blob {
        return Ok(U256::ZERO);
    }
    if tx.to.is_none() {
        return Err(InvalidTransaction::CannotCreate);
    }
    let count = tx.blob_hashes.len();
    if count == 0 {
        return Err(InvalidTransaction::NoBlobs);
    }
    let max = if fork >= Fork::Osaka {
        block.blobs_max.min(BLOBS_PER_TRANSACTION)
    } else {
        block.blobs_max
    };
    if count as u64 > max {
        return Err(InvalidTransaction::TooManyBlobs { count, max });
    }
    if tx
        .blob_hashes
        .iter()
        .any(|hash| hash[0] != BLOB_HASH_VERSION)
    {
        return Err(InvalidTransaction::BlobVersion);
    }
    let (fee, base_fee) = (tx.max_fee_per_blob_gas, block.blob_base_fee);
    if fee.is_zero() && checks >= Checks::AnySender {
        return Ok(U256::ZERO);
    }
    if fee < base_fee {
        return Err(InvalidTransaction::BlobFeeBelowBaseFee { fee, base_fee });
    }
    Ok(blob_gas(tx).saturating_mul(base_fee))
}

fn blob_gas(tx: &Transaction) -> U256 {
    U256::from(tx.blob_hashes.len() as u64 * gas::BLOB)
}

/// Returns the intrinsic gas. The limits of the transaction and of the block must cover it.
fn check_gas(
    fork: Fork,
    block: &Block,
    tx: &Transaction,
    checks: Checks,
) -> Result<Intrinsic, InvalidTransaction> {
    let limit = tx.gas_limit;
    if checks == Checks::AnySenderAndGas {
        return check_intrinsic(fork, tx);
    }
    let cap = match fork {
        Fork::Amsterdam => gas::TRANSACTION_TOTAL_CAP,
        Fork::Osaka => gas::TRANSACTION_GAS_CAP,
        _ => u64::MAX,
    };
    // Since EIP-8037 all of the limit may be used as state gas, but no more than the cap as
    // regular gas.
    let regular = match fork {
        Fork::Amsterdam => limit.min(gas::TRANSACTION_GAS_CAP),
        _ => limit,
    };
    check_room(regular, block.gas_limit, block.gas_used.regular)?;
    check_room(limit, block.gas_limit, block.gas_used.state)?;
    if limit > cap {
        return Err(InvalidTransaction::AboveGasCap { limit, cap });
    }
    let intrinsic = check_intrinsic(fork, tx)?;
    let need = intrinsic.gas.max(intrinsic.floor);
    if regular < need {
        let limit = regular;
        return Err(InvalidTransaction::IntrinsicGas { limit, need });
    }
    Ok(intrinsic)
}

/// Returns the intrinsic gas, which the limit of the transaction must cover.
fn check_intrinsic(fork: Fork, tx: &Transaction) -> Result<Intrinsic, InvalidTransaction> {
    let limit = tx.gas_limit;
    let size = tx.input.len();
    let max = Schedule::of(fork).code_max * 2;
    if tx.to.is_none() && fork >= Fork::Shanghai && size > max {
        return Err(InvalidTransaction::InitCodeTooLarge { size, max });
    }
    let intrinsic = intrinsic_gas(fork, tx);
    let need = intrinsic.gas;
    if limit < need {
        return Err(InvalidTransaction::IntrinsicGas { limit, need });
    }
    let need = intrinsic.floor;
    if limit < need {
        return Err(InvalidTransaction::FloorGas { limit, need });
    }
    Ok(intrinsic)
}

/// Checks that a block has `limit` gas left.
fn check_room(limit: u64, of_block: u64, used: u64) -> Result<(), InvalidTransaction> {
    let block = of_block.saturating_sub(used);
    if limit > block {
        return Err(InvalidTransaction::AboveBlockGasLimit { limit, block });
    }
    Ok(())
}

/// Counts the bytes that are zero. A sum of few bytes fits a byte, so that the compiler adds 16 of them at once.
fn count_zeros(bytes: &[u8]) -> u64 {
    let few = bytes.chunks(192);
    let counts = few.map(|few| few.iter().map(|byte| u8::from(*byte == 0)).sum::<u8>());
    counts.map(u64::from).sum()
}

/// Computes the intrinsic gas and the floor (EIP-7623).
fn intrinsic_gas(fork: Fork, tx: &Transaction) -> Intrinsic {
    const ADDRESS_BYTES: u64 = 20;
    const SLOT_BYTES: u64 = 32;
    let schedule = Schedule::of(fork);
    let without_data = schedule.transaction
        + match tx.to {
            None => schedule.create,
            // The sender's account is paid (EIP-2780).
            Some(to) if to == tx.caller => 0,
            Some(_) if tx.value.is_zero() => schedule.recipient,
            Some(_) => schedule.recipient + schedule.value,
        };
    let zeros = count_zeros(&tx.input);
    let others = tx.input.len() as u64 - zeros;
    let mut gas = without_data + zeros * gas::CALLDATA_ZERO_BYTE + others * schedule.calldata_byte;
    if tx.to.is_none() && fork >= Fork::Shanghai {
        gas += (gas::INIT_CODE_WORD * gas::words(tx.input.len() as u64)).cast_unsigned();
    }
    let mut listed_bytes = 0;
    for item in &tx.access_list {
        let slots = item.storage_keys.len() as u64;
        gas += schedule.access_list_address + slots * schedule.access_list_slot;
        listed_bytes += ADDRESS_BYTES + slots * SLOT_BYTES;
    }
    let listed = listed_bytes * schedule.access_list_byte;
    gas += listed + tx.authorizations.len() as u64 * schedule.authorization;
    let (zero, other) = schedule.floor_bytes;
    let base = match schedule.floor_has_recipient {
        true => without_data,
        false => schedule.transaction,
    };
    let floor = match other {
        0 => 0,
        _ => base + zeros * zero + others * other + listed,
    };
    Intrinsic { gas, floor }
}

/// Checks the account of the sender. `has_own_code`: it has code that is not a delegation.
pub(crate) fn check_sender(
    tx: &Transaction,
    sender: &Account,
    has_own_code: bool,
) -> Result<(), InvalidTransaction> {
    let (want, got) = (sender.nonce, tx.nonce);
    if got < want {
        return Err(InvalidTransaction::NonceTooLow { want, got });
    }
    if got > want {
        return Err(InvalidTransaction::NonceTooHigh { want, got });
    }
    if has_own_code {
        return Err(InvalidTransaction::SenderHasCode);
    }
    let need = (tx.max_fee_per_gas.checked_mul(U256::from(tx.gas_limit)))
        .and_then(|fees| fees.checked_add(tx.value))
        .and_then(|need| need.checked_add(blob_gas(tx).checked_mul(tx.max_fee_per_blob_gas)?))
        .ok_or(InvalidTransaction::FeeOverflow)?;
    let balance = sender.balance;
    if balance < need {
        return Err(InvalidTransaction::InsufficientBalance { balance, need });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zeros_are_counted(
            bytes in proptest::collection::vec(prop_oneof![2 => Just(0u8), 1 => any::<u8>()], 0..1_000),
        ) {
            let one_by_one = bytes.iter().filter(|byte| **byte == 0).count() as u64;
            prop_assert_eq!(count_zeros(&bytes), one_by_one);
        }
    }

    /// A call has no limit of gas but its own, and no fee if it states none.
    #[test]
    fn calls_are_checked_less_than_transactions() {
        use InvalidTransaction as It;
        let block = Block {
            gas_limit: 30_000,
            base_fee: U256::from(7),
            ..Block::default()
        };
        let check = |gas_limit, checks| {
            let tx = Transaction {
                gas_limit,
                to: Some(Default::default()),
                ..Transaction::default()
            };
            check(Fork::Osaka, 1, &block, &tx, checks).err()
        };
        let above_cap = gas::TRANSACTION_GAS_CAP + 1;
        let fee = check(21_000, Checks::Block);
        assert!(matches!(fee, Some(It::FeeBelowBaseFee { .. })), "{fee:?}");
        assert_eq!(check(21_000, Checks::AnySender), None);
        let gas = check(above_cap, Checks::AnySender);
        assert!(
            matches!(gas, Some(It::AboveBlockGasLimit { .. })),
            "{gas:?}"
        );
        assert_eq!(check(above_cap, Checks::AnySenderAndGas), None);
        let gas = check(20_999, Checks::AnySenderAndGas);
        assert!(matches!(gas, Some(It::IntrinsicGas { .. })), "{gas:?}");
    }

    /// The sum of a piece reaches its maximum.
    #[test]
    fn all_bytes_are_zero() {
        assert_eq!(count_zeros(&[0; 1_000]), 1_000);
    }
}
