//! Counts of a decoder.

use crate::Gaps;
use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::AddAssign;

/// Counts of a decoder. The sum of the counts of parts equals the counts of the whole, in any
/// order.
///
/// Blocks, transactions and logs count everything that the decoder received. Anomalies are
/// counted only in logs of requested tokens: checking all other logs just to count them would
/// double the cost of a log. The numbers of skipped blocks, transactions and logs depend on
/// how the result was found (by a scan or from an index). They are for progress and
/// diagnostics, and outputs leave them out so that they do not depend on the method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecodeCounts {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of blocks that were not read because the bloom filter of their header
    /// excludes every requested token. Their transactions and logs are not counted.
    #[serde(skip_serializing)]
    pub skipped_blocks: u64,
    /// The number of transactions, one for each receipt.
    #[serde(skip_serializing)]
    pub transactions: u64,
    /// The number of logs.
    #[serde(skip_serializing)]
    pub logs: u64,
    /// The number of transfers that match the filter.
    pub transfers: u64,
    /// Logs with a transfer signature that do not have the form of any standard.
    pub malformed: u64,
    /// Malformed logs with a signature of ERC-1155. Included in `malformed`.
    pub malformed_erc1155: u64,
    /// Logs that were decoded although the word of a sender or receiver has bits set above
    /// the address. The bits are ignored.
    pub dirty_addresses: u64,
    /// `Deposit` and `Withdrawal` events that were left out because a `Transfer` event of the
    /// same transaction reports the same movement.
    pub wraps_deduplicated: u64,
    /// Rows that equal another row of the same file or of an overlapping one. Only in sources
    /// made of files that other tools wrote.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Items that the source lacks according to its own data.
    #[serde(skip_serializing_if = "Gaps::is_empty")]
    pub gaps: Gaps,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl DecodeCounts {
    /// Returns the numbers of anomalies alone; all other counts are zero.
    #[must_use]
    pub fn anomalies(&self) -> Self {
        Self {
            malformed: self.malformed,
            malformed_erc1155: self.malformed_erc1155,
            dirty_addresses: self.dirty_addresses,
            wraps_deduplicated: self.wraps_deduplicated,
            ..Self::default()
        }
    }

    /// Returns the difference to `earlier`, an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, |count, earlier| count - earlier)
    }

    /// Combines each count with the same one of `other`.
    fn with(&self, other: &Self, count: impl Fn(u64, u64) -> u64 + Copy) -> Self {
        // All fields are named, so that a new one cannot be forgotten.
        Self {
            blocks: count(self.blocks, other.blocks),
            skipped_blocks: count(self.skipped_blocks, other.skipped_blocks),
            transactions: count(self.transactions, other.transactions),
            logs: count(self.logs, other.logs),
            transfers: count(self.transfers, other.transfers),
            malformed: count(self.malformed, other.malformed),
            malformed_erc1155: count(self.malformed_erc1155, other.malformed_erc1155),
            dirty_addresses: count(self.dirty_addresses, other.dirty_addresses),
            wraps_deduplicated: count(self.wraps_deduplicated, other.wraps_deduplicated),
            duplicates: count(self.duplicates, other.duplicates),
            gaps: self.gaps.with(&other.gaps, count),
        }
    }
}

impl AddAssign for DecodeCounts {
    fn add_assign(&mut self, other: Self) {
        *self = self.with(&other, |one, other| one + other);
    }
}

impl Sum for DecodeCounts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |mut sum, part| {
            sum += part;
            sum
        })
    }
}
