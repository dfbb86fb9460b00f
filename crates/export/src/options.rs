//! How to write.

use crate::{Error, Result, Schema, TokenList, U256Type};
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
            group_rows: 64 * 1024,
            threads: None,
        }
    }

    /// Checks the options. Every writer does so before it writes; a caller that has long
    /// work ahead of writing should do so first.
    pub fn validate(&self) -> Result<()> {
        let twice = |(at, way): (usize, &U256Type)| self.u256[..at].contains(way);
        match self.u256.iter().enumerate().find(|way| twice(*way)) {
            Some((_, way)) => Err(Error::U256TypeTwice(*way)),
            None if self.u256.is_empty() => Err(Error::NoU256Type),
            None => Ok(()),
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
