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
//!
//! Modules, each using only those before it: addresses, error, fastlz, rules, attributes, block.

mod addresses;
mod attributes;
mod block;
mod error;
mod fastlz;
mod rules;

pub use addresses::{
    ATTRIBUTES_RECEIVER, ATTRIBUTES_SENDER, BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT,
    SEQUENCER_FEE_VAULT,
};
pub use block::{BlockFees, Header, Paid, Parts, Payment};
pub use error::{Error, Result};
pub use rules::FeeRules;
