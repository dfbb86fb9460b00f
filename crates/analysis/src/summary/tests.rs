use super::*;
use crate::{MeasureResult, TopShare, oracle::some_transfers};
use proptest::prelude::*;
use std::collections::BTreeSet;
use txgraph_graph::{testing, widen};
use txgraph_transfers::Transfer;

fn sum_up(text: &str, settings: &SummarySettings) -> Summary {
    summary(
        &MergedGraph::of(&testing::graph(testing::transfers(text))),
        settings,
    )
}

fn top(side: &Side) -> Vec<String> {
    side.top
        .iter()
        .map(|top| {
            format!(
                "{}:{} x{}",
                testing::name(top.address),
                top.amount,
                top.transfers
            )
        })
        .collect()
}

#[test]
fn counts_and_ranks() {
    let found = sum_up(
        "0>a:100 a>b:30 a>b:0 a>c:10 b>c:20 c>c:5 c>0:1 d>a:3@eth",
        &SummarySettings::default(),
    );
    assert_eq!(
        (
            found.vertices,
            found.transfers,
            found.pairs,
            found.merged_edges
        ),
        (5, 8, 7, 7)
    );
    assert_eq!((found.zero_value_transfers, found.self_transfers), (1, 1));
    assert_eq!(
        (found.first_block, found.last_block),
        (Some(100), Some(107))
    );
    let kinds: Vec<_> = found
        .kinds
        .iter()
        .map(|count| (count.kind, count.transfers))
        .collect();
    assert_eq!(
        kinds,
        [
            (Kind::Transfer, 5),
            (Kind::Mint, 1),
            (Kind::Burn, 1),
            (Kind::Value, 1)
        ]
    );

    let [token, coin] = &found.assets[..] else {
        panic!("{:?}", found.assets)
    };
    assert_eq!(
        (coin.asset.token_address, coin.transfers, coin.amount),
        (None, 1, AmountSum::from(3))
    );
    assert_eq!((token.transfers, token.pairs), (7, 6));
    let amounts = [token.amount, token.minted, token.burned];
    assert_eq!(amounts, [166, 100, 1].map(AmountSum::from));
    // The zero address is not among them.
    assert_eq!(top(&token.senders), ["a:40 x3", "b:20 x1", "c:6 x2"]);
    assert_eq!(top(&token.receivers), ["a:100 x1", "c:35 x3", "b:30 x2"]);
    assert_eq!(token.senders.amount, AmountSum::from(66));
    assert_eq!(
        token.senders.top_shares[0],
        TopShare {
            n: 1,
            share: Some(40.0 / 66.0)
        }
    );
    assert_eq!(
        token.senders.top_shares[1],
        TopShare {
            n: 10,
            share: Some(1.0)
        }
    );
    // 2 * (1*6 + 2*20 + 3*40) / (3 * 66) - 4/3
    assert!((token.senders.gini.unwrap() - 0.343_434_343_434).abs() < 1e-9);

    let busy: Vec<_> = found
        .top_senders
        .iter()
        .map(|b| (testing::name(b.address), b.transfers, b.counterparties))
        .collect();
    assert_eq!(
        busy,
        [
            ("a".into(), 3, 2),
            ("c".into(), 2, 2),
            ("b".into(), 1, 1),
            ("d".into(), 1, 1)
        ]
    );
    assert_eq!(found.top_senders[0].share, Some(0.375));

    let one = SummarySettings { top: 1, assets: 1 };
    let found = sum_up("0>a:100 a>b:30 a>b:1@T", &one);
    assert_eq!(top(&found.assets[0].senders), ["a:30 x1"]);
    assert_eq!((found.assets.len(), found.asset_count), (1, 2));
}

#[test]
fn counts_hops_and_expansions() {
    let mut graph = testing::graph(testing::transfers("a>b b>c a>b"));
    for (id, (hop, expansion)) in graph.graph.node_indices().zip([
        (0, Expansion::Expanded),
        (1, Expansion::Hub),
        (2, Expansion::Hub),
    ]) {
        graph.graph[id].hop = hop;
        graph.graph[id].expansion = expansion;
    }
    let found = summary(&MergedGraph::of(&graph), &SummarySettings::default());
    let hops: Vec<_> = found
        .hops
        .iter()
        .map(|h| (h.hop, h.vertices, h.transfers))
        .collect();
    assert_eq!(hops, [(0, 1, 0), (1, 1, 3), (2, 1, 0)]);
    let expansions: Vec<_> = found
        .expansions
        .iter()
        .map(|e| (e.expansion, e.vertices))
        .collect();
    assert_eq!(expansions, [(Expansion::Expanded, 1), (Expansion::Hub, 2)]);
}

