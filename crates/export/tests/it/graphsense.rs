//! Save files of GraphSense, read by a decoder that was written from the format alone.

use crate::{
    tiny::{metadata, options, options_merged, tiny, written},
    unpack::unpack,
};
use alloy_primitives::{Address, U256};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_export::{
    DocumentFormat, Error, GraphOptions, Target, Written, check_chain, write_graph,
};
use txgraph_graph::{
    SearchRequest, TransferGraph, search,
    testing::{MemorySource, address, graph, transfers},
};
use txgraph_labels::Label;
use txgraph_transfers::{Direction, Kind, TokenStandard, Transfer};

/// A graph of mainnet as the list of the format.
fn content(graph: &TransferGraph, options: &GraphOptions) -> Value {
    let file = written(graph, DocumentFormat::GraphSense, options);
    serde_json::from_slice(&unpack(&file)).unwrap()
}

fn notes(graph: &TransferGraph, options: &GraphOptions) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::File(folder.path().join("graph.gs"));
    let written = crate::tiny::write(graph, DocumentFormat::GraphSense, options, &target, false);
    written.unwrap().notes
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// The id of an address or a transaction `["eth", id]`.
fn id(value: &Value) -> String {
    assert_eq!((list(value).len(), &value[0]), (2, &json!("eth")));
    value[1].as_str().unwrap().to_owned()
}

/// The ids in the first place of each entry.
fn ids(value: &Value) -> Vec<String> {
    list(value).iter().map(|it| id(&it[0])).collect()
}

/// The transfers of each transaction of the format, by a table: what GraphSense has an id for.
fn known(transfer: &Transfer) -> Option<String> {
    let hash = format!("{:x}", transfer.transaction_hash?);
    let standard = transfer.token_standard;
    match transfer.kind {
        Kind::Value => Some(hash),
        Kind::Transfer | Kind::Mint | Kind::Burn if standard == TokenStandard::Erc20 => {
            Some(format!("{hash}_T{}", transfer.log_index?))
        }
        _ => None,
    }
}

fn check(graph: &TransferGraph, found: &Value) {
    let all = list(found);
    assert_eq!(all.len(), 7);
    assert_eq!((&all[0], &all[1]), (&json!("pathfinder"), &json!("1")));
    let hex = |address: Address| format!("{address:#x}");
    let vertices = graph.graph.node_weights();
    let addresses: Vec<_> = vertices.map(|it| hex(it.address)).collect();
    assert_eq!(ids(&all[3]), addresses);
    for (entry, vertex) in list(&all[3]).iter().zip(graph.graph.node_indices()) {
        assert_eq!(list(entry).len(), 4);
        assert_eq!(entry[3], graph.roots.contains(&vertex));
    }
    let edges = || graph.graph.edge_weights().map(|edge| &edge.transfer);
    let expected: Vec<_> = edges().filter_map(known).collect();
    assert_eq!(ids(&all[4]), expected);
    // No two share a place.
    let entries = list(&all[3]).iter().chain(list(&all[4]));
    let places: Vec<_> = entries.map(|it| format!("{} {}", it[1], it[2])).collect();
    assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len());
    let mut pairs: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for transfer in edges() {
        let mut ends = [hex(transfer.from_address), hex(transfer.to_address)];
        ends.sort();
        pairs.entry(ends).or_default().extend(known(transfer));
    }
    let found = list(&all[6]).iter().map(|it| {
        let known = list(&it[2]).iter().map(id).collect();
        ([id(&it[0]), id(&it[1])], known)
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        pairs.into_iter().collect::<Vec<_>>()
    );
}

#[test]
fn every_kind_of_transfer_has_its_id() {
    let graph = tiny();
    let found = content(&graph, &options());
    check(&graph, &found);
    let expected = "2 of 9 transfers have no id in GraphSense: they are in aggregated edges only";
    assert_eq!(notes(&graph, &options()), [expected]);
    for kind in [Kind::Internal, Kind::Burn, Kind::Fee, Kind::Withdrawal] {
        let mut transfers = transfers("a>b@eth");
        transfers[0].kind = kind;
        assert_eq!(
            content(&self::graph(transfers), &options())[4],
            json!([]),
            "{kind}"
        );
    }
    for kind in [Kind::Wrap, Kind::Unwrap] {
        let mut transfers = transfers("a>b");
        transfers[0].kind = kind;
        assert_eq!(
            content(&self::graph(transfers), &options())[4],
            json!([]),
            "{kind}"
        );
    }
    let mut transfers = transfers("a>b");
    transfers[0].transaction_hash = None;
    assert_eq!(content(&self::graph(transfers), &options())[4], json!([]));
}

