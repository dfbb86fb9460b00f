//! The measures of a graph.

use super::search::{Hops, SearchOptions};
use crate::Error;
use txgraph_base::string_enum;
use txgraph_transfers::Direction;

/// How far from the roots addresses are ranked. What arrives farther away is little.
const RANK_HOPS: u32 = 3;

string_enum! {
    /// A measure of a graph.
    #[derive(Default)]
    pub enum Measure: "measure" {
        /// Counts, totals per token, top senders and receivers, concentration.
        #[default]
        Summary = "summary",
        /// Sums of transfers by sender, receiver and token.
        Pairs = "pairs",
        /// Statistics and distribution of degrees, and the largest hubs.
        Degrees = "degrees",
        /// Cycles: strongly connected components.
        Cycles = "cycles" (was "loops"),
        /// Weakly connected components.
        Components = "components",
        /// Sums of transfers by token and period, or by token and transaction.
        Volume = "volume",
        /// Shapes of transfers that fraud, laundering and services leave behind.
        Patterns = "patterns",
        /// Addresses around the roots, by their part in the flow (Transaction Tracing Rank).
        Rank = "rank",
        /// Where the tokens of the roots are: their amounts, followed through all transfers.
        Taint = "taint" (was "trace"),
    }
}

impl Measure {
    /// Sets the defaults that other searches do not have.
    pub(crate) const fn set_defaults(self, search: &mut SearchOptions) {
        match self {
            Self::Taint => search.hops = Hops::All,
            Self::Rank => {
                search.hops = Hops::Number(RANK_HOPS);
                search.direction = Direction::Both;
            }
            _ => {}
        }
    }

    /// The [ids](txgraph_analysis::Table::id) of its tables, the main one first.
    pub const fn table_ids(self) -> &'static [&'static str] {
        match self {
            Self::Summary => &[
                "summary",
                "by-hop",
                "by-kind",
                "assets",
                "concentration",
                "top-senders-by-amount",
                "top-receivers-by-amount",
                "top-senders-by-transfers",
                "top-receivers-by-transfers",
            ],
            Self::Pairs => &["pairs"],
            Self::Degrees => &[
                "degrees",
                "vertices-with-at-least-n-transfers",
                "distribution-of-degrees",
                "hubs",
            ],
            Self::Cycles => &[
                "cycles",
                "moved-within-cycles",
                "addresses-in-cycles",
                "an-example-of-each-cycle",
                "self-transfers",
            ],
            Self::Components => &["components", "components-by-size"],
            Self::Volume => &["volume"],
            Self::Patterns => &["patterns", "evidence", "rules"],
            Self::Rank => &["ranks"],
            Self::Taint => &["ends", "sources", "ledger", "swaps", "slots"],
        }
    }

    /// The error for a table that the measure does not have.
    pub(crate) fn no_table(self, name: &str) -> Error {
        Error::usage(format!(
            "there is no table `{}`; one of {}",
            crate::grammar::shortened(name),
            self.table_ids().join(", ")
        ))
    }
}
