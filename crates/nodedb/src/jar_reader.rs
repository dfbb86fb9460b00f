//! Reads rows of a jar with `pread`, in large pieces. Files are not mapped: a truncated file
//! then gives an error and not a signal.

use crate::{
    Error, Result,
    files::open_regular,
    jar::{Identity, Jar, satellite},
    lz4,
};
use std::{
    fs::{File, Metadata},
    io::ErrorKind,
    ops::Range,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

/// The longest stored row. Transactions and receipts are bounded by block gas. Damaged
/// offsets cannot make the reader allocate more.
const ROW_BYTES_MAX: u64 = 64 << 20;
/// The longest cell after LZ4, which only headers use since reth 1.0: about 600 bytes.
const LZ4_BYTES_MAX: usize = 4 << 20;
/// The first and the largest read of a sequence. A jump starts with the small size again:
/// rare lookups stay cheap, and scans soon read large pieces. The largest still fits into
/// the second-level cache.
const WINDOW_BYTES_MIN: u64 = 32 << 10;
const WINDOW_BYTES_MAX: u64 = 256 << 10;
/// If more bytes than this are read per requested cell, each cell is read alone. A system
/// call costs no more than copying a few times as many bytes. A search that read up to six
/// times as much between its rows was 7 % slower.
const SPARSE_BYTES: u64 = 1 << 10;
/// Offsets per read: 64 KiB of them.
const WINDOW_CELLS_MAX: u64 = 8 << 10;

/// An open jar, and the window that was read last.
#[derive(Debug)]
pub(crate) struct JarReader {
    jar: Arc<Jar>,
    data: File,
    offsets_file: File,
    /// Bytes per offset, 1 to 8.
    offset_width: usize,
    /// The first cell of the window, and where its cells begin in `bytes`. The last start is
    /// the end of the window.
    first_cell: u64,
    starts: Vec<usize>,
    bytes: Vec<u8>,
    /// Offsets from cell `first_offset` on, and the end of the last cell. More cells than the
    /// window has.
    first_offset: u64,
    offsets: Vec<u64>,
    raw_offsets: Vec<u8>,
    /// The largest size of the window; 0 for one row.
    window_bytes: u64,
    /// How often a different cell of the window was requested, and the last one.
    requests: u64,
    last_cell: u64,
    unpacked: Vec<u8>,
    sequences: Vec<lz4::Sequence>,
}

impl JarReader {
    pub(crate) fn open(jar: Arc<Jar>) -> Result<Self> {
        let (data, metadata) = open_part(&jar.path)?;
        if Identity::of(&metadata) != jar.data_identity {
            return Err(jar.stale("it was replaced"));
        }
        let offsets_path = satellite(&jar.path, "off");
        let (offsets_file, offsets_metadata) = open_part(&offsets_path)?;
        let mut width = [0];
        read_at(&offsets_file, &offsets_path, &mut width, 0)?;
        let offset_width = usize::from(width[0]);
        if !(1..=8).contains(&offset_width) {
            return Err(Error::corrupt(
                offsets_path,
                format!("offsets of {offset_width} bytes; 1 to 8 are possible"),
            ));
        }
        // The end of the last row. Bytes after it are not committed yet. A node that was
        // killed while it removed rows leaves a `.conf` that promises more rows than `.off`
        // has. Those are above the tip, and are not read.
        let mut end = [0; 8];
        let width = offset_width as u64;
        let offsets = offsets_metadata.len().saturating_sub(1) / width;
        let cells = (jar.conf.rows * jar.conf.columns).min(offsets.saturating_sub(1));
        let position = 1 + cells * width;
        let stored = &mut end[..offset_width];
        read_at(&offsets_file, &offsets_path, stored, position)?;
        let (end, len) = (u64::from_le_bytes(end), metadata.len());
        if end > len {
            let what = format!("its rows end at byte {end}, the file at byte {len}");
            return Err(jar.stale(what));
        }
        Ok(Self {
            jar,
            data,
            offsets_file,
            offset_width,
            first_cell: 0,
            starts: Vec::new(),
            bytes: Vec::new(),
            first_offset: 0,
            offsets: Vec::new(),
            raw_offsets: Vec::new(),
            window_bytes: WINDOW_BYTES_MIN,
            requests: 0,
            last_cell: 0,
            unpacked: Vec::new(),
            sequences: Vec::new(),
        })
    }

    /// Returns the bytes of a cell. `last_row` is the last row that the caller will read: the
    /// window ends there.
    #[inline]
    pub(crate) fn cell(&mut self, row: u64, column: u64, last_row: u64) -> Result<&[u8]> {
        let stored = self.stored(row, column, last_row)?;
        if !self.jar.conf.lz4 {
            return Ok(&self.bytes[stored]);
        }
        if self.unpacked.is_empty() {
            let capacity = usize::try_from(self.jar.conf.max_row_size)
                .map_or(LZ4_BYTES_MAX, |size| size.min(LZ4_BYTES_MAX));
            self.unpacked.resize(capacity, 0);
        }
        let stored = &self.bytes[stored];
        // The library sums lengths in 32 bits, at most 255 for each byte.
        if stored.len() > LZ4_BYTES_MAX {
            return Err(self.jar.bad_row(row, "it is too long"));
        }
        match lz4_flex::block::decompress_into(stored, &mut self.unpacked) {
            Ok(len) => Ok(&self.unpacked[..len]),
            Err(_) => Err(self.jar.bad_row(row, "an LZ4 block is damaged")),
        }
    }

    /// Returns access to single bytes of a cell, which is cheaper than all of them.
    #[inline]
    pub(crate) fn peek(&mut self, row: u64, column: u64, last_row: u64) -> Result<PeekCell<'_>> {
        let stored = self.stored(row, column, last_row)?;
        let stored = &self.bytes[stored];
        let content = if self.jar.conf.lz4 {
            Content::Lz4(lz4::Peek::new(stored, &mut self.sequences))
        } else {
            Content::Plain(stored)
        };
        Ok(PeekCell {
            jar: &self.jar,
            row,
            content,
        })
    }

    /// Returns the range of the stored cell in the window.
    #[inline]
    fn stored(&mut self, row: u64, column: u64, last_row: u64) -> Result<Range<usize>> {
        let cell = row * self.jar.conf.columns + column;
        let index = match self.in_window(cell) {
            Some(index) => index,
            None => {
                self.load(row, last_row)?;
                small(column)
            }
        };
        self.requests += u64::from(cell != self.last_cell);
        self.last_cell = cell;
        Ok(self.starts[index]..self.starts[index + 1])
    }

    #[inline]
    fn in_window(&self, cell: u64) -> Option<usize> {
        let index = cell.checked_sub(self.first_cell)?;
        // There is one start more than cells.
        (index + 1 < self.starts.len() as u64).then(|| small(index))
    }

    /// Reads a window that begins at `row`.
    #[cold]
    fn load(&mut self, row: u64, last_row: u64) -> Result<()> {
        let conf = &self.jar.conf;
        let columns = conf.columns;
        let last_row = last_row.min(conf.rows.saturating_sub(1));
        if row > last_row {
            return Err(self
                .jar
                .stale(format!("row {row} of {} was requested", conf.rows)));
        }
        let cells_before = self.starts.len().saturating_sub(1) as u64;
        let follows = cells_before > 0 && self.first_cell + cells_before == row * columns;
        self.window_bytes = if follows {
            (self.window_bytes * 2).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX)
        } else if self.is_sparse(row * columns) {
            0
        } else {
            WINDOW_BYTES_MIN
        };
        self.starts.clear();
        self.requests = 0;
        self.first_cell = row * columns;
        let rows = last_row - row + 1;
        let known = match self.known_offset(self.first_cell, columns) {
            Some(known) => known,
            None => {
                let rows_max = (WINDOW_CELLS_MAX / columns).max(1);
                self.load_offsets(row, rows.min(rows_max) * columns)?;
                0
            }
        };
        let offsets = &self.offsets[known..];
        let cells_max = small(rows.saturating_mul(columns).min(offsets.len() as u64 - 1));
        let offsets = &offsets[..=cells_max];

        // At least the first row, then as many whole rows as fit.
        let base = offsets[0];
        let columns = small(columns);
        if offsets[columns] - base > ROW_BYTES_MAX {
            return Err(self.jar.bad_row(row, "it is too long"));
        }
        let limit = base.saturating_add(self.window_bytes);
        let fitting = offsets
            .partition_point(|offset| *offset <= limit)
            .saturating_sub(1);
        let cells = match self.window_bytes {
            // Not those from `fitting`: rows without bytes would be included.
            0 => columns,
            _ => (fitting / columns * columns).max(columns),
        };
        let len = small(offsets[cells] - base);
        if self.bytes.len() < len {
            self.bytes.resize(len, 0);
        }
        read_at(&self.data, &self.jar.path, &mut self.bytes[..len], base)?;
        // Set last: after an error the window must be empty.
        self.starts
            .extend(offsets[..=cells].iter().map(|offset| small(offset - base)));
        Ok(())
    }

    /// Returns whether requested cells are so far apart that the bytes between them should
    /// not be read. Called at a jump to `cell`.
    fn is_sparse(&self, cell: u64) -> bool {
        if self.window_bytes > 0 {
            let window = self.starts.last().map_or(0, |end| *end as u64);
            return window / self.requests.max(1) > SPARSE_BYTES;
        }
        let offset = |cell| self.known_offset(cell, 1).map(|at| self.offsets[at]);
        let gap = offset(cell).zip(offset(self.last_cell));
        gap.is_none_or(|(to, from)| to.abs_diff(from) > SPARSE_BYTES)
    }

    /// Returns the index of the offset of a cell, if the offsets of `count` cells are known.
    fn known_offset(&self, cell: u64, count: u64) -> Option<usize> {
        let at = cell.checked_sub(self.first_offset)?;
        (at.saturating_add(count) < self.offsets.len() as u64).then(|| small(at))
    }

    /// Reads the offsets of `cells` cells and their end. They must ascend.
    fn load_offsets(&mut self, row: u64, cells: u64) -> Result<()> {
        let width = self.offset_width;
        self.raw_offsets.resize(small(cells + 1) * width, 0);
        let position = 1 + self.first_cell * width as u64;
        let path = satellite(&self.jar.path, "off");
        read_at(&self.offsets_file, &path, &mut self.raw_offsets, position)?;
        self.offsets.clear();
        self.first_offset = self.first_cell;
        match width {
            4 => widen::<4>(&self.raw_offsets, &mut self.offsets),
            5 => widen::<5>(&self.raw_offsets, &mut self.offsets),
            6 => widen::<6>(&self.raw_offsets, &mut self.offsets),
            8 => widen::<8>(&self.raw_offsets, &mut self.offsets),
            _ => {
                let offsets = self.raw_offsets.chunks_exact(width);
                self.offsets.extend(offsets.map(widened));
            }
        }
        let last = *self.offsets.last().expect("at least one cell and its end");
        if !self.offsets.is_sorted() || last > i64::MAX.unsigned_abs() {
            self.offsets.clear();
            return Err(self.jar.bad_row(row, "offsets do not ascend from here"));
        }
        Ok(())
    }
}

