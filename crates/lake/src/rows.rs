//! Rows of a partition as transfers.

use crate::{
    error::{Error, Result, damaged},
    lake::{Lake, Partition},
    schema::Table,
    table::Batch,
};
use alloy_primitives::{Address, U256, map::HashSet};
use std::ops::Range;
use txgraph_transfers::{
    BlockRange, BlockTime, Direction, Kind, ScanRequest, TokenFilter, TokenStandard, Transfer,
};
use txgraph_work::WorkContext;

/// The rows of a chunk up to which addresses are looked up alone. With more, all are loaded.
const FEW_ROWS: usize = 1 << 10;

/// The wanted tokens, as ids.
#[derive(Debug)]
enum Tokens {
    All,
    Only { ids: HashSet<u64>, native: bool },
}

/// A request, with ids instead of addresses.
#[derive(Debug)]
pub(crate) struct Query {
    tokens: Tokens,
    /// Ids of the requested addresses, ascending, and the side that is compared.
    pub(crate) touching: Option<(Vec<u64>, Direction)>,
}

impl Query {
    pub(crate) fn new(lake: &Lake, request: &ScanRequest, work: &WorkContext) -> Result<Self> {
        let ids = |addresses: &mut dyn Iterator<Item = &Address>| -> Result<Vec<u64>> {
            let mut sorted: Vec<Address> = addresses.copied().collect();
            sorted.sort_unstable();
            let ids = lake.ids(&sorted, work)?;
            Ok(ids.into_iter().flatten().collect())
        };
        let tokens = match &request.filter.tokens {
            TokenFilter::All => Tokens::All,
            TokenFilter::Only { tokens, native } => Tokens::Only {
                ids: ids(&mut tokens.iter())?.into_iter().collect(),
                native: *native,
            },
        };
        let touching = match &request.filter.touching {
            None => None,
            Some(touching) => {
                let mut ids = ids(&mut touching.addresses.iter())?;
                ids.sort_unstable();
                Some((ids, touching.direction))
            }
        };
        Ok(Self { tokens, touching })
    }

    fn matches_token(&self, token: Option<u64>) -> bool {
        match (&self.tokens, token) {
            (Tokens::All, _) => true,
            (Tokens::Only { native, .. }, None) => *native,
            (Tokens::Only { ids, .. }, Some(token)) => ids.contains(&token),
        }
    }

    /// Returns the rows of a partition, ascending, that touch the requested addresses with
    /// wanted tokens; `None` if no addresses are requested.
    pub(crate) fn rows(&self, partition: &Partition) -> Result<Option<Vec<u32>>> {
        let Some((ids, direction)) = &self.touching else {
            return Ok(None);
        };
        let tables: &[(Table, &str)] = match direction {
            Direction::Out => &[(Table::BySender, "from_address_id")],
            Direction::In => &[(Table::ByReceiver, "to_address_id")],
            Direction::Both => &[
                (Table::BySender, "from_address_id"),
                (Table::ByReceiver, "to_address_id"),
            ],
        };
        let mut rows: Vec<u32> = Vec::new();
        for (table, key) in tables {
            let table = partition.table(*table)?;
            let pages = table.rows_with(ids)?;
            if pages.is_empty() {
                continue;
            }
            let mut next = 0;
            for batch in table.read(&[key, "token_address_id", "row"], Some(pages))? {
                let batch = batch?;
                let token = batch.optional_u64s("token_address_id")?;
                let found = batch.u64s(key)?.iter().zip(batch.u32s("row")?);
                for (at, (id, row)) in found.enumerate() {
                    while ids.get(next).is_some_and(|wanted| wanted < id) {
                        next += 1;
                    }
                    if ids.get(next) == Some(id) && self.matches_token(token(at)) {
                        rows.push(*row);
                    }
                }
            }
        }
        rows.sort_unstable();
        rows.dedup();
        if rows
            .last()
            .is_some_and(|last| u64::from(*last) >= partition.info.transfers)
        {
            return Err(partition.damaged("an edge refers to a row behind the last"));
        }
        Ok(Some(rows))
    }
}

/// Wanted rows of one partition.
pub(crate) struct Wanted<'a> {
    pub(crate) lake: &'a Lake,
    pub(crate) partition: &'a Partition,
    pub(crate) query: &'a Query,
    pub(crate) request: &'a ScanRequest,
    pub(crate) blocks: BlockRange,
    /// The rows that touch the requested addresses, if any are requested.
    pub(crate) rows: Option<&'a [u32]>,
}

