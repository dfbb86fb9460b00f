//! What a decoder has seen.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::AddAssign;

/// What a decoder has seen. Sums of parts equal the whole, in any order.
///
/// All but `transfers` depend only on what the decoder was given, not on the
/// filter: a scan for one token still tells how many logs of the range were odd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecodeCounts {
    /// Blocks.
    pub blocks: u64,
    /// Transactions (receipts).
    pub transactions: u64,
    /// Logs.
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

impl AddAssign for DecodeCounts {
    fn add_assign(&mut self, other: Self) {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            blocks,
            transactions,
            logs,
            transfers,
            malformed,
            malformed_erc1155,
            dirty_addresses,
            wraps_deduplicated,
        } = other;
        self.blocks += blocks;
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
