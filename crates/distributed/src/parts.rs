//! The rows of a step, in files that tasks write into the store of the run.
//!
//! Each attempt at a task has its own names, so that attempts do not disturb each other. The files
//! of an attempt count only if its report reaches the driver.
//!
//! A file is in the format Parquet. If other tasks read it in parts, it consists of sections: such
//! files one after another, and an index of them. A reader gets its sections only.

use crate::{Error, Result, rows::BATCH_ROWS, store::Store, wire::Part};
use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    parquet::{
        arrow::{
            ArrowWriter, ProjectionMask,
            arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder},
        },
        basic::{Compression, ZstdLevel},
        errors::ParquetError,
        file::properties::WriterProperties,
    },
};
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

/// The bytes after which a file ends. A writer has it in memory until then, and a reader has all
/// of it.
const PART_BYTES: usize = 64 << 20;
/// The rows of a row group.
const GROUP_ROWS: usize = 1 << 18;

/// The description of a step, in its folder.
pub(crate) const STEP_FILE: &str = "step.json";
/// The folder of heartbeats in a run.
pub(crate) const HEARTBEATS: &str = "heartbeats";
/// The time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// A name that no other attempt at a task has.
fn attempt() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Writes the rows of an attempt at a task.
pub(crate) struct PartWriter {
    store: Arc<Store>,
    folder: String,
    attempt: String,
    schema: SchemaRef,
    file: Option<ArrowWriter<Vec<u8>>>,
    /// The section that is written, if the file has sections.
    section: Option<u32>,
    section_rows: usize,
    /// Sections that are complete.
    sections: Vec<u8>,
    /// Their numbers, lengths and checksums.
    index: Vec<u8>,
    rows: u64,
    parts: Vec<Part>,
    heartbeat: Heartbeat,
}

/// The rows of a section, of which a reader of several files has one of each in memory.
const SECTION_ROWS: usize = 1 << 14;
/// The bytes of a section in the index.
const ENTRY: usize = 16;

impl PartWriter {
    /// Writes into a folder of a run.
    pub(crate) fn new(run: &str, folder: &str, schema: SchemaRef) -> Result<Self> {
        let store = Store::shared(run)?;
        Ok(Self {
            heartbeat: Heartbeat::new(store.clone()),
            store,
            folder: folder.to_owned(),
            attempt: attempt(),
            schema,
            file: None,
            section: None,
            section_rows: 0,
            sections: Vec::new(),
            index: Vec::new(),
            rows: 0,
            parts: Vec::new(),
        })
    }

    /// Writes rows of a section. Rows of one section have the same columns.
    pub(crate) fn write_section(&mut self, section: u32, batch: &RecordBatch) -> Result<()> {
        if self.section != Some(section) || self.section_rows >= SECTION_ROWS {
            self.end_section()?;
            self.section = Some(section);
            self.section_rows = 0;
            self.schema = batch.schema();
        }
        self.section_rows += batch.num_rows();
        self.write(batch)
    }

    /// Called whenever the task read something, with rows or without.
    pub(crate) fn beat(&mut self) {
        self.heartbeat.beat();
    }

