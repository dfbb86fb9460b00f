//! Our words in revm's, and back.

use alloy_primitives::{TxKind, U256};
use revm::{
    context::{
        BlockEnv, CfgEnv, TxEnv,
        result::{ExecutionResult, HaltReason, OutOfGasError},
        transaction::{
            AccessList, AccessListItem, Authorization, RecoveredAuthority, RecoveredAuthorization,
        },
    },
    context_interface::{block::BlobExcessGasAndPrice, either::Either},
    interpreter::InstructionResult,
    primitives::hardfork::SpecId,
};
use txgraph_evm::{Block, Fork, Halt, Outcome, Status, Transaction, TransactionType};

/// revm does not know Constantinople, which no chain of value ran: the fork before it
/// has its prices.
pub(super) fn spec(fork: Fork) -> SpecId {
    match fork {
        Fork::Frontier => SpecId::FRONTIER,
        Fork::Homestead => SpecId::HOMESTEAD,
        Fork::TangerineWhistle => SpecId::TANGERINE,
        Fork::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
        Fork::Byzantium => SpecId::BYZANTIUM,
        Fork::Constantinople | Fork::Petersburg => SpecId::PETERSBURG,
        Fork::Istanbul => SpecId::ISTANBUL,
        Fork::Berlin => SpecId::BERLIN,
        Fork::London => SpecId::LONDON,
        Fork::Paris => SpecId::MERGE,
        Fork::Shanghai => SpecId::SHANGHAI,
        Fork::Cancun => SpecId::CANCUN,
        Fork::Prague => SpecId::PRAGUE,
        Fork::Osaka => SpecId::OSAKA,
        Fork::Amsterdam => SpecId::AMSTERDAM,
    }
}

pub(super) fn configuration(fork: Fork, chain_id: u64, block: &Block) -> CfgEnv {
    let mut configuration = CfgEnv::new_with_spec(spec(fork));
    configuration.chain_id = chain_id;
    // EIP-7594 limits a transaction to six, whatever the block may hold.
    configuration.set_max_blobs_per_tx(if fork >= Fork::Osaka {
        block.blobs_max.min(6)
    } else {
        block.blobs_max
    });
    configuration
}

pub(super) fn block(fork: Fork, block: &Block) -> BlockEnv {
    BlockEnv {
        number: U256::from(block.number),
        beneficiary: block.beneficiary,
        timestamp: U256::from(block.timestamp),
        gas_limit: block.gas_limit,
        basefee: block.base_fee.saturating_to(),
        difficulty: block.difficulty,
        prevrandao: (fork >= Fork::Paris).then_some(block.prevrandao),
        blob_excess_gas_and_price: (fork >= Fork::Cancun).then(|| BlobExcessGasAndPrice {
            excess_blob_gas: 0,
            blob_gasprice: block.blob_base_fee.saturating_to(),
        }),
        slot_num: block.slot_number,
    }
}

/// Fees are cut to the 128 bits that revm, and every stored transaction, has.
pub(super) fn transaction(transaction: &Transaction) -> TxEnv {
    let access_list = transaction.access_list.iter().map(|item| AccessListItem {
        address: item.address,
        storage_keys: item.storage_keys.clone(),
    });
    let authorizations = transaction.authorizations.iter().map(|entry| {
        let signed = Authorization {
            chain_id: entry.chain_id,
            address: entry.address,
            nonce: entry.nonce,
        };
        let authority = entry.authority;
        let authority = authority.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
        Either::Right(RecoveredAuthorization::new_unchecked(signed, authority))
    });
    TxEnv {
        tx_type: transaction.transaction_type as u8,
        caller: transaction.caller,
        gas_limit: transaction.gas_limit,
        gas_price: transaction.max_fee_per_gas.saturating_to(),
        kind: transaction.to.map_or(TxKind::Create, TxKind::Call),
        value: transaction.value,
        data: transaction.input.clone(),
        nonce: transaction.nonce,
        chain_id: transaction.chain_id,
        access_list: AccessList(access_list.collect()),
        gas_priority_fee: transaction
            .max_priority_fee_per_gas
            .map(|fee| fee.saturating_to()),
        blob_hashes: transaction.blob_hashes.clone(),
        max_fee_per_blob_gas: match transaction.transaction_type {
            TransactionType::Blob => transaction.max_fee_per_blob_gas.saturating_to(),
            _ => 0,
        },
        authorization_list: authorizations.collect(),
    }
}

