//! The parts of a block that may be read or missing.

use alloy_primitives::Address;
use std::fmt;

/// Which parts of a block a scan reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Headers of all blocks, linked and held against what is read; otherwise a
    /// header is read when it is asked for.
    pub headers: bool,
    /// Receipts and their logs.
    pub receipts: bool,
    /// Transactions.
    pub transactions: bool,
    /// From the sender source, else recovered from the signature.
    pub senders: bool,
    /// Withdrawals (EIP-4895).
    pub withdrawals: bool,
}

/// A part of a block that can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Part {
    /// The header.
    Header,
    /// The numbers of its transactions.
    Body,
    /// Receipts and logs.
    Receipts,
    /// Transactions.
    Transactions,
    /// Accounts it changed, as they were before.
    #[serde(rename = "account changes")]
    AccountChanges,
    /// Slots it changed, as they were before.
    #[serde(rename = "storage changes")]
    StorageChanges,
}

impl Part {
    pub(crate) const fn is_or_are_missing(self) -> &'static str {
        match self {
            Self::Header => "is missing",
            Self::Body
            | Self::Receipts
            | Self::Transactions
            | Self::AccountChanges
            | Self::StorageChanges => "are missing",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the header",
            Self::Body => "the body indices",
            Self::Receipts => "receipts",
            Self::Transactions => "transactions",
            Self::AccountChanges => "account changes",
            Self::StorageChanges => "storage changes",
        })
    }
}

/// Numbers of a block's transactions. They are dense over the whole chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyIndices {
    /// Number of its first transaction (of the next one, if it has none).
    pub first_tx: u64,
    /// How many there are.
    pub tx_count: u64,
}

/// A validator withdrawal (EIP-4895).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// Running number over the chain.
    pub index: u64,
    /// The validator.
    pub validator_index: u64,
    /// Who receives it.
    pub address: Address,
    /// Gwei.
    pub amount_gwei: u64,
}
