//! Transfers aggregated by (sender, receiver, asset).

use crate::{ColumnType, MeasureResult, Table, serial::decimal};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use txgraph_base::string_enum;
use txgraph_graph::{AmountSum, Asset, EdgeSum, MergedGraph, StoredEdge};
use txgraph_transfers::BlockTime;

string_enum! {
    /// The order of pairs. Ties are ordered by (from, to, asset).
    #[derive(Default)]
    pub enum PairOrder: "order" {
        /// By asset, the native coin first; then the largest sum first. Amounts of different
        /// assets cannot be compared.
        #[default]
        Amount = "amount",
        /// Most transfers first.
        Count = "count",
        /// By sender, receiver, asset.
        Address = "address",
    }
}

/// Options of the list of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairSettings {
    /// The order. Default: by amount.
    pub order: PairOrder,
    /// The number of pairs to list; with order by amount, of each asset. Default: all.
    pub limit: Option<usize>,
}

/// All transfers of one asset from one address to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// Sender.
    pub from_address: Address,
    /// Receiver.
    pub to_address: Address,
    /// The asset.
    #[serde(flatten)]
    pub asset: Asset,
    /// The number of transfers.
    pub count: u64,
    /// Sum of their amounts.
    #[serde(serialize_with = "decimal")]
    pub sum: AmountSum,
    /// Smallest hop of any of them.
    pub hop: u32,
    /// Block of the first.
    pub first_block: u64,
    /// Time of that block in Unix seconds, if it is known.
    pub first_timestamp: Option<u64>,
    /// Block of the last.
    pub last_block: u64,
    /// Time of that block in Unix seconds, if it is known.
    pub last_timestamp: Option<u64>,
}

/// The pairs of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// The number of pairs, listed or not.
    pub total: u64,
    /// The listed pairs.
    pub pairs: Vec<Pair>,
}

/// Lists the edges of `graph`.
pub fn pairs(graph: &MergedGraph, settings: &PairSettings) -> Pairs {
    let ends = |edge: &EdgeSum| {
        (
            graph.address(edge.from),
            graph.address(edge.to),
            graph.asset(edge.asset),
        )
    };
    let order = |a: &EdgeSum, b: &EdgeSum| {
        let first = match settings.order {
            PairOrder::Amount => {
                let assets = [a, b].map(|edge| graph.asset(edge.asset));
                assets[0].cmp(&assets[1]).then_with(|| b.sum.cmp(&a.sum))
            }
            PairOrder::Count => b.count.cmp(&a.count),
            PairOrder::Address => Ordering::Equal,
        };
        first.then_with(|| ends(a).cmp(&ends(b)))
    };
    let mut lists = Lists::new(graph, settings);
    graph.edges().for_each(|edge| lists.add(edge, &order));
    Pairs {
        total: graph.edge_count() as u64,
        pairs: (lists.sorted(&order).iter())
            .map(|edge| Pair::new(graph.stored(edge), edge.hop))
            .collect(),
    }
}

impl Pair {
    /// The pair of an edge.
    pub fn new(edge: StoredEdge, hop: u32) -> Self {
        Self {
            from_address: edge.from,
            to_address: edge.to,
            asset: edge.asset,
            count: edge.count,
            sum: edge.sum,
            hop,
            first_block: edge.first.0,
            first_timestamp: edge.first.1.map(BlockTime::seconds),
            last_block: edge.last.0,
            last_timestamp: edge.last.1.map(BlockTime::seconds),
        }
    }
}

/// Puts edges in the order of pairs, and keeps the first. The first edges of several graphs without
/// a common edge contain the first of all.
pub fn first_pairs(mut edges: Vec<StoredEdge>, settings: &PairSettings) -> Vec<StoredEdge> {
    let limit = settings.limit.unwrap_or(usize::MAX);
    let ends = |edge: &StoredEdge| (edge.from, edge.to, edge.asset);
    edges.sort_unstable_by(|a, b| {
        let first = match settings.order {
            PairOrder::Amount => (a.asset.cmp(&b.asset)).then_with(|| b.sum.cmp(&a.sum)),
            PairOrder::Count => b.count.cmp(&a.count),
            PairOrder::Address => Ordering::Equal,
        };
        first.then_with(|| ends(a).cmp(&ends(b)))
    });
    let mut listed = (None, 0);
    edges.retain(|edge| {
        // With order by amount, of each asset.
        let list = (settings.order == PairOrder::Amount).then_some(edge.asset);
        if listed.0 != Some(list) {
            listed = (Some(list), 0);
        }
        listed.1 += 1;
        listed.1 <= limit
    });
    edges
}

