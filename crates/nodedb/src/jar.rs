//! One static file in NippyJar form: `.conf` (what it holds), `.off` (where each
//! cell begins), data (`crates/storage/nippy-jar/src/` and
//! `crates/static-file/types/src/segment.rs` of reth). Read with `pread` in big
//! chunks, never mapped: a file cut short under us is an error, not a signal.

use crate::{
    Blocks, Error, Result,
    compact::{Malformed, Reader},
};
use std::{
    fs::{self, File, Metadata},
    io::ErrorKind,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Longest stored row. A transaction or receipt is bounded by block gas; damaged
/// offsets do not make us read more.
const ROW_BYTES_MAX: u64 = 64 << 20;
/// Longest cell after LZ4. Headers are about 600 bytes.
const LZ4_BYTES_MAX: usize = 1 << 20;
/// First and largest read of a sequence. A jump starts small again, so that rare
/// lookups stay cheap and scans soon read in big pieces.
const WINDOW_BYTES_MIN: u64 = 32 << 10;
const WINDOW_BYTES_MAX: u64 = 1 << 20;
/// Offsets per read: 64 KiB of them.
const WINDOW_CELLS_MAX: u64 = 8 << 10;

/// What a static file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Segment {
    Headers,
    Transactions,
    Receipts,
    TransactionSenders,
    AccountChangeSets,
    StorageChangeSets,
}

impl Segment {
    pub(crate) const ALL: [Self; 6] = [
        Self::Headers,
        Self::Transactions,
        Self::Receipts,
        Self::TransactionSenders,
        Self::AccountChangeSets,
        Self::StorageChangeSets,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Transactions => "transactions",
            Self::Receipts => "receipts",
            Self::TransactionSenders => "transaction-senders",
            Self::AccountChangeSets => "account-change-sets",
            Self::StorageChangeSets => "storage-change-sets",
        }
    }

    pub(crate) const fn is_change_set(self) -> bool {
        matches!(self, Self::AccountChangeSets | Self::StorageChangeSets)
    }

    /// Segment and reserved block range of a data file's name. `None` for
    /// satellites, temporary and foreign files, and segments we do not know.
    pub(crate) fn of_file(name: &str) -> Option<(Self, Blocks)> {
        if name.contains('.') {
            return None;
        }
        let mut parts = name.strip_prefix("static_file_")?.split('_');
        let segment = parts.next()?;
        let segment = Self::ALL
            .into_iter()
            .find(|known| known.name() == segment)?;
        let (first, last) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((segment, Blocks { first, last }))
    }
}

/// The content of a `.conf` file: bincode 1 with fixed-width integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conf {
    /// Blocks the file is reserved for.
    pub(crate) expected_blocks: Blocks,
    /// Blocks the writer has gone through.
    pub(crate) blocks: Option<Blocks>,
    /// Transactions whose rows are present.
    pub(crate) txs: Option<Blocks>,
    pub(crate) columns: u64,
    pub(crate) rows: u64,
    pub(crate) lz4: bool,
    pub(crate) max_row_size: u64,
    /// Change sets only: records of the `.csoff` file.
    pub(crate) change_set_blocks: u64,
}

/// A `.conf` is below 200 bytes; more is something else.
const CONF_BYTES_MAX: u64 = 4096;

impl Conf {
    fn decode(segment: Segment, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if u64_le(&mut reader)? != 1 {
            return Err("an unknown NippyJar version (known is 1)");
        }
        let expected_blocks = range(&mut reader)?;
        let blocks = optional_range(&mut reader)?;
        let txs = optional_range(&mut reader)?;
        // Its meaning changed between versions of reth: go by the file name.
        let _segment_number = reader.array::<4>()?;
        let change_set_blocks = if segment.is_change_set() {
            u64_le(&mut reader)?
        } else {
            0
        };
        let columns = u64_le(&mut reader)?;
        let rows = u64_le(&mut reader)?;
        let lz4 = match reader.byte()? {
            0 => false,
            1 => match u32::from_le_bytes(*reader.array()?) {
                1 => true,
                0 => return Err("rows compressed with zstd as a whole: no reth writes that"),
                _ => return Err("an unknown compression"),
            },
            _ => return Err("an option is neither present nor absent"),
        };
        let max_row_size = u64_le(&mut reader)?;
        reader.finish()?;
        let conf = Self {
            expected_blocks,
            blocks,
            txs,
            columns,
            rows,
            lz4,
            max_row_size,
            change_set_blocks,
        };
        conf.check(segment)?;
        Ok(conf)
    }

