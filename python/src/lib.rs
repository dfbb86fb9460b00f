//! The native part of the Python package `txgraph`.
//!
//! Queries come as JSON with the options of the command line, and are read by
//! [`txgraph::parse`]. Answers are tables in memory in the columns of Arrow IPC, and graphs. The
//! Python files next to this crate add the interface that people use.

mod abi;
mod contract;
mod errors;
mod flow;
mod graph;
mod node;
mod options;
mod session;
mod state;
mod stream;
mod table;
mod values;

use pyo3::prelude::*;

/// The native part of txgraph. Use the package `txgraph`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        contract::call,
        flow::Batches,
        graph::{EdgeParts, Graph},
        node::{Node, kinds, open, queries, resolve_query},
        state::{balance, code, nonce, storage, transaction},
        table::{Batch, Table},
    };
}
