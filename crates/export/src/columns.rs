//! Parquet and Arrow IPC through polars, one row group or record batch at a
//! time. Metadata goes to the file's footer, written last: what a scan counted
//! is known only at its end.

use crate::{
    Compression, Error, Metadata, Result, TableFormat, TransferTableOptions, U256Type, Written,
    decimal::{LIMBS_MAX, big_endian, push_decimal, to_f64},
    output::Output,
};
use polars::{
    io::parquet::write::BatchedWriter as ParquetBatches,
    prelude::{
        ArrowSchema, BinaryChunkedBuilder, BooleanChunked, Column, CompatLevel, DataFrame,
        DataType, Float64Chunked, IntoColumn, IntoSeries, NewChunkedArray, ParquetCompression,
        ParquetWriter, PlSmallStr, PolarsResult, Schema as FrameSchema, SchemaExt,
        StringChunkedBuilder, UInt32Chunked, UInt64Chunked,
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

/// The key that the metadata has in a file's footer.
const METADATA_KEY: &str = "txgraph";

/// An open Parquet or Arrow IPC file.
pub(crate) struct ColumnFile {
    encoding: Encoding,
    threads: usize,
}

/// Who encodes what was gathered.
enum Encoding {
    /// Whoever gathers.
    Here(Encoder),
    /// A thread of its own, while the next group is gathered.
    Apart(EncoderThread),
    /// Nobody any more.
    Failed,
}

impl ColumnFile {
    /// With several `threads` one of them encodes, as soon as there is a second group.
    pub(crate) fn new(
        format: TableFormat,
        compression: Option<Compression>,
        columns: &[(String, DataType)],
        threads: usize,
        output: Output,
    ) -> Result<Self> {
        let encoder = Encoder::new(format, compression, columns, output)?;
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
    pub(crate) fn finish(self, metadata: &Metadata) -> Result<Written> {
        match self.encoding {
            Encoding::Here(encoder) => encoder.finish(metadata),
            Encoding::Apart(thread) => thread.end()?.finish(metadata),
            Encoding::Failed => Err(failed_before()),
        }
    }
}

#[cold]
fn failed_before() -> Error {
    Error::Unsupported("nothing can be written after a failure".to_owned())
}

/// A thread that encodes. Dropping it waits for its end, after which no file is left.
pub(crate) struct EncoderThread {
    /// Nothing waits in between: one group is gathered while one is encoded.
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
        let thread = thread
            .map_err(|error| Error::Unsupported(format!("a thread cannot be started: {error}")))?;
        Ok(Self {
            groups: Some(groups),
            thread: Some(thread),
        })
    }

    fn write(self, frame: DataFrame) -> Result<Self> {
        let sent = self.groups.as_ref().map(|groups| groups.send(frame));
        match sent {
            Some(Ok(())) => Ok(self),
            // It has ended, which it does before its time with an error only.
            _ => self.end().and(Err(failed_before())),
        }
    }

    /// Waits until all is encoded.
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
            // What became of it does not matter any more.
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
    /// With the Arrow schema that readers are told of.
    Parquet(Box<ParquetBatches<Shared>>, ArrowSchema),
    Ipc(Box<ipc::FileWriter<Shared>>),
}

impl Encoder {
    fn new(
        format: TableFormat,
        compression: Option<Compression>,
        columns: &[(String, DataType)],
        output: Output,
    ) -> Result<Self> {
        let output = Shared(Arc::new(Mutex::new(output)));
        let schema: FrameSchema = columns
            .iter()
            .map(|(name, kind)| (PlSmallStr::from_str(name), kind.clone()))
            .collect();
        let writer = match format {
            TableFormat::Parquet => {
                let writer = ParquetWriter::new(output.clone())
                    .with_compression(parquet_compression(compression));
                let batches = output.check(writer.batched(&schema))?;
                Writer::Parquet(Box::new(batches), schema.to_arrow(ARROW_LEVEL))
            }
            TableFormat::Ipc => {
                let schema = Arc::new(schema.to_arrow(ARROW_LEVEL));
                let options = ipc::WriteOptions {
                    compression: ipc_compression(compression)?,
                };
                let writer = ipc::FileWriter::try_new(output.clone(), schema, None, options);
                Writer::Ipc(Box::new(output.check(writer)?))
            }
            TableFormat::Csv | TableFormat::Jsonl => {
                return Err(Error::Unsupported(format!("{format} has no column types")));
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
            Writer::Parquet(writer, _) => writer.write_batch(frame),
            Writer::Ipc(writer) => frame
                .iter_chunks(ARROW_LEVEL, false)
                .try_for_each(|batch| writer.write(&batch, None)),
        };
        self.output.check(written)?;
        self.rows += frame.height() as u64;
        Ok(())
    }

    fn finish(self, metadata: &Metadata) -> Result<Written> {
        let text = metadata.to_json()?;
        match self.writer {
            Writer::Parquet(batches, schema) => {
                let mut writer = unpoisoned(batches.get_writer().lock());
                let ours = KeyValue {
                    key: METADATA_KEY.to_owned(),
                    value: Some(text),
                };
                let pairs = vec![schema_to_metadata_key(&schema), ours];
                let ended = writer.end(Some(pairs));
                self.output.check(ended)?;
            }
            Writer::Ipc(mut writer) => {
                let pair = (
                    PlSmallStr::from_static(METADATA_KEY),
                    PlSmallStr::from_string(text),
                );
                writer.set_custom_schema_metadata(Arc::new(std::iter::once(pair).collect()));
                self.output.check(writer.finish())?;
            }
        }
        let Some(output) = Arc::into_inner(self.output.0) else {
            return Err(Error::Unsupported(
                "the column writer is still in use".to_owned(),
            ));
        };
        let output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        output.finish(Some(metadata), self.rows)
    }
}

/// Arrow's types from before the "views" of 2023: every reader knows them, and
/// not every function of pyarrow takes views. Parquet itself has only one type
/// for bytes; what counts is the Arrow schema in its footer.
const ARROW_LEVEL: CompatLevel = CompatLevel::oldest();

fn parquet_compression(compression: Option<Compression>) -> ParquetCompression {
    match compression {
        None | Some(Compression::Zstd) => ParquetCompression::Zstd(None),
        Some(Compression::Lz4) => ParquetCompression::Lz4Raw,
        Some(Compression::Snappy) => ParquetCompression::Snappy,
        Some(Compression::None) => ParquetCompression::Uncompressed,
    }
}

fn ipc_compression(compression: Option<Compression>) -> Result<Option<ipc::Compression>> {
    match compression {
        None | Some(Compression::None) => Ok(None),
        Some(Compression::Lz4) => Ok(Some(ipc::Compression::LZ4)),
        Some(Compression::Zstd) => Ok(Some(ipc::Compression::ZSTD(Default::default()))),
        Some(Compression::Snappy) => Err(Error::Unsupported(
            "Arrow IPC knows no snappy compression; take lz4, zstd or none".to_owned(),
        )),
    }
}

/// Polars keeps its writer to itself; a second handle gets the output back.
#[derive(Clone)]
struct Shared(Arc<Mutex<Output>>);

impl Shared {
    /// Tells the true failure of writing instead of what polars made of it.
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

/// Nothing panics under the lock, and an output half-written never gets its name.
fn unpoisoned<'a, T>(
    guard: Result<MutexGuard<'a, T>, PoisonError<MutexGuard<'a, T>>>,
) -> MutexGuard<'a, T> {
    guard.unwrap_or_else(PoisonError::into_inner)
}

/// Gathers the values of one column of a row group.
pub(crate) enum ColumnBuilder {
    U32(String, Vec<Option<u32>>),
    U64(String, Vec<Option<u64>>),
    F64(String, Vec<Option<f64>>),
    Bool(String, Vec<Option<bool>>),
    Binary(String, BinaryChunkedBuilder),
    Text(String, StringChunkedBuilder),
}

impl ColumnBuilder {
    pub(crate) const fn u32(name: String) -> Self {
        Self::U32(name, Vec::new())
    }

    pub(crate) const fn u64(name: String) -> Self {
        Self::U64(name, Vec::new())
    }

    pub(crate) const fn f64(name: String) -> Self {
        Self::F64(name, Vec::new())
    }

    pub(crate) const fn bool(name: String) -> Self {
        Self::Bool(name, Vec::new())
    }

    pub(crate) fn binary(name: String) -> Self {
        let builder = BinaryChunkedBuilder::new(PlSmallStr::from_str(&name), 0);
        Self::Binary(name, builder)
    }

    pub(crate) fn text(name: String) -> Self {
        let builder = StringChunkedBuilder::new(PlSmallStr::from_str(&name), 0);
        Self::Text(name, builder)
    }

    /// Appends an absent value.
    pub(crate) fn push_absent(&mut self) {
        match self {
            Self::U32(_, values) => values.push(None),
            Self::U64(_, values) => values.push(None),
            Self::F64(_, values) => values.push(None),
            Self::Bool(_, values) => values.push(None),
            Self::Binary(_, builder) => builder.append_null(),
            Self::Text(_, builder) => builder.append_null(),
        }
    }

    pub(crate) fn push_u32(&mut self, value: Option<u32>) {
        match self {
            Self::U32(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_u64(&mut self, value: Option<u64>) {
        match self {
            Self::U64(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_f64(&mut self, value: Option<f64>) {
        match self {
            Self::F64(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_bool(&mut self, value: Option<bool>) {
        match self {
            Self::Bool(_, values) => values.push(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_bytes(&mut self, value: Option<&[u8]>) {
        match self {
            Self::Binary(_, builder) => builder.append_option(value),
            _ => self.push_misfit(),
        }
    }

    pub(crate) fn push_text(&mut self, value: Option<&str>) {
        match self {
            Self::Text(_, builder) => builder.append_option(value),
            _ => self.push_misfit(),
        }
    }

    /// A mistake of ours; the columns must stay of one length even so.
    fn push_misfit(&mut self) {
        debug_assert!(false, "a value of another kind than {:?}", self.field());
        self.push_absent();
    }

    /// Name and type.
    pub(crate) fn field(&self) -> (String, DataType) {
        match self {
            Self::U32(name, _) => (name.clone(), DataType::UInt32),
            Self::U64(name, _) => (name.clone(), DataType::UInt64),
            Self::F64(name, _) => (name.clone(), DataType::Float64),
            Self::Bool(name, _) => (name.clone(), DataType::Boolean),
            Self::Binary(name, _) => (name.clone(), DataType::Binary),
            Self::Text(name, _) => (name.clone(), DataType::String),
        }
    }

    /// The column gathered so far; the builder starts afresh.
    pub(crate) fn take(&mut self) -> Column {
        let name = |name: &String| PlSmallStr::from_str(name);
        match self {
            Self::U32(n, values) => {
                UInt32Chunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::U64(n, values) => {
                UInt64Chunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::F64(n, values) => {
                Float64Chunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::Bool(n, values) => {
                BooleanChunked::from_iter_options(name(n), values.drain(..)).into_column()
            }
            Self::Binary(n, builder) => {
                let next = BinaryChunkedBuilder::new(name(n), 0);
                std::mem::replace(builder, next)
                    .finish()
                    .into_series()
                    .into_column()
            }
            Self::Text(n, builder) => {
                let next = StringChunkedBuilder::new(name(n), 0);
                std::mem::replace(builder, next)
                    .finish()
                    .into_series()
                    .into_column()
            }
        }
    }
}

/// Gathers a number of 256 or more bits, in each of the ways asked for.
pub(crate) struct NumberBuilder {
    columns: Vec<ColumnBuilder>,
    digits: Vec<u8>,
}

impl NumberBuilder {
    pub(crate) fn new(name: &str, options: &TransferTableOptions) -> Self {
        let column = |(name, way)| match way {
            U256Type::Binary => ColumnBuilder::binary(name),
            U256Type::String => ColumnBuilder::text(name),
            U256Type::F64 => ColumnBuilder::f64(name),
        };
        Self {
            columns: options.u256_columns(name).map(column).collect(),
            digits: Vec::new(),
        }
    }

    /// Appends the number with these limbs.
    pub(crate) fn push(&mut self, limbs: Option<&[u64]>) {
        let Some(limbs) = limbs else {
            return self.columns.iter_mut().for_each(ColumnBuilder::push_absent);
        };
        for column in &mut self.columns {
            match column {
                ColumnBuilder::Binary(..) => {
                    let mut space = [0; 8 * LIMBS_MAX];
                    column.push_bytes(Some(big_endian(limbs, &mut space)));
                }
                ColumnBuilder::Text(..) => {
                    self.digits.clear();
                    push_decimal(&mut self.digits, limbs);
                    // Digits are ASCII.
                    column.push_text(std::str::from_utf8(&self.digits).ok());
                }
                _ => column.push_f64(Some(to_f64(limbs))),
            }
        }
    }

    pub(crate) fn builders(&mut self) -> &mut [ColumnBuilder] {
        &mut self.columns
    }
}
