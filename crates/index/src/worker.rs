//! One thread of a build: it reads blocks and writes segments.

use crate::{
    builder::{Builder, Capacity, FinishedSegment},
    error::{Error, Result},
    layout::Format,
    manifest::{Manifest, SegmentInfo, segment_file, unfinished},
};
use std::{
    fs::File,
    ops::ControlFlow,
    path::Path,
    sync::{Mutex, PoisonError},
};
use txgraph_stored::{
    BuildReader, BuildReport, Stop,
    folder::{discard, publish, step},
};
use txgraph_transfers::{BlockRange, ChainInfo};
use txgraph_work::ProgressGuard;

/// Records what workers did, in the manifest as well.
pub(crate) struct BuildLog<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) progress: ProgressGuard<'a>,
    pub(crate) built: Mutex<(&'a mut Manifest, &'a mut BuildReport)>,
}

impl BuildLog<'_> {
    /// Records that blocks were read.
    fn read(&self, blocks: u64, transfers: u64) {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, report) = &mut *built;
        report.read_blocks += blocks;
        report.transfers += transfers;
        self.progress.advance(blocks, transfers);
    }

    /// Adds a complete segment to the manifest, so that it survives if the process is killed.
    fn written(&self, segment: SegmentInfo) -> Result<()> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let (manifest, report) = &mut *built;
        report.units += 1;
        manifest.read_blocks += segment.blocks.blocks();
        manifest.add(segment);
        manifest.save(self.folder)
    }
}

/// Reads blocks and writes segments.
pub(crate) struct Worker<'a, 'l> {
    pub(crate) folder: &'a Path,
    pub(crate) chain: &'a ChainInfo,
    pub(crate) reader: BuildReader<'a>,
    /// The content of segments.
    pub(crate) format: Format,
    /// The memory that a segment may take until it is written, in bytes.
    pub(crate) memory_max: usize,
    /// The size of the segment before.
    pub(crate) capacity: Capacity,
    pub(crate) stop: &'a Stop<'a>,
    pub(crate) log: &'a BuildLog<'l>,
}

impl Worker<'_, '_> {
    /// Writes the blocks of a job, as one segment if the memory suffices.
    pub(crate) fn write(&mut self, job: BlockRange) -> Result<()> {
        let mut rest = Some(job);
        while let Some(blocks) = rest {
            let segment = self.segment(blocks)?;
            let next = segment.blocks.last.checked_add(1);
            self.log.written(segment)?;
            rest = next.and_then(|next| BlockRange::new(next, job.last));
        }
        Ok(())
    }

    /// Writes one segment of the first of these blocks, as many as the memory allows.
    fn segment(&mut self, blocks: BlockRange) -> Result<SegmentInfo> {
        let mut builder: Option<Builder> = None;
        self.reader.each_run(blocks, self.stop, |run| {
            let builder = builder.get_or_insert_with(|| {
                Builder::new(
                    self.chain.chain_id,
                    self.chain.genesis_hash,
                    blocks.first,
                    run.parent_hash,
                    self.capacity,
                    self.format,
                )
            });
            builder.push(
                &run.summaries,
                &run.anomalies,
                &run.transfers,
                &run.participations,
                run.last_hash,
            )?;
            self.log
                .read(run.blocks.blocks(), run.transfers.len() as u64);
            let is_full = builder.bytes() > self.memory_max || builder.is_full();
            Ok(match is_full {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        let builder =
            builder.ok_or_else(|| Error::Options("a segment without blocks".to_owned()))?;
        self.capacity = builder.capacity();
        write(self.folder, builder)
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
    step("create", path);
    let mut file = File::create(path).map_err(|error| Error::io("create", path, error))?;
    let FinishedSegment { head, bytes } = builder.finish(&mut file, path)?;
    step("sync", path);
    file.sync_all()
        .map_err(|error| Error::io("sync", path, error))?;
    let name = segment_file(head.blocks, head.last_hash);
    publish(path, folder, &name)?;
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
