//! Options of writers.

use crate::{
    ColumnChoice, ColumnWord, Drawing, Metadata, Schema, TokenList, Transactions, choice::Chosen,
};
use txgraph_graph::{Contracts, TransferGraph};
use txgraph_labels::Labels;
use txgraph_transfers::TokenStandard;
use txgraph_work::Threads;

/// Options of tables.
#[derive(Clone, Debug)]
pub struct TransferTableOptions {
    /// EIP-155 chain id, for the `chain_id` column of transfers. A graph has its own.
    pub chain_id: u64,
    /// The columns and their types, in order; empty: all. Other tables have the types of the set
    /// in the list. Sets stand for exactly the table of their tool if it has one for `standards`.
    pub columns: Vec<ColumnChoice>,
    /// The only standards of the transfers; empty: any.
    pub standards: Vec<TokenStandard>,
    /// Symbols and decimals, for columns on request and labels. Amounts of other tokens are labeled
    /// in raw units.
    pub tokens: TokenList,
    /// Names of addresses: for columns on request, and more columns of vertices.
    pub labels: Option<Labels>,
    /// Transactions of the transfers, for columns on request.
    pub transactions: Transactions,
    /// Rows of a Parquet row group or an Arrow record batch. A writer holds that many in
    /// memory, at about 400 bytes per row.
    pub group_rows: usize,
    /// The threads that format text, when there is much of it. The bytes are the same for
    /// any number.
    pub threads: Threads,
}

impl TransferTableOptions {
    /// All columns.
    pub fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            columns: Vec::new(),
            standards: Vec::new(),
            tokens: TokenList::default(),
            labels: None,
            transactions: Transactions::new(),
            group_rows: 64 * 1024,
            threads: Threads::default(),
        }
    }

    /// The schema and the types of all columns: taken from the set in the list, if it has one.
    pub(crate) fn set(&self) -> (Schema, Vec<ColumnWord>) {
        let sets = self.columns.iter();
        let mut sets = sets.filter_map(|choice| match choice.chosen {
            Chosen::All(schema) => Some((schema, choice.types().collect())),
            _ => None,
        });
        sets.next().unwrap_or((Schema::Txgraph, Vec::new()))
    }
}

/// Options of graphs.
#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// How to write its edges as a table.
    pub table: TransferTableOptions,
    /// Write one edge per (from, to, asset) with count and sum instead of one
    /// per transfer.
    pub merge: bool,
    /// Options of drawings (DOT, SVG, PNG, HTML).
    pub drawing: Drawing,
    /// Which vertices are contracts, as far as that is known.
    pub contracts: Contracts,
}

impl GraphOptions {
    /// The defaults for a graph of this chain.
    pub fn new(chain_id: u64) -> Self {
        Self {
            table: TransferTableOptions::new(chain_id),
            merge: false,
            drawing: Drawing::default(),
            contracts: Contracts::default(),
        }
    }
}

/// The input of the writers of graphs.
#[derive(Clone, Copy)]
pub(crate) struct GraphInput<'a> {
    pub(crate) graph: &'a TransferGraph,
    pub(crate) options: &'a GraphOptions,
    pub(crate) metadata: &'a Metadata,
}
