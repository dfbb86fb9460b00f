//! Joining small partitions.
//!
//! A lake that follows a node gets a few blocks at a time. Compaction rewrites the end of the
//! lake as a build would have written it. It starts at the first partition that a build would
//! have continued. All later partitions are rewritten, too, because they use the ids of
//! addresses that the first ones introduce. So ids of addresses in settled partitions never
//! change.

use crate::{
    build::{Limits, Packer, Writer, load_ids, request},
    builder::Capacity,
    dictionary::Turns,
    error::Result,
    lake::{Lake, Partition},
    manifest::Manifest,
    rows::{Query, Wanted},
    schema::Table,
    store::Store,
    writer::Target,
};
use alloy_primitives::B256;
use std::path::Path;
use txgraph_stored::{delete_unlisted, units};
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockSummary, DecodeCounts, SourceError, Transfer,
};
use txgraph_work::{ProgressGuard, WorkContext};

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// The number of partitions that were replaced.
    pub replaced: usize,
    /// The number of partitions that replaced them.
    pub written: usize,
    /// The number of transfers in them.
    pub transfers: u64,
}

/// Joins the small partitions at the end of a lake. The blocks and the answers of the lake stay
/// the same.
pub fn compact(folder: &Path, work: &WorkContext) -> Result<CompactReport> {
    let store = Store::at(folder)?;
    Manifest::load(&store)?;
    let mut writer = Writer::at(&store)?;
    delete_unlisted(&mut writer)?;
    let manifest = &mut writer.manifest;
    let lake = Lake::at(&store)?;
    let old = manifest.unsettled();
    let (Some(first), Some(last)) = (
        manifest.partitions.get(old.start),
        manifest.partitions.last(),
    ) else {
        return Ok(CompactReport::default());
    };
    let Some(blocks) = BlockRange::new(first.blocks.first, last.blocks.last) else {
        return Ok(CompactReport::default());
    };
    let progress = ProgressGuard::start(work.progress.as_deref(), blocks.blocks(), "transfers");
    let turns = Turns::new(load_ids(&lake, old.start)?);
    manifest.generation += 1;
    let limits = Limits {
        target: Target {
            store: &store,
            staging: writer.lock.staging(),
            chain: lake.chain(),
            generation: manifest.generation,
        },
        transfers: manifest.partition_transfers,
        cancel: &work.cancel,
    };
    let place = turns.place(0);
    let mut capacity = Capacity::default();
    let mut packer = Packer::new(&limits, &place, &mut capacity);
    let mut units = units(&blocks.into(), manifest.partition_blocks)
        .into_iter()
        .peekable();
    for partition in &lake.partitions[old.clone()] {
        if work.cancel.is_canceled() {
            return Err(SourceError::Interrupted.into());
        }
        // Damage must not get new checksums. Reading checks every byte that it uses; this also
        // checks the others.
        partition.check_bytes()?;
        let content = partition.content(&lake)?;
        let (mut summaries, mut transfers) = (&content.summaries[..], &content.transfers[..]);
        let mut parent_hash = partition.info.parent_hash;
        // Up to the end of each unit.
        while let Some((first, _)) = summaries.first() {
            while units.next_if(|unit| unit.last < first.number).is_some() {
                packer.end(false)?;
            }
            let end = units.peek().map_or(u64::MAX, |unit| unit.last);
            let (now, rest) =
                summaries.split_at(summaries.partition_point(|(it, _)| it.number <= end));
            let rows = transfers.partition_point(|it| it.block_number <= end);
            let (own, others) = transfers.split_at(rows);
            let logs: Vec<AnomalousLogs> = (content.anomalies.iter().copied())
                .filter(|logs| now.first().is_some_and(|(it, _)| it.number <= logs.block))
                .filter(|logs| logs.block <= end)
                .collect();
            packer.push(parent_hash, now.iter().copied(), &logs, own)?;
            if let Some((_, hash)) = now.last() {
                parent_hash = *hash;
            }
            (summaries, transfers) = (rest, others);
        }
        progress.advance(partition.info.blocks.blocks(), partition.info.transfers);
    }
    let written = packer.finish()?;
    place.done();
    let report = CompactReport {
        replaced: old.len(),
        written: written.len(),
        transfers: written.iter().map(|partition| partition.transfers).sum(),
    };
    manifest.partitions.truncate(old.start);
    manifest.partitions.extend(written);
    manifest.save(&store)?;
    // The old partitions are no longer read here.
    drop(lake);
    delete_unlisted(&mut writer)?;
    store.sync_partitions()?;
    Ok(report)
}

