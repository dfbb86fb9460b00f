//! What can be measured.

use crate::Error;
use txgraph_analysis::{
    Connected, MeasureResult, PairSettings, SummarySettings, TraceMethod, Tracer, degrees, loops,
    pairs, summary,
};
use txgraph_base::words;
use txgraph_graph::Merger;

words! {
    /// What is measured.
    #[derive(Default)]
    pub enum Measure: "measure" {
        /// Counts, totals per token, top senders and receivers, concentration.
        #[default]
        Summary = "summary",
        /// Sums of transfers by sender, receiver and token.
        Pairs = "pairs",
        /// Statistics and distribution of degrees, and the largest hubs.
        Degrees = "degrees",
        /// Closed loops: strongly connected components.
        Loops = "loops",
        /// Weakly connected components.
        Components = "components",
        /// Where the tokens of the roots are: their amounts, followed through all transfers.
        Trace = "trace",
    }
}

impl Measure {
    /// The [ids](txgraph_analysis::Table::id) of its tables, the main one first.
    pub fn table_ids(self) -> Vec<&'static str> {
        // Those of nothing: every answer has the same tables.
        let nothing = || Merger::default().finish();
        let tables = match self {
            Self::Summary => nothing().map(|it| summary(&it, &SummarySettings::default()).tables()),
            Self::Pairs => nothing().map(|it| pairs(&it, &PairSettings::default()).tables()),
            Self::Degrees => nothing().map(|it| degrees(&it, 0).tables()),
            Self::Loops => nothing().map(|it| loops(&it, None).tables()),
            Self::Components => Ok(Connected::default().finish(&[], None).tables()),
            Self::Trace => {
                let nothing = Tracer::new(TraceMethod::default(), |_| None, |_, _| None);
                Ok(nothing.finish().tables())
            }
        };
        let tables = tables.unwrap_or_default();
        tables.iter().map(|table| table.id).collect()
    }

    /// The error for a table that the measure does not have.
    pub(crate) fn no_table(self, name: &str) -> Error {
        Error::usage(format!(
            "there is no table `{}`; one of {}",
            crate::text::shortened(name),
            self.table_ids().join(", ")
        ))
    }
}
