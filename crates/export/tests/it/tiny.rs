//! A small graph with every feature.

use alloy_primitives::U256;
use std::path::{Path, PathBuf};
use txgraph_export::{
    DocumentFormat, Drawing, GraphFormat, GraphOptions, Metadata, Result, Target, TokenList,
    Written, write_graph,
};
use txgraph_graph::{
    Expansion, LimitHit, TransferGraph, VertexId,
    testing::{address, graph, transfers},
};
use txgraph_labels::Label;
use txgraph_transfers::{BlockRange, Kind, TokenStandard, Transfer, Unavailable};

/// Returns transfers with parallel edges, a self-transfer, all standards and the largest
/// numbers.
pub(crate) fn tiny_transfers() -> Vec<Transfer> {
    let mut all = transfers(
        "alice>bob:1500000@USDC bob>carol:500000@USDC#101 bob>carol:250000@USDC#101 \
         0>alice:7@NFT#102 alice>hub:3@ITEM#102 alice>bob:2000000000000000000@eth#103 \
         carol>0:1#104 bob>bob:5#105 alice>carol#106",
    );
    all[3].value = U256::from(1);
    all[3].token_id = Some(U256::MAX);
    all[3].token_standard = TokenStandard::Erc721;
    all[4].token_id = Some(U256::from(1) << 128);
    all[4].sub_index = 2;
    all[4].token_standard = TokenStandard::Erc1155;
    all[5].kind = Kind::Value;
    all[8].value = U256::MAX;
    all
}

pub(crate) fn tiny() -> TransferGraph {
    let mut graph = graph(tiny_transfers());
    for (name, hop, expansion, label) in [
        ("alice", 0, Expansion::Expanded, None),
        ("bob", 1, Expansion::Expanded, None),
        (
            "carol",
            1,
            Expansion::StopList,
            Some("Carol's =exchange, \"hot\""),
        ),
        ("hub", 1, Expansion::Hub, None),
        ("0", 1, Expansion::ZeroAddress, None),
    ] {
        let id = vertex(&graph, name);
        let vertex = &mut graph.graph[id];
        (vertex.hop, vertex.expansion) = (hop, expansion);
        vertex.labels = label.map(Label::named).into_iter().collect();
        if hop == 0 {
            graph.roots.push(id);
        }
    }
    graph.limits = vec![
        LimitHit::MaxDegree {
            limit: 100,
            vertices: 1,
        },
        LimitHit::StopList { vertices: 1 },
        LimitHit::ZeroAddress,
    ];
    graph
}

pub(crate) fn vertex(graph: &TransferGraph, name: &str) -> VertexId {
    let named = |id: &VertexId| graph.graph[*id].address == address(name);
    graph
        .graph
        .node_indices()
        .find(named)
        .expect("a vertex of this name")
}

pub(crate) fn metadata(graph: &TransferGraph) -> Metadata {
    let mut metadata = Metadata::new("graph", serde_json::json!({"roots": ["alice"], "hops": 1}));
    metadata.tool = "txgraph test".to_owned();
    metadata.chain = Some(graph.chain.clone());
    metadata.requested = BlockRange::from_to(90, 106).into();
    metadata.scan = graph.scan.clone();
    metadata.scan.missing = vec![Unavailable::new(
        BlockRange::from_to(90, 99),
        "receipts pruned",
    )];
    metadata.limits = graph.limits.clone();
    metadata
}

pub(crate) fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

pub(crate) fn options() -> GraphOptions {
    let list = std::fs::read_to_string(golden_folder().join("tokens.csv")).unwrap();
    let tokens = TokenList::parse(&list).expect("a token list");
    let mut options = GraphOptions::new(1337);
    options.table.tokens = tokens;
    options
}

/// The same for merged edges, or not.
pub(crate) fn options_merged(merge: bool) -> GraphOptions {
    GraphOptions { merge, ..options() }
}

/// The same for a drawing.
pub(crate) fn options_drawn(drawing: Drawing) -> GraphOptions {
    GraphOptions {
        drawing,
        ..options()
    }
}

/// Calls [`write_graph`] with the metadata of the graph. GraphSense has mainnet only, so its format
/// gets the graph as one of mainnet.
pub(crate) fn write(
    graph: &TransferGraph,
    format: impl Into<GraphFormat>,
    options: &GraphOptions,
    target: &Target,
    overwrite: bool,
) -> Result<Written> {
    let (format, mut graph) = (format.into(), graph.clone());
    if format == DocumentFormat::GraphSense.into() {
        graph.chain.chain_id = 1;
    }
    write_graph(
        &graph,
        format,
        options,
        &metadata(&graph),
        target,
        overwrite,
    )
}

/// Returns the bytes of a file by [`write_graph`].
pub(crate) fn written(
    graph: &TransferGraph,
    format: impl Into<GraphFormat>,
    options: &GraphOptions,
) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let target = Target::File(path.clone());
    let written = write(graph, format, options, &target, false).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(written.bytes, bytes.len() as u64);
    assert_eq!(written.path, Some(path));
    bytes
}

/// The same for a text format.
pub(crate) fn written_text(
    graph: &TransferGraph,
    format: impl Into<GraphFormat>,
    options: &GraphOptions,
) -> String {
    String::from_utf8(written(graph, format, options)).unwrap()
}

/// The names and the rows of a CSV file, read with the crate `csv`.
pub(crate) fn csv_rows(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let cells = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect();
    let names = cells(reader.headers().unwrap());
    let rows = reader.records().map(|row| cells(&row.unwrap()));
    (names, rows.collect())
}
