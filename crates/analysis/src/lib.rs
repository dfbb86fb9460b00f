//! Measures over a finished [`txgraph_graph::TransferGraph`], one file per
//! measure. In: the graph. Out: plain results, which serialise and turn into
//! [`Table`]s. It reads no chain, prints nothing, and knows no file format.

mod table;

pub use table::{Cell, CellKind, Column, Table};
