//! The parts of a block that may be read or missing.

use std::fmt;

/// The parts of blocks that a scan reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The headers of all blocks: they must link, and match what is read. Otherwise headers
    /// are read on demand.
    pub headers: bool,
    /// Receipts and their logs.
    pub receipts: bool,
    /// Transactions.
    pub transactions: bool,
    /// Senders: stored, or recovered from the signature.
    pub senders: bool,
    /// Withdrawals (EIP-4895).
    pub withdrawals: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Self = Self {
        headers: true,
        receipts: true,
        transactions: true,
        senders: true,
        withdrawals: true,
    };
}

/// A part of a block that can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Part {
    /// The header.
    Header,
    /// The numbers of its transactions (`BlockBodyIndices`).
    Body,
    /// Receipts and logs.
    Receipts,
    /// Transactions.
    Transactions,
    /// Previous values of the accounts that it changed.
    #[serde(rename = "account changes")]
    AccountChanges,
    /// Previous values of the slots that it changed.
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

/// The numbers of a block's transactions. They are dense over the whole chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyIndices {
    /// The number of its first transaction, or of the next one if it has none.
    pub first_tx: u64,
    /// The number of transactions.
    pub tx_count: u64,
}
