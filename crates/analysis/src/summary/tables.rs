//! The tables of a summary.

use super::{AssetSummary, BusyAddress, Summary};
use crate::{ColumnType, MeasureResult, Side, Table, Value, concentration::TOP_SHARES};
use txgraph_graph::Expansion;

impl MeasureResult for Summary {
    /// Totals, hops, kinds, assets, concentration, top addresses.
    fn tables(&self) -> Vec<Table> {
        vec![
            self.totals(),
            self.hops(),
            self.kinds(),
            self.assets(),
            self.concentration(),
            self.top_by_amount("top-senders-by-amount", "Top senders by amount", |asset| {
                &asset.senders
            }),
            self.top_by_amount(
                "top-receivers-by-amount",
                "Top receivers by amount",
                |asset| &asset.receivers,
            ),
            busy_table(
                "top-senders-by-transfers",
                "Top senders by transfers",
                "receivers",
                &self.top_senders,
            ),
            busy_table(
                "top-receivers-by-transfers",
                "Top receivers by transfers",
                "senders",
                &self.top_receivers,
            ),
        ]
    }
}

impl Summary {
    fn totals(&self) -> Table {
        let mut table = Table::new(
            "summary",
            "Summary",
            &[("measure", ColumnType::Text), ("count", ColumnType::U64)],
        );
        let mut row =
            |name: &'static str, count: Value<'static>| table.push(vec![name.into(), count]);
        row("vertices", self.vertices.into());
        row("roots", self.roots.into());
        row("transfers", self.transfers.into());
        row("pairs", self.pairs.into());
        row("merged edges", self.merged_edges.into());
        row("assets", self.asset_count.into());
        row("zero-value transfers", self.zero_value_transfers.into());
        row("self-transfers", self.self_transfers.into());
        row("first block", self.first_block.into());
        row("last block", self.last_block.into());
        for count in &self.expansions {
            row(expansion_text(count.expansion), count.vertices.into());
        }
        table
    }

    fn hops(&self) -> Table {
        use ColumnType::U64;
        let columns = [("hop", U64), ("vertices", U64), ("transfers", U64)];
        let mut table = Table::new("by-hop", "By hop", &columns);
        for hop in &self.hops {
            table.push(vec![
                hop.hop.into(),
                hop.vertices.into(),
                hop.transfers.into(),
            ]);
        }
        table
    }

    fn kinds(&self) -> Table {
        let columns = [("kind", ColumnType::Text), ("transfers", ColumnType::U64)];
        let mut table = Table::new("by-kind", "By kind", &columns);
        for count in &self.kinds {
            table.push(vec![count.kind.as_str().into(), count.transfers.into()]);
        }
        table
    }

    fn assets(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        let title = match self.asset_count - self.assets.len() as u64 {
            0 => "Assets".to_owned(),
            more => format!("Assets (those with most transfers; {more} more)"),
        };
        let mut table = Table::new(
            "assets",
            title,
            &[
                ("token_address", Address),
                ("token_standard", Text),
                ("transfers", U64),
                ("amount", Amount),
                ("pairs", U64),
                ("senders", U64),
                ("receivers", U64),
                ("minted", Amount),
                ("burned", Amount),
                ("zero_value_transfers", U64),
                ("self_transfers", U64),
                ("first_block", U64),
                ("last_block", U64),
            ],
        );
        for asset in &self.assets {
            table.push(vec![
                asset.asset.token_address.into(),
                asset.asset.token_standard.as_str().into(),
                asset.transfers.into(),
                asset.amount.into(),
                asset.pairs.into(),
                asset.senders.addresses.into(),
                asset.receivers.addresses.into(),
                asset.minted.into(),
                asset.burned.into(),
                asset.zero_value_transfers.into(),
                asset.self_transfers.into(),
                asset.first_block.into(),
                asset.last_block.into(),
            ]);
        }
        table
    }

    fn concentration(&self) -> Table {
        use ColumnType::{Address, Amount, F64, Text, U64};
        let shares = TOP_SHARES.map(|n| format!("top_{n}_share"));
        let mut columns = vec![
            ("token_address", Address),
            ("token_standard", Text),
            ("side", Text),
            ("addresses", U64),
            ("amount", Amount),
            ("gini", F64),
        ];
        columns.extend(shares.iter().map(|name| (name.as_str(), F64)));
        let mut table = Table::new("concentration", "Concentration", &columns);
        for asset in &self.assets {
            for (name, side) in [("senders", &asset.senders), ("receivers", &asset.receivers)] {
                let mut row: Vec<Value<'static>> = vec![
                    asset.asset.token_address.into(),
                    asset.asset.token_standard.as_str().into(),
                    name.into(),
                ];
                row.extend(side.concentration_cells());
                table.push(row);
            }
        }
        table
    }

    fn top_by_amount(
        &self,
        id: &'static str,
        title: &str,
        side: fn(&AssetSummary) -> &Side,
    ) -> Table {
        use ColumnType::{Address, Amount, F64, Text, U64};
        let mut table = Table::new(
            id,
            title,
            &[
                ("token_address", Address),
                ("token_standard", Text),
                ("rank", U64),
                ("address", Address),
                ("label", Text),
                ("transfers", U64),
                ("amount", Amount),
                ("share", F64),
            ],
        );
        for asset in &self.assets {
            for (rank, top) in (1u64..).zip(&side(asset).top) {
                table.push(vec![
                    asset.asset.token_address.into(),
                    asset.asset.token_standard.as_str().into(),
                    rank.into(),
                    top.address.into(),
                    top.label.clone().into(),
                    top.transfers.into(),
                    top.amount.into(),
                    top.share.into(),
                ]);
            }
        }
        table
    }
}

fn busy_table(id: &'static str, title: &str, counterparties: &str, busy: &[BusyAddress]) -> Table {
    use ColumnType::{Address, F64, Text, U64};
    let mut table = Table::new(
        id,
        title,
        &[
            ("rank", U64),
            ("address", Address),
            ("label", Text),
            ("transfers", U64),
            ("share", F64),
            (counterparties, U64),
        ],
    );
    for (rank, busy) in (1u64..).zip(busy) {
        table.push(vec![
            rank.into(),
            busy.address.into(),
            busy.label.clone().into(),
            busy.transfers.into(),
            busy.share.into(),
            busy.counterparties.into(),
        ]);
    }
    table
}

fn expansion_text(expansion: Expansion) -> &'static str {
    match expansion {
        Expansion::Expanded => "vertices expanded",
        Expansion::LastHop => "not expanded: last hop",
        Expansion::Hub => "not expanded: hub",
        Expansion::StopList => "not expanded: stop list",
        Expansion::ZeroAddress => "not expanded: zero address",
        Expansion::Limit => "not expanded: limit",
    }
}