    /// Writes rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.heartbeat.beat();
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let file = self.file()?;
        file.write(batch).map_err(encoding)?;
        let bytes = file.bytes_written() + file.in_progress_size();
        self.rows += batch.num_rows() as u64;
        match bytes + self.sections.len() >= PART_BYTES {
            true => self.end_file(),
            false => Ok(()),
        }
    }

    fn file(&mut self) -> Result<&mut ArrowWriter<Vec<u8>>> {
        if self.file.is_none() {
            let level = ZstdLevel::try_new(1).map_err(encoding)?;
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(level))
                .set_max_row_group_row_count(Some(GROUP_ROWS))
                // Hashes do not repeat often enough.
                .set_column_dictionary_enabled("transaction_hash".into(), false)
                .build();
            let file = ArrowWriter::try_new(Vec::new(), self.schema.clone(), Some(properties));
            self.file = Some(file.map_err(encoding)?);
        }
        let none = || Error::Plan("a file was not begun".to_owned());
        self.file.as_mut().ok_or_else(none)
    }

    fn end_section(&mut self) -> Result<()> {
        let Some(section) = self.section else {
            return Ok(());
        };
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let content = file.into_inner().map_err(encoding)?;
        self.index.extend(section.to_be_bytes());
        self.index.extend((content.len() as u64).to_be_bytes());
        self.index.extend(crc32fast::hash(&content).to_be_bytes());
        self.sections.extend(content);
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        self.end_section()?;
        let mut content = std::mem::take(&mut self.sections);
        let index = std::mem::take(&mut self.index);
        if let Some(file) = self.file.take() {
            content = file.into_inner().map_err(encoding)?;
        }
        if content.is_empty() {
            return Ok(());
        }
        let extension = if index.is_empty() {
            "parquet"
        } else {
            "sections"
        };
        let part = Part {
            name: format!("part-{}-{}.{extension}", self.attempt, self.parts.len()),
            rows: std::mem::take(&mut self.rows),
            bytes: (content.len() + index.len()) as u64,
            crc32: crc32fast::hash(if index.is_empty() { &content } else { &index }),
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
        self.end_file()?;
        Ok(std::mem::take(&mut self.parts))
    }

    /// The same, with at least one file, for readers that find the columns in it.
    pub(crate) fn finish_table(mut self) -> Result<Vec<Part>> {
        if self.parts.is_empty() {
            self.file()?;
        }
        self.finish()
    }
}

fn encoding(error: ParquetError) -> Error {
    Error::Answer(format!("rows as Parquet: {error}"))
}

/// Reads the rows of a file, or some of its columns, after their checksum was compared. If the file
/// has sections, those in `sections`, one after the other.
pub(crate) fn read(
    store: &Arc<Store>,
    folder: &str,
    part: &Part,
    sections: Range<u32>,
    columns: Option<&[usize]>,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let (store, name) = (store.clone(), format!("{folder}/{}", part.name));
    let content = move |bytes: Range<u64>, crc32: u32| {
        let length = bytes.end - bytes.start;
        let failed = |why| Error::run(&store.place(&name), why);
        let content = store.read_range(&name, bytes)?;
        let content =
            content.ok_or_else(|| failed("it was deleted; delete the folder of its step"))?;
        match (content.len() as u64, crc32fast::hash(&content)) == (length, crc32) {
            true => Ok(content),
            false => Err(failed("it was changed; delete the folder of its step")),
        }
    };
    let mut wanted = Vec::new();
    if part.index == 0 {
        wanted.push((0..part.bytes, part.crc32));
    } else {
        let end = part.bytes.saturating_sub(part.index);
        let index = content(end..part.bytes, part.crc32)?;
        let (entries, _) = index.as_chunks::<ENTRY>();
        let mut start = 0;
        for entry in entries {
            let [number, high, low, crc32] = [0, 4, 8, 12].map(|at| {
                u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            });
            let bytes = start..start + (u64::from(high) << 32 | u64::from(low));
            start = bytes.end;
            if sections.contains(&number) {
                wanted.push((bytes, crc32));
            }
        }
    }
    let columns = columns.map(<[usize]>::to_vec);
    let open = move |(bytes, crc32)| -> Result<ParquetRecordBatchReader> {
        let file = ParquetRecordBatchReaderBuilder::try_new(content(bytes, crc32)?);
        let mut file = file.map_err(encoding)?;
        if let Some(columns) = &columns {
            let mask = ProjectionMask::roots(file.parquet_schema(), columns.iter().copied());
            file = file.with_projection(mask);
        }
        file.with_batch_size(BATCH_ROWS).build().map_err(encoding)
    };
    let rows = wanted.into_iter().flat_map(move |section| {
        let rows = open(section);
        flattened(rows.map(|rows| rows.map(|batch| Ok(batch?))))
    });
    Ok(rows)
}

