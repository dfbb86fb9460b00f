//! A graph as rows: vertices, their totals, merged edges, transfers.

use crate::{
    Column, ColumnType, Result, Value, VertexColumn,
    value::{columns, push_object},
};
use txgraph_graph::{
    AssetTotals, Contracts, Edge, EndReason, MergedEdge, TransferGraph, Vertex, VertexId,
};
use txgraph_transfers::BlockTime;

/// A vertex with what its row needs from the graph.
pub(crate) struct VertexView<'a> {
    pub(crate) vertex: &'a Vertex,
    pub(crate) is_root: bool,
    /// Whether it is a contract, if that is known.
    pub(crate) is_contract: Option<bool>,
    /// Why the trail ends here; `None` if it goes on.
    pub(crate) end: Option<EndReason>,
    chain_id: u64,
}

/// Returns the vertices, in order.
pub(crate) fn vertices<'a>(
    graph: &'a TransferGraph,
    contracts: &'a Contracts,
) -> impl Iterator<Item = VertexView<'a>> {
    let mut is_root = vec![false; graph.graph.node_count()];
    for root in &graph.roots {
        is_root[root.index()] = true;
    }
    let chain_id = graph.chain.chain_id;
    let view = move |(vertex, is_root): (&'a Vertex, bool)| {
        let is_contract = contracts.get(vertex.address);
        VertexView {
            vertex,
            is_root,
            is_contract,
            end: graph.end_reason(vertex, is_contract),
            chain_id,
        }
    };
    graph.graph.node_weights().zip(is_root).map(view)
}

/// Returns the columns of vertices, with some that are written on request.
pub(crate) fn vertex_columns(requested: &[VertexColumn]) -> Vec<Column> {
    let mut columns = columns(&[
        ("id", ColumnType::Address),
        ("label", ColumnType::Text),
        ("hop", ColumnType::U32),
        ("root", ColumnType::Bool),
        ("expansion", ColumnType::Text),
        ("in_degree", ColumnType::U32),
        ("out_degree", ColumnType::U32),
        ("in_transfers", ColumnType::U64),
        ("out_transfers", ColumnType::U64),
        ("assets", ColumnType::U64),
        ("first_block", ColumnType::U64),
        ("last_block", ColumnType::U64),
        ("chain_id", ColumnType::U64),
    ]);
    columns.extend(requested.iter().map(|column| {
        let column_type = match column {
            VertexColumn::IsContract => ColumnType::Bool,
            VertexColumn::EndReason | VertexColumn::Category | VertexColumn::LabelSource => {
                ColumnType::Text
            }
        };
        Column::new(column.as_str(), column_type)
    }));
    columns
}

/// Returns the column that JSON adds to [`vertex_columns`].
pub(crate) fn totals_column() -> Column {
    Column::new("totals", ColumnType::Json)
}

impl<'a> VertexView<'a> {
    /// Returns the values of [`vertex_columns`].
    pub(crate) fn row(&self, requested: &[VertexColumn]) -> Vec<Value<'a>> {
        let vertex = self.vertex;
        let sum =
            |count: fn(&AssetTotals) -> u64| Value::U64(vertex.totals.iter().map(count).sum());
        let mut row = vec![
            Value::Address(vertex.address),
            vertex.labels.name().into(),
            Value::U32(vertex.hop),
            Value::Bool(self.is_root),
            vertex.expansion.as_str().into(),
            Value::U32(vertex.in_degree),
            Value::U32(vertex.out_degree),
            sum(|totals| totals.in_transfers),
            sum(|totals| totals.out_transfers),
            Value::U64(vertex.totals.len() as u64),
            vertex.blocks.map(|(first, _)| first).into(),
            vertex.blocks.map(|(_, last)| last).into(),
            Value::U64(self.chain_id),
        ];
        row.extend(requested.iter().map(|column| match column {
            VertexColumn::IsContract => self.is_contract.map_or(Value::Absent, Value::Bool),
            VertexColumn::EndReason => self.end.map(EndReason::as_str).into(),
            VertexColumn::Category => vertex.labels.category().into(),
            VertexColumn::LabelSource => vertex.labels.source().into(),
        }));
        row
    }

    /// Returns the value of [`totals_column`]: an array of objects.
    pub(crate) fn totals(&self) -> Result<Value<'static>> {
        // Without the vertex and the chain, which the row has.
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

    /// Returns a row of [`total_columns`] for each asset.
    pub(crate) fn total_rows(&self) -> impl Iterator<Item = Vec<Value<'static>>> {
        let (address, chain_id) = (self.vertex.address, self.chain_id);
        self.vertex.totals.iter().map(move |totals| {
            vec![
                Value::Address(address),
                totals.asset.token_address.into(),
                totals.asset.token_standard.as_str().into(),
                Value::U64(totals.in_transfers),
                Value::Amount(totals.in_amount),
                Value::U64(totals.out_transfers),
                Value::Amount(totals.out_amount),
                Value::U64(chain_id),
            ]
        })
    }
}

