//! txgraph: where did these tokens go?
//!
//! Reads the database of a local reth node, read-only, and answers questions
//! about token transfers: the transfers themselves, the graph around some
//! addresses, measures over it. This crate is the door to all the others. In:
//! a [`Config`] (how to run) and a question ([`Query`]: what to ask). It knows
//! nothing of argument parsers and terminals, and prints nothing.

mod address;
mod blocks;
mod config;
mod error;
mod lists;
mod outputs;
mod query;
mod query_file;
mod run;

pub use address::{AddressError, Checksum, parse_address};
pub use blocks::{BlockSpec, BlocksError, parse_blocks};
pub use config::{
    CONFIG_ENV, CONFIG_FILE, Config, DATADIR_ENV, INDEX_ENV, IndexChoice, MEMORY_DEFAULT,
    THREADS_ENV, parse_size,
};
pub use error::{Error, ErrorKind, Result};
pub use lists::parse_amount;
pub use outputs::Protected;
pub use query::{
    AnalyzeQuery, Columns, GraphQuery, Hops, Measure, Output, Query, Search, Selection,
    TransfersQuery,
};
pub use query_file::{BUILT_IN_QUERIES, Param, ParamKind, ParamValue, QueryFile, QueryOrigin};
pub use run::{
    Analysis, AnalysisFormat, CallQuery, Called, Control, DroppedIndex, Explain, GraphAnswer,
    GraphRequest, IndexBuild, IndexState, Node, ReplayQuery, Replayed, TokenNames, Trace,
    TransfersAnswer, analyze, call, graph, index_build, index_drop, index_status, index_update,
    index_verify, info, open, replay, token_metadata, transfers, write_analysis, write_graph,
    write_replay, write_transfers,
};

// What answers are made of.
pub use txgraph_analysis::{Cell, CellKind, Table};
pub use txgraph_export::{
    DiscardedFiles, GraphFormat, LineWriter, Metadata, Schema, TableFormat, Target, TokenList,
    U256Type, Written, discard_partial_files, printable,
};
pub use txgraph_graph::{Asset, LimitHit, SearchRequest, TransferGraph};
pub use txgraph_index::{BuildReport, Status, VerifyReport};
pub use txgraph_nodedb::Info;
pub use txgraph_reader::{CancelFlag, Progress};
pub use txgraph_replay::EngineKind;
pub use txgraph_transfers::{
    BlockRange, BlockRanges, Direction, Kind, ScanReport, ScanRequest, TokenStandard, Transfer,
};