/// A list drops no edges until it has this many.
const DROPPED_MIN: usize = 64;

/// The first edges in an order, of all or of each asset. Beyond twice the limit, a list drops
/// those that others precede.
struct Lists {
    /// By asset, or one for all.
    lists: Vec<Vec<EdgeSum>>,
    by_asset: bool,
    limit: usize,
}

impl Lists {
    fn new(graph: &MergedGraph, settings: &PairSettings) -> Self {
        let by_asset = settings.order == PairOrder::Amount && settings.limit.is_some();
        Self {
            lists: vec![Vec::new(); if by_asset { graph.assets.len() } else { 1 }],
            by_asset,
            limit: settings.limit.unwrap_or(usize::MAX),
        }
    }

    fn add(&mut self, edge: EdgeSum, order: &impl Fn(&EdgeSum, &EdgeSum) -> Ordering) {
        let list = if self.by_asset { edge.asset } else { 0 };
        let list = &mut self.lists[list as usize];
        list.push(edge);
        // Rarely, also for a small limit.
        if list.len() > self.limit.saturating_mul(2).max(DROPPED_MIN) {
            list.select_nth_unstable_by(self.limit, order);
            list.truncate(self.limit);
        }
    }

    fn sorted(self, order: &impl Fn(&EdgeSum, &EdgeSum) -> Ordering) -> Vec<EdgeSum> {
        let mut all = Vec::new();
        for mut list in self.lists {
            if list.len() > self.limit {
                list.select_nth_unstable_by(self.limit, order);
                list.truncate(self.limit);
            }
            all.append(&mut list);
        }
        all.sort_unstable_by(order);
        all
    }
}

