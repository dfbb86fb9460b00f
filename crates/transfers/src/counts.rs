//! What a decoder has seen.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::AddAssign;

/// What a decoder has seen. Sums of parts equal the whole, in any order.
///
/// Blocks, transactions and logs are all that the decoder was given. What was odd
/// about logs is told of the tokens that were asked for: to look at the others only
/// to count them would double the price of a log. What was skipped, and so the number of
/// transactions and logs, depends on how the answer was found (a scan, an index): it is
/// for people to watch, and not written into answers, which do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecodeCounts {
    /// Blocks.
    pub blocks: u64,
    /// Those of `blocks` that were not read, as the bloom filter of their header
    /// excludes every token asked for; their transactions and logs are not counted.
    #[serde(skip_serializing)]
    pub skipped_blocks: u64,
    /// Transactions (receipts).
    #[serde(skip_serializing)]
    pub transactions: u64,
    /// Logs.
    #[serde(skip_serializing)]
    pub logs: u64,
    /// Transfers that met the filter.
    pub transfers: u64,
    /// Logs with a transfer signature whose shape is none of the standards'.
    pub malformed: u64,
    /// Those of `malformed` with a signature of ERC-1155.
    pub malformed_erc1155: u64,
    /// Logs decoded as transfers although a sender's or receiver's word had bits
    /// set above its address. The bits are masked away.
    pub dirty_addresses: u64,
    /// `Deposit`/`Withdrawal` events left out because the same movement stands
    /// in a `Transfer` of the same transaction.
    pub wraps_deduplicated: u64,
}

impl DecodeCounts {
    /// What was odd, without how much there was.
    #[must_use]
    pub fn only_odd(&self) -> Self {
        Self {
            malformed: self.malformed,
            malformed_erc1155: self.malformed_erc1155,
            dirty_addresses: self.dirty_addresses,
            wraps_deduplicated: self.wraps_deduplicated,
            ..Self::default()
        }
    }

    /// What was counted since `earlier`, an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            blocks,
            skipped_blocks,
            transactions,
            logs,
            transfers,
            malformed,
            malformed_erc1155,
            dirty_addresses,
            wraps_deduplicated,
        } = *earlier;
        Self {
            blocks: self.blocks - blocks,
            skipped_blocks: self.skipped_blocks - skipped_blocks,
            transactions: self.transactions - transactions,
            logs: self.logs - logs,
            transfers: self.transfers - transfers,
            malformed: self.malformed - malformed,
            malformed_erc1155: self.malformed_erc1155 - malformed_erc1155,
            dirty_addresses: self.dirty_addresses - dirty_addresses,
            wraps_deduplicated: self.wraps_deduplicated - wraps_deduplicated,
        }
    }
}

impl AddAssign for DecodeCounts {
    fn add_assign(&mut self, other: Self) {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            blocks,
            skipped_blocks,
            transactions,
            logs,
            transfers,
            malformed,
            malformed_erc1155,
            dirty_addresses,
            wraps_deduplicated,
        } = other;
        self.blocks += blocks;
        self.skipped_blocks += skipped_blocks;
        self.transactions += transactions;
        self.logs += logs;
        self.transfers += transfers;
        self.malformed += malformed;
        self.malformed_erc1155 += malformed_erc1155;
        self.dirty_addresses += dirty_addresses;
        self.wraps_deduplicated += wraps_deduplicated;
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
