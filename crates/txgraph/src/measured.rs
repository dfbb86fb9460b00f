//! Measures of all transfers of a request, as a source is asked for them.

use serde::Serialize;
use txgraph_analysis::{
    Components, Cycles, Degrees, MeasureResult, PairSettings, Pairs, Patterns, Ranking, Summary,
    SummarySettings, Table, Taint, Volume, VolumeSettings,
};
use txgraph_transfers::{ScanReport, Unseen};

/// A measure with its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MeasureSettings {
    /// [`Measure::Summary`](crate::Measure::Summary).
    Summary(SummarySettings),
    /// [`Measure::Pairs`](crate::Measure::Pairs).
    Pairs(PairSettings),
    /// [`Measure::Degrees`](crate::Measure::Degrees), with the number of hubs.
    Degrees(usize),
    /// [`Measure::Cycles`](crate::Measure::Cycles), with the number of cycles; all if there is none.
    Cycles(Option<usize>),
    /// [`Measure::Components`](crate::Measure::Components), with the number of components; all if there is none.
    Components(Option<usize>),
    /// [`Measure::Volume`](crate::Measure::Volume).
    Volume(VolumeSettings),
    /// [`Measure::Patterns`](crate::Measure::Patterns), with the number of findings of each pattern;
    /// all if there is none.
    Patterns(Option<usize>),
}

/// The result of a measure. Serialized, it is the result alone.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MeasureAnswer {
    /// [`Measure::Summary`](crate::Measure::Summary).
    Summary(Summary),
    /// [`Measure::Pairs`](crate::Measure::Pairs).
    Pairs(Pairs),
    /// [`Measure::Degrees`](crate::Measure::Degrees).
    Degrees(Degrees),
    /// [`Measure::Cycles`](crate::Measure::Cycles).
    Cycles(Cycles),
    /// [`Measure::Components`](crate::Measure::Components).
    Components(Components),
    /// [`Measure::Volume`](crate::Measure::Volume).
    Volume(Volume),
    /// [`Measure::Patterns`](crate::Measure::Patterns).
    Patterns(Patterns),
    /// [`Measure::Rank`](crate::Measure::Rank).
    Rank(Ranking),
    /// [`Measure::Taint`](crate::Measure::Taint).
    Taint(Taint),
}

impl MeasureAnswer {
    /// The result as tables, the main one first.
    pub fn tables(&self) -> Vec<Table> {
        match self {
            Self::Summary(found) => found.tables(),
            Self::Pairs(found) => found.tables(),
            Self::Degrees(found) => found.tables(),
            Self::Cycles(found) => found.tables(),
            Self::Components(found) => found.tables(),
            Self::Volume(found) => found.tables(),
            Self::Patterns(found) => found.tables(),
            Self::Rank(found) => found.tables(),
            Self::Taint(found) => found.tables(),
        }
    }
}

/// A measure of all transfers of a request, by a [`Backend`](crate::Backend).
#[derive(Clone, Debug)]
pub struct Measured {
    /// The report on the transfers.
    pub scan: ScanReport,
    /// Queried names that never occurred.
    pub unseen: Unseen,
    /// The number of addresses.
    pub vertices: u64,
    /// The number of transfers.
    pub transfers: u64,
    /// The result, without labels.
    pub answer: MeasureAnswer,
}