impl MeasureResult for Pairs {
    /// One table.
    fn tables(&self) -> Vec<Table> {
        use ColumnType::{Address, Amount, Text, U64};
        let title = match self.total - self.pairs.len() as u64 {
            0 => "Pairs".to_owned(),
            more => format!("Pairs ({more} more)"),
        };
        let table = Table::of(
            "pairs",
            title,
            &self.pairs,
            &[
                ("from_address", Address, |pair| pair.from_address.into()),
                ("to_address", Address, |pair| pair.to_address.into()),
                ("token_address", Address, |pair| {
                    pair.asset.token_address.into()
                }),
                ("token_standard", Text, |pair| {
                    pair.asset.token_standard.into()
                }),
                ("count", U64, |pair| pair.count.into()),
                ("sum", Amount, |pair| pair.sum.into()),
                ("hop", U64, |pair| pair.hop.into()),
                ("first_block", U64, |pair| pair.first_block.into()),
                ("first_timestamp", U64, |pair| pair.first_timestamp.into()),
                ("last_block", U64, |pair| pair.last_block.into()),
                ("last_timestamp", U64, |pair| pair.last_timestamp.into()),
            ],
        );
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use txgraph_graph::testing;

    fn check(text: &str, settings: &PairSettings, expected: &[&str]) {
        let graph = testing::graph(testing::transfers(text));
        let result = pairs(&MergedGraph::of(&graph), settings);
        let rows: Vec<_> = result
            .pairs
            .iter()
            .map(|pair| {
                let token = pair.asset.token_address.map_or("eth".into(), testing::name);
                let ends = [pair.from_address, pair.to_address]
                    .map(testing::name)
                    .join(">");
                format!("{ends}:{}@{token} x{}", pair.sum, pair.count)
            })
            .collect();
        assert_eq!(rows, expected);
        let table = &result.tables()[0];
        assert_eq!(table.rows.len(), expected.len());
        assert_eq!(
            table.title == "Pairs",
            result.total == expected.len() as u64
        );
    }

    #[test]
    fn lists_by_order_and_limit() {
        let text = "a>b:5@T a>b:6@T b>a:30@T c>a:1@eth c>d:9@eth d>d:1@eth d>d:1@eth d>d:1@eth";
        let settings = |order, limit| PairSettings { order, limit };
        let by_amount = [
            "c>d:9@eth x1",
            "d>d:3@eth x3",
            "c>a:1@eth x1",
            "b>a:30@T x1",
            "a>b:11@T x2",
        ];
        check(text, &PairSettings::default(), &by_amount);
        let one_each = ["c>d:9@eth x1", "b>a:30@T x1"];
        check(text, &settings(PairOrder::Amount, Some(1)), &one_each);
        let by_count = ["d>d:3@eth x3", "a>b:11@T x2", "b>a:30@T x1"];
        check(text, &settings(PairOrder::Count, Some(3)), &by_count);
        let by_address = ["a>b:11@T x2", "b>a:30@T x1"];
        check(text, &settings(PairOrder::Address, Some(2)), &by_address);
        check(text, &settings(PairOrder::Count, Some(0)), &[]);
    }

    #[test]
    fn serializes_with_decimal_amounts_and_a_flat_asset() {
        let graph = testing::graph(testing::transfers("a>b:5 a>b:6#200"));
        let json = serde_json::to_value(pairs(&MergedGraph::of(&graph), &PairSettings::default()))
            .unwrap();
        let pair = &json["pairs"][0];
        assert_eq!(pair["sum"], "11");
        assert_eq!(
            pair["from_address"],
            "0x6100000000000000000000000000000000000000"
        );
        assert_eq!(pair["token_standard"], "erc20");
        assert_eq!(
            (&pair["first_block"], &pair["last_block"]),
            (&100.into(), &200.into())
        );
    }

    proptest! {
        /// A limit gives the first pairs of the whole list, of each asset or of all.
        #[test]
        fn limits_give_the_first_pairs(
            transfers in proptest::collection::vec((0u8..40, 0u8..40, 0u8..2, 0u64..5), 0..400),
            limit in 0usize..50,
        ) {
            let transfers: Vec<_> = (100..)
                .zip(transfers)
                .map(|(block, (from, to, token, value))| {
                    let ends = [from, to].map(alloy_primitives::Address::repeat_byte);
                    let token = ["eth", "T"][usize::from(token)];
                    testing::transfer((block, 0), token, ends[0], ends[1], alloy_primitives::U256::from(value))
                })
                .collect();
            let graph = MergedGraph::of(&testing::graph(transfers));
            for order in [PairOrder::Amount, PairOrder::Count, PairOrder::Address] {
                let all = pairs(&graph, &PairSettings { order, limit: None });
                let some = pairs(&graph, &PairSettings { order, limit: Some(limit) });
                let expected: Vec<_> = match order {
                    PairOrder::Amount => all.pairs
                        .chunk_by(|a, b| a.asset == b.asset)
                        .flat_map(|pairs| pairs.iter().take(limit).cloned())
                        .collect(),
                    _ => all.pairs.iter().take(limit).cloned().collect(),
                };
                prop_assert_eq!(some.pairs, expected);
                prop_assert_eq!(some.total, all.total);
            }
        }

        #[test]
        fn sums_agree_with_the_transfers(transfers in crate::oracle::some_transfers()) {
            let mut expected = BTreeMap::new();
            for transfer in &transfers {
                let key = (transfer.from_address, transfer.to_address, Asset::of(transfer));
                let (count, sum, first, last) =
                    expected.entry(key).or_insert((0u64, AmountSum::ZERO, u64::MAX, 0));
                *count += 1;
                *sum += txgraph_graph::widen(transfer.value);
                *first = transfer.block_number.min(*first);
                *last = transfer.block_number.max(*last);
            }
            let settings = PairSettings { order: PairOrder::Address, limit: None };
            let found: Vec<_> = pairs(&MergedGraph::of(&testing::graph(transfers)), &settings)
                .pairs
                .into_iter()
                .map(|p| ((p.from_address, p.to_address, p.asset), (p.count, p.sum, p.first_block, p.last_block)))
                .collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
