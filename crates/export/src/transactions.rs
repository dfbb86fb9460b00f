//! Facts about the transactions of transfers, for columns on request.

use alloy_primitives::Address;
use std::collections::BTreeMap;

/// A transaction, as columns on request state it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionFacts {
    /// Who signed it.
    pub from: Address,
    /// The account that it calls; `None` if it creates a contract.
    pub to: Option<Address>,
    /// Whether it succeeded.
    pub success: bool,
    /// The called function: its signature, or its selector in hex. `None` without input of 4 bytes.
    pub method: Option<String>,
}

/// Transactions by block and index.
pub type Transactions = BTreeMap<(u64, u32), TransactionFacts>;
