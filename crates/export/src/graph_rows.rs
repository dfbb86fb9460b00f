//! A graph as rows: vertices, their totals, merged edges, transfers.

use crate::{
    Attribute, Column, ColumnType, TransferTableOptions, Value,
    choice::Chosen,
    fields::{FIELDS, TransferField},
    schema::{FROM_ADDRESS, HOP, TO_ADDRESS, VertexField},
    value::push_object,
};
use txgraph_graph::{AssetTotals, Contracts, Edge, EndReason, MergedEdge, TransferGraph, Vertex};
use txgraph_transfers::BlockTime;

/// Appends an item as a JSON object.
pub(crate) fn push_item<T: Copy>(out: &mut Vec<u8>, attributes: &[Attribute<'_, T>], item: T) {
    let fields = attributes.iter();
    push_object(out, fields.map(|(name, _, get)| (*name, get(item))));
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
) -> Vec<Attribute<'v, VertexView<'v>>> {
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
    let chosen = options.columns.iter().filter_map(|it| match it.chosen {
        Chosen::Vertex(field) => Some(field),
        _ => None,
    });
    let mut requested: Vec<_> = match is_document {
        true => vec![VertexField::IsContract, VertexField::EndReason],
        false => chosen.collect(),
    };
    if options.labels.is_some() {
        requested.extend([VertexField::Category, VertexField::LabelSource]);
    }
    for (at, field) in requested.iter().enumerate() {
        if requested[..at].contains(field) {
            continue;
        }
        let (column_type, get): (_, fn(VertexView<'v>) -> Value<'v>) = match field {
            VertexField::IsContract => (Bool, |it| it.is_contract.into()),
            VertexField::EndReason => (Text, |it| it.end.map(EndReason::as_str).into()),
            VertexField::Category => (Text, |it| it.vertex.labels.category().into()),
            VertexField::LabelSource => (Text, |it| it.vertex.labels.source().into()),
        };
        attributes.push((field.as_str(), column_type, get));
    }
    attributes
}

/// The column that JSON adds to [`vertex_attributes`]: an array of objects, one for each asset.
pub(crate) const TOTALS: (&str, ColumnType, fn(VertexView<'_>) -> Value<'_>) =
    ("totals", ColumnType::Json, |it| it.totals());

type TotalsAttribute = (&'static str, ColumnType, fn(&AssetTotals) -> Value<'static>);

/// The columns of [`TOTALS`].
const ASSET_TOTALS: &[TotalsAttribute] = {
    use ColumnType::{Address, Amount, Text, U64};
    &[
        ("token_address", Address, |it| it.asset.token_address.into()),
        ("token_standard", Text, |it| it.asset.token_standard.into()),
        ("in_transfers", U64, |it| it.in_transfers.into()),
        ("in_amount", Amount, |it| it.in_amount.into()),
        ("out_transfers", U64, |it| it.out_transfers.into()),
        ("out_amount", Amount, |it| it.out_amount.into()),
    ]
};

impl<'a> VertexView<'a> {
    fn sum(&self, count: fn(&AssetTotals) -> u64) -> Value<'a> {
        Value::U64(self.vertex.totals.iter().map(count).sum())
    }

    fn totals(&self) -> Value<'a> {
        let mut json = b"[".to_vec();
        for (i, totals) in self.vertex.totals.iter().enumerate() {
            if i > 0 {
                json.push(b',');
            }
            push_item(&mut json, ASSET_TOTALS, totals);
        }
        json.push(b']');
        Value::Json(json)
    }
}

/// A merged edge with its graph.
type MergedItem<'a> = (&'a TransferGraph, &'a MergedEdge);

type MergedAttribute = (
    &'static str,
    ColumnType,
    fn(MergedItem<'_>) -> Value<'static>,
);

/// The columns of merged edges.
pub(crate) const MERGED: &[MergedAttribute] = {
    use ColumnType::{Address, Amount, Text, U32, U64};
    &[
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
            it.asset.token_standard.into()
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
    ]
};

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