#[test]
fn empty_graphs_and_zero_amounts_have_no_shares() {
    let found = sum_up("", &SummarySettings::default());
    assert_eq!(
        (found.vertices, found.transfers, found.first_block),
        (0, 0, None)
    );
    assert_eq!(found.tables().len(), 9);
    let zeros = sum_up("a>b:0 b>c:0", &SummarySettings::default());
    assert_eq!(
        (
            zeros.assets[0].senders.gini,
            zeros.assets[0].senders.top_shares[0].share
        ),
        (None, None)
    );
    serde_json::to_string(&zeros).unwrap();
}

#[test]
fn tables_have_stable_ids_and_columns() {
    let text = "a>b:5@eth a>b:6@T b>c:7@T 0>a:1@T";
    let found = sum_up(text, &SummarySettings::default());
    let shape: Vec<_> = found
        .tables()
        .iter()
        .map(|t| (t.title.clone(), t.columns.len(), t.rows.len()))
        .collect();
    let expected = [
        ("Summary", 2, 9),
        ("By hop", 3, 0),
        ("By kind", 2, 3),
        ("Assets", 13, 2),
        ("Concentration", 9, 4),
        ("Top senders by amount", 8, 3),
        ("Top receivers by amount", 8, 4),
        ("Top senders by transfers", 6, 2),
        ("Top receivers by transfers", 6, 3),
    ];
    assert_eq!(
        shape,
        expected.map(|(title, columns, rows)| (title.to_owned(), columns, rows))
    );
    assert_eq!(found.tables()[4].columns[6].name, "top_1_share");
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["assets"][0]["amount"], "14");
    assert_eq!(
        json["assets"][0]["token_address"],
        "0x5400000000000000000000000000000000000000"
    );
    assert_eq!(json["assets"][1]["token_address"], serde_json::Value::Null);
}

proptest! {
    #[test]
    fn summary_agrees_with_adding_up(transfers in some_transfers()) {
        let settings = SummarySettings { top: 100, ..SummarySettings::default() };
        let found = summary(&MergedGraph::of(&testing::graph(transfers.clone())), &settings);
        let addresses: BTreeSet<_> = transfers.iter().flat_map(|t| [t.from_address, t.to_address]).collect();
        prop_assert_eq!(found.vertices, addresses.len() as u64);
        prop_assert_eq!(found.transfers, transfers.len() as u64);
        prop_assert_eq!(found.kinds.iter().map(|k| k.transfers).sum::<u64>(), found.transfers);
        let sum = |wanted: &dyn Fn(&Transfer) -> bool| {
            let some: Vec<_> = transfers.iter().filter(|t| wanted(t)).collect();
            let amount = some.iter().fold(AmountSum::ZERO, |sum, t| sum + widen(t.value));
            (some.len() as u64, amount)
        };
        prop_assert!(found.assets.is_sorted_by_key(|a| (Reverse(a.transfers), a.asset)));
        for asset in &found.assets {
            let of = |t: &Transfer| Asset::of(t) == asset.asset;
            prop_assert_eq!((asset.transfers, asset.amount), sum(&of));
            prop_assert_eq!(asset.minted, sum(&|t| of(t) && t.from_address.is_zero()).1);
            prop_assert_eq!(asset.burned, sum(&|t| of(t) && t.to_address.is_zero() && !t.from_address.is_zero()).1);
            prop_assert_eq!(asset.self_transfers, sum(&|t| of(t) && t.from_address == t.to_address).0);
            prop_assert_eq!(asset.zero_value_transfers, sum(&|t| of(t) && t.value.is_zero()).0);
            for (side, sends) in [(&asset.senders, true), (&asset.receivers, false)] {
                let end = |t: &Transfer| if sends { t.from_address } else { t.to_address };
                let counted = |t: &Transfer| of(t) && !end(t).is_zero();
                let expected: BTreeSet<_> = transfers.iter().filter(|t| counted(t)).map(end).collect();
                prop_assert_eq!(side.addresses, expected.len() as u64);
                prop_assert_eq!(side.amount, sum(&counted).1);
                for top in &side.top {
                    prop_assert_eq!((top.transfers, top.amount), sum(&|t| counted(t) && end(t) == top.address));
                }
                prop_assert!(side.top.is_sorted_by_key(|top| (Reverse((top.amount, top.transfers)), top.address)));
                for share in &side.top_shares {
                    let largest = side.top.iter().take(usize::try_from(share.n).unwrap());
                    let largest = largest.fold(AmountSum::ZERO, |sum, top| sum + top.amount);
                    prop_assert_eq!(share.share, crate::ratio::share(largest, side.amount));
                }
            }
        }
        let sent = |address| transfers.iter().filter(|t| t.from_address == address).count() as u64;
        for busy in &found.top_senders {
            prop_assert_eq!(busy.transfers, sent(busy.address));
        }
        let senders = addresses.iter().filter(|a| sent(**a) > 0 && !a.is_zero());
        prop_assert_eq!(found.top_senders.len(), senders.count());
        prop_assert!(found.top_senders.is_sorted_by_key(|b| (Reverse(b.transfers), b.address)));
    }
}
