//! Options of writers.

use crate::{
    ColumnTypes, Dataset, Error, Fold, Layout, Link, Prices, Result, Schema, TokenList,
    Transactions, U256Type, table::chosen,
};
use std::{path::PathBuf, time::Duration};
use txgraph_base::words;
use txgraph_graph::Contracts;
use txgraph_labels::Labels;
use txgraph_work::Threads;

/// Options of tables.
#[derive(Clone, Debug)]
pub struct TransferTableOptions {
    /// EIP-155 chain id, for the `chain_id` column of transfers. A graph has its own.
    pub chain_id: u64,
    /// The column names of transfers.
    pub schema: Schema,
    /// The types of 256-bit numbers in Parquet and Arrow IPC, with a column for each. CSV
    /// and JSONL always hold decimals.
    pub u256: Vec<U256Type>,
    /// Exactly the table of another tool; the schema must be that of the tool.
    pub dataset: Option<Dataset>,
    /// The columns, in order, by their names in the schema, and those that are written on request:
    /// `amount`, `symbol`, `decimals`, `from_label`, `to_label`, `transaction_from`,
    /// `transaction_to`, `status`, `method`. A 256-bit number stands for all its types. Empty: those
    /// of the schema.
    pub columns: Vec<String>,
    /// Columns that are left out.
    pub exclude: Vec<String>,
    /// Whether addresses and hashes are hexadecimal text in Parquet and Arrow IPC, too.
    pub hex: bool,
    /// The types of columns in Parquet. Other formats have plain types only.
    pub types: ColumnTypes,
    /// Symbols and decimals, for columns on request.
    pub tokens: Option<TokenList>,
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
    /// The names of txgraph, and cryo's default types of 256-bit numbers.
    pub fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            schema: Schema::Txgraph,
            u256: vec![U256Type::Binary, U256Type::String, U256Type::F64],
            dataset: None,
            columns: Vec::new(),
            exclude: Vec::new(),
            hex: false,
            types: ColumnTypes::Plain,
            tokens: None,
            labels: None,
            transactions: Transactions::new(),
            group_rows: 64 * 1024,
            threads: Threads::default(),
        }
    }

    /// Checks the options. Every writer does so before it writes; a caller that has long
    /// work ahead of writing should do so first.
    pub fn validate(&self) -> Result<()> {
        let repeated = |(at, word): (usize, &U256Type)| self.u256[..at].contains(word);
        match self.u256.iter().enumerate().find(|word| repeated(*word)) {
            Some((_, word)) => Err(Error::U256TypeTwice(*word)),
            None if self.u256.is_empty() => Err(Error::NoU256Type),
            None => chosen::validate(self),
        }
    }
}

words! {
    /// A column of vertices that is written on request. JSON, GraphML and GEXF have all of them; those
    /// of labels only if there are files of labels.
    pub enum VertexColumn: "column" {
        /// Whether the account has code, by the state of the node.
        IsContract = "is_contract",
        /// Why the trail ends here.
        EndReason = "end_reason",
        /// The category of its labels.
        Category = "category",
        /// Where its name comes from.
        LabelSource = "label_source",
    }
}

impl VertexColumn {
    /// Those that describe labels.
    pub const OF_LABELS: [Self; 2] = [Self::Category, Self::LabelSource];

    /// The columns of a document, with or without files of labels.
    pub(crate) fn of_document(labelled: bool) -> Vec<Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|column| labelled || !Self::OF_LABELS.contains(column))
            .collect()
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
    /// Symbols and decimals for labels. Without a list, labels have raw units.
    pub tokens: Option<TokenList>,
    /// Options of drawings (DOT, SVG, PNG, HTML).
    pub drawing: Drawing,
    /// Which vertices are contracts, as far as that is known.
    pub contracts: Contracts,
    /// Columns of the table of vertices that are written on request.
    pub vertex_columns: Vec<VertexColumn>,
}

impl GraphOptions {
    /// The defaults for a graph of this chain.
    pub fn new(chain_id: u64) -> Self {
        Self {
            table: TransferTableOptions::new(chain_id),
            merge: false,
            tokens: None,
            drawing: Drawing::default(),
            contracts: Contracts::default(),
            vertex_columns: Vec::new(),
        }
    }
}

/// Options of drawings.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Draw an arrow per transfer instead of one per (from, to, asset).
    pub every_transfer: bool,
    /// How vertices are placed in a picture.
    pub layout: Layout,
    /// Which leaves are drawn as one vertex.
    pub fold: Fold,
    /// Where a click on a vertex or an arrow leads.
    pub link: Option<Link>,
    /// Prices of tokens, so that the width of an arrow is its value.
    pub prices: Option<Prices>,
    /// The most vertices of a picture (SVG, PNG, HTML), after folding.
    pub vertices_max: usize,
    /// The most arrows of a picture (SVG, PNG, HTML), after folding.
    pub edges_max: usize,
    /// The program of Graphviz.
    pub program: PathBuf,
    /// The time that Graphviz may take. After it the picture is an error: a layout that replaced it
    /// would depend on the speed of the machine.
    pub time_max: Duration,
    /// The largest picture, in bytes.
    pub bytes_max: usize,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            every_transfer: false,
            layout: Layout::Auto,
            fold: Fold::Auto,
            link: None,
            prices: None,
            vertices_max: 5_000,
            edges_max: 5_000,
            program: "dot".into(),
            time_max: Duration::from_secs(60),
            bytes_max: 64 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u256_types_must_be_distinct_and_not_empty() {
        use U256Type::{Binary, F64, String};
        let check = |u256: &[U256Type]| {
            let options = TransferTableOptions {
                u256: u256.to_vec(),
                ..TransferTableOptions::new(1)
            };
            options.validate()
        };
        assert!(check(&[Binary]).is_ok());
        assert!(check(&[F64, String, Binary]).is_ok());
        let error = check(&[Binary, F64, Binary]).unwrap_err();
        assert!(matches!(error, Error::U256TypeTwice(Binary)), "{error}");
        assert!(error.is_usage());
        assert!(matches!(check(&[]), Err(Error::NoU256Type)));
    }
}
