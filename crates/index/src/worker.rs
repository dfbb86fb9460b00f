//! One thread of a build: it reads blocks and writes segments.

use crate::{
    builder::{Builder, Capacity, FinishedSegment},
    error::{Error, Result},
    manifest::{SegmentInfo, discard, segment_file, sync_folder, unfinished},
    origin::OriginReader,
};
use alloy_primitives::B256;
use std::{
    fs::{self, File},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
};
use txgraph_transfers::{BlockRange, ChainInfo, SourceError};

/// The maximum number of times that a segment is read again because blocks were replaced.
const REREADS_MAX: u32 = 4;

/// The number of rows at which a segment ends: row numbers have 32 bits.
const ROWS_MAX: usize = 1 << 31;

/// Messages of workers.
pub(crate) enum BuildEvent {
    /// Blocks were read.
    Read { blocks: u64, transfers: u64 },
    /// A segment is complete.
    Written(SegmentInfo),
    /// The worker has stopped.
    Failed(Error),
}

/// Reads blocks and writes segments.
pub(crate) struct Worker<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) chain: &'a ChainInfo,
    pub(crate) reader: OriginReader<'a>,
    /// The memory that a segment may take until it is written, in bytes.
    pub(crate) memory_max: usize,
    /// The size of the segment before.
    pub(crate) capacity: Capacity,
    /// Set when the build has failed.
    pub(crate) stopped: &'a AtomicBool,
    pub(crate) events: Sender<BuildEvent>,
}

impl Worker<'_> {
    /// Sends an event. If the receiver is gone, the build has ended.
    pub(crate) fn send(&self, event: BuildEvent) {
        let _ = self.events.send(event);
    }

    /// Writes the blocks of a job, as one segment if the memory suffices.
    pub(crate) fn write(&mut self, job: BlockRange) -> Result<()> {
        let mut next = job.first;
        let mut rereads = 0;
        while next <= job.last {
            match self.segment(BlockRange {
                first: next,
                last: job.last,
            })? {
                Some(segment) => {
                    next = segment.blocks.last.saturating_add(1);
                    self.send(BuildEvent::Written(segment));
                }
                None if rereads < REREADS_MAX => rereads += 1,
                None => return Err(SourceError::Reorged { block: next }.into()),
            }
        }
        Ok(())
    }

    /// Writes one segment of the first of these blocks, as many as the memory allows. Returns
    /// `None` if blocks were replaced while they were read.
    fn segment(&mut self, blocks: BlockRange) -> Result<Option<SegmentInfo>> {
        let mut builder: Option<Builder> = None;
        let mut previous: Option<B256> = None;
        let mut next = blocks.first;
        while next <= blocks.last {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(SourceError::Interrupted.into());
            }
            let run = self.reader.read(BlockRange {
                first: next,
                last: blocks.last,
            })?;
            let Some(run) = run else {
                return Ok(None);
            };
            if previous.is_some_and(|previous| previous != run.parent_hash) {
                return Ok(None);
            }
            previous = Some(run.last_hash);
            let builder = builder.get_or_insert_with(|| {
                Builder::new(
                    self.chain.chain_id,
                    self.chain.genesis_hash,
                    blocks.first,
                    run.parent_hash,
                    self.capacity,
                )
            });
            builder.push(
                &run.summaries,
                &run.anomalies,
                &run.transfers,
                run.last_hash,
            )?;
            self.send(BuildEvent::Read {
                blocks: run.blocks.blocks(),
                transfers: run.transfers.len() as u64,
            });
            next = run.blocks.last.saturating_add(1);
            if builder.bytes() > self.memory_max || builder.rows() > ROWS_MAX {
                break;
            }
        }
        let Some(builder) = builder else {
            return Ok(None);
        };
        self.capacity = builder.capacity();
        write(self.folder, builder).map(Some)
    }
}

/// Writes a segment under a temporary name and renames it when it is on disk. On failure
/// nothing of it is left.
pub(crate) fn write(folder: &Path, builder: Builder) -> Result<SegmentInfo> {
    let first = builder.blocks().map_or(0, |blocks| blocks.first);
    let path = unfinished(folder, first);
    let written = write_file(folder, &path, builder);
    if written.is_err() {
        discard(&path);
    }
    written
}

fn write_file(folder: &Path, path: &Path, builder: Builder) -> Result<SegmentInfo> {
    let mut file = File::create(path).map_err(|error| Error::io("create", path, error))?;
    let FinishedSegment { head, bytes } = builder.finish(&mut file, path)?;
    file.sync_all()
        .map_err(|error| Error::io("sync", path, error))?;
    let name = segment_file(head.blocks, head.last_hash);
    fs::rename(path, folder.join(&name)).map_err(|error| Error::io("rename", path, error))?;
    sync_folder(folder)?;
    Ok(SegmentInfo {
        file: name,
        blocks: head.blocks,
        parent_hash: head.parent_hash,
        last_hash: head.last_hash,
        rows: head.rows,
        addresses: head.addresses,
        bytes,
        checksum: head.checksum(),
    })
}
