//! Transfers summed by asset and period of time, or by asset and transaction.

use crate::{
    ColumnType, MeasureResult, PairOrder, Table, serial::decimal, table::transaction_name,
};
use alloy_primitives::{Address, map::HashSet};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_base::Interner;
use txgraph_base::string_enum;
use txgraph_graph::{AmountSum, Asset, SearchError, TransferGraph, widen};
use txgraph_transfers::{BlockTime, Kind, Transfer};

string_enum! {
    /// Which transfers are summed together. Periods are in UTC.
    #[derive(Default)]
    pub enum VolumeBy: "grouping" {
        /// By hour.
        Hour = "hour",
        /// By day.
        #[default]
        Day = "day",
        /// By week, which starts on Monday.
        Week = "week",
        /// By month.
        Month = "month",
        /// By transaction.
        Transaction = "transaction",
    }
}

/// Options of the volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeSettings {
    /// Which transfers are summed together. Default: by day.
    pub by: VolumeBy,
    /// The order of the rows: by asset, then the largest sum first, or most transfers first. Others,
    /// and the default: the order of the chain.
    pub order: Option<PairOrder>,
    /// The number of rows to list; with order by amount, of each asset. Default: all.
    pub limit: Option<usize>,
}

/// The transfers of one asset in one period or transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VolumeRow {
    /// The start of the period (`2024-01-31T05:00`, `2024-01-31`, `2024-01`), or the transaction
    /// (`block:index`). `None` if the time of the block is not known, or the transfers belong to no
    /// transaction.
    pub group: Option<String>,
    /// The asset.
    #[serde(flatten)]
    pub asset: Asset,
    /// The number of transfers.
    pub transfers: u64,
    /// The sum of their amounts.
    #[serde(serialize_with = "decimal")]
    pub sum: AmountSum,
    /// Distinct senders.
    pub senders: u64,
    /// Distinct receivers.
    pub receivers: u64,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
}

/// Transfers by asset and period or transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// Which transfers are summed together.
    pub by: VolumeBy,
    /// The number of rows, listed or not.
    pub total: u64,
    /// The listed rows.
    pub rows: Vec<VolumeRow>,
}

/// Sums transfers while they are read. Memory grows with the rows and with the addresses.
#[derive(Debug)]
pub struct VolumeCounter {
    settings: VolumeSettings,
    addresses: Interner<Address>,
    transfers: u64,
    group: Group,
    assets: BTreeMap<Asset, Open>,
    rows: Vec<VolumeRow>,
}

/// A period or transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Starts at this second since 1970, UTC.
    Period(u64),
    /// Block, and index in it.
    Transaction(u64, u32),
    /// Blocks whose time is not known.
    Unknown,
    /// Withdrawals of this block, which belong to no transaction.
    Withdrawals(u64),
}

/// The row of an asset in the current group.
#[derive(Debug)]
struct Open {
    row: VolumeRow,
    /// By number.
    senders: HashSet<u32>,
    receivers: HashSet<u32>,
}

