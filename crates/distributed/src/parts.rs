//! The rows of a step, in files that tasks write into the store of the run.
//!
//! Each attempt at a task has its own names, so that attempts do not disturb each other. The files
//! of an attempt count only if its report reaches the driver.
//!
//! A file consists of sections, which are any bytes, and an index of them. A section has a number, and
//! readers get the sections with the numbers that they want only.

use crate::{
    Error, Result,
    rows::{self, BATCH_ROWS},
    store::Store,
    wire::Part,
};
use bytes::Bytes;
use datafusion::arrow::{array::RecordBatch, compute::concat_batches};
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hasher, RandomState},
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

/// The bytes after which a file ends. A writer has it in memory until then.
const PART_BYTES: usize = 64 << 20;
/// The rows of all batches that wait for others of their section.
const PENDING_ROWS: usize = 1 << 18;
/// The bytes of a section in the index: its number, length and checksum.
const ENTRY: usize = 16;

/// The description of a step, in its folder.
pub(crate) const STEP_FILE: &str = "step.json";
/// The folder of heartbeats in a run.
pub(crate) const HEARTBEATS: &str = "heartbeats";
/// The time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// A name that no other attempt at a task has.
pub(crate) fn attempt() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Batches of a section that were not written yet.
#[derive(Default)]
struct Pending {
    rows: usize,
    batches: Vec<RecordBatch>,
}

/// Writes the files of an attempt at a task.
pub(crate) struct PartWriter {
    store: Arc<Store>,
    folder: String,
    attempt: String,
    sections: Vec<u8>,
    index: Vec<u8>,
    /// The rows of `sections`.
    rows: u64,
    pending: BTreeMap<u32, Pending>,
    /// The rows of `pending`.
    pending_rows: usize,
    parts: Vec<Part>,
    heartbeat: Heartbeat,
}

impl PartWriter {
    /// Writes into a folder of a run.
    pub(crate) fn new(run: &str, folder: &str) -> Result<Self> {
        let store = Store::shared(run)?;
        Ok(Self {
            heartbeat: Heartbeat::new(store.clone()),
            store,
            folder: folder.to_owned(),
            attempt: attempt(),
            sections: Vec::new(),
            index: Vec::new(),
            rows: 0,
            pending: BTreeMap::new(),
            pending_rows: 0,
            parts: Vec::new(),
        })
    }

    /// Called whenever the task read something, with rows or without.
    pub(crate) fn beat(&mut self) {
        self.heartbeat.beat();
    }

    /// Adds a section, of which there may be several with this number.
    pub(crate) fn write(
        &mut self,
        number: u32,
        rows: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.beat();
        let start = self.sections.len();
        write(&mut self.sections)?;
        let section = &self.sections[start..];
        self.index.extend(number.to_be_bytes());
        self.index.extend((section.len() as u64).to_be_bytes());
        self.index.extend(crc32fast::hash(section).to_be_bytes());
        self.rows += rows as u64;
        match self.sections.len() >= PART_BYTES {
            true => self.end_file(),
            false => Ok(()),
        }
    }

    /// Adds rows to the sections with this number. Small batches are written together.
    pub(crate) fn write_batch(&mut self, number: u32, batch: RecordBatch) -> Result<()> {
        self.beat();
        let pending = self.pending.entry(number).or_default();
        pending.rows += batch.num_rows();
        self.pending_rows += batch.num_rows();
        pending.batches.push(batch);
        if pending.rows >= BATCH_ROWS {
            let full = std::mem::take(pending);
            self.pending_rows -= full.rows;
            return self.write_all(number, &full.batches);
        }
        match self.pending_rows >= PENDING_ROWS {
            true => self.end_batches(),
            false => Ok(()),
        }
    }

    /// Adds a section with these batches, if there are any.
    fn write_all(&mut self, number: u32, batches: &[RecordBatch]) -> Result<()> {
        let Some(first) = batches.first() else {
            return Ok(());
        };
        let all = concat_batches(first.schema_ref(), batches)?;
        self.write(number, all.num_rows(), |to| rows::to_ipc(&all, to))
    }

    fn end_batches(&mut self) -> Result<()> {
        self.pending_rows = 0;
        for (number, pending) in std::mem::take(&mut self.pending) {
            self.write_all(number, &pending.batches)?;
        }
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        let index = std::mem::take(&mut self.index);
        if index.is_empty() {
            return Ok(());
        }
        let mut content = std::mem::take(&mut self.sections);
        let part = Part {
            name: format!("part-{}-{}", self.attempt, self.parts.len()),
            rows: std::mem::take(&mut self.rows),
            bytes: (content.len() + index.len()) as u64,
            crc32: crc32fast::hash(&index),
            index: index.len() as u64,
        };
        content.extend(index);
        let name = format!("{}/{}", self.folder, part.name);
        if !self.store.create(&name, content)? {
            return Err(Error::run(&self.store.place(&name), "it exists already"));
        }
        self.parts.push(part);
        Ok(())
    }

    /// Ends the last file. Returns all.
    pub(crate) fn finish(mut self) -> Result<Vec<Part>> {
        self.end_batches()?;
        self.end_file()?;
        Ok(self.parts)
    }
}

/// Reads some bytes of a file, and compares their checksum.
fn content(store: &Store, name: &str, bytes: Range<u64>, crc32: u32) -> Result<Bytes> {
    let length = bytes.end - bytes.start;
    let failed = |why| Error::run(&store.place(name), why);
    let content = store.read_range(name, bytes)?;
    let content = content.ok_or_else(|| failed("it was deleted; delete the folder of its step"))?;
    match (content.len() as u64, crc32fast::hash(&content)) == (length, crc32) {
        true => Ok(content),
        false => Err(failed("it was changed; delete the folder of its step")),
    }
}

