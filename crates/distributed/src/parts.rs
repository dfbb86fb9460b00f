//! The rows of a step, in Parquet files that tasks write into the store of the run.
//!
//! Each attempt at a task has its own names, so that attempts do not disturb each other. The files
//! of an attempt count only if its report reaches the driver.

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
    rows: u64,
    parts: Vec<Part>,
    heartbeat: Heartbeat,
}

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
            rows: 0,
            parts: Vec::new(),
        })
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
        let is_full = file.bytes_written() + file.in_progress_size() >= PART_BYTES;
        self.rows += batch.num_rows() as u64;
        if is_full { self.end_file() } else { Ok(()) }
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

    fn end_file(&mut self) -> Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let content = file.into_inner().map_err(encoding)?;
        let part = Part {
            name: format!("part-{}-{}.parquet", self.attempt, self.parts.len()),
            rows: std::mem::take(&mut self.rows),
            bytes: content.len() as u64,
            crc32: crc32fast::hash(&content),
        };
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

/// Reads the rows of a file, or some of its columns, after its checksum was compared.
pub(crate) fn read(
    store: &Store,
    folder: &str,
    part: &Part,
    columns: Option<&[usize]>,
) -> Result<ParquetRecordBatchReader> {
    let name = format!("{folder}/{}", part.name);
    let place = store.place(&name);
    let missing = || Error::run(&place, "it was deleted; delete the folder of its step");
    let content = store.read(&name)?.ok_or_else(missing)?;
    if (content.len() as u64, crc32fast::hash(&content)) != (part.bytes, part.crc32) {
        let reason = "it was changed; delete the folder of its step";
        return Err(Error::run(&place, reason));
    }
    let damaged = |error: ParquetError| Error::run(&place, error.to_string());
    let mut file = ParquetRecordBatchReaderBuilder::try_new(content).map_err(damaged)?;
    if let Some(columns) = columns {
        let mask = ProjectionMask::roots(file.parquet_schema(), columns.iter().copied());
        file = file.with_projection(mask);
    }
    file.with_batch_size(BATCH_ROWS).build().map_err(damaged)
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
        let rows = || read(&store, "steps/1", part, None);
        let found: Vec<_> = rows()
            .unwrap()
            .flat_map(|batch| decode_reports(&batch.unwrap()).unwrap())
            .collect();
        assert_eq!(found, ["0", "1", "2"]);

        let path = store.place(&format!("steps/1/{}", part.name));
        let mut content = std::fs::read(&path).unwrap();
        content[10] ^= 1;
        std::fs::write(&path, &content).unwrap();
        assert!(rows().is_err_and(|error| error.to_string().contains("was changed")));
        std::fs::remove_file(&path).unwrap();
        assert!(rows().is_err_and(|error| error.to_string().contains("was deleted")));
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