/// Returns the columns of totals: transfers and amounts of a vertex, by asset.
pub(crate) fn total_columns() -> Vec<Column> {
    columns(&[
        ("id", ColumnType::Address),
        ("token_address", ColumnType::Address),
        ("token_standard", ColumnType::Text),
        ("in_transfers", ColumnType::U64),
        ("in_amount", ColumnType::Amount),
        ("out_transfers", ColumnType::U64),
        ("out_amount", ColumnType::Amount),
        ("chain_id", ColumnType::U64),
    ])
}

/// Returns the columns of merged edges.
pub(crate) fn merged_columns() -> Vec<Column> {
    columns(&[
        ("source", ColumnType::Address),
        ("target", ColumnType::Address),
        ("token_address", ColumnType::Address),
        ("token_standard", ColumnType::Text),
        ("count", ColumnType::U64),
        ("sum", ColumnType::Amount),
        ("first_block", ColumnType::U64),
        ("last_block", ColumnType::U64),
        ("first_timestamp", ColumnType::U64),
        ("last_timestamp", ColumnType::U64),
        ("hop", ColumnType::U32),
    ])
}

/// Returns the values of [`merged_columns`].
pub(crate) fn merged_row(graph: &TransferGraph, edge: &MergedEdge) -> Vec<Value<'static>> {
    let address = |vertex: VertexId| Value::Address(graph.graph[vertex].address);
    vec![
        address(edge.source),
        address(edge.target),
        edge.asset.token_address.into(),
        edge.asset.token_standard.as_str().into(),
        Value::U64(edge.count),
        Value::Amount(edge.sum),
        Value::U64(edge.first.0),
        Value::U64(edge.last.0),
        edge.first.1.map(BlockTime::seconds).into(),
        edge.last.1.map(BlockTime::seconds).into(),
        Value::U32(edge.hop),
    ]
}

/// Returns the columns of a transfer without its ends, as attributes of an edge.
pub(crate) fn transfer_columns() -> Vec<Column> {
    columns(&[
        ("block_number", ColumnType::U64),
        ("block_timestamp", ColumnType::U64),
        ("transaction_index", ColumnType::U32),
        ("log_index", ColumnType::U32),
        ("sub_index", ColumnType::U32),
        ("transaction_hash", ColumnType::Hash),
        ("token_address", ColumnType::Address),
        ("value", ColumnType::Amount),
        ("token_id", ColumnType::Amount),
        ("token_standard", ColumnType::Text),
        ("kind", ColumnType::Text),
        ("hop", ColumnType::U32),
    ])
}

/// Returns the values of [`transfer_columns`].
pub(crate) fn transfer_row(edge: &Edge) -> Vec<Value<'static>> {
    let transfer = &edge.transfer;
    vec![
        Value::U64(transfer.block_number),
        transfer.block_timestamp.map(BlockTime::seconds).into(),
        Value::U32(transfer.transaction_index),
        transfer.log_index.into(),
        Value::U32(transfer.sub_index),
        transfer.transaction_hash.into(),
        transfer.token_address.into(),
        transfer.value.into(),
        transfer.token_id.into(),
        transfer.token_standard.as_str().into(),
        transfer.kind.as_str().into(),
        Value::U32(edge.hop),
    ]
}
