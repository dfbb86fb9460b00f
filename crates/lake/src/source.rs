//! A lake as a source of transfers.

use crate::{
    error::Result,
    lake::{Lake, PARTITIONS_AHEAD, Partition},
    rows::{Query, Wanted},
    schema::Table,
};
use alloy_primitives::B256;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::{ControlFlow, Range},
};
use txgraph_stored::{Stop, StoredBlocks, StoredChunk, StoredSource, run_jobs};
use txgraph_transfers::{
    AnomalousLogs, BlockAnchor, BlockRange, BlockRanges, BlockTime, ByFrontier, ChainInfo,
    DecodeCounts, EIP7708_LOG_ADDRESS, Kind, ScanReport, ScanRequest, Sink, SourceError,
    SourceFailure, TokenFilter, Transfer, TransferSource,
};
use txgraph_work::WorkContext;

/// The reason why a block is not available.
const MISSING: &str = "not in the lake";

/// The number of rows of a chunk, about.
const CHUNK_ROWS: usize = 1 << 16;

/// Answers requests from a lake.
#[derive(Clone, Debug)]
pub struct LakeSource<'a> {
    lake: &'a Lake,
    work: WorkContext,
}

impl<'a> LakeSource<'a> {
    /// Creates a source.
    pub const fn new(lake: &'a Lake, work: WorkContext) -> Self {
        Self { lake, work }
    }

    /// Refuses requests that the lake cannot answer.
    fn check(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let manifest = &self.lake.manifest;
        let unsupported = |what, reason| Err(SourceError::Unsupported { what, reason });
        if request.filter.internal && !manifest.internal {
            return unsupported(
                "a request for internal transfers",
                "the lake was built without them",
            );
        }
        if request.filter.needs_fees() {
            return unsupported("a request for fees", "a lake does not contain them");
        }
        if request.wrapped_native.resolved(manifest.chain_id) != manifest.wrapped_native {
            return unsupported(
                "a request with this choice of wrapped coins",
                "the lake was built with another choice",
            );
        }
        Ok(())
    }

    /// Translates a request.
    fn prepare(&self, request: &ScanRequest, is_count: bool) -> Result<Prepared<'a>, SourceError> {
        self.check(request)?;
        let lake = self.lake;
        let mut prepared = Prepared {
            lake,
            query: Query::new(lake, request, &self.work)?,
            is_count,
            rows: BTreeMap::new(),
        };
        if prepared.query.touching.is_none() {
            return Ok(prepared);
        }
        let mut numbers: Vec<usize> = lake
            .parts(&request.blocks)
            .map(|(number, _)| number)
            .collect();
        numbers.dedup();
        let query = &prepared.query;
        let mut found = BTreeMap::new();
        run_jobs(
            (&self.work, PARTITIONS_AHEAD * self.work.threads.count()),
            &Stop::new(&self.work.cancel),
            numbers,
            || (),
            |(), number| Ok((number, query.rows(&lake.partitions[number])?)),
            |(number, rows)| {
                found.insert(number, rows.unwrap_or_default());
                Ok(())
            },
        )?;
        prepared.rows = found;
        Ok(prepared)
    }
}

impl TransferSource for LakeSource<'_> {
    fn chain(&self) -> &ChainInfo {
        self.lake.chain()
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        let prepared = self.prepare(request, false)?;
        StoredSource::new(prepared, self.work.clone()).scan(request, sink)
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        _: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        Ok(fill_hashes(self.lake, transfers)?)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.check(request)?;
        request.check_blocks(self.lake.blocks(), MISSING)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let hash = |block: &u64| {
            let mut parts = self.lake.parts(&BlockRange::one(*block).into());
            let part = parts.next();
            part.map(|(number, _)| self.lake.partitions[number].block_hash(*block))
                .transpose()
        };
        Ok(blocks.iter().map(hash).collect::<Result<_>>()?)
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        let counting = WorkContext {
            progress: None,
            ..self.work.clone()
        };
        let prepared = self.prepare(request, true)?;
        let report = StoredSource::new(prepared, counting)
            .scan(request, &mut |_| ControlFlow::Continue(()))?;
        Ok(Some(ByFrontier {
            report: Some(report),
            source: Box::new(self.clone()),
        }))
    }
}

/// A lake with one request.
#[derive(Debug)]
struct Prepared<'a> {
    lake: &'a Lake,
    query: Query,
    /// Whether transfers are only counted.
    is_count: bool,
    /// By number of the partition: the rows that touch the requested addresses.
    rows: BTreeMap<usize, Vec<u32>>,
}