    /// Counts that must agree, so that rows can be found by subtraction.
    fn check(&self, segment: Segment) -> Result<(), Malformed> {
        let columns = if segment == Segment::Headers { 3 } else { 1 };
        if self.columns != columns {
            return Err("an unexpected number of columns");
        }
        let rows = match segment {
            Segment::Headers => self.blocks,
            Segment::Transactions | Segment::Receipts | Segment::TransactionSenders => self.txs,
            Segment::AccountChangeSets | Segment::StorageChangeSets => return Ok(()),
        };
        if rows.map_or(Some(0), |rows| rows.len()) != Some(self.rows) {
            return Err("the number of rows does not fit its range");
        }
        // Offsets are 8 bytes each: positions must stay far from overflow.
        if self.rows > u64::MAX / 64 {
            return Err("an impossible number of rows");
        }
        Ok(())
    }

    /// A full file is never appended to again.
    pub(crate) fn is_sealed(&self) -> bool {
        self.blocks
            .is_some_and(|blocks| blocks.last == self.expected_blocks.last)
    }
}

fn u64_le(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    reader.array().map(|bytes| u64::from_le_bytes(*bytes))
}

fn range(reader: &mut Reader<'_>) -> Result<Blocks, Malformed> {
    let range = Blocks {
        first: u64_le(reader)?,
        last: u64_le(reader)?,
    };
    if range.first > range.last {
        Err("a range ends before it begins")
    } else {
        Ok(range)
    }
}

fn optional_range(reader: &mut Reader<'_>) -> Result<Option<Blocks>, Malformed> {
    match reader.byte()? {
        0 => Ok(None),
        1 => range(reader).map(Some),
        _ => Err("an option is neither present nor absent"),
    }
}

/// Tells a file from one that replaced it under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// A static file as one snapshot sees it. Opened by [`JarReader`].
#[derive(Debug)]
pub(crate) struct Jar {
    pub(crate) path: PathBuf,
    pub(crate) segment: Segment,
    pub(crate) conf: Conf,
    conf_identity: (Identity, i64, i64),
    data_identity: Identity,
}

impl Jar {
    /// Reads the `.conf` of a data file. `None`: a part is not there (yet, or any
    /// more), as happens while a node starts or deletes a file.
    pub(crate) fn load(path: &Path, segment: Segment) -> Result<Option<Self>> {
        let Some(data) = present(fs::metadata(path), path)? else {
            return Ok(None);
        };
        let conf_path = satellite(path, "conf");
        let Some(file) = present(File::open(&conf_path), &conf_path)? else {
            return Ok(None);
        };
        let meta = file
            .metadata()
            .map_err(|error| Error::io("read", &conf_path, error))?;
        let offsets_path = satellite(path, "off");
        if present(fs::metadata(&offsets_path), &offsets_path)?.is_none() {
            return Ok(None);
        }
        if meta.len() > CONF_BYTES_MAX {
            return Err(Error::corrupt(conf_path, "it is too long"));
        }
        // Replaced by renaming: one open file is one whole version.
        let mut bytes = vec![0; usize::try_from(meta.len()).unwrap_or_default()];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|error| Error::io("read", &conf_path, error))?;
        let conf = Conf::decode(segment, &bytes).map_err(|what| Error::corrupt(conf_path, what))?;
        Ok(Some(Self {
            path: path.to_path_buf(),
            segment,
            conf,
            conf_identity: conf_identity(&meta),
            data_identity: Identity::of(&data),
        }))
    }

    /// Whether the files on disk are still those of this jar: then rows that do
    /// not fit are damage, otherwise the reader is stale.
    pub(crate) fn is_current(&self) -> bool {
        let same = |path: &Path, check: &dyn Fn(&Metadata) -> bool| {
            fs::metadata(path).is_ok_and(|metadata| check(&metadata))
        };
        same(&self.path, &|data| Identity::of(data) == self.data_identity)
            && same(&satellite(&self.path, "conf"), &|conf| {
                conf_identity(conf) == self.conf_identity
            })
    }

    /// Blocks (headers) or transactions (other segments) whose rows are present.
    pub(crate) fn row_range(&self) -> Option<Blocks> {
        match self.segment {
            Segment::Headers => self.conf.blocks,
            Segment::Transactions | Segment::Receipts | Segment::TransactionSenders => {
                self.conf.txs
            }
            Segment::AccountChangeSets | Segment::StorageChangeSets => None,
        }
    }

    /// Row of a block or transaction, if present.
    pub(crate) fn row_of(&self, number: u64) -> Option<u64> {
        let range = self.row_range()?;
        range.contains(number).then(|| number - range.first)
    }

    fn stale(&self, what: impl Into<String>) -> Error {
        Error::stale(&self.path, what)
    }

    /// A row that cannot be decoded.
    pub(crate) fn bad_row(&self, row: u64, what: &str) -> Error {
        let what = format!("row {row}: {what}");
        if self.is_current() {
            Error::corrupt(&self.path, what)
        } else {
            self.stale(what)
        }
    }
}