/// The columns of a file without sections.
pub(crate) fn columns(store: &Store, folder: &str, part: &Part) -> Result<SchemaRef> {
    let name = format!("{folder}/{}", part.name);
    let content = store.read_range(&name, 0..part.bytes)?;
    let deleted = || {
        Error::run(
            &store.place(&name),
            "it was deleted; delete the folder of its step",
        )
    };
    let file = ParquetRecordBatchReaderBuilder::try_new(content.ok_or_else(deleted)?);
    Ok(file.map_err(encoding)?.schema().clone())
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
    use crate::rows::{decode_reports, encode_report, report_schema};

    fn store(folder: &tempfile::TempDir) -> Arc<Store> {
        Arc::new(Store::open(folder.path().to_str().unwrap()).unwrap())
    }

    #[test]
    fn files_have_all_rows_or_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let write = |rows: usize| {
            let writer = PartWriter::new(store.location(), "steps/1", report_schema());
            let mut writer = writer.unwrap();
            for row in 0..rows {
                writer.write(&encode_report(&row).unwrap()).unwrap();
            }
            writer
        };
        assert_eq!(write(0).finish().unwrap(), []);
        let empty = write(0).finish_table().unwrap();
        let [empty] = &empty[..] else {
            panic!("a table has a file");
        };
        assert_eq!(empty.rows, 0);
        let parts = write(3).finish().unwrap();
        let [part] = &parts[..] else {
            panic!("few rows are one file");
        };
        assert_eq!(part.rows, 3);
        let rows = || read(&store, "steps/1", part, 0..1, None);
        let found: Vec<_> = rows()
            .unwrap()
            .flat_map(|batch| decode_reports(&batch.unwrap()).unwrap())
            .collect();
        assert_eq!(found, ["0", "1", "2"]);

        let path = store.place(&format!("steps/1/{}", part.name));
        let mut content = std::fs::read(&path).unwrap();
        content[10] ^= 1;
        std::fs::write(&path, &content).unwrap();
        let fails = |why| {
            let first = rows().unwrap().next().unwrap();
            first.is_err_and(|error| error.to_string().contains(why))
        };
        assert!(fails("was changed"));
        std::fs::remove_file(&path).unwrap();
        assert!(fails("was deleted"));
    }

    #[test]
    fn readers_of_sections_get_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let mut writer = PartWriter::new(store.location(), "steps/1", report_schema()).unwrap();
        for section in [0, 3, 4, 3] {
            let row = encode_report(&section).unwrap();
            writer.write_section(section, &row).unwrap();
        }
        let parts = writer.finish().unwrap();
        let [part] = &parts[..] else {
            panic!("few rows are one file");
        };
        let rows = |sections| -> Result<Vec<String>> {
            let batches = read(&store, "steps/1", part, sections, None)?;
            let batches: Result<Vec<_>> = batches.collect();
            let reports: Result<Vec<_>> = batches?.iter().map(decode_reports).collect();
            Ok(reports?.concat())
        };
        assert_eq!(rows(0..5).unwrap(), ["0", "3", "4", "3"]);
        assert_eq!(rows(3..4).unwrap(), ["3", "3"]);
        assert!(rows(1..3).unwrap().is_empty());

        // A change of a section, or of the index, is found by those that read it.
        let path = store.place(&format!("steps/1/{}", part.name));
        let content = std::fs::read(&path).unwrap();
        let changed = |at: usize| {
            let mut content = content.clone();
            content[at] ^= 1;
            std::fs::write(&path, &content).unwrap();
        };
        changed(10);
        assert!(rows(0..1).is_err() && rows(3..5).is_ok());
        changed(content.len() - 1);
        assert!(rows(3..4).is_err());
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
