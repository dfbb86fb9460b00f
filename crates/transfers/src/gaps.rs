//! Gaps that sources show in their own data.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

macro_rules! gaps {
    ($($(#[$doc:meta])* $field:ident = $words:literal,)*) => {
        /// Counts of items that a source lacks according to its own data. Only in sources made of
        /// files that other tools wrote: a table states numbers that the rows of another one do not
        /// have.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Gaps {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Gaps {
            /// The numbers that are not zero, in words, for
            /// [`ScanReport::caveats`](crate::ScanReport::caveats).
            pub fn caveats(&self) -> Vec<String> {
                let all = [$((self.$field, $words),)*];
                let present = all.into_iter().filter(|(count, _)| *count > 0);
                present.map(|(count, words)| format!("{words}: {count}")).collect()
            }

            /// Returns the difference to `earlier`, an earlier state of the same numbers.
            #[must_use]
            pub const fn since(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }

        impl AddAssign for Gaps {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

gaps! {
    /// Blocks without a row in the table of blocks.
    blocks = "blocks that are not in the table of blocks",
    /// Transactions that are counted, and neither in the transactions nor in the traces.
    transactions = "transactions that are counted, but are not in the files",
    /// Transactions of which the files do not say whether they succeeded.
    outcomes = "transactions with an unknown outcome, whose values are left out",
    /// Transactions without call frames in tables of call frames.
    untraced = "transactions without traces",
    /// Call frames that others count or are in.
    frames = "call frames that others count or are in, but are not in the files",
    /// Destructions that a server may have reported although nothing moved.
    doubtful = "destructions that repeat the movement before them, and may have moved nothing",
    /// Contracts that are older than the transaction and name themselves as the beneficiary. Only
    /// the fork says whether their balance is burnt.
    burns = "contracts that name themselves as the beneficiary, whose balance was burnt before Cancun",
    /// Logs whose index is skipped.
    logs = "logs whose index is skipped, because they are not in the files",
    /// Blocks whose logs do not have the bloom filter of the header.
    blooms = "blocks that have more logs than the files, by the bloom filters of their headers",
    /// Blocks whose withdrawals are not in the table of blocks.
    withdrawals = "blocks with a root of withdrawals, but without withdrawals",
}

impl Gaps {
    /// Whether nothing is known to be missing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_zero_are_caveats() {
        let mut gaps = Gaps::default();
        assert!(gaps.is_empty() && gaps.caveats().is_empty());
        let two = Gaps {
            untraced: 2,
            ..gaps
        };
        gaps += two;
        gaps += two;
        assert_eq!(gaps.caveats(), ["transactions without traces: 4"]);
        assert_eq!(gaps.since(&two), two);
    }
}