/// Reads the sections of a file whose numbers are in `sections`, one after the other.
pub(crate) fn read(
    store: &Arc<Store>,
    folder: &str,
    part: &Part,
    sections: Range<u32>,
) -> Result<impl Iterator<Item = Result<Bytes>> + use<>> {
    let (store, name) = (store.clone(), format!("{folder}/{}", part.name));
    let end = part.bytes.saturating_sub(part.index);
    let index = content(&store, &name, end..part.bytes, part.crc32)?;
    let mut start = 0;
    let mut wanted = Vec::new();
    for entry in index.as_chunks::<ENTRY>().0 {
        let [number, high, low, crc32] = [0, 4, 8, 12]
            .map(|at| u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]));
        let bytes = start..start + (u64::from(high) << 32 | u64::from(low));
        start = bytes.end;
        if sections.contains(&number) {
            wanted.push((bytes, crc32));
        }
    }
    let wanted = wanted.into_iter();
    Ok(wanted.map(move |(bytes, crc32)| content(&store, &name, bytes, crc32)))
}

/// The items of a result, or its error instead of them.
pub(crate) fn flattened<T>(
    items: Result<impl IntoIterator<Item = Result<T>>>,
) -> impl Iterator<Item = Result<T>> {
    let (items, failed) = match items {
        Ok(items) => (Some(items), None),
        Err(error) => (None, Some(Err(error))),
    };
    failed.into_iter().chain(items.into_iter().flatten())
}

/// Shows the driver now and then that a task goes on: an object that changes.
pub(crate) struct Heartbeat {
    store: Arc<Store>,
    name: String,
    /// Calls so far.
    count: u64,
    last: Instant,
    is_written: bool,
}

impl Heartbeat {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            name: format!("{HEARTBEATS}/{}", attempt()),
            count: 0,
            last: Instant::now(),
            is_written: false,
        }
    }

    /// Called whenever the task read or wrote something.
    pub(crate) fn beat(&mut self) {
        self.count += 1;
        if self.last.elapsed() < HEARTBEAT_INTERVAL {
            return;
        }
        self.last = Instant::now();
        self.is_written = true;
        let count = self.count.to_string().into_bytes();
        if let Err(error) = self.store.replace(&self.name, count) {
            // The task fails by itself if it cannot write its rows.
            tracing::debug!("{error}");
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if self.is_written
            && let Err(error) = self.store.remove(&self.name)
        {
            tracing::debug!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{decode_reports, encode_report};

    fn store(folder: &tempfile::TempDir) -> Arc<Store> {
        Arc::new(Store::open(folder.path().to_str().unwrap()).unwrap())
    }

    #[test]
    fn readers_of_sections_get_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let writer = || PartWriter::new(store.location(), "steps/1").unwrap();
        assert_eq!(writer().finish().unwrap(), []);
        let mut writer = writer();
        for (number, bytes) in [(0, "a"), (3, "bc"), (4, "x"), (3, "d")] {
            let write = |to: &mut Vec<u8>| {
                to.extend(bytes.as_bytes());
                Ok(())
            };
            writer.write(number, 1, write).unwrap();
        }
        // Batches of a section are written together.
        for number in [7, 8, 7] {
            let batch = encode_report(&number).unwrap();
            writer.write_batch(number, batch).unwrap();
        }
        let parts = writer.finish().unwrap();
        let [part] = &parts[..] else {
            panic!("few sections are one file");
        };
        assert_eq!(part.rows, 7);
        let rows =
            |sections| -> Result<Vec<Bytes>> { read(&store, "steps/1", part, sections)?.collect() };
        assert_eq!(rows(0..5).unwrap(), ["a", "bc", "x", "d"]);
        assert_eq!(rows(3..4).unwrap(), ["bc", "d"]);
        assert!(rows(1..3).unwrap().is_empty());
        let batches = rows(7..8).unwrap();
        let [batch] = &batches[..] else {
            panic!("{batches:?}");
        };
        let batch = rows::of_ipc(batch).unwrap();
        assert_eq!(decode_reports(&batch).unwrap(), ["7", "7"]);

        // A change of a section, or of the index, is found by those that read it.
        let path = store.place(&format!("steps/1/{}", part.name));
        let content = std::fs::read(&path).unwrap();
        let changed = |at: usize| {
            let mut content = content.clone();
            content[at] ^= 1;
            std::fs::write(&path, &content).unwrap();
        };
        let fails = |sections: Range<u32>, why: &str| {
            let read = rows(sections).err();
            read.is_some_and(|error| error.to_string().contains(why))
        };
        changed(0);
        assert!(fails(0..1, "was changed") && rows(3..5).is_ok());
        changed(content.len() - 1);
        assert!(fails(3..4, "was changed"));
        std::fs::remove_file(&path).unwrap();
        assert!(fails(3..4, "was deleted"));
    }

    #[test]
    fn tasks_that_run_for_long_have_a_heartbeat() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let heartbeats = || store.list(HEARTBEATS).unwrap().len();
        let mut task = Heartbeat::new(store.clone());
        task.beat();
        assert_eq!(heartbeats(), 0);
        task.last = Instant::now().checked_sub(HEARTBEAT_INTERVAL).unwrap();
        task.beat();
        assert_eq!(heartbeats(), 1);
        drop(task);
        assert_eq!(heartbeats(), 0);
    }
}
