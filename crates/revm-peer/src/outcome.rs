//! Results of revm in the types of `txgraph-evm`.

use revm::{
    context::result::{ExecutionResult, HaltReason, OutOfGasError},
    interpreter::InstructionResult,
};
use txgraph_evm::{Halt, Outcome, Status};

/// Converts the result of a transaction.
pub(crate) fn outcome(result: ExecutionResult) -> Outcome {
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
        block_gas: gas.tx_gas_used().into(),
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

/// Applies the changes of a transaction to an account by the rules of the fork.
#[cfg(any(feature = "cases", feature = "runner"))]
#[expect(clippy::iter_over_hash_type, reason = "each slot is written once")]
pub(crate) fn commit(
    fork: txgraph_evm::Fork,
    state: &mut txgraph_evm::MemoryState,
    address: alloy_primitives::Address,
    account: revm::state::Account,
) {
    if !account.is_touched() {
        return;
    }
    let deleted = fork >= txgraph_evm::Fork::SpuriousDragon && account.is_empty();
    if account.is_selfdestructed() || deleted {
        state.accounts.remove(&address);
        state.storage.remove(&address);
        return;
    }
    if account.is_created() {
        state.storage.remove(&address);
    }
    let info = &account.info;
    let code = info.code.as_ref().map(|code| code.original_bytes());
    let code = code.unwrap_or_else(|| {
        let known = state.codes.get(&info.code_hash);
        known.cloned().unwrap_or_default()
    });
    state.insert(address, info.balance, info.nonce, code);
    for (key, slot) in &account.storage {
        state.set_storage(address, *key, slot.present_value);
    }
}

/// Converts the result of a frame.
pub(crate) fn status(result: InstructionResult) -> Status {
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
