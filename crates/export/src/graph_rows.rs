//! A graph as rows: vertices, their totals, merged edges, transfers.

use crate::{
    Column, ColumnChoice, ColumnType, Result, TransferTableOptions, Value,
    fields::{FIELDS, TransferField},
    schema::{FROM_ADDRESS, HOP, TO_ADDRESS, VERTEX_ON_REQUEST},
    value::push_object,
};
use txgraph_graph::{AssetTotals, Contracts, Edge, EndReason, MergedEdge, TransferGraph, Vertex};
use txgraph_transfers::BlockTime;

/// A column of items: its name, its type, and the value of an item.
type Attribute<'v, T> = (&'static str, ColumnType, fn(T) -> Value<'v>);

/// The columns of items.
pub(crate) struct Attributes<'v, T>(Vec<Attribute<'v, T>>);

impl<'v, T: Copy> Attributes<'v, T> {
    /// Leaves out the first of them.
    pub(crate) fn split_off(mut self, count: usize) -> Self {
        Self(self.0.split_off(count))
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        let columns = self.0.iter();
        columns
            .map(|(name, column_type, _)| Column::new(*name, *column_type))
            .collect()
    }

    /// The values of an item.
    pub(crate) fn row(&self, item: T) -> Vec<Value<'v>> {
        self.0.iter().map(|(_, _, get)| get(item)).collect()
    }
}

/// A vertex with what its row needs from the graph.
#[derive(Clone, Copy)]
pub(crate) struct VertexView<'a> {
    pub(crate) vertex: &'a Vertex,
    pub(crate) is_root: bool,
    /// Whether it is a contract, if that is known.
    pub(crate) is_contract: Option<bool>,
    /// Why the branch ends here; `None` if it goes on.
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

/// Returns the columns of vertices. Documents also have the columns on request, and both have
/// the columns of labels if there are labels.
pub(crate) fn vertex_attributes<'v>(
    options: &TransferTableOptions,
    is_document: bool,
) -> Attributes<'v, VertexView<'v>> {
    use ColumnType::{Address, Bool, Text, U32, U64};
    let mut attributes: Vec<Attribute<'v, VertexView<'v>>> = vec![
        ("id", Address, |it| it.vertex.address.into()),
        ("label", Text, |it| it.vertex.labels.name().into()),
        ("hop", U32, |it| it.vertex.hop.into()),
        ("root", Bool, |it| it.is_root.into()),
        ("expansion", Text, |it| it.vertex.expansion.as_str().into()),
        ("in_degree", U32, |it| it.vertex.in_degree.into()),
        ("out_degree", U32, |it| it.vertex.out_degree.into()),
        ("in_transfers", U64, |it| it.sum(|it| it.in_transfers)),
        ("out_transfers", U64, |it| it.sum(|it| it.out_transfers)),
        ("assets", U64, |it| it.sum(|_| 1)),
        ("first_block", U64, |it| {
            it.vertex.blocks.map(|it| it.0).into()
        }),
        ("last_block", U64, |it| {
            it.vertex.blocks.map(|it| it.1).into()
        }),
        ("chain_id", U64, |it| it.chain_id.into()),
    ];
    let chosen = options.columns.iter().filter(|it| it.is_of_vertices());
    let mut requested: Vec<_> = match is_document {
        true => VERTEX_ON_REQUEST[..2].to_vec(),
        false => chosen.map(ColumnChoice::name).collect(),
    };
    if options.labels.is_some() {
        requested.extend(&VERTEX_ON_REQUEST[2..]);
    }
    for (at, name) in requested.iter().enumerate() {
        if requested[..at].contains(name) {
            continue;
        }
        attributes.push(match *name {
            "is_contract" => ("is_contract", Bool, |it| it.is_contract.into()),
            "end_reason" => ("end_reason", Text, |it| {
                it.end.map(EndReason::as_str).into()
            }),
            "category" => ("category", Text, |it| it.vertex.labels.category().into()),
            _ => ("label_source", Text, |it| it.vertex.labels.source().into()),
        });
    }
    Attributes(attributes)
}

/// Returns the column that JSON adds to [`vertex_attributes`].
pub(crate) fn totals_column() -> Column {
    Column::new("totals", ColumnType::Json)
}

impl VertexView<'_> {
    fn sum(&self, count: fn(&AssetTotals) -> u64) -> Value<'static> {
        Value::U64(self.vertex.totals.iter().map(count).sum())
    }

    /// Returns the value of [`totals_column`]: an array of objects, one for each asset.
    pub(crate) fn totals(&self) -> Result<Value<'static>> {
        use ColumnType::{Address, Amount, Text, U64};
        let attributes: Attributes<'static, &AssetTotals> = Attributes(vec![
            ("token_address", Address, |it| it.asset.token_address.into()),
            ("token_standard", Text, |it| {
                it.asset.token_standard.as_str().into()
            }),
            ("in_transfers", U64, |it| it.in_transfers.into()),
            ("in_amount", Amount, |it| it.in_amount.into()),
            ("out_transfers", U64, |it| it.out_transfers.into()),
            ("out_amount", Amount, |it| it.out_amount.into()),
        ]);
        let columns = attributes.columns();
        let mut json = b"[".to_vec();
        for (i, totals) in self.vertex.totals.iter().enumerate() {
            if i > 0 {
                json.push(b',');
            }
            push_object(&mut json, &columns, &attributes.row(totals))?;
        }
        json.push(b']');
        Ok(Value::Json(json))
    }
}

/// Returns the columns of merged edges.
pub(crate) fn merged_attributes<'g>() -> Attributes<'static, (&'g TransferGraph, &'g MergedEdge)> {
    use ColumnType::{Address, Amount, Text, U32, U64};
    Attributes(vec![
        ("source", Address, |(graph, it)| {
            graph.graph[it.source].address.into()
        }),
        ("target", Address, |(graph, it)| {
            graph.graph[it.target].address.into()
        }),
        ("token_address", Address, |(_, it)| {
            it.asset.token_address.into()
        }),
        ("token_standard", Text, |(_, it)| {
            it.asset.token_standard.as_str().into()
        }),
        ("count", U64, |(_, it)| it.count.into()),
        ("sum", Amount, |(_, it)| it.sum.into()),
        ("first_block", U64, |(_, it)| it.first.0.into()),
        ("last_block", U64, |(_, it)| it.last.0.into()),
        ("first_timestamp", U64, |(_, it)| {
            it.first.1.map(BlockTime::seconds).into()
        }),
        ("last_timestamp", U64, |(_, it)| {
            it.last.1.map(BlockTime::seconds).into()
        }),
        ("hop", U32, |(_, it)| it.hop.into()),
    ])
}

/// The fields of a transfer without its ends, as attributes of an edge.
fn inner_fields() -> impl Iterator<Item = &'static TransferField> {
    let inner = FIELDS.iter().enumerate();
    inner.filter_map(|(at, field)| (![FROM_ADDRESS, TO_ADDRESS].contains(&at)).then_some(field))
}

/// Returns the columns of a transfer without its ends.
pub(crate) fn transfer_columns() -> Vec<Column> {
    let columns = inner_fields().map(|it| Column::new(it.name, it.get.column_type()));
    columns.chain([Column::new(HOP, ColumnType::U32)]).collect()
}

/// Returns the values of [`transfer_columns`].
pub(crate) fn transfer_row(edge: &Edge) -> Vec<Value<'static>> {
    let values = inner_fields().map(|it| it.get.value(&edge.transfer));
    values.chain([edge.hop.into()]).collect()
}
