//! Parquet, Arrow IPC and record batches in memory, one row group or record batch at a time.

use super::{Container, footer};
use crate::{ArrowTarget, Error, Metadata, Result, Written, output::Output};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;
use parquet::{arrow::ArrowWriter, errors::ParquetError, file::metadata::KeyValue};
use std::{
    panic::resume_unwind,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

/// An open Parquet or Arrow IPC file.
pub(crate) struct ColumnFile {
    encoding: Encoding,
    threads: usize,
}

/// The thread that encodes row groups.
enum Encoding {
    /// The thread of the caller.
    Here(Box<Encoder>),
    /// A thread of its own, while the caller gathers the next group.
    Apart(EncoderThread),
    /// None, after a failure.
    Failed,
}

impl ColumnFile {
    /// Opens a file whose row groups have at most `rows_max` rows. With two or more `threads`, one
    /// of them encodes from the second group on. With an `order`, Parquet states that the rows are
    /// sorted by these columns, as far as they exist.
    pub(crate) fn new(
        container: Container,
        schema: SchemaRef,
        order: Option<&[&str]>,
        rows_max: usize,
        threads: usize,
        output: Output,
    ) -> Result<Self> {
        let encoder = Encoder::new(container, schema, order, rows_max, output)?;
        Ok(Self {
            encoding: Encoding::Here(Box::new(encoder)),
            threads,
        })
    }

    /// Appends one row group or record batch.
    pub(crate) fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.encoding = match std::mem::replace(&mut self.encoding, Encoding::Failed) {
            Encoding::Here(mut encoder) if self.threads < 2 || encoder.rows == 0 => {
                encoder.write(batch)?;
                Encoding::Here(encoder)
            }
            Encoding::Here(encoder) => {
                let thread = EncoderThread::start(*encoder)?;
                Encoding::Apart(thread.write(batch)?)
            }
            Encoding::Apart(thread) => Encoding::Apart(thread.write(batch)?),
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
    groups: Option<SyncSender<RecordBatch>>,
    thread: Option<JoinHandle<Result<Encoder>>>,
}

impl EncoderThread {
    fn start(mut encoder: Encoder) -> Result<Self> {
        let (groups, received) = sync_channel::<RecordBatch>(0);
        let thread = thread::Builder::new()
            .name("txgraph-encode".to_owned())
            .spawn(move || {
                for batch in received {
                    encoder.write(batch)?;
                }
                Ok(encoder)
            });
        let thread = thread.map_err(Error::Thread)?;
        Ok(Self {
            groups: Some(groups),
            thread: Some(thread),
        })
    }

    fn write(self, batch: RecordBatch) -> Result<Self> {
        let sent = self.groups.as_ref().map(|groups| groups.send(batch));
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
    output: Output,
    writer: Writer,
    rows: u64,
}

/// Writers into memory, so that the error of a file stays one of [`Output`].
enum Writer {
    Parquet(Box<ArrowWriter<Vec<u8>>>),
    Ipc(Box<FileWriter<Vec<u8>>>),
    /// The record batches of Arrow IPC themselves.
    Memory(ArrowTarget),
}

impl Encoder {
    fn new(
        container: Container,
        schema: SchemaRef,
        order: Option<&[&str]>,
        rows_max: usize,
        output: Output,
    ) -> Result<Self> {
        let writer = match (container, output.arrow().cloned()) {
            (Container::Ipc, Some(target)) => {
                target.0.start(&schema);
                Writer::Memory(target)
            }
            (Container::Ipc, None) => {
                // Not compressed, so that a reader can map it into memory.
                Writer::Ipc(Box::new(FileWriter::try_new(Vec::new(), &schema)?))
            }
            (Container::Parquet, _) => {
                let properties = footer::parquet(&schema, order, rows_max)?;
                let writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
                Writer::Parquet(Box::new(writer))
            }
        };
        Ok(Self {
            output,
            writer,
            rows: 0,
        })
    }

    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let encoded = match &mut self.writer {
            Writer::Memory(target) => {
                return match target.0.batch(batch) {
                    true => Ok(()),
                    false => Err(Error::BrokenPipe),
                };
            }
            Writer::Parquet(writer) => {
                writer.write(&batch)?;
                writer.flush()?;
                writer.sync().map_err(ParquetError::from)?;
                writer.inner_mut()
            }
            Writer::Ipc(writer) => {
                writer.write(&batch)?;
                writer.get_mut()
            }
        };
        self.output.put(encoded)?;
        encoded.clear();
        Ok(())
    }

    fn finish(mut self, metadata: Option<&Metadata>) -> Result<Written> {
        let text = metadata.map(Metadata::to_json).transpose()?;
        let end = match self.writer {
            Writer::Memory(target) => {
                target.0.finish(text.as_deref());
                Vec::new()
            }
            Writer::Parquet(mut writer) => {
                if let Some(text) = text {
                    let pair = KeyValue::new(footer::METADATA_KEY.to_owned(), text);
                    writer.append_key_value_metadata(pair);
                }
                writer.into_inner()?
            }
            Writer::Ipc(writer) => {
                let schema = writer.schema().clone();
                let mut end = writer.into_inner()?;
                if let Some(text) = text {
                    footer::put_in_ipc(&mut end, &schema, text)?;
                }
                end
            }
        };
        self.output.put(&end)?;
        self.output.finish(metadata, self.rows)
    }
}
