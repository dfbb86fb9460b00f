//! A graph as rows: its vertices, their totals, its merged edges, its transfers.

use crate::{
    Result,
    rows::{Column, Kind, Value, columns, push_object},
};
use txgraph_graph::{AssetTotals, Edge, Expansion, MergedEdge, TransferGraph, Vertex, VertexId};

/// A vertex with what stands beside it in the graph.
pub(crate) struct VertexView<'a> {
    pub(crate) vertex: &'a Vertex,
    pub(crate) is_root: bool,
    chain_id: u64,
}

/// The vertices in order.
pub(crate) fn vertices(graph: &TransferGraph) -> impl Iterator<Item = VertexView<'_>> {
    let mut is_root = vec![false; graph.graph.node_count()];
    for root in &graph.roots {
        is_root[root.index()] = true;
    }
    let chain_id = graph.chain.chain_id;
    let view = move |(vertex, is_root)| VertexView {
        vertex,
        is_root,
        chain_id,
    };
    graph.graph.node_weights().zip(is_root).map(view)
}

/// The word for an expansion, as it is in JSON.
pub(crate) const fn expansion_word(expansion: Expansion) -> &'static str {
    match expansion {
        Expansion::Expanded => "expanded",
        Expansion::LastHop => "last_hop",
        Expansion::Hub => "hub",
        Expansion::StopList => "stop_list",
        Expansion::ZeroAddress => "zero_address",
        Expansion::Limit => "limit",
    }
}

/// Columns of vertices.
pub(crate) fn vertex_columns() -> Vec<Column> {
    columns(&[
        ("id", Kind::Address),
        ("label", Kind::Text),
        ("hop", Kind::U32),
        ("root", Kind::Bool),
        ("expansion", Kind::Text),
        ("in_degree", Kind::U32),
        ("out_degree", Kind::U32),
        ("in_transfers", Kind::U64),
        ("out_transfers", Kind::U64),
        ("assets", Kind::U64),
        ("first_block", Kind::U64),
        ("last_block", Kind::U64),
        ("chain_id", Kind::U64),
    ])
}

/// Added to [`vertex_columns`] in JSON.
pub(crate) fn totals_column() -> Column {
    Column {
        name: "totals".to_owned(),
        kind: Kind::Json,
    }
}

impl<'a> VertexView<'a> {
    /// The values of [`vertex_columns`].
    pub(crate) fn row(&self) -> Vec<Value<'a>> {
        let vertex = self.vertex;
        let sum =
            |count: fn(&AssetTotals) -> u64| Value::U64(vertex.totals.iter().map(count).sum());
        vec![
            Value::Address(vertex.address),
            Value::some(vertex.label.as_deref(), Value::Text),
            Value::U32(vertex.hop),
            Value::Bool(self.is_root),
            Value::Text(expansion_word(vertex.expansion)),
            Value::U32(vertex.in_degree),
            Value::U32(vertex.out_degree),
            sum(|totals| totals.in_transfers),
            sum(|totals| totals.out_transfers),
            Value::U64(vertex.totals.len() as u64),
            Value::some(vertex.blocks, |(first, _)| Value::U64(first)),
            Value::some(vertex.blocks, |(_, last)| Value::U64(last)),
            Value::U64(self.chain_id),
        ]
    }

    /// The value of [`totals_column`]: an array of objects.
    pub(crate) fn totals(&self) -> Result<Value<'static>> {
        // Every object is of this vertex and this chain; both are said outside.
        let all = total_columns();
        let inner = 1..all.len() - 1;
        let mut json = b"[".to_vec();
        for (i, row) in self.total_rows().enumerate() {
            if i > 0 {
                json.push(b',');
            }
            push_object(&mut json, &all[inner.clone()], &row[inner.clone()])?;
        }
        json.push(b']');
        Ok(Value::Json(json))
    }

    /// A row of [`total_columns`] for each asset.
    pub(crate) fn total_rows(&self) -> impl Iterator<Item = Vec<Value<'static>>> {
        let (address, chain_id) = (self.vertex.address, self.chain_id);
        self.vertex.totals.iter().map(move |totals| {
            vec![
                Value::Address(address),
                Value::some(totals.asset.token_address, Value::Address),
                Value::Text(totals.asset.token_standard.as_str()),
                Value::U64(totals.in_transfers),
                Value::Amount(totals.in_amount),
                Value::U64(totals.out_transfers),
                Value::Amount(totals.out_amount),
                Value::U64(chain_id),
            ]
        })
    }
}

/// Columns of what each vertex received and sent of each asset.
pub(crate) fn total_columns() -> Vec<Column> {
    columns(&[
        ("id", Kind::Address),
        ("token_address", Kind::Address),
        ("token_standard", Kind::Text),
        ("in_transfers", Kind::U64),
        ("in_amount", Kind::Amount),
        ("out_transfers", Kind::U64),
        ("out_amount", Kind::Amount),
        ("chain_id", Kind::U64),
    ])
}

/// Columns of merged edges.
pub(crate) fn merged_columns() -> Vec<Column> {
    columns(&[
        ("source", Kind::Address),
        ("target", Kind::Address),
        ("token_address", Kind::Address),
        ("token_standard", Kind::Text),
        ("count", Kind::U64),
        ("sum", Kind::Amount),
        ("first_block", Kind::U64),
        ("last_block", Kind::U64),
        ("first_timestamp", Kind::U64),
        ("last_timestamp", Kind::U64),
        ("hop", Kind::U32),
    ])
}

/// The values of [`merged_columns`].
pub(crate) fn merged_row(graph: &TransferGraph, edge: &MergedEdge) -> Vec<Value<'static>> {
    let address = |vertex: VertexId| Value::Address(graph.graph[vertex].address);
    vec![
        address(edge.source),
        address(edge.target),
        Value::some(edge.asset.token_address, Value::Address),
        Value::Text(edge.asset.token_standard.as_str()),
        Value::U64(edge.count),
        Value::Amount(edge.sum),
        Value::U64(edge.first.0),
        Value::U64(edge.last.0),
        Value::U64(edge.first.1),
        Value::U64(edge.last.1),
        Value::U32(edge.hop),
    ]
}

/// Columns of a transfer without its ends, as attributes of an edge.
pub(crate) fn transfer_columns() -> Vec<Column> {
    columns(&[
        ("block_number", Kind::U64),
        ("block_timestamp", Kind::U64),
        ("transaction_index", Kind::U32),
        ("log_index", Kind::U32),
        ("sub_index", Kind::U32),
        ("transaction_hash", Kind::Hash),
        ("token_address", Kind::Address),
        ("value", Kind::Amount),
        ("token_id", Kind::Amount),
        ("token_standard", Kind::Text),
        ("kind", Kind::Text),
        ("hop", Kind::U32),
    ])
}

/// The values of [`transfer_columns`].
pub(crate) fn transfer_row(edge: &Edge) -> Vec<Value<'static>> {
    let transfer = &edge.transfer;
    vec![
        Value::U64(transfer.block_number),
        Value::U64(transfer.block_timestamp),
        Value::U32(transfer.transaction_index),
        Value::some(transfer.log_index, Value::U32),
        Value::U32(transfer.sub_index),
        Value::Hash(transfer.transaction_hash),
        Value::some(transfer.token_address, Value::Address),
        Value::Amount(txgraph_graph::widen(transfer.value)),
        Value::some(transfer.token_id, |id| {
            Value::Amount(txgraph_graph::widen(id))
        }),
        Value::Text(transfer.token_standard.as_str()),
        Value::Text(transfer.kind.as_str()),
        Value::U32(edge.hop),
    ]
}
