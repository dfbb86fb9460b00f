//! Where the rows of a result are written: standard output, or files.

use crate::{Error, Result};
use clap::{Args, ValueEnum};
use datafusion::{
    arrow::{
        array::RecordBatch, csv, datatypes::SchemaRef, error::ArrowError, ipc::writer::FileWriter,
        json::LineDelimitedWriter, util::pretty::pretty_format_batches,
    },
    parquet::arrow::ArrowWriter,
};
use std::{
    fmt::Display,
    fs::Permissions,
    io::{self, BufWriter, Write},
    ops::ControlFlow,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tempfile::NamedTempFile;

/// How a result is written.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutputArgs {
    /// Format of the result on standard output [default: csv]
    #[arg(long, value_enum, conflicts_with = "output")]
    format: Option<Format>,

    /// Write the result to this file: .csv, .jsonl, .parquet or .arrow (repeatable)
    #[arg(long, short, value_name = "FILE")]
    output: Vec<PathBuf>,

    /// Replace files that exist
    #[arg(long, requires = "output")]
    overwrite: bool,

    /// Rows to write; default: all
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// The format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values
    Csv,
    /// One JSON object per line
    Jsonl,
    /// Parquet, to a file
    #[value(skip)]
    Parquet,
    /// Arrow IPC file, to a file
    #[value(skip)]
    Arrow,
    /// A table for people
    Table,
}

impl OutputArgs {
    /// Opens the outputs.
    ///
    /// # Errors
    ///
    /// If the name of a file has no known format, if there is such a file and it may not be replaced, or if
    /// it cannot be created.
    pub(crate) fn open(&self) -> Result<Outputs> {
        if self.output.is_empty() {
            let place = PathBuf::from("standard output");
            let format = self.format.unwrap_or(Format::Csv);
            let stdout = Stdout::default();
            let is_closed = Arc::clone(&stdout.is_closed);
            let stdout = Output::new(place, format, Box::new(BufWriter::new(stdout)), None);
            return Ok(Outputs {
                all: vec![stdout],
                is_closed,
            });
        }
        let open = |path: &PathBuf| {
            let format = format_of(path)?;
            if !self.overwrite && path.exists() {
                let exists = "the file exists; choose another name, or replace it with --overwrite";
                return Err(Error::Usage(format!("{}: {exists}", path.display())));
            }
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let failed = |error| Error::io(path, error);
            // As other files: readable by all that the umask admits.
            let mut builder = tempfile::Builder::new();
            let builder = builder.permissions(Permissions::from_mode(0o666));
            let file = builder.tempfile_in(folder).map_err(failed)?;
            let writer = BufWriter::new(file.reopen().map_err(failed)?);
            Ok(Output::new(
                path.clone(),
                format,
                Box::new(writer),
                Some((file, self.overwrite)),
            ))
        };
        Ok(Outputs {
            all: self.output.iter().map(open).collect::<Result<_>>()?,
            is_closed: Arc::default(),
        })
    }
}

/// The format that the name of a file has.
fn format_of(path: &Path) -> Result<Format> {
    match path.extension().and_then(|it| it.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("jsonl") => Ok(Format::Jsonl),
        Some("parquet") => Ok(Format::Parquet),
        Some("arrow") => Ok(Format::Arrow),
        _ => Err(Error::Usage(format!(
            "{}: the name of an output ends with .csv, .jsonl, .parquet or .arrow",
            path.display()
        ))),
    }
}

/// The outputs of a result. Files get their names when all of it is written.
pub(crate) struct Outputs {
    all: Vec<Output>,
    /// Whether the reader of standard output has seen enough.
    is_closed: Arc<AtomicBool>,
}