impl VolumeCounter {
    /// Starts without transfers.
    pub fn new(settings: VolumeSettings) -> Self {
        Self {
            settings,
            addresses: Interner::default(),
            transfers: 0,
            group: Group::Unknown,
            assets: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    /// Adds transfers, in the order of the chain.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses.
    pub fn add(&mut self, transfers: &[Transfer]) -> Result<(), SearchError> {
        transfers.iter().try_for_each(|it| self.add_one(it))
    }

    fn add_one(&mut self, transfer: &Transfer) -> Result<(), SearchError> {
        let group = Group::of(transfer, self.settings.by);
        if group != self.group {
            self.close();
            self.group = group;
        }
        let from = self.addresses.intern(transfer.from_address)?;
        let to = self.addresses.intern(transfer.to_address)?;
        let asset = Asset::of(transfer);
        let open = self.assets.entry(asset).or_insert_with(|| Open {
            row: VolumeRow {
                group: group.name(self.settings.by),
                asset,
                transfers: 0,
                sum: AmountSum::ZERO,
                senders: 0,
                receivers: 0,
                first_block: transfer.block_number,
                last_block: transfer.block_number,
            },
            senders: HashSet::default(),
            receivers: HashSet::default(),
        });
        open.row.transfers += 1;
        open.row.sum += widen(transfer.value);
        open.row.last_block = transfer.block_number;
        open.senders.insert(from);
        open.receivers.insert(to);
        self.transfers += 1;
        Ok(())
    }

    /// The number of addresses of the transfers.
    pub fn addresses(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// The number of transfers.
    pub const fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Ends the current group.
    fn close(&mut self) {
        let closed = std::mem::take(&mut self.assets).into_values();
        self.rows.extend(closed.map(|open| VolumeRow {
            senders: open.senders.len() as u64,
            receivers: open.receivers.len() as u64,
            ..open.row
        }));
    }

    /// The volume of the transfers.
    pub fn finish(mut self) -> Volume {
        self.close();
        let VolumeSettings { by, order, limit } = self.settings;
        let total = self.rows.len() as u64;
        match order {
            // Sorting is stable, so ties keep the order of the chain.
            Some(PairOrder::Amount) => {
                (self.rows).sort_by_key(|row| (row.asset, Reverse(row.sum)));
            }
            Some(PairOrder::Count) => {
                (self.rows).sort_by_key(|row| Reverse(row.transfers));
            }
            Some(PairOrder::Address) | None => {}
        }
        let mut listed = (None, 0);
        self.rows.retain(|row| {
            // Sums of different assets cannot be compared, so each asset has its first rows.
            let list = (order == Some(PairOrder::Amount)).then_some(row.asset);
            if listed.0 != Some(list) {
                listed = (Some(list), 0);
            }
            listed.1 += 1;
            limit.is_none_or(|limit| listed.1 <= limit)
        });
        Volume {
            by,
            total,
            rows: self.rows,
        }
    }
}

/// The volume of a graph of transfers.
///
/// # Errors
///
/// [`SearchError::TooLarge`] at 2^32 - 1 addresses.
pub fn volume(graph: &TransferGraph, settings: VolumeSettings) -> Result<Volume, SearchError> {
    let mut transfers: Vec<&Transfer> = graph.graph.edge_weights().map(|it| &it.transfer).collect();
    transfers.sort_unstable_by_key(|transfer| transfer.position());
    let mut counter = VolumeCounter::new(settings);
    transfers
        .into_iter()
        .try_for_each(|it| counter.add_one(it))?;
    Ok(counter.finish())
}

impl Group {
    fn of(transfer: &Transfer, by: VolumeBy) -> Self {
        if by == VolumeBy::Transaction {
            return match transfer.kind {
                Kind::Withdrawal => Self::Withdrawals(transfer.block_number),
                _ => Self::Transaction(transfer.block_number, transfer.transaction_index),
            };
        }
        let start = transfer.block_timestamp.and_then(|time| by.start(time));
        start.map_or(Self::Unknown, Self::Period)
    }

    fn name(self, by: VolumeBy) -> Option<String> {
        match self {
            Self::Unknown | Self::Withdrawals(_) => None,
            Self::Transaction(block, index) => Some(transaction_name(block, index)),
            Self::Period(start) => {
                let form = match by {
                    VolumeBy::Hour => "%Y-%m-%dT%H:%M",
                    VolumeBy::Month => "%Y-%m",
                    _ => "%Y-%m-%d",
                };
                Some(civil(start)?.strftime(form).to_string())
            }
        }
    }
}

impl VolumeBy {
    /// The start of the period of a time, in seconds since 1970. `None` for times that no calendar
    /// has.
    fn start(self, time: BlockTime) -> Option<u64> {
        const HOUR: u64 = 3_600;
        const DAY: u64 = 24 * HOUR;
        const WEEK: u64 = 7 * DAY;
        // 1970-01-05, the first Monday.
        const MONDAY: u64 = 4 * DAY;
        let seconds = time.seconds();
        match self {
            Self::Month => {
                let first = civil(seconds)?.date().first_of_month();
                let first = first.to_zoned(TimeZone::UTC).ok()?.timestamp();
                u64::try_from(first.as_second()).ok()
            }
            // The first days of 1970 are in a week that begins in 1969.
            Self::Week if seconds < MONDAY => Some(0),
            Self::Week => Some(seconds - (seconds - MONDAY) % WEEK),
            Self::Hour => Some(seconds - seconds % HOUR),
            Self::Day | Self::Transaction => Some(seconds - seconds % DAY),
        }
    }
}

/// A time in UTC.
fn civil(seconds: u64) -> Option<DateTime> {
    let time = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(TimeZone::UTC.to_datetime(time))
}

impl MeasureResult for Volume {
    /// One table. Its first column has the name of the grouping.
    fn tables(&self) -> Vec<Table> {
        use ColumnType::{Address, Amount, Text, U64};
        let by = self.by.as_str();
        let title = match self.total - self.rows.len() as u64 {
            0 => format!("Volume by {by}"),
            more => format!("Volume by {by} ({more} more)"),
        };
        let table = Table::of(
            "volume",
            title,
            &self.rows,
            &[
                (by, Text, |row| row.group.clone().into()),
                ("token_address", Address, |row| {
                    row.asset.token_address.into()
                }),
                ("token_standard", Text, |row| {
                    row.asset.token_standard.into()
                }),
                ("transfers", U64, |row| row.transfers.into()),
                ("sum", Amount, |row| row.sum.into()),
                ("senders", U64, |row| row.senders.into()),
                ("receivers", U64, |row| row.receivers.into()),
                ("first_block", U64, |row| row.first_block.into()),
                ("last_block", U64, |row| row.last_block.into()),
            ],
        );
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use txgraph_graph::testing;

    /// Transfers whose blocks have these times.
    fn at_times(text: &str, times: &[u64]) -> Vec<Transfer> {
        let mut transfers = testing::transfers(text);
        for (transfer, time) in transfers.iter_mut().zip(times) {
            transfer.block_timestamp = BlockTime::new(*time);
        }
        transfers
    }

    fn counted(transfers: &[Transfer], settings: VolumeSettings) -> Volume {
        let mut counter = VolumeCounter::new(settings);
        counter.add(transfers).unwrap();
        counter.finish()
    }

    fn rows(volume: &Volume) -> Vec<String> {
        let row = |row: &VolumeRow| {
            let token = row.asset.token_address.map_or("eth".into(), testing::name);
            let group = row.group.as_deref().unwrap_or("?");
            format!(
                "{group} {}@{token} x{} {}>{} {}-{}",
                row.sum, row.transfers, row.senders, row.receivers, row.first_block, row.last_block
            )
        };
        volume.rows.iter().map(row).collect()
    }

    #[test]
    fn periods_start_in_utc() {
        // A Friday.
        let time = BlockTime::new(1_709_255_000).unwrap();
        let start = |by| {
            Group::Period(VolumeBy::start(by, time).unwrap())
                .name(by)
                .unwrap()
        };
        assert_eq!(start(VolumeBy::Hour), "2024-03-01T01:00");
        assert_eq!(start(VolumeBy::Day), "2024-03-01");
        assert_eq!(start(VolumeBy::Week), "2024-02-26");
        assert_eq!(start(VolumeBy::Month), "2024-03");
        let never = BlockTime::new(u64::MAX - 1).unwrap();
        assert_eq!(VolumeBy::Month.start(never), None);
    }

    #[test]
    fn sums_by_period_and_by_transaction() {
        let (day, hour) = (86_400, 3_600);
        let text = "a>b:5@T a>c:6@T b>a:7@eth a>b:1@T a>b:2@T";
        let times = [0, hour, 2 * hour, day, day + 1];
        let transfers = at_times(text, &times);
        let by = |by, order, limit| {
            let settings = VolumeSettings { by, order, limit };
            rows(&counted(&transfers, settings))
        };
        let days = [
            "1970-01-01 7@eth x1 1>1 102-102",
            "1970-01-01 11@T x2 1>2 100-101",
            "1970-01-02 3@T x2 1>1 103-104",
        ];
        assert_eq!(by(VolumeBy::Day, None, None), days);
        assert_eq!(by(VolumeBy::Day, None, Some(2)), days[..2]);
        let most = Some(PairOrder::Amount);
        assert_eq!(by(VolumeBy::Day, most, Some(1)), days[..2]);
        let busiest = [days[1], days[2], days[0]];
        assert_eq!(by(VolumeBy::Day, Some(PairOrder::Count), None), busiest);
        let one_each = by(VolumeBy::Transaction, None, None);
        assert_eq!(one_each.len(), 5);
        assert_eq!(one_each[1], "101:0 6@T x1 1>1 101-101");
    }

    #[test]
    fn what_has_no_group_has_a_row_of_its_own() {
        let mut transfers = testing::transfers("a>b:1#7 a>b:2#7 a>b:3#8 a>b:4#9");
        for place in [1, 2] {
            transfers[place].kind = Kind::Withdrawal;
        }
        let settings = VolumeSettings {
            by: VolumeBy::Transaction,
            ..VolumeSettings::default()
        };
        let found = counted(&transfers, settings);
        let groups: Vec<_> = found.rows.iter().map(|row| row.group.as_deref()).collect();
        assert_eq!(groups, [Some("7:0"), None, None, Some("9:0")]);
        transfers
            .iter_mut()
            .for_each(|it| it.block_timestamp = None);
        let found = counted(&transfers, VolumeSettings::default());
        assert_eq!((found.total, &found.rows[0].group), (1, &None));
        assert_eq!(found.tables()[0].columns[0].name, "day");
    }

    proptest! {
        /// Against a sum for each (group, asset) that is looked up in a map.
        #[test]
        fn rows_agree_with_a_map(
            transfers in crate::oracle::some_transfers(),
            by in prop::sample::select(VolumeBy::ALL),
            seconds in 1u64..100_000,
        ) {
            let mut transfers = transfers;
            for transfer in &mut transfers {
                transfer.block_timestamp = BlockTime::new(transfer.block_number * seconds);
            }
            let mut expected: BTreeMap<(String, Asset), Vec<&Transfer>> = BTreeMap::new();
            for it in &transfers {
                let group = Group::of(it, by).name(by).unwrap();
                expected.entry((group, Asset::of(it))).or_default().push(it);
            }
            let graph = testing::graph(transfers.clone());
            let found = volume(&graph, VolumeSettings { by, ..VolumeSettings::default() }).unwrap();
            prop_assert_eq!(found.rows.len(), expected.len());
            for row in found.rows {
                let all = &expected[&(row.group.unwrap(), row.asset)];
                let distinct = |end: fn(&Transfer) -> Address| {
                    all.iter().map(|it| end(it)).collect::<std::collections::BTreeSet<_>>().len() as u64
                };
                prop_assert_eq!(row.transfers, all.len() as u64);
                prop_assert_eq!(row.sum, all.iter().map(|it| widen(it.value)).sum::<AmountSum>());
                prop_assert_eq!(row.senders, distinct(|it| it.from_address));
                prop_assert_eq!(row.receivers, distinct(|it| it.to_address));
            }
        }
    }
}
