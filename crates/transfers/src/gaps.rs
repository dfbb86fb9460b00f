//! Gaps that sources show in their own data.

use serde::{Deserialize, Serialize};

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

            /// Combines each number with the same one of `other`.
            #[must_use]
            pub(crate) fn with(&self, other: &Self, number: impl Fn(u64, u64) -> u64) -> Self {
                Self { $($field: number(self.$field, other.$field),)* }
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
        let none = Gaps::default();
        assert!(none.is_empty() && none.caveats().is_empty());
        let two = Gaps {
            untraced: 2,
            ..none
        };
        let four = two.with(&two, |one, other| one + other);
        assert_eq!(four.caveats(), ["transactions without traces: 4"]);
        assert_eq!(four.with(&two, |one, other| one - other), two);
    }
}
