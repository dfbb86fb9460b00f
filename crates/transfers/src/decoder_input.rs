//! The decoder's input from transactions and withdrawals.

use alloy_primitives::{Address, U256};

/// The parts of a transaction that move native value.
#[derive(Clone, Copy, Debug)]
pub struct TransactionView {
    /// The signer, recovered or stored.
    pub from: Address,
    /// The receiver; for a contract creation the address of the created contract.
    pub to: Address,
    /// The value in wei.
    pub value: U256,
    /// The wei that an OP-stack deposit creates for its sender before it runs, also if it
    /// fails. 0 for other transactions.
    pub mint: U256,
    /// The status in the receipt. A failed transaction moves no value.
    pub success: bool,
}

/// A consensus-layer withdrawal (EIP-4895).
#[derive(Clone, Copy, Debug)]
pub struct WithdrawalView {
    /// The receiver.
    pub address: Address,
    /// The amount in Gwei, as it is stored.
    pub amount_gwei: u64,
}
