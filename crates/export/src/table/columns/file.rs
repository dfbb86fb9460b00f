//! Parquet, Arrow IPC and arrays in memory through polars, one row group or record batch at a time. The
//! metadata goes to the footer of the file, which is written last, when the counts of a scan
//! are known.

use super::Container;
use crate::{
    Error, Metadata, Result, Written,
    arrow::{ArrowBatch, ArrowColumns, ArrowTarget},
    output::Output,
};
use polars::{
    io::parquet::write::BatchedWriter as ParquetBatches,
    prelude::{
        ArrowSchema, Column, CompatLevel, DataFrame, DataType, ParquetCompression, ParquetWriter,
        PlSmallStr, PolarsResult, Schema as FrameSchema, SchemaExt,
    },
};
use polars_arrow::io::ipc::write as ipc;
use polars_parquet::write::{KeyValue, schema_to_metadata_key};
use std::{
    io::{self, Write},
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

/// The key of the metadata in the footer of a file.
const METADATA_KEY: &str = "txgraph";

/// An open Parquet or Arrow IPC file.
pub(crate) struct ColumnFile {
    encoding: Encoding,
    threads: usize,
}

/// The thread that encodes row groups.
enum Encoding {
    /// The thread of the caller.
    Here(Encoder),
    /// A thread of its own, while the caller gathers the next group.
    Apart(EncoderThread),
    /// None, after a failure.
    Failed,
}

impl ColumnFile {
    /// Opens a file. With two or more `threads`, one of them encodes from the second group on.
    pub(crate) fn new(
        container: Container,
        columns: &[(String, DataType)],
        threads: usize,
        output: Output,
    ) -> Result<Self> {
        let encoder = Encoder::new(container, columns, output)?;
        Ok(Self {
            encoding: Encoding::Here(encoder),
            threads,
        })
    }

    /// Appends one row group or record batch.
    pub(crate) fn write(&mut self, columns: Vec<Column>) -> Result<()> {
        let frame = DataFrame::new_infer_height(columns)?;
        self.encoding = match std::mem::replace(&mut self.encoding, Encoding::Failed) {
            Encoding::Here(mut encoder) if self.threads < 2 || encoder.rows == 0 => {
                encoder.write(&frame)?;
                Encoding::Here(encoder)
            }
            Encoding::Here(encoder) => {
                let thread = EncoderThread::start(encoder)?;
                Encoding::Apart(thread.write(frame)?)
            }
            Encoding::Apart(thread) => Encoding::Apart(thread.write(frame)?),
            Encoding::Failed => return Err(failed_before()),
        };
        Ok(())
    }

    /// Writes the footer and gives the file its name.
    pub(crate) fn finish(self, metadata: Option<&Metadata>) -> Result<Written> {
        match self.encoding {
            Encoding::Here(encoder) => encoder.finish(metadata),
            Encoding::Apart(thread) => thread.end()?.finish(metadata),
            Encoding::Failed => Err(failed_before()),
        }
    }
}

#[cold]
fn failed_before() -> Error {
    Error::AfterFailure
}

/// A thread that encodes. Dropping it waits for its end; the file is removed then.
pub(crate) struct EncoderThread {
    /// Not buffered: one group is gathered while one is encoded.
    groups: Option<SyncSender<DataFrame>>,
    thread: Option<JoinHandle<Result<Encoder>>>,
}

impl EncoderThread {
    fn start(mut encoder: Encoder) -> Result<Self> {
        let (groups, received) = sync_channel::<DataFrame>(0);
        let thread = thread::Builder::new()
            .name("txgraph-encode".to_owned())
            .spawn(move || {
                for frame in received {
                    encoder.write(&frame)?;
                }
                Ok(encoder)
            });
        let thread = thread.map_err(Error::Thread)?;
        Ok(Self {
            groups: Some(groups),
            thread: Some(thread),
        })
    }

    fn write(self, frame: DataFrame) -> Result<Self> {
        let sent = self.groups.as_ref().map(|groups| groups.send(frame));
        match sent {
            Some(Ok(())) => Ok(self),
            // The thread ends early only with an error.
            _ => self.end().and(Err(failed_before())),
        }
    }

    /// Waits until every group is encoded.
    fn end(mut self) -> Result<Encoder> {
        self.groups = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(encoder)) => encoder,
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(failed_before()),
        }
    }
}

impl Drop for EncoderThread {
    fn drop(&mut self) {
        self.groups = None;
        if let Some(thread) = self.thread.take() {
            // The result no longer matters.
            let _ = thread.join();
        }
    }
}

/// Encodes row groups or record batches, and writes them.
pub(crate) struct Encoder {
    output: Shared,
    writer: Writer,
    rows: u64,
}

