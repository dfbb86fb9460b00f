//! What surrounds the outermost frame of a transaction: whether it may be executed,
//! what it pays, and what it gets back.

use crate::{
    env::{Block, Transaction, TransactionType},
    fork::Fork,
    gas::{self, Schedule},
    outcome::InvalidTransaction,
    source::Account,
};
use alloy_primitives::U256;

/// First byte of a blob's versioned hash (EIP-4844).
const BLOB_HASH_VERSION: u8 = 1;
/// Blobs of one transaction at most (EIP-7594).
const BLOBS_PER_TRANSACTION: u64 = 6;

/// What a transaction that may be executed pays before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bill {
    /// Gas before the first instruction.
    pub(crate) intrinsic: u64,
    /// Gas at least (EIP-7623).
    pub(crate) floor: u64,
    /// Wei per gas, of which the base fee is burnt.
    pub(crate) gas_price: U256,
    /// Wei per gas for the beneficiary.
    pub(crate) tip: U256,
    /// Wei for blobs, burnt.
    pub(crate) blob_fee: U256,
}

/// Checks that need nothing but block and transaction.
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
    let (intrinsic, floor) = check_gas(fork, block, tx)?;
    if tx.nonce == u64::MAX {
        return Err(InvalidTransaction::NonceOverflow);
    }
    Ok(Bill {
        intrinsic,
        floor,
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

/// Wei per gas in all, and for the beneficiary (EIP-1559).
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

/// Wei for the blobs (EIP-4844).
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

/// Intrinsic gas and floor.
fn check_gas(
    fork: Fork,
    block: &Block,
    tx: &Transaction,
) -> Result<(u64, u64), InvalidTransaction> {
    let limit = tx.gas_limit;
    if limit > block.gas_limit {
        let block = block.gas_limit;
        return Err(InvalidTransaction::AboveBlockGasLimit { limit, block });
    }
    if fork >= Fork::Osaka && limit > gas::TRANSACTION_GAS_CAP {
        let cap = gas::TRANSACTION_GAS_CAP;
        return Err(InvalidTransaction::AboveGasCap { limit, cap });
    }
    let (size, max) = (tx.input.len(), crate::instructions::INIT_CODE_MAX);
    if tx.to.is_none() && fork >= Fork::Shanghai && size > max {
        return Err(InvalidTransaction::InitCodeTooLarge { size, max });
    }
    let (intrinsic, floor) = intrinsic_gas(fork, tx);
    if limit < intrinsic {
        let need = intrinsic;
        return Err(InvalidTransaction::IntrinsicGas { limit, need });
    }
    if limit < floor {
        let need = floor;
        return Err(InvalidTransaction::FloorGas { limit, need });
    }
    Ok((intrinsic, floor))
}

/// Gas for what the transaction is, before it does anything; and at least (EIP-7623).
fn intrinsic_gas(fork: Fork, tx: &Transaction) -> (u64, u64) {
    let zeros = tx.input.iter().filter(|byte| **byte == 0).count() as u64;
    let others = tx.input.len() as u64 - zeros;
    let mut gas = gas::TRANSACTION
        + zeros * gas::CALLDATA_ZERO_BYTE
        + others * Schedule::of(fork).calldata_byte;
    if tx.to.is_none() && fork >= Fork::Homestead {
        gas += gas::TRANSACTION_CREATE;
        if fork >= Fork::Shanghai {
            gas += (gas::INIT_CODE_WORD * gas::words(tx.input.len() as u64)).cast_unsigned();
        }
    }
    for item in &tx.access_list {
        gas += gas::ACCESS_LIST_ADDRESS;
        gas += item.storage_keys.len() as u64 * gas::ACCESS_LIST_SLOT;
    }
    gas += tx.authorizations.len() as u64 * gas::AUTHORIZATION;
    let floor = if fork >= Fork::Prague {
        gas::TRANSACTION + (zeros + 4 * others) * gas::FLOOR_TOKEN
    } else {
        0
    };
    (gas, floor)
}

/// Checks of the sender's account; `has_own_code`: other than a delegation.
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