/// Everything in a partition.
pub(crate) struct Content {
    /// One for each block, with its hash.
    pub(crate) summaries: Vec<(BlockSummary, B256)>,
    pub(crate) anomalies: Vec<AnomalousLogs>,
    /// In total order, with times and hashes.
    pub(crate) transfers: Vec<Transfer>,
}

impl Partition {
    /// Compares all bytes of its files with their checksums.
    pub(crate) fn check_bytes(&self) -> Result<()> {
        for table in Table::ALL.iter().copied() {
            let file = self.table(table)?;
            let crc32 = crate::manifest::hex(file.check_all()?);
            let listed = self.info.files.iter().find(|it| it.name == table.as_str());
            if listed.map(|it| &it.crc32) != Some(&crc32) {
                return Err(file.damaged("it does not match its checksum in the manifest"));
            }
        }
        Ok(())
    }

    /// Reads everything.
    pub(crate) fn content(&self, lake: &Lake) -> Result<Content> {
        let blocks = self.info.blocks;
        let mut request = request(&blocks, &lake.manifest.wrapped_native);
        request.filter.internal = lake.has_internal();
        // It has no addresses to look up.
        let query = Query::new(lake, &request, &WorkContext::default())?;
        let wanted = Wanted {
            lake,
            partition: self,
            query: &query,
            request: &request,
            blocks,
            rows: None,
        };
        let mut transfers = wanted.transfers()?;
        crate::source::fill_hashes(lake, &mut transfers)?;
        let anomalies = self.anomalies(blocks)?;
        Ok(Content {
            summaries: self.summaries(&anomalies)?,
            anomalies,
            transfers,
        })
    }

    fn summaries(&self, anomalies: &[AnomalousLogs]) -> Result<Vec<(BlockSummary, B256)>> {
        let table = self.table(Table::Blocks)?;
        let mut summaries: Vec<(BlockSummary, B256)> = Vec::new();
        for batch in table.read(&Table::Blocks.names(), None)? {
            let batch = batch?;
            let (numbers, times) = (batch.u64s("block_number")?, batch.u64s("block_timestamp")?);
            let hashes = batch.bytes::<32>("block_hash")?;
            let (transactions, logs) = (batch.u32s("transactions")?, batch.u32s("logs")?);
            let transfers = batch.u32s("transfers")?;
            for at in 0..batch.len() {
                let expected = self.info.blocks.first.checked_add(summaries.len() as u64);
                if Some(numbers[at]) != expected {
                    return Err(table.damaged("its blocks are not consecutive"));
                }
                let summary = BlockSummary {
                    number: numbers[at],
                    timestamp: times[at],
                    counts: DecodeCounts {
                        blocks: 1,
                        transactions: transactions[at].into(),
                        logs: logs[at].into(),
                        transfers: transfers[at].into(),
                        ..DecodeCounts::default()
                    },
                };
                summaries.push((summary, hashes[at].into()));
            }
        }
        if summaries.len() as u64 != self.info.blocks.blocks()
            || summaries.last().map(|(_, hash)| *hash) != Some(self.info.last_hash)
        {
            return Err(table.damaged("it does not have the blocks of the manifest"));
        }
        for logs in anomalies {
            let at = logs.block.checked_sub(self.info.blocks.first);
            let at = at.and_then(|at| usize::try_from(at).ok());
            if let Some((summary, _)) = at.and_then(|at| summaries.get_mut(at)) {
                summary.counts += logs.counts;
            }
        }
        Ok(summaries)
    }
}