impl Prepared<'_> {
    /// Divides blocks of a partition with many wanted rows at pages.
    fn divide(&self, partition: &Partition, blocks: BlockRange) -> Result<Vec<BlockRange>> {
        let mut chunks = Vec::new();
        let mut first = blocks.first;
        let mut rows = 0..0;
        for (page, min, _) in partition.table(Table::Transfers)?.key_pages::<u64>()? {
            let page: Range<usize> = page;
            if page.end - rows.start > CHUNK_ROWS && min > first && min <= blocks.last {
                chunks.extend(BlockRange::new(first, min - 1));
                first = min;
                rows.start = page.start;
            }
            rows.end = page.end;
        }
        chunks.extend(BlockRange::new(first, blocks.last));
        Ok(chunks)
    }
}

impl StoredBlocks for Prepared<'_> {
    type Scratch = ();

    fn chain(&self) -> &ChainInfo {
        self.lake.chain()
    }

    fn available(&self) -> BlockRanges {
        self.lake.blocks().clone()
    }

    fn missing_reason(&self) -> &str {
        MISSING
    }

    fn check(&self, _: &ScanRequest) -> Result<(), SourceError> {
        // Checked before the request was translated.
        Ok(())
    }

    fn chunks(
        &self,
        blocks: &BlockRanges,
        _: &ScanRequest,
    ) -> Result<Vec<BlockRange>, SourceFailure> {
        let mut chunks = Vec::new();
        for (number, blocks) in self.lake.parts(blocks) {
            let partition = &self.lake.partitions[number];
            let rows = match &self.query.touching {
                None => usize::try_from(partition.info.transfers).unwrap_or(usize::MAX),
                Some(_) => self.rows.get(&number).map_or(0, Vec::len),
            };
            match self.is_count || rows <= CHUNK_ROWS {
                true => chunks.push(blocks),
                false => chunks.extend(self.divide(partition, blocks)?),
            }
        }
        Ok(chunks)
    }

    fn read(
        &self,
        (): &mut (),
        chunk: BlockRange,
        request: &ScanRequest,
    ) -> Result<StoredChunk, SourceFailure> {
        let mut parts = self.lake.parts(&chunk.into());
        let Some((number, blocks)) = parts.next() else {
            return Ok(StoredChunk::default());
        };
        let partition = &self.lake.partitions[number];
        let none = Vec::new();
        let wanted = Wanted {
            lake: self.lake,
            partition,
            query: &self.query,
            request,
            blocks,
            rows: (self.query.touching.as_ref())
                .map(|_| self.rows.get(&number).unwrap_or(&none).as_slice()),
        };
        let (transfers, count) = match self.is_count {
            true => (Vec::new(), wanted.count()?),
            false => {
                let mut transfers = wanted.transfers()?;
                if request.with_hashes {
                    fill_hashes(self.lake, &mut transfers)?;
                }
                let count = transfers.len() as u64;
                (transfers, count)
            }
        };
        let info = &partition.info;
        let last_hash = match blocks.last == info.blocks.last {
            true => Some(info.last_hash),
            // Chunks of a partition need not be linked.
            false if !request.blocks.iter().any(|range| range.last == blocks.last) => None,
            false => Some(partition.block_hash(blocks.last)?),
        };
        Ok(StoredChunk {
            transfers,
            counts: DecodeCounts {
                transfers: count,
                ..partition.counts(blocks, &request.filter.tokens)?
            },
            parent_hash: (blocks.first == info.blocks.first).then_some(info.parent_hash),
            last_hash,
        })
    }
}

impl Partition {
    /// The rows of consecutive blocks in the table of blocks.
    fn block_rows(&self, blocks: BlockRange) -> Range<usize> {
        let row = |block: u64| usize::try_from(block - self.info.blocks.first).unwrap_or(0);
        row(blocks.first)..row(blocks.last) + 1
    }

    pub(crate) fn block_hash(&self, block: u64) -> Result<B256> {
        let table = self.table(Table::Blocks)?;
        let blocks = BlockRange::one(block);
        for batch in table.read(&["block_hash"], Some(vec![self.block_rows(blocks)]))? {
            if let Some(hash) = batch?.bytes::<32>("block_hash")?.first() {
                return Ok(hash.into());
            }
        }
        Err(table.damaged(format!("it has no block {block}")))
    }

    /// Time of one of its blocks, in seconds since 1970.
    pub(crate) fn block_time(&self, block: u64) -> Result<u64> {
        let table = self.table(Table::Blocks)?;
        let blocks = BlockRange::one(block);
        for batch in table.read(&["block_timestamp"], Some(vec![self.block_rows(blocks)]))? {
            if let Some(time) = batch?.u64s("block_timestamp")?.first() {
                return Ok(*time);
            }
        }
        Err(table.damaged(format!("it has no block {block}")))
    }