impl Wanted<'_> {
    /// Returns a range of rows with all rows of the blocks, and the rows in it that are to be
    /// read.
    fn ranges(&self) -> Result<Vec<Range<usize>>> {
        let table = self.partition.table(Table::Transfers)?;
        let mut span = 0..table.rows();
        if self.blocks != self.partition.info.blocks {
            let pages = table.key_pages::<u64>()?;
            let within = |(_, min, max): &&(Range<usize>, u64, u64)| {
                *min <= self.blocks.last && *max >= self.blocks.first
            };
            let first = pages.iter().find(within);
            let last = pages.iter().rev().find(within);
            span = match (first, last) {
                (Some((first, ..)), Some((last, ..))) => first.start..last.end,
                _ => 0..0,
            };
        }
        let Some(rows) = self.rows else {
            return Ok(match span.is_empty() {
                true => Vec::new(),
                false => vec![span],
            });
        };
        if rows.len() > span.len() / DENSE {
            return Ok(vec![span]);
        }
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for row in rows.iter().map(|row| *row as usize) {
            if span.contains(&row) {
                match ranges.last_mut() {
                    // Decoding a few more rows costs less than leaving them out.
                    Some(before) if row < before.end + GAP => before.end = row + 1,
                    _ => ranges.push(row..row + 1),
                }
            }
        }
        Ok(ranges)
    }

    /// Whether the partition may have movements inside of transactions that are not requested.
    fn leaves_out_internal(&self) -> bool {
        self.lake.has_internal() && !self.request.filter.internal
    }

    /// Passes each wanted row to `take`, in total order.
    fn each(
        &self,
        columns: &[&str],
        mut take: impl FnMut(&Batch<'_>, &mut dyn Iterator<Item = usize>) -> Result<()>,
    ) -> Result<()> {
        let ranges = self.ranges()?;
        if ranges.is_empty() {
            return Ok(());
        }
        let filter = &self.request.filter;
        let leaves_out_internal = self.leaves_out_internal();
        let min_value = filter.min_value.to_be_bytes::<32>();
        let mut numbers = ranges.clone().into_iter().flatten();
        let mut wanted_rows = self.rows.map(|rows| rows.iter().copied().peekable());
        let table = self.partition.table(Table::Transfers)?;
        let mut selected = Vec::new();
        for batch in table.read(columns, Some(ranges))? {
            let batch = batch?;
            let blocks = batch.u64s("block_number")?;
            let token = batch.optional_u64s("token_address_id")?;
            let standard = batch.words::<TokenStandard>("token_standard")?;
            let kind = batch.words::<Kind>("kind")?;
            let log = match leaves_out_internal {
                true => Some(batch.optional_u32s("log_index")?),
                false => None,
            };
            let values = match filter.min_value == U256::ZERO {
                true => None,
                false => Some(batch.bytes::<32>("value")?),
            };
            selected.clear();
            for (at, block) in blocks.iter().enumerate() {
                let number = numbers.next();
                if let Some(rows) = &mut wanted_rows {
                    let is_before =
                        |row: &u32| number.is_some_and(|number| (*row as usize) < number);
                    while rows.next_if(is_before).is_some() {}
                    if rows.peek().map(|row| *row as usize) != number {
                        continue;
                    }
                }
                if self.blocks.contains(*block)
                    && self.query.matches_token(token(at))
                    && filter.matches_sort(standard(at)?, kind(at)?)
                    && values.is_none_or(|values| values[at] >= min_value)
                {
                    if let Some(log) = &log
                        && kind(at)?.is_internal(log(at).is_some())
                    {
                        continue;
                    }
                    selected.push(at);
                }
            }
            take(&batch, &mut selected.iter().copied())?;
        }
        Ok(())
    }

    /// Counts the wanted transfers.
    pub(crate) fn count(&self) -> Result<u64> {
        let filter = &self.request.filter;
        if !filter.amounts.is_empty() {
            return Ok(self.transfers()?.len() as u64);
        }
        if self.rows.is_none()
            && self.blocks == self.partition.info.blocks
            && filter.min_value == U256::ZERO
            && !self.leaves_out_internal()
        {
            return self.count_assets();
        }
        let columns = [
            "block_number",
            "token_address_id",
            "token_standard",
            "kind",
            "log_index",
            "value",
        ];
        let columns = match filter.min_value == U256::ZERO {
            true => &columns[..5],
            false => &columns[..],
        };
        let mut count = 0;
        self.each(columns, |_, rows| {
            count += rows.count() as u64;
            Ok(())
        })?;
        Ok(count)
    }

    /// Counts transfers by token, standard and kind.
    fn count_assets(&self) -> Result<u64> {
        let columns = ["token_address_id", "token_standard", "kind", "transfers"];
        let mut count = 0;
        for batch in self.partition.table(Table::Assets)?.read(&columns, None)? {
            let batch = batch?;
            let token = batch.optional_u64s("token_address_id")?;
            let standard = batch.words::<TokenStandard>("token_standard")?;
            let kind = batch.words::<Kind>("kind")?;
            for (at, transfers) in batch.u64s("transfers")?.iter().enumerate() {
                let is_wanted = self.query.matches_token(token(at))
                    && self.request.filter.matches_sort(standard(at)?, kind(at)?);
                count += if is_wanted { *transfers } else { 0 };
            }
        }
        Ok(count)
    }

    /// Returns the wanted transfers, without hashes.
    pub(crate) fn transfers(&self) -> Result<Vec<Transfer>> {
        let mut transfers: Vec<Transfer> = Vec::new();
        let mut ends: Vec<Ends> = Vec::new();
        self.each(&Table::Transfers.names(), |batch, rows| {
            let (blocks, times) = (batch.u64s("block_number")?, batch.u64s("block_timestamp")?);
            let transactions = batch.u32s("transaction_index")?;
            let log = batch.optional_u32s("log_index")?;
            let subs = batch.u32s("sub_index")?;
            let token = batch.optional_u64s("token_address_id")?;
            let froms = batch.u64s("from_address_id")?;
            let tos = batch.u64s("to_address_id")?;
            let values = batch.bytes::<32>("value")?;
            let token_id = batch.optional_bytes::<32>("token_id")?;
            let standard = batch.words::<TokenStandard>("token_standard")?;
            let kind = batch.words::<Kind>("kind")?;
            for at in rows {
                ends.push((token(at), froms[at], tos[at]));
                transfers.push(Transfer {
                    block_number: blocks[at],
                    block_timestamp: BlockTime::new(times[at]),
                    transaction_index: transactions[at],
                    log_index: log(at),
                    sub_index: subs[at],
                    transaction_hash: None,
                    token_address: None,
                    from_address: Address::ZERO,
                    to_address: Address::ZERO,
                    value: U256::from_be_bytes(values[at]),
                    token_id: token_id(at).map(U256::from_be_bytes),
                    token_standard: standard(at)?,
                    kind: kind(at)?,
                });
            }
            Ok(())
        })?;
        fill_addresses(self.lake, &mut transfers, &ends)?;
        let amounts = &self.request.filter.amounts;
        if !amounts.is_empty() {
            transfers.retain(|it| {
                amounts.matches(it.token_address.as_ref(), &it.value, it.token_id.as_ref())
            });
        }
        Ok(transfers)
    }
}

