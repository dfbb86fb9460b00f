//! Addresses with a meaning on every chain of the OP stack.

use alloy_primitives::{Address, address};

/// The sender of the deposit that begins every block.
pub const ATTRIBUTES_SENDER: Address = address!("deaddeaddeaddeaddeaddeaddeaddeaddead0001");
/// The contract `L1Block`, the receiver of that deposit.
pub const ATTRIBUTES_RECEIVER: Address = address!("4200000000000000000000000000000000000015");

/// `BaseFeeVault`, which receives the base fees.
pub const BASE_FEE_VAULT: Address = address!("4200000000000000000000000000000000000019");
/// `L1FeeVault`, which receives the fees for data on the parent chain.
pub const L1_FEE_VAULT: Address = address!("420000000000000000000000000000000000001a");
/// `OperatorFeeVault`, which receives the operator fees.
pub const OPERATOR_FEE_VAULT: Address = address!("420000000000000000000000000000000000001b");
/// `SequencerFeeVault`, the beneficiary of the blocks of known chains.
pub const SEQUENCER_FEE_VAULT: Address = address!("4200000000000000000000000000000000000011");