impl Outputs {
    /// Writes some rows. Breaks when the reader of standard output has seen enough.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>> {
        for output in &mut self.all {
            output.write(batch)?;
        }
        Ok(match self.is_closed.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    /// Ends all outputs.
    pub(crate) fn finish(self) -> Result<()> {
        self.all.into_iter().try_for_each(Output::finish)
    }
}

/// Standard output. Once its reader has closed it, which is no error, nothing more is written.
#[derive(Default)]
pub(crate) struct Stdout {
    is_closed: Arc<AtomicBool>,
}

impl Stdout {
    fn unless_closed<T>(&self, done: io::Result<T>, closed: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed.store(true, Ordering::Relaxed);
                Ok(closed)
            }
            done => done,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(io::stdout().write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed(io::stdout().flush(), ())
    }
}

type Bytes = Box<dyn Write + Send>;

struct Output {
    place: PathBuf,
    format: Format,
    /// Absent once there is a writer of rows.
    bytes: Option<Bytes>,
    writer: Option<Writer>,
    /// The file without its name, and whether it may replace another one.
    file: Option<(NamedTempFile, bool)>,
}

enum Writer {
    Csv(Box<csv::Writer<Bytes>>),
    Jsonl(LineDelimitedWriter<Bytes>),
    Parquet(Box<ArrowWriter<Bytes>>),
    Arrow(Box<FileWriter<Bytes>>),
    Table(Bytes, Vec<RecordBatch>),
}

impl Writer {
    fn new(
        format: Format,
        columns: SchemaRef,
        bytes: Bytes,
    ) -> std::result::Result<Self, ArrowError> {
        Ok(match format {
            Format::Csv => Self::Csv(Box::new(csv::Writer::new(bytes))),
            Format::Jsonl => Self::Jsonl(LineDelimitedWriter::new(bytes)),
            Format::Parquet => Self::Parquet(Box::new(ArrowWriter::try_new(bytes, columns, None)?)),
            Format::Arrow => Self::Arrow(Box::new(FileWriter::try_new(bytes, &columns)?)),
            Format::Table => Self::Table(bytes, Vec::new()),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> std::result::Result<(), ArrowError> {
        match self {
            Self::Csv(writer) => writer.write(batch),
            Self::Jsonl(writer) => writer.write(batch),
            Self::Parquet(writer) => Ok(writer.write(batch)?),
            Self::Arrow(writer) => writer.write(batch),
            Self::Table(_, batches) => {
                batches.push(batch.clone());
                Ok(())
            }
        }
    }

    fn finish(self) -> std::result::Result<Bytes, ArrowError> {
        Ok(match self {
            Self::Csv(writer) => writer.into_inner(),
            Self::Jsonl(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Self::Parquet(writer) => writer.into_inner()?,
            Self::Arrow(writer) => writer.into_inner()?,
            Self::Table(mut bytes, batches) => {
                writeln!(bytes, "{}", pretty_format_batches(&batches)?)?;
                bytes
            }
        })
    }
}

impl Output {
    fn new(
        place: PathBuf,
        format: Format,
        bytes: Bytes,
        file: Option<(NamedTempFile, bool)>,
    ) -> Self {
        Self {
            place,
            format,
            bytes: Some(bytes),
            writer: None,
            file,
        }
    }

    fn failed(&self) -> impl Fn(&dyn Display) -> Error + use<> {
        let place = self.place.clone();
        move |error| Error::io(&place, io::Error::other(error.to_string()))
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let failed = self.failed();
        if let Some(bytes) = self.bytes.take() {
            let writer = Writer::new(self.format, batch.schema(), bytes);
            self.writer = Some(writer.map_err(|error| failed(&error))?);
        }
        match &mut self.writer {
            Some(writer) => writer.write(batch).map_err(|error| failed(&error)),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<()> {
        let failed = self.failed();
        let bytes = match (self.writer, self.bytes) {
            (Some(writer), _) => Some(writer.finish().map_err(|error| failed(&error))?),
            (None, bytes) => bytes,
        };
        if let Some(mut bytes) = bytes {
            bytes.flush().map_err(|error| failed(&error))?;
        }
        let Some((file, overwrite)) = self.file else {
            return Ok(());
        };
        let named = match overwrite {
            true => file.persist(&self.place),
            false => file.persist_noclobber(&self.place),
        };
        named.map_err(|error| failed(&error.error)).map(drop)
    }
}
