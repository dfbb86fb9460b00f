//! How to write.

use crate::{Compression, Schema, TokenList, U256Type};
use std::{path::PathBuf, time::Duration};

/// How to write transfers as rows.
#[derive(Clone, Debug)]
pub struct TransferTableOptions {
    /// EIP-155 chain id, for the `chain_id` column. A graph knows its own.
    pub chain_id: u64,
    /// Whose column names.
    pub schema: Schema,
    /// How 256-bit numbers are written to Parquet and Arrow IPC, a column for
    /// each. CSV and JSONL always hold decimals.
    pub u256: Vec<U256Type>,
    /// Compression of Parquet and Arrow IPC. Absent: zstd for Parquet, none for
    /// Arrow IPC, so that it can be mapped into memory.
    pub compression: Option<Compression>,
    /// Rows of a Parquet row group or an Arrow record batch, and so of the
    /// memory that writing takes: about 400 bytes per row.
    pub group_rows: usize,
    /// Threads that format text, when there is much of it. Absent: as
    /// `RAYON_NUM_THREADS` says, else one for each core. The bytes are the same for
    /// any number.
    pub threads: Option<usize>,
}

impl TransferTableOptions {
    /// Our own names, the encodings that cryo writes unless told otherwise.
    pub fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            schema: Schema::Txgraph,
            u256: vec![U256Type::Binary, U256Type::String, U256Type::F64],
            compression: None,
            group_rows: 64 * 1024,
            threads: None,
        }
    }
}

/// How to write a graph.
#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// How to write its edges as rows.
    pub table: TransferTableOptions,
    /// Write one edge per (from, to, asset) with count and sum instead of one
    /// per transfer.
    pub merge: bool,
    /// Symbols and decimals for what people read. Without: raw units.
    pub tokens: Option<TokenList>,
    /// How to draw (DOT, SVG, PNG).
    pub drawing: Drawing,
}

impl GraphOptions {
    /// The default way to write a graph of this chain.
    pub fn new(chain_id: u64) -> Self {
        Self {
            table: TransferTableOptions::new(chain_id),
            merge: false,
            tokens: None,
            drawing: Drawing::default(),
        }
    }
}

/// How to draw.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Draw an arrow per transfer instead of one per (from, to, asset).
    pub every_transfer: bool,
    /// Most vertices of a picture (SVG, PNG).
    pub vertices_max: usize,
    /// Most arrows of a picture (SVG, PNG).
    pub edges_max: usize,
    /// Graphviz's programme.
    pub program: PathBuf,
    /// How long it may take.
    pub time_max: Duration,
    /// How large a picture may be.
    pub bytes_max: usize,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            every_transfer: false,
            vertices_max: 2_000,
            edges_max: 2_000,
            program: "dot".into(),
            time_max: Duration::from_secs(60),
            bytes_max: 64 << 20,
        }
    }
}