/// The share of rows, one in this many, above which all are decoded: leaving out rows one by one
/// takes longer.
const DENSE: usize = 32;

/// The largest distance of rows that are read together.
const GAP: usize = 8;

/// The ids of token, sender and receiver.
type Ends = (Option<u64>, u64, u64);

/// Fills in the addresses of transfers, which have these ids.
fn fill_addresses(lake: &Lake, transfers: &mut [Transfer], ends: &[Ends]) -> Result<()> {
    let are_many = ends.len() > FEW_ROWS;
    let partition_of = |id: u64| lake.partition_of_id(id).ok_or_else(|| unknown(lake, id));
    let mut set = |(transfer, column): (usize, usize), address: &[u8; 20]| {
        let (transfer, address) = (&mut transfers[transfer], Address::from(address));
        match column {
            0 => transfer.token_address = Some(address),
            1 => transfer.from_address = address,
            _ => transfer.to_address = address,
        }
    };
    // Ids whose addresses are not in memory.
    let mut others: Vec<(u64, (usize, usize))> = Vec::new();
    for (transfer, (token, from, to)) in ends.iter().enumerate() {
        for (column, id) in [*token, Some(*from), Some(*to)].into_iter().enumerate() {
            let Some(id) = id else { continue };
            let partition = partition_of(id)?;
            let kept = match are_many && lake.keeps_addresses(partition) {
                true => Some(partition.addresses()?),
                false => partition.kept_addresses(),
            };
            match kept {
                Some(kept) => {
                    let address = kept.get(partition.row_of_id(id));
                    let address = address.ok_or_else(|| unknown(lake, id))?;
                    set((transfer, column), address);
                }
                None => others.push((id, (transfer, column))),
            }
        }
    }
    others.sort_unstable();
    let mut rest = &others[..];
    while let Some((id, _)) = rest.first() {
        let partition = partition_of(*id)?;
        let end = partition.info.first_address_id + partition.info.new_addresses;
        let (some, later) = rest.split_at(rest.partition_point(|(id, _)| *id < end));
        rest = later;
        let mut rows: Vec<usize> = some.iter().map(|it| partition.row_of_id(it.0)).collect();
        rows.dedup();
        let addresses = partition.table(Table::Addresses)?.values_at(&rows)?;
        let places = some.chunk_by(|a, b| a.0 == b.0);
        for (places, address) in places.zip(&addresses) {
            for (_, place) in places {
                set(*place, address);
            }
        }
    }
    Ok(())
}

fn unknown(lake: &Lake, id: u64) -> Error {
    damaged(lake.path(), format!("no address has the id {id}"))
}
