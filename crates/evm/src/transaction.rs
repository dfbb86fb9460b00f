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

/// The gas that a transaction costs before its first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Intrinsic {
    pub(crate) regular: u64,
    /// Gas for growth of the state (EIP-8037).
    pub(crate) state: u64,
    /// The minimum of regular gas, whatever the transaction executes (EIP-7623).
    pub(crate) floor: u64,
}

impl Intrinsic {
    pub(crate) fn sum(self) -> u64 {
        self.regular + self.state
    }
}

/// The checks that need only the block and the transaction.
pub(crate) fn check(
    fork: Fork,
    chain_id: u64,
    block: &Block,
    tx: &Transaction,
) -> Result<Bill, InvalidTransaction> {
    check_type(fork, chain_id, tx)?;
    let (gas_price, tip) = check_fees(fork, block, tx)?;
    let blob_fee = check_blobs(fork, block, tx)?;
    if tx.transaction_type == TransactionType::SetCode {
        if tx.to.is_none() {
            return Err(InvalidTransaction::CannotCreate);
        }
        if tx.authorizations.is_empty() {
            return Err(InvalidTransaction::NoAuthorizations);
        }
    }
    let intrinsic = check_gas(fork, block, tx)?;
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
) -> Result<(U256, U256), InvalidTransaction> {
    if fork < Fork::London {
        return Ok((tx.max_fee_per_gas, tx.max_fee_per_gas));
    }
    let (fee, base_fee) = (tx.max_fee_per_gas, block.base_fee);
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
fn check_blobs(fork: Fork, block: &Block, tx: &Transaction) -> Result<U256, InvalidTransaction> {
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
    if fee < base_fee {
        return Err(InvalidTransaction::BlobFeeBelowBaseFee { fee, base_fee });
    }
    Ok(blob_gas(tx).saturating_mul(base_fee))
}

fn blob_gas(tx: &Transaction) -> U256 {
    U256::from(tx.blob_hashes.len() as u64 * gas::BLOB)
}

/// Returns the intrinsic gas. The limits of the transaction and of the block must cover it.
fn check_gas(fork: Fork, block: &Block, tx: &Transaction) -> Result<Intrinsic, InvalidTransaction> {
    let (limit, cap) = (tx.gas_limit, gas::TRANSACTION_GAS_CAP);
    let intrinsic = intrinsic_gas(fork, block, tx);
    if fork < Fork::Amsterdam {
        check_room(limit, block.gas_limit, block.gas_used.regular)?;
        if fork >= Fork::Osaka && limit > cap {
            return Err(InvalidTransaction::AboveGasCap { limit, cap });
        }
    }
    let size = tx.input.len();
    let max = Schedule::of(fork).code_max * 2;
    if tx.to.is_none() && fork >= Fork::Shanghai && size > max {
        return Err(InvalidTransaction::InitCodeTooLarge { size, max });
    }
    if limit < intrinsic.sum() {
        let need = intrinsic.sum();
        return Err(InvalidTransaction::IntrinsicGas { limit, need });
    }
    if limit < intrinsic.floor {
        let need = intrinsic.floor;
        return Err(InvalidTransaction::FloorGas { limit, need });
    }
    if fork >= Fork::Amsterdam {
        // Regular gas is at most the cap. All of the limit except the intrinsic regular gas may
        // be used as state gas (EIP-8037).
        let need = intrinsic.regular.max(intrinsic.floor);
        if need > cap {
            return Err(InvalidTransaction::IntrinsicGas { limit: cap, need });
        }
        let (regular, state) = (limit - intrinsic.state, limit - intrinsic.regular);
        check_room(regular.min(cap), block.gas_limit, block.gas_used.regular)?;
        check_room(state, block.gas_limit, block.gas_used.state)?;
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

/// Computes the intrinsic gas and the floor (EIP-7623).
fn intrinsic_gas(fork: Fork, block: &Block, tx: &Transaction) -> Intrinsic {
    const ADDRESS_BYTES: u64 = 20;
    const SLOT_BYTES: u64 = 32;
    let schedule = Schedule::of(fork);
    let zeros = tx.input.iter().filter(|byte| **byte == 0).count() as u64;
    let others = tx.input.len() as u64 - zeros;
    let mut regular =
        gas::TRANSACTION + zeros * gas::CALLDATA_ZERO_BYTE + others * schedule.calldata_byte;
    let mut state_bytes = 0;
    if tx.to.is_none() {
        regular += schedule.create;
        state_bytes += gas::ACCOUNT_STATE_BYTES;
        if fork >= Fork::Shanghai {
            regular += (gas::INIT_CODE_WORD * gas::words(tx.input.len() as u64)).cast_unsigned();
        }
    }
    let mut listed_bytes = 0;
    for item in &tx.access_list {
        let slots = item.storage_keys.len() as u64;
        regular += gas::ACCESS_LIST_ADDRESS + slots * gas::ACCESS_LIST_SLOT;
        listed_bytes += ADDRESS_BYTES + slots * SLOT_BYTES;
    }
    let listed = listed_bytes * schedule.access_list_byte;
    regular += listed;
    let authorizations = tx.authorizations.len() as u64;
    regular += authorizations * schedule.authorization;
    state_bytes +=
        authorizations.cast_signed() * (gas::ACCOUNT_STATE_BYTES + gas::DELEGATION_STATE_BYTES);
    let (zero, other) = schedule.floor_bytes;
    let floor = match other {
        0 => 0,
        _ => gas::TRANSACTION + zeros * zero + others * other + listed,
    };
    Intrinsic {
        regular,
        state: (state_bytes * gas::state_byte(fork, block.gas_limit)).cast_unsigned(),
        floor,
    }
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
