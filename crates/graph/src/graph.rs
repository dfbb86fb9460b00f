//! The graph that a search returns.

use crate::AmountSum;
use alloy_primitives::{Address, U256};
use petgraph::graph::{DiGraph, NodeIndex};
use serde::{Deserialize, Serialize};
use txgraph_transfers::{BlockRanges, ChainInfo, Direction, ScanReport, TokenStandard, Transfer};

/// Names a vertex of a [`TransferGraph`]. Vertices are numbered by (hop, address).
pub type VertexId = NodeIndex<u32>;

/// What is counted together: a token contract, or the native coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Asset {
    /// Token contract; absent for the native coin.
    pub token_address: Option<Address>,
    /// Standard of its transfers (a contract may speak two: DN-404).
    pub token_standard: TokenStandard,
}

impl Asset {
    /// What `transfer` moves.
    pub fn of(transfer: &Transfer) -> Self {
        Self {
            token_address: transfer.token_address,
            token_standard: transfer.token_standard,
        }
    }
}

/// Why a vertex was or was not expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expansion {
    /// Its transfers were followed.
    Expanded,
    /// It lies at the last hop.
    LastHop,
    /// More counterparties than `max_degree`.
    Hub,
    /// It stands in the stop list.
    StopList,
    /// The zero address.
    ZeroAddress,
    /// `max_vertices` or `max_edges` was reached before all its transfers were in.
    Limit,
}

/// What a vertex received and sent of one asset, within the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetTotals {
    /// The asset.
    pub asset: Asset,
    /// Transfers received.
    pub in_transfers: u64,
    /// Sum of amounts received (smallest unit; number of items for ERC-721).
    pub in_amount: AmountSum,
    /// Transfers sent.
    pub out_transfers: u64,
    /// Sum of amounts sent.
    pub out_amount: AmountSum,
}

/// An address in the graph. Degrees and totals count the edges *of the graph*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// The address.
    pub address: Address,
    /// Distance from the nearest root, in hops; roots are 0.
    pub hop: u32,
    /// Whether its transfers were followed, or why not.
    pub expansion: Expansion,
    /// Label from the stop list, if any.
    pub label: Option<String>,
    /// Distinct senders to this vertex.
    pub in_degree: u32,
    /// Distinct receivers from this vertex.
    pub out_degree: u32,
    /// Per asset, ordered by asset.
    pub totals: Vec<AssetTotals>,
    /// First and last block of any of its transfers in the graph.
    pub blocks: Option<(u64, u64)>,
}

/// One transfer in the graph; parallel edges keep every transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The transfer, hash resolved.
    pub transfer: Transfer,
    /// The hop at which it was found: 1 + hop of the vertex whose expansion met it
    /// first. In a time-respecting search a vertex may be expanded again when a
    /// longer way reaches it sooner; then the length of that way counts. In every
    /// search it is the fewest transfers of a followed way that ends with this one.
    pub hop: u32,
}

/// All transfers of one asset from one address to another, as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedEdge {
    /// Sender.
    pub source: VertexId,
    /// Receiver.
    pub target: VertexId,
    /// Asset.
    pub asset: Asset,
    /// How many transfers.
    pub count: u64,
    /// Sum of their amounts.
    pub sum: AmountSum,
    /// Smallest hop of any of them.
    pub hop: u32,
    /// Block and time of the first.
    pub first: (u64, u64),
    /// Block and time of the last.
    pub last: (u64, u64),
}

/// A limit that cut the search short, recorded so that no answer looks whole when it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LimitHit {
    /// Vertices shown but not expanded because of `max_degree`.
    MaxDegree {
        /// The limit.
        limit: u32,
        /// How many vertices it stopped.
        vertices: u64,
    },
    /// Vertices shown but not expanded because they are in the stop list.
    StopList {
        /// How many.
        vertices: u64,
    },
    /// The zero address was met and not expanded.
    ZeroAddress,
    /// No more vertices were added. The search went on among those it had, so every
    /// followed transfer with both ends in the graph is there.
    MaxVertices {
        /// The limit.
        limit: u64,
        /// Transfers of expanded vertices left out because their other end could
        /// not be added. What lies beyond was not looked at.
        transfers_left_out: u64,
    },
    /// No more edges were added, and the search ended with the hop at which that
    /// happened.
    MaxEdges {
        /// The limit.
        limit: u64,
        /// Transfers left out at that hop. What lies beyond was not looked at.
        transfers_left_out: u64,
    },
}

/// What a search found. `graph` has vertices ordered by (hop, address) and
/// edges in the total order of transfers: equal questions give equal graphs.
#[derive(Clone, Debug)]
pub struct TransferGraph {
    /// The petgraph graph, free to use with its algorithms.
    pub graph: DiGraph<Vertex, Edge, u32>,
    /// Roots, in the order of their vertices.
    pub roots: Vec<VertexId>,
    /// Chain of the transfers.
    pub chain: ChainInfo,
    /// Blocks that were asked for.
    pub blocks: BlockRanges,
    /// Hops asked for; absent: until nothing new is reached.
    pub hops: Option<u32>,
    /// Direction followed.
    pub direction: Direction,
    /// Smallest amount asked for.
    pub min_value: U256,
    /// Limits that bit.
    pub limits: Vec<LimitHit>,
    /// What was read, with gaps.
    pub scan: ScanReport,
}
