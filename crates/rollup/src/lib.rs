//! Fees of transactions on the OP stack, computed from what a node stores.
//!
//! A transaction pays up to four parts, each to an account of its own ([`Payment`]):
//!
//! | part | computed from |
//! | --- | --- |
//! | base fee | gas used, base fee of the header |
//! | priority fee | gas used, price of the transaction |
//! | L1 fee | bytes of the transaction, prices on the parent chain |
//! | operator fee (since Isthmus) | gas used, two parameters of the chain |
//!
//! The prices on the parent chain and the parameters are in the first transaction of every
//! block, a deposit whose calldata are the *L1 attributes*. Deposits pay no fees.
//!
//! The formulas follow `exec-engine.md` of each fork in `ethereum-optimism/specs`. They were
//! compared with op-revm (`l1block.rs`) and op-geth (`rollup_cost.go`), with answers of nodes, and
//! with the balances of the fee vaults before and after real blocks.

mod attributes;
mod block;
mod error;
mod fastlz;
mod rules;

pub use block::{BlockFees, Header, Paid, Parts, Payment};
pub use error::{Error, Result};
pub use rules::FeeRules;

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