fn conf_identity(metadata: &Metadata) -> (Identity, i64, i64) {
    (
        Identity::of(metadata),
        metadata.mtime(),
        metadata.mtime_nsec(),
    )
}

fn satellite(path: &Path, extension: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".");
    path.push(extension);
    path.into()
}

/// "Not found" is no error here.
fn present<T>(found: std::io::Result<T>, path: &Path) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("open", path, error)),
    }
}

/// An open jar and the window of it that was read last.
#[derive(Debug)]
pub(crate) struct JarReader {
    jar: Arc<Jar>,
    data: File,
    offsets_file: File,
    /// Bytes per offset.
    offset_width: u64,
    /// Offsets of the cells `first_cell ..`, one more than cells.
    offsets: Vec<u64>,
    first_cell: u64,
    /// Cells `first_cell .. first_cell + cells` lie in `bytes`.
    cells: u64,
    bytes: Vec<u8>,
    raw_offsets: Vec<u8>,
    window_bytes: u64,
    unpacked: Vec<u8>,
}

impl JarReader {
    fn open(jar: Arc<Jar>) -> Result<Self> {
        let open = |path: &Path| match File::open(path) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::stale(path, "it was deleted"))
            }
            Err(error) => Err(Error::io("open", path, error)),
        };
        let data = open(&jar.path)?;
        let metadata = data
            .metadata()
            .map_err(|error| Error::io("read", &jar.path, error))?;
        if Identity::of(&metadata) != jar.data_identity {
            return Err(jar.stale("it was replaced"));
        }
        let offsets_path = satellite(&jar.path, "off");
        let offsets_file = open(&offsets_path)?;
        let mut width = [0];
        read_at(&offsets_file, &offsets_path, &mut width, 0)?;
        let offset_width = u64::from(width[0]);
        if !(1..=8).contains(&offset_width) {
            return Err(Error::corrupt(
                offsets_path,
                format!("offsets of {offset_width} bytes; 1 to 8 are possible"),
            ));
        }
        Ok(Self {
            jar,
            data,
            offsets_file,
            offset_width,
            offsets: Vec::new(),
            first_cell: 0,
            cells: 0,
            bytes: Vec::new(),
            raw_offsets: Vec::new(),
            window_bytes: 0,
            unpacked: Vec::new(),
        })
    }

    /// The bytes of a cell. `last_row` is the last row the caller will want: the
    /// window does not reach beyond it.
    #[inline]
    pub(crate) fn cell(&mut self, row: u64, column: u64, last_row: u64) -> Result<&[u8]> {
        let columns = self.jar.conf.columns;
        let cell = row * columns + column;
        if cell.wrapping_sub(self.first_cell) >= self.cells {
            self.load(row, last_row)?;
        }
        let index = (cell - self.first_cell) as usize;
        let base = self.offsets[0];
        let (start, end) = (self.offsets[index] - base, self.offsets[index + 1] - base);
        let bytes = &self.bytes[start as usize..end as usize];
        if !self.jar.conf.lz4 {
            return Ok(bytes);
        }
        let capacity = usize::try_from(self.jar.conf.max_row_size)
            .map_or(LZ4_BYTES_MAX, |size| size.min(LZ4_BYTES_MAX));
        if self.unpacked.len() < capacity {
            self.unpacked.resize(capacity, 0);
        }
        match lz4_flex::block::decompress_into(bytes, &mut self.unpacked[..capacity]) {
            Ok(len) => Ok(&self.unpacked[..len]),
            Err(_) => Err(self.jar.bad_row(row, "an LZ4 block is damaged")),
        }
    }

    /// Reads a window that begins with `row`.
    #[cold]
    fn load(&mut self, row: u64, last_row: u64) -> Result<()> {
        let conf = &self.jar.conf;
        let columns = conf.columns;
        let last_row = last_row.min(conf.rows.saturating_sub(1));
        if row > last_row {
            return Err(self
                .jar
                .stale(format!("row {row} of {} was asked for", conf.rows)));
        }
        let follows = self.cells > 0 && self.first_cell + self.cells == row * columns;
        self.window_bytes = if follows {
            (self.window_bytes * 2).min(WINDOW_BYTES_MAX)
        } else {
            WINDOW_BYTES_MIN
        };
        self.cells = 0;
        self.first_cell = row * columns;
        let rows_max = (WINDOW_CELLS_MAX / columns)
            .min(self.window_bytes / 4)
            .max(1);
        let rows = (last_row - row + 1).min(rows_max);
        self.load_offsets(rows * columns)?;

        // At least the first row, then as many whole rows as the window takes.
        let base = self.offsets[0];
        let columns_in = columns as usize;
        let first_row_end = self.offsets[columns_in];
        if first_row_end - base > ROW_BYTES_MAX {
            return Err(self.jar.bad_row(row, "it is too long"));
        }
        let limit = base.saturating_add(self.window_bytes);
        let fitting = self
            .offsets
            .partition_point(|offset| *offset <= limit)
            .saturating_sub(1);
        let cells = (fitting / columns_in * columns_in).max(columns_in);
        let len = (self.offsets[cells] - base) as usize;
        if self.bytes.len() < len {
            self.bytes.resize(len, 0);
        }
        read_at(&self.data, &self.jar.path, &mut self.bytes[..len], base)?;
        self.cells = cells as u64;
        Ok(())
    }

    fn load_offsets(&mut self, cells: u64) -> Result<()> {
        let width = self.offset_width;
        let len = ((cells + 1) * width) as usize;
        self.raw_offsets.resize(len, 0);
        let path = satellite(&self.jar.path, "off");
        read_at(
            &self.offsets_file,
            &path,
            &mut self.raw_offsets,
            1 + self.first_cell * width,
        )?;
        self.offsets.clear();
        let mut before = 0;
        for raw in self.raw_offsets.chunks_exact(width as usize) {
            let mut bytes = [0; 8];
            bytes[..raw.len()].copy_from_slice(raw);
            let offset = u64::from_le_bytes(bytes);
            if offset < before || offset > i64::MAX as u64 {
                let row = self.first_cell / self.jar.conf.columns;
                return Err(self.jar.bad_row(row, "offsets do not ascend from here"));
            }
            before = offset;
            self.offsets.push(offset);
        }
        Ok(())
    }
}

/// A file that ends early was truncated by the node, or is damaged.
fn read_at(file: &File, path: &Path, into: &mut [u8], offset: u64) -> Result<()> {
    match file.read_exact_at(into, offset) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(Error::stale(
            path,
            format!(
                "it ends before byte {}",
                offset.saturating_add(into.len() as u64)
            ),
        )),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// A worker's place in one segment: the jar it reads, kept from call to call.
#[derive(Debug, Default)]
pub(crate) struct Place {
    reader: Option<JarReader>,
}

impl Place {
    /// The reader of a jar; opened when the worker comes to another one.
    #[inline]
    pub(crate) fn reader(&mut self, jar: &Arc<Jar>) -> Result<&mut JarReader> {
        let keep = self
            .reader
            .as_ref()
            .is_some_and(|reader| Arc::ptr_eq(&reader.jar, jar));
        if !keep {
            self.reader = None;
        }
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(JarReader::open(Arc::clone(jar))?)),
        }
    }
}

/// See [`crate::fuzzing`].
pub(crate) fn fuzz(bytes: &[u8]) {
    for segment in Segment::ALL {
        let _ = Conf::decode(segment, bytes);
    }
}