    /// The counts of some of its blocks, without transfers. Anomalies are counted in logs of
    /// wanted tokens.
    fn counts(&self, blocks: BlockRange, tokens: &TokenFilter) -> Result<DecodeCounts> {
        let sums = &self.info.counts;
        let is_whole = blocks == self.info.blocks;
        let mut counts = DecodeCounts {
            blocks: blocks.blocks(),
            transactions: sums.transactions,
            logs: sums.logs,
            ..DecodeCounts::default()
        };
        if !is_whole {
            (counts.transactions, counts.logs) = (0, 0);
            let rows = Some(vec![self.block_rows(blocks)]);
            for batch in self
                .table(Table::Blocks)?
                .read(&["transactions", "logs"], rows)?
            {
                let batch = batch?;
                let sum = |column: &[u32]| column.iter().map(|it| u64::from(*it)).sum::<u64>();
                counts.transactions += sum(batch.u32s("transactions")?);
                counts.logs += sum(batch.u32s("logs")?);
            }
        }
        if !sums.has_anomalies() {
            return Ok(counts);
        }
        for logs in self.anomalies(blocks)? {
            let of_chain = logs.emitter == EIP7708_LOG_ADDRESS;
            if matches!(tokens, TokenFilter::All)
                || tokens.matches(Some(&logs.emitter))
                || (of_chain && tokens.matches(None))
            {
                counts += logs.counts;
            }
        }
        Ok(counts)
    }

    pub(crate) fn anomalies(&self, blocks: BlockRange) -> Result<Vec<AnomalousLogs>> {
        let mut anomalies = Vec::new();
        if !self.info.counts.has_anomalies() {
            return Ok(anomalies);
        }
        let table = self.table(Table::Anomalies)?;
        for batch in table.read(&Table::Anomalies.names(), None)? {
            let batch = batch?;
            let numbers = batch.u64s("block_number")?;
            let emitters = batch.bytes::<20>("emitter")?;
            let malformed = batch.u64s("malformed")?;
            let malformed_erc1155 = batch.u64s("malformed_erc1155")?;
            let dirty_addresses = batch.u64s("dirty_addresses")?;
            let wraps_deduplicated = batch.u64s("wraps_deduplicated")?;
            for (at, block) in numbers.iter().enumerate() {
                if blocks.contains(*block) {
                    anomalies.push(AnomalousLogs {
                        block: *block,
                        emitter: emitters[at].into(),
                        counts: DecodeCounts {
                            malformed: malformed[at],
                            malformed_erc1155: malformed_erc1155[at],
                            dirty_addresses: dirty_addresses[at],
                            wraps_deduplicated: wraps_deduplicated[at],
                            ..DecodeCounts::default()
                        },
                    });
                }
            }
        }
        Ok(anomalies)
    }
}

/// Fills in hashes of transactions, which withdrawals do not have, and times of blocks.
pub(crate) fn fill_hashes(lake: &Lake, transfers: &mut [Transfer]) -> Result<()> {
    let untimed = transfers
        .iter_mut()
        .filter(|it| it.block_timestamp.is_none());
    let mut times = BTreeMap::new();
    for transfer in untimed {
        let block = transfer.block_number;
        let time = match times.entry(block) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => *free.insert(lake.block_time(block)?),
        };
        transfer.block_timestamp = time.and_then(BlockTime::new);
    }
    let is_missing = |transfer: &Transfer| {
        transfer.transaction_hash.is_none() && transfer.kind != Kind::Withdrawal
    };
    let mut wanted: Vec<(u64, u32)> = transfers
        .iter()
        .filter(|it| is_missing(it))
        .map(Transfer::transaction)
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut hashes: Vec<Option<[u8; 32]>> = vec![None; wanted.len()];
    let mut start = 0;
    while let Some((block, _)) = wanted.get(start) {
        let Some((number, _)) = lake.parts(&BlockRange::one(*block).into()).next() else {
            start += 1;
            continue;
        };
        let partition = &lake.partitions[number];
        let end = wanted.partition_point(|(block, _)| *block <= partition.info.blocks.last);
        let mut blocks: Vec<u64> = wanted[start..end].iter().map(|(block, _)| *block).collect();
        blocks.dedup();
        let table = partition.table(Table::Transactions)?;
        let rows = table.rows_with(&blocks)?;
        let columns = ["block_number", "transaction_index", "transaction_hash"];
        let mut next = start;
        for batch in table.read(&columns, Some(rows))? {
            let batch = batch?;
            let keys = batch
                .u64s("block_number")?
                .iter()
                .zip(batch.u32s("transaction_index")?);
            let found = batch.bytes::<32>("transaction_hash")?;
            for (at, (block, index)) in keys.enumerate() {
                let key = (*block, *index);
                while next < end && wanted[next] < key {
                    next += 1;
                }
                if next < end && wanted[next] == key {
                    hashes[next] = Some(found[at]);
                }
            }
        }
        start = end;
    }
    for transfer in transfers.iter_mut().filter(|it| is_missing(it)) {
        let at = wanted.binary_search(&transfer.transaction()).ok();
        let hash = at.and_then(|at| hashes[at]);
        transfer.transaction_hash = hash.map(B256::from);
    }
    Ok(())
}