enum Writer {
    /// With the Arrow schema for the footer.
    Parquet(Box<ParquetBatches<Shared>>, ArrowSchema),
    Ipc(Box<ipc::FileWriter<Shared>>),
    /// The columns of Arrow IPC, in memory.
    Arrow(ArrowTarget, ArrowColumns),
}

impl Encoder {
    fn new(container: Container, columns: &[(String, DataType)], output: Output) -> Result<Self> {
        let arrow = output.arrow().cloned();
        let output = Shared(Arc::new(Mutex::new(output)));
        let schema: FrameSchema = columns
            .iter()
            .map(|(name, kind)| (PlSmallStr::from_str(name), kind.clone()))
            .collect();
        let writer = match (container, arrow) {
            (Container::Ipc, Some(target)) => {
                let columns = ArrowColumns::new(schema.to_arrow(ARROW_LEVEL));
                target.start(&columns);
                Writer::Arrow(target, columns)
            }
            (Container::Parquet, _) => {
                let writer = ParquetWriter::new(output.clone())
                    .with_compression(ParquetCompression::Zstd(None));
                let batches = output.check(writer.batched(&schema))?;
                Writer::Parquet(Box::new(batches), schema.to_arrow(ARROW_LEVEL))
            }
            (Container::Ipc, None) => {
                let schema = Arc::new(schema.to_arrow(ARROW_LEVEL));
                // Not compressed, so that a reader can map it into memory.
                let options = ipc::WriteOptions { compression: None };
                let writer = ipc::FileWriter::try_new(output.clone(), schema, None, options);
                Writer::Ipc(Box::new(output.check(writer)?))
            }
        };
        Ok(Self {
            output,
            writer,
            rows: 0,
        })
    }

    fn write(&mut self, frame: &DataFrame) -> Result<()> {
        let written = match &mut self.writer {
            Writer::Arrow(target, columns) => {
                for batch in frame.iter_chunks(ARROW_LEVEL, false) {
                    let batch = ArrowBatch::new(columns, batch.height(), batch.into_arrays())?;
                    if !target.batch(batch) {
                        return Err(Error::BrokenPipe);
                    }
                }
                Ok(())
            }
            Writer::Parquet(writer, _) => writer.write_batch(frame),
            Writer::Ipc(writer) => frame
                .iter_chunks(ARROW_LEVEL, false)
                .try_for_each(|batch| writer.write(&batch, None)),
        };
        self.output.check(written)?;
        self.rows += frame.height() as u64;
        Ok(())
    }

    fn finish(self, metadata: Option<&Metadata>) -> Result<Written> {
        let text = metadata.map(Metadata::to_json).transpose()?;
        match self.writer {
            Writer::Parquet(batches, schema) => {
                let mut writer = unpoisoned(batches.get_writer().lock());
                let mut pairs = vec![schema_to_metadata_key(&schema)];
                pairs.extend(text.map(|text| KeyValue {
                    key: METADATA_KEY.to_owned(),
                    value: Some(text),
                }));
                let ended = writer.end(Some(pairs));
                self.output.check(ended)?;
            }
            Writer::Ipc(mut writer) => {
                if let Some(text) = text {
                    let key = PlSmallStr::from_static(METADATA_KEY);
                    let pair = (key, PlSmallStr::from_string(text));
                    writer.set_custom_schema_metadata(Arc::new(std::iter::once(pair).collect()));
                }
                self.output.check(writer.finish())?;
            }
            Writer::Arrow(target, _) => target.finish(text.as_deref()),
        }
        let Some(output) = Arc::into_inner(self.output.0) else {
            // The writer, which had the other handle, is gone.
            return Err(Error::AfterFailure);
        };
        let output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        output.finish(metadata, self.rows)
    }
}

/// Arrow's types from before the "views" of 2023. Every reader supports them, and not every
/// function of pyarrow supports views. Parquet itself has one type for bytes; the Arrow schema
/// in its footer decides.
const ARROW_LEVEL: CompatLevel = CompatLevel::oldest();

/// Polars does not return its writer; a second handle does.
#[derive(Clone)]
struct Shared(Arc<Mutex<Output>>);

impl Shared {
    /// Returns the original error of writing instead of that of polars.
    fn check<T>(&self, result: PolarsResult<T>) -> Result<T> {
        result.map_err(|error| {
            unpoisoned(self.0.lock())
                .take_failure()
                .unwrap_or(Error::Columns(error))
        })
    }
}

impl Write for Shared {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        unpoisoned(self.0.lock()).write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        unpoisoned(self.0.lock()).flush()
    }
}

/// Ignores poisoning: nothing panics under the lock, and an incomplete output never gets its
/// name.
fn unpoisoned<'a, T>(
    guard: Result<MutexGuard<'a, T>, PoisonError<MutexGuard<'a, T>>>,
) -> MutexGuard<'a, T> {
    guard.unwrap_or_else(PoisonError::into_inner)
}
