//! The steps of measures.

use crate::{PairSettings, SummarySettings};
use serde::{Deserialize, Serialize};
use txgraph_graph::Asset;

/// The columns of the rows of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EdgeRows {
    /// Sender, receiver, and the number of transfers of all assets.
    Pairs,
    /// Sender, receiver, asset, the number of transfers, and their sum.
    Sums,
    /// The same with the first and the last block.
    Blocks,
}

/// The work of the tasks of a step.
///
/// The first step of a measure reads transfers. A task of a later one reads a partition of the rows
/// that all tasks of an earlier step wrote, or the rows of some tasks. *By pair* means that all
/// rows of two addresses are in one partition, in either direction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// Transfers → a forest: a branch for each address.
    Forest,
    /// Transfers → edges, by pair; with sums, also the counts of assets, by asset.
    Edges(EdgeRows),
    /// Forests → one forest.
    MergeForests,
    /// Forests → the components of all.
    Components(Option<usize>),

    /// Pairs → degrees of vertices, by address.
    Vertices,
    /// Vertices → counts of degrees, with this number of hubs.
    Degrees(usize),
    /// Counts of degrees → their sum.
    MergeDegrees(usize),

    /// Edges with blocks → the first of them, in order; degrees of vertices, by address.
    Pairs(PairSettings),
    /// The first edges of several partitions → the first of all.
    MergePairs(PairSettings),

    /// Counts of assets → the assets with most transfers.
    Assets(SummarySettings),
    /// Edges with sums → degrees of vertices; the participants of these assets, by address; counts.
    Sides(Vec<Asset>),
    /// The same → the busiest vertices; complete participants, by asset, side and length.
    Busiest(SummarySettings),
    /// Participants, with earlier counts → ranked sides.
    Ranked(SummarySettings),
    /// Counts of a summary → their sum.
    MergeSummary(SummarySettings),

    /// Edges with sums → tokens, by token; their addresses, by token and address.
    TokenEnds,
    /// The addresses of tokens → tokens, by token.
    TokenSums,
    /// Tokens → the first of them, in order.
    Tokens(Option<usize>),

    /// Pairs → counts of motifs; senders and receivers of vertices, by address.
    MotifEnds,
    /// Senders and receivers of vertices → counts of motifs.
    Motifs,

    /// Pairs → links and vertices, by sender.
    Links,
    /// The same → each once. The number of vertices.
    Adjacency,
    /// Links and vertices, with earlier contributions → ranks; contributions, by receiver. The rank
    /// of vertices without a link. Each vertex gets the double with these bits: as text it would
    /// not be exact.
    Ranks(u64),
    /// Ranks → the first of them, in order.
    Highest(Option<usize>),
}