#[test]
fn merged_edges_are_aggregated_edges_only() {
    let found = content(&tiny(), &options_merged(true));
    assert_eq!(found[4], json!([]));
    assert!(list(&found[6]).iter().all(|it| it[2] == json!([])));
    assert!(notes(&tiny(), &options_merged(true)).is_empty());
}

#[test]
fn labels_are_annotations_with_the_color_of_their_kind() {
    let mut graph = graph(transfers("a>b>c"));
    let label = |name: &str, category: &str| Label {
        category: category.to_owned(),
        ..Label::named(name)
    };
    let labels = [
        Some(label(
            "Old \"Bridge\" with a long name, \u{202e}yes",
            "bridge",
        )),
        None,
        Some(label("plain", "")),
    ];
    for (vertex, label) in graph.graph.node_weights_mut().zip(labels) {
        vertex.labels = label.into_iter().collect();
    }
    let found = content(&graph, &options());
    let [first, second] = list(&found[5]) else {
        panic!("{found}");
    };
    assert_eq!(id(&first[0]), format!("{:#x}", address("a")));
    assert_eq!(first[1], "↔ Old \"Bridge\" with a long name, …");
    // #B9E3DC
    assert_eq!(
        first[2],
        json!([185.0 / 255.0, 227.0 / 255.0, 220.0 / 255.0, 1.0])
    );
    assert_eq!((&second[1], &second[2]), (&json!("plain"), &Value::Null));
}

#[test]
fn too_many_transfers_are_aggregated_and_too_many_addresses_refused() {
    let pairs = |count: usize| graph(transfers(&"a>b ".repeat(count)));
    let (some, many) = (pairs(1_000), pairs(1_001));
    assert_eq!(list(&content(&some, &options())[4]).len(), 1_000);
    let found = content(&many, &options());
    assert_eq!((&found[4], &found[6][0][2]), (&json!([]), &json!([])));
    let [note] = &notes(&many, &options())[..] else {
        panic!("one note");
    };
    assert!(
        note.starts_with("1,001 transfers, more than 1,000: "),
        "{note}"
    );

    let mut options = options();
    options.drawing.vertices_max = 1;
    let error = written_to_memory(&some, 1, &options).unwrap_err();
    assert!(matches!(
        error,
        Error::TooLargeToDraw {
            what: "vertices",
            count: 2,
            limit: 1
        }
    ));
}

fn written_to_memory(
    graph: &TransferGraph,
    chain_id: u64,
    options: &GraphOptions,
) -> Result<Written, Error> {
    let mut graph = graph.clone();
    graph.chain.chain_id = chain_id;
    let folder = tempfile::tempdir().unwrap();
    let target = Target::File(folder.path().join("graph.gs"));
    let format = DocumentFormat::GraphSense;
    let result = write_graph(&graph, format, options, &metadata(&graph), &target, false);
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, if result.is_ok() { 2 } else { 0 });
    result
}

#[test]
fn other_chains_are_refused() {
    let error = written_to_memory(&tiny(), 10, &options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a save file of GraphSense is for Ethereum mainnet (chain 1), not for chain 10"
    );
    assert!(error.is_usage());
    assert!(error.hint().unwrap().contains("GEXF"));
    written_to_memory(&tiny(), 1, &options()).unwrap();
    assert!(check_chain(DocumentFormat::Gexf, 10).is_ok());
    assert!(check_chain(DocumentFormat::GraphSense, 1).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_graph_reads_back(
        edges in prop::collection::vec(("[a-f]", "[a-f]", 0usize..5), 1..30),
        both in any::<bool>(),
    ) {
        let text = edges.iter().map(|(from, to, _)| format!("{from}>{to}"));
        let text: Vec<_> = text.collect();
        let mut all = transfers(&text.join(" "));
        for (transfer, (.., kind)) in all.iter_mut().zip(&edges) {
            transfer.value = U256::from(1);
            transfer.kind = [Kind::Transfer, Kind::Wrap, Kind::Mint, Kind::Value, Kind::Internal][*kind];
            if *kind > 2 {
                transfer.token_standard = TokenStandard::Native;
                (transfer.token_address, transfer.log_index) = (None, None);
            }
        }
        let source = MemorySource::new(all);
        let root = address(&edges[0].0);
        let mut request = SearchRequest {
            hops: None,
            direction: if both { Direction::Both } else { Direction::Out },
            ..SearchRequest::new(vec![root], source.available.clone())
        };
        request.filter.internal = true;
        let graph = search(&source, &request).unwrap();
        check(&graph, &content(&graph, &options()));
    }
}
