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
        if self.roots > 0 {
            row("roots", self.roots.into());
        }
        row("transfers", self.transfers.into());
        row("pairs", self.pairs.into());
        row("merged edges", self.merged_edges.into());
        row("assets", self.asset_count.into());
        row("zero-value transfers", self.zero_value_transfers.into());
        row("self-transfers", self.self_transfers.into());
        row("first block", self.first_block.into());
        row("last block", self.last_block.into());
        for count in self.expansions.iter().filter(|_| self.roots > 0) {
            row(expansion_text(count.expansion), count.vertices.into());
        }
        table
    }

    /// Without roots, empty: there are no hops.
    fn hops(&self) -> Table {
        use ColumnType::U64;
        Table::of(
            "by-hop",
            "By hop",
            self.hops.iter().filter(|_| self.roots > 0),
            &[
                ("hop", U64, |hop| hop.hop.into()),
                ("vertices", U64, |hop| hop.vertices.into()),
                ("transfers", U64, |hop| hop.transfers.into()),
            ],
        )
    }

    fn kinds(&self) -> Table {
        use ColumnType::{Text, U64};
        Table::of(
            "by-kind",
            "By kind",
            &self.kinds,
            &[
                ("kind", Text, |count| count.kind.as_str().into()),
                ("transfers", U64, |count| count.transfers.into()),
            ],
        )
    }

    fn assets(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        let title = match self.asset_count - self.assets.len() as u64 {
            0 => "Assets".to_owned(),
            more => format!("Assets (those with most transfers; {more} more)"),
        };
        Table::of(
            "assets",
            title,
            &self.assets,
            &[
                ("token_address", Address, |it| it.asset.token_address.into()),
                ("token_standard", Text, |it| it.asset.token_standard.into()),
                ("transfers", U64, |it| it.transfers.into()),
                ("amount", Amount, |it| it.amount.into()),
                ("pairs", U64, |it| it.pairs.into()),
                ("senders", U64, |it| it.senders.addresses.into()),
                ("receivers", U64, |it| it.receivers.addresses.into()),
                ("minted", Amount, |it| it.minted.into()),
                ("burned", Amount, |it| it.burned.into()),
                ("zero_value_transfers", U64, |it| {
                    it.zero_value_transfers.into()
                }),
                ("self_transfers", U64, |it| it.self_transfers.into()),
                ("first_block", U64, |it| it.first_block.into()),
                ("last_block", U64, |it| it.last_block.into()),
            ],
        )
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
        let rows = self.assets.iter().flat_map(|asset| {
            let ranked = (1u64..).zip(&side(asset).top);
            ranked.map(move |(rank, top)| (asset.asset, rank, top))
        });
        Table::of(
            id,
            title,
            rows,
            &[
                ("token_address", Address, |(asset, ..)| {
                    asset.token_address.into()
                }),
                ("token_standard", Text, |(asset, ..)| {
                    asset.token_standard.into()
                }),
                ("rank", U64, |(_, rank, _)| rank.into()),
                ("address", Address, |(.., top)| top.address.into()),
                ("label", Text, |(.., top)| top.label.clone().into()),
                ("transfers", U64, |(.., top)| top.transfers.into()),
                ("amount", Amount, |(.., top)| top.amount.into()),
                ("share", F64, |(.., top)| top.share.into()),
            ],
        )
    }
}

fn busy_table(
    id: &'static str,
    title: &str,
    counterparties: &'static str,
    busy: &[BusyAddress],
) -> Table {
    use ColumnType::{Address, F64, Text, U64};
    Table::of(
        id,
        title,
        (1u64..).zip(busy),
        &[
            ("rank", U64, |(rank, _)| rank.into()),
            ("address", Address, |(_, busy)| busy.address.into()),
            ("label", Text, |(_, busy)| busy.label.clone().into()),
            ("transfers", U64, |(_, busy)| busy.transfers.into()),
            ("share", F64, |(_, busy)| busy.share.into()),
            (counterparties, U64, |(_, busy)| busy.counterparties.into()),
        ],
    )
}

fn expansion_text(expansion: Expansion) -> &'static str {
    match expansion {
        Expansion::Expanded => "vertices expanded",
        Expansion::LastHop => "not expanded: last hop",
        Expansion::Hub => "not expanded: hub",
        Expansion::StopList => "not expanded: stop list",
        Expansion::ZeroAddress => "not expanded: zero address",
        Expansion::Limit => "not expanded: limit",
        Expansion::Swap => "carries a swap",
    }
}
