//! One function per thing that can be written.

use crate::{GraphFormat, GraphOptions, Metadata, Result, TableFormat, Target, Written};
use serde::Serialize;
use txgraph_analysis::Table;
use txgraph_graph::TransferGraph;

/// Writes a graph.
pub fn write_graph(
    _graph: &TransferGraph,
    _format: GraphFormat,
    _options: &GraphOptions,
    _metadata: &Metadata,
    _target: &Target,
    _overwrite: bool,
) -> Result<Written> {
    todo!()
}

/// Writes the vertices of a graph, a row each.
pub fn write_vertices(
    _graph: &TransferGraph,
    _format: TableFormat,
    _options: &GraphOptions,
    _metadata: &Metadata,
    _target: &Target,
    _overwrite: bool,
) -> Result<Written> {
    todo!()
}

/// Writes what each vertex received and sent, a row per vertex and asset.
pub fn write_totals(
    _graph: &TransferGraph,
    _format: TableFormat,
    _options: &GraphOptions,
    _metadata: &Metadata,
    _target: &Target,
    _overwrite: bool,
) -> Result<Written> {
    todo!()
}

/// Writes a table of an analysis.
pub fn write_table(
    _table: &Table,
    _format: TableFormat,
    _metadata: &Metadata,
    _target: &Target,
    _overwrite: bool,
) -> Result<Written> {
    todo!()
}

/// Writes anything that serialises as one JSON document, indented.
pub fn write_json(_value: &impl Serialize, _target: &Target, _overwrite: bool) -> Result<Written> {
    todo!()
}