/// A cell whose bytes are read one at a time.
pub(crate) struct PeekCell<'a> {
    jar: &'a Jar,
    row: u64,
    content: Content<'a>,
}

enum Content<'a> {
    Plain(&'a [u8]),
    Lz4(lz4::Peek<'a>),
}

impl PeekCell<'_> {
    /// Returns a byte. Cheapest at low positions and in ascending order.
    #[inline]
    pub(crate) fn byte(&mut self, at: usize) -> Result<u8> {
        let byte = match &mut self.content {
            Content::Plain(bytes) => bytes.get(at).copied().ok_or("the value is too short"),
            Content::Lz4(peek) => peek.byte(at),
        };
        byte.map_err(|what| self.jar.bad_row(self.row, what))
    }
}

/// Decodes little-endian numbers of `WIDTH` bytes. A constant width takes one load each.
fn widen<const WIDTH: usize>(raw: &[u8], numbers: &mut Vec<u64>) {
    let (raw, _) = raw.as_chunks::<WIDTH>();
    numbers.extend(raw.iter().map(|bytes| widened(bytes)));
}

#[inline]
fn widened(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}

/// Converts a number of cells or bytes of one window.
#[expect(clippy::cast_possible_truncation, reason = "at most the limits above")]
#[inline]
const fn small(number: u64) -> usize {
    number as usize
}

/// Opens a file that existed when the directory was listed.
pub(crate) fn open_part(path: &Path) -> Result<(File, Metadata)> {
    match open_regular(path) {
        Ok(opened) => Ok(opened),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::stale(path, "it was deleted"))
        }
        Err(error) => Err(Error::io("open", path, error)),
    }
}

/// Reads bytes of a file. A file that ends early was truncated by the node, or is damaged.
pub(crate) fn read_at(file: &File, path: &Path, into: &mut [u8], offset: u64) -> Result<()> {
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

/// The jar of one segment that a worker has open, kept between calls.
#[derive(Debug, Default)]
pub(crate) struct OpenJar {
    reader: Option<JarReader>,
}

impl OpenJar {
    /// Returns the reader of a jar. Opens it if another jar was open.
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
