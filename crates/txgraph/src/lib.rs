//! txgraph: where did these tokens go?
//!
//! Reads the database of a local reth node, read-only, and answers questions
//! about token transfers: the transfers themselves, the graph around some
//! addresses, measures over it. This crate is the door to all the others. In:
//! a [`Config`] (how to run) and a question ([`Query`]: what to ask). It knows
//! nothing of argument parsers and terminals, and prints nothing.

mod error;
mod config;
mod blocks;
mod address;
mod lists;
mod query;
mod query_file;

pub use address::{AddressError, Checksum, parse_address};
pub use blocks::{BlockSpec, BlocksError, parse_blocks};
pub use config::{
    CONFIG_ENV, CONFIG_FILE, Config, DATADIR_ENV, MEMORY_DEFAULT, THREADS_ENV, parse_size,
};
pub use error::{Error, ErrorKind, Result};
pub use lists::parse_amount;
pub use query::{
    AnalyzeQuery, Columns, GraphQuery, Hops, Measure, Output, Query, Search, Selection,
    TransfersQuery,
};
pub use query_file::{BUILT_IN_QUERIES, Param, ParamKind, QueryFile};