pub(super) fn outcome(result: ExecutionResult) -> Outcome {
    let gas = *result.gas();
    let status = match &result {
        ExecutionResult::Success { .. } => Status::Success,
        ExecutionResult::Revert { .. } => Status::Revert,
        ExecutionResult::Halt { reason, .. } => Status::Halt(halt(reason)),
    };
    let output = result.output().cloned().unwrap_or_default();
    Outcome {
        status,
        gas_used: gas.tx_gas_used(),
        gas_refunded: gas.inner_refunded(),
        created: result.created_address(),
        logs: match status {
            Status::Success => result.into_logs(),
            _ => Vec::new(),
        },
        output,
    }
}

fn halt(reason: &HaltReason) -> Halt {
    match reason {
        HaltReason::OutOfGas(OutOfGasError::Precompile) => Halt::OutOfGas,
        HaltReason::InvalidFEOpcode => Halt::InvalidOpcode(0xfe),
        HaltReason::InvalidJump => Halt::InvalidJump,
        HaltReason::StackUnderflow => Halt::StackUnderflow,
        HaltReason::StackOverflow => Halt::StackOverflow,
        HaltReason::OutOfOffset => Halt::ReturnDataOutOfBounds,
        HaltReason::CreateCollision => Halt::AddressCollision,
        HaltReason::NonceOverflow => Halt::NonceOverflow,
        HaltReason::CreateContractSizeLimit => Halt::CodeTooLarge,
        HaltReason::CreateContractStartingWithEF => Halt::CodeStartsWithEf,
        HaltReason::CreateInitCodeSizeLimit => Halt::InitCodeTooLarge,
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            Halt::StaticViolation
        }
        HaltReason::OutOfFunds => Halt::InsufficientBalance,
        HaltReason::CallTooDeep => Halt::CallDepth,
        HaltReason::PrecompileError | HaltReason::PrecompileErrorWithContext(_) => {
            Halt::PrecompileFailed
        }
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => Halt::InvalidOpcode(0),
        _ => Halt::OutOfGas,
    }
}

/// How a frame ended.
pub(super) fn status(result: InstructionResult) -> Status {
    Status::Halt(match result {
        result if result.is_ok() => return Status::Success,
        InstructionResult::Revert => return Status::Revert,
        InstructionResult::CallTooDeep => Halt::CallDepth,
        InstructionResult::OutOfFunds => Halt::InsufficientBalance,
        InstructionResult::InvalidFEOpcode => Halt::InvalidOpcode(0xfe),
        InstructionResult::OpcodeNotFound | InstructionResult::NotActivated => {
            Halt::InvalidOpcode(0)
        }
        InstructionResult::InvalidJump => Halt::InvalidJump,
        InstructionResult::StackUnderflow => Halt::StackUnderflow,
        InstructionResult::StackOverflow => Halt::StackOverflow,
        InstructionResult::OutOfOffset => Halt::ReturnDataOutOfBounds,
        InstructionResult::CreateCollision => Halt::AddressCollision,
        InstructionResult::PrecompileError => Halt::PrecompileFailed,
        InstructionResult::NonceOverflow => Halt::NonceOverflow,
        InstructionResult::CreateContractSizeLimit => Halt::CodeTooLarge,
        InstructionResult::CreateContractStartingWithEF => Halt::CodeStartsWithEf,
        InstructionResult::CreateInitCodeSizeLimit => Halt::InitCodeTooLarge,
        InstructionResult::StateChangeDuringStaticCall
        | InstructionResult::CallNotAllowedInsideStatic => Halt::StaticViolation,
        _ => Halt::OutOfGas,
    })
}
