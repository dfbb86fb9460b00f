//! Executes the job of a step, and writes its rows into the folder of the step.

use super::{ROWS_FILE, Step, StepChunk, StepFile, VERSION, measure};
use crate::{
    Error, Result,
    engine::{Engine, Job, JobMetrics},
    rows::{self, Scanned},
    wire::ChunkReport,
};
use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    parquet::{
        arrow::ArrowWriter,
        basic::{Compression, ZstdLevel},
        file::properties::WriterProperties,
    },
    physical_plan::displayable,
};
use std::{
    fs::File,
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The file of a step that is being written.
struct RowsFile {
    path: PathBuf,
    writer: ArrowWriter<File>,
    rows: u64,
}

impl RowsFile {
    fn create(folder: &Path, schema: SchemaRef) -> Result<Self> {
        let path = folder.join(ROWS_FILE);
        let file = File::create_new(&path).map_err(|error| Error::io(&path, error))?;
        let level = ZstdLevel::try_new(1).map_err(|error| Error::Plan(error.to_string()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(1 << 18))
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties));
        Ok(Self {
            writer: writer.map_err(|error| writing(&path, error))?,
            path,
            rows: 0,
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let done = self.writer.write(batch);
        done.map_err(|error| writing(&self.path, error))
    }

    /// Ends the file. Returns the finished step.
    fn finish(self, job: &Job<'_>, metrics: JobMetrics, chunks: Vec<StepChunk>) -> Result<Step> {
        let path = self.path;
        let file = self.writer.into_inner();
        let file = file.map_err(|error| writing(&path, error))?;
        file.sync_all().map_err(|error| Error::io(&path, error))?;
        let (bytes, crc32) = measure(&path)?;
        Ok(Step {
            version: VERSION,
            name: job.name.clone(),
            plan: displayable(job.plan.as_ref()).indent(false).to_string(),
            attempts: 1,
            metrics,
            rows: self.rows,
            chunks,
            files: vec![StepFile {
                name: ROWS_FILE.to_owned(),
                bytes,
                crc32,
            }],
        })
    }
}

/// Executes a plan, and writes its rows into a folder. `each` sees every batch.
pub(crate) fn write_rows(
    engine: &dyn Engine,
    job: &Job<'_>,
    folder: &Path,
    mut each: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<Step> {
    let mut file = RowsFile::create(folder, job.plan.schema())?;
    let metrics = engine.execute(job, &mut |batch| {
        each(&batch)?;
        file.write(&batch)?;
        Ok(ControlFlow::Continue(()))
    })?;
    file.finish(job, metrics, Vec::new())
}

/// Executes a scan, and writes its rows into a folder. `chunks` is the number of chunks, whose
/// reports must come in order, each once, and link.
pub(crate) fn write_scan(
    engine: &dyn Engine,
    job: &Job<'_>,
    chunks: usize,
    folder: &Path,
) -> Result<Step> {
    let mut file = RowsFile::create(folder, rows::transfers_schema())?;
    let mut read: Vec<StepChunk> = Vec::with_capacity(chunks);
    let mut rows_before = 0;
    let metrics = engine.execute(job, &mut |batch| {
        for part in rows::split_scan(&batch)? {
            match part {
                Scanned::Transfers(batch) => file.write(&batch)?,
                Scanned::Report(json) => {
                    let report: ChunkReport = serde_json::from_str(&json)
                        .map_err(|error| Error::Answer(format!("a report: {error}")))?;
                    check_report(&read, &report)?;
                    read.push(StepChunk {
                        rows: file.rows - rows_before,
                        report,
                    });
                    rows_before = file.rows;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if read.len() != chunks || rows_before != file.rows {
        return Err(Error::Answer(format!(
            "{} of {chunks} chunks were returned",
            read.len()
        )));
    }
    file.finish(job, metrics, read)
}

/// Checks that a report is the next one, and of the same chain as the one before.
fn check_report(read: &[StepChunk], report: &ChunkReport) -> Result<()> {
    if report.number != read.len() as u64 {
        return Err(Error::Answer(format!(
            "chunk {} was returned instead of chunk {}",
            report.number,
            read.len()
        )));
    }
    let Some(parent) = report.parent_hash else {
        return Ok(());
    };
    let Some(before) = read.last().map(|chunk| &chunk.report) else {
        return Ok(());
    };
    match before.report.last_block_hash {
        Some(hash) if hash != parent => Err(Error::Unlinked {
            block: (before.report.covered.span()).map_or(0, |blocks| blocks.last),
            before: before.executor.clone(),
            after: report.executor.clone(),
        }),
        _ => Ok(()),
    }
}

fn writing(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::io(path, io::Error::other(error))
}
