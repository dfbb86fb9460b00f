//! The graph that a search returns.

use crate::{AmountSum, SearchError};
use alloy_primitives::Address;
use petgraph::graph::{DiGraph, NodeIndex};
use serde::{Deserialize, Serialize};
use txgraph_base::string_enum;
use txgraph_labels::{LabelSet, Labels};
use txgraph_transfers::{
    BlockRanges, BlockTime, ChainInfo, Direction, ScanReport, TokenStandard, Transfer,
};

/// The number of a vertex in a [`TransferGraph`]. Vertices are numbered by (hop, address).
pub type VertexId = NodeIndex<u32>;

/// The unit in which amounts add up: a token contract, or the native coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Asset {
    /// Token contract; absent for the native coin.
    pub token_address: Option<Address>,
    /// Standard of its transfers. A contract may implement two (DN-404).
    pub token_standard: TokenStandard,
}

impl Asset {
    /// The native coin.
    pub const NATIVE: Self = Self {
        token_address: None,
        token_standard: TokenStandard::Native,
    };

    /// The asset that `transfer` moves.
    pub fn of(transfer: &Transfer) -> Self {
        Self {
            token_address: transfer.token_address,
            token_standard: transfer.token_standard,
        }
    }
}

string_enum! {
    /// Whether a vertex was expanded, or why not.
    pub enum Expansion: "expansion" {
        /// Its transfers were followed.
        Expanded = "expanded",
        /// It is at the last hop.
        LastHop = "last_hop",
        /// It has more counterparties than `max_degree`.
        Hub = "hub",
        /// It is in the stop list.
        StopList = "stop_list",
        /// It is the zero address.
        ZeroAddress = "zero_address",
        /// It only carries a swap that was followed.
        Swap = "swap",
        /// `max_vertices` or `max_edges` was reached before all its transfers were added, or `top`
        /// left out all of them.
        Limit = "limit",
    }
}

/// Transfers and amounts of one asset that a vertex received and sent, within the graph.
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
    /// Its labels, the most important first.
    pub labels: LabelSet,
    /// Distinct senders to this vertex.
    pub in_degree: u32,
    /// Distinct receivers from this vertex.
    pub out_degree: u32,
    /// Per asset, ordered by asset.
    pub totals: Vec<AssetTotals>,
    /// First and last block of its transfers in the graph.
    pub blocks: Option<(u64, u64)>,
}

/// One transfer in the graph. Parallel transfers are parallel edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The transfer, with its transaction hash and block time.
    pub transfer: Transfer,
    /// The hop at which it was found: 1 + the hop of the vertex whose expansion found it
    /// first. A time-respecting search may expand a vertex again, when a longer path
    /// reaches it earlier; then the length of that path counts. In every search it is the
    /// length of the shortest followed path that ends with this transfer.
    pub hop: u32,
}

/// All transfers of one asset from one address to another as one edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedEdge {
    /// Sender.
    pub source: VertexId,
    /// Receiver.
    pub target: VertexId,
    /// Asset.
    pub asset: Asset,
    /// The number of transfers.
    pub count: u64,
    /// Sum of their amounts.
    pub sum: AmountSum,
    /// Smallest hop of any of them.
    pub hop: u32,
    /// Block of the first, and its time if it is known.
    pub first: (u64, Option<BlockTime>),
    /// Block of the last, and its time if it is known.
    pub last: (u64, Option<BlockTime>),
}

/// A limit that cut the search short. It is part of the result, so that no result looks
/// complete when it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LimitHit {
    /// Vertices shown but not expanded because of `max_degree`.
    MaxDegree {
        /// The limit.
        limit: u32,
        /// The number of vertices.
        vertices: u64,
    },
    /// Vertices shown but not expanded because they are in the stop list.
    StopList {
        /// The number of vertices.
        vertices: u64,
    },
    /// The zero address was reached and not expanded.
    ZeroAddress,
    /// No more vertices were added. The search continued among those it had, so the graph
    /// has every followed transfer between them.
    MaxVertices {
        /// The limit.
        limit: u64,
        /// Transfers of expanded vertices left out because their other end could not be
        /// added. Transfers beyond those were not examined.
        transfers_left_out: u64,
    },
    /// Transfers of expanded vertices were left out, because other counterparties have larger
    /// amounts.
    Top {
        /// The number of counterparties of each vertex and token that are followed.
        limit: u32,
        /// Transfers left out. Transfers beyond those were not examined.
        transfers_left_out: u64,
    },
    /// No more edges were added, and the search ended with the hop at which that
    /// happened.
    MaxEdges {
        /// The limit.
        limit: u64,
        /// Transfers left out at that hop. Transfers beyond those were not examined.
        transfers_left_out: u64,
    },
}

/// The number of swaps that transfers of a graph lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapCounts {
    /// Swaps that were followed into what was got, or back into what was given for it.
    pub followed: u64,
    /// Swaps whose transfers do not say what was given for what. The tokens were followed to their
    /// receivers, or back to their senders.
    pub unresolved: u64,
}

/// The result of a search. Vertices are ordered by (hop, address) and edges in the total
/// order of transfers, so equal requests give equal graphs.
#[derive(Clone, Debug)]
pub struct TransferGraph {
    /// The graph, for use with the algorithms of petgraph.
    pub graph: DiGraph<Vertex, Edge, u32>,
    /// Roots, in the order of their vertices.
    pub roots: Vec<VertexId>,
    /// Chain of the transfers.
    pub chain: ChainInfo,
    /// Requested blocks.
    pub blocks: BlockRanges,
    /// Requested hops; `None`: until nothing new is reached.
    pub hops: Option<u32>,
    /// Direction followed.
    pub direction: Direction,
    /// Limits that were reached.
    pub limits: Vec<LimitHit>,
    /// The swaps on the way, of a search that [follows them](crate::SearchRequest::through_swaps).
    pub swaps: SwapCounts,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

impl TransferGraph {
    /// Gives every vertex its labels.
    pub fn label(&mut self, labels: &Labels) {
        for vertex in self.graph.node_weights_mut() {
            vertex.labels = labels.get(vertex.address);
        }
    }
}

/// The petgraph graph of a [`TransferGraph`].
pub(crate) type Graph = DiGraph<Vertex, Edge, u32>;

impl Vertex {
    /// Creates a vertex whose degrees and totals are still to be counted.
    pub(crate) fn new(address: Address, hop: u32, expansion: Expansion) -> Self {
        Self {
            address,
            hop,
            expansion,
            labels: LabelSet::default(),
            in_degree: 0,
            out_degree: 0,
            totals: Vec::new(),
            blocks: None,
        }
    }
}

/// Adds a vertex. Fails at 2^32 - 1 of them, where petgraph would panic.
pub(crate) fn add_vertex(graph: &mut Graph, vertex: Vertex) -> Result<NodeIndex, SearchError> {
    graph
        .try_add_node(vertex)
        .map_err(|_| SearchError::TooLarge { what: "vertices" })
}

/// Adds an edge. Fails at 2^32 - 1 of them, where petgraph would panic.
pub(crate) fn add_edge(
    graph: &mut Graph,
    source: NodeIndex,
    target: NodeIndex,
    edge: Edge,
) -> Result<(), SearchError> {
    match graph.try_add_edge(source, target, edge) {
        Ok(_) => Ok(()),
        Err(_) => Err(SearchError::TooLarge { what: "edges" }),
    }
}
