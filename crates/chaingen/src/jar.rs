//! Writes static files like a node (reth `crates/storage/nippy-jar/src/writer.rs` and
//! `crates/storage/provider/src/providers/static_file/writer.rs`). Data and offsets are
//! appended first. The `.conf` file, which makes them visible, is replaced last.

use super::{Error, error::Io};
use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// The contents of a static file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Headers,
    Transactions,
    Receipts,
    Senders,
    AccountChanges,
    StorageChanges,
}

impl Kind {
    /// The name in file names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Transactions => "transactions",
            Self::Receipts => "receipts",
            Self::Senders => "transaction-senders",
            Self::AccountChanges => "account-change-sets",
            Self::StorageChanges => "storage-change-sets",
        }
    }

    fn columns(self) -> u64 {
        if self == Self::Headers { 3 } else { 1 }
    }

    fn has_transactions(self) -> bool {
        matches!(self, Self::Transactions | Self::Receipts | Self::Senders)
    }

    fn has_changes(self) -> bool {
        matches!(self, Self::AccountChanges | Self::StorageChanges)
    }
}

/// One jar: a data file with its satellites.
#[derive(Clone, Debug)]
struct Jar {
    path: PathBuf,
    /// The block range of the file.
    reserved: (u64, u64),
    blocks: Option<(u64, u64)>,
    txs: Option<(u64, u64)>,
    rows: u64,
    max_row: u64,
}

impl Jar {
    fn satellite(&self, extension: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(extension);
        name.into()
    }

    /// Returns the `.conf`, in the bincode 1 format of reth's `NippyJar<SegmentHeader>`.
    fn conf(&self, kind: Kind) -> Vec<u8> {
        let mut bytes = Vec::new();
        let long = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
        long(&mut bytes, 1);
        long(&mut bytes, self.reserved.0);
        long(&mut bytes, self.reserved.1);
        for range in [self.blocks, self.txs] {
            bytes.push(u8::from(range.is_some()));
            if let Some((first, last)) = range {
                long(&mut bytes, first);
                long(&mut bytes, last);
            }
        }
        bytes.extend((kind as u32).to_le_bytes());
        if kind.has_changes() {
            long(&mut bytes, self.change_records());
        }
        long(&mut bytes, kind.columns());
        long(&mut bytes, self.rows);
        if kind == Kind::Headers {
            bytes.extend([1, 1, 0, 0, 0]);
        } else {
            bytes.push(0);
        }
        long(&mut bytes, self.max_row);
        bytes
    }

    /// One `.csoff` record per block.
    fn change_records(&self) -> u64 {
        self.blocks.map_or(0, |(first, last)| last - first + 1)
    }
}

/// The open files of the jar that is being written, with uncommitted data.
#[derive(Debug)]
struct Open {
    data: BufWriter<File>,
    offsets: BufWriter<File>,
    changes: Option<BufWriter<File>>,
    /// End of the data.
    end: u64,
}

impl Open {
    fn create(jar: &Jar, kind: Kind) -> Result<Self, Error> {
        let mut open = Self::with(
            jar,
            kind,
            OpenOptions::new().write(true).create_new(true),
            0,
        )?;
        open.offsets
            .write_all(&[8, 0, 0, 0, 0, 0, 0, 0, 0])
            .io(&jar.path, "write offsets of")?;
        open.flush(jar, false)?;
        Ok(open)
    }

    /// Opens committed files for appending.
    fn append(jar: &Jar, kind: Kind) -> Result<Self, Error> {
        let end = offset_at(jar, jar.rows * kind.columns())?;
        Self::with(jar, kind, OpenOptions::new().append(true), end)
    }

    fn with(jar: &Jar, kind: Kind, options: &OpenOptions, end: u64) -> Result<Self, Error> {
        let open = |extension: &str| {
            let path = jar.satellite(extension);
            let file = options.open(&path).io(&path, "open")?;
            Ok::<_, Error>(BufWriter::new(file))
        };
        Ok(Self {
            data: open("")?,
            offsets: open(".off")?,
            changes: kind.has_changes().then(|| open(".csoff")).transpose()?,
            end,
        })
    }

    fn flush(&mut self, jar: &Jar, durable: bool) -> Result<(), Error> {
        let changes = self.changes.iter_mut().map(|file| (file, ".csoff"));
        // The order of a node: offsets of changes, data, offsets.
        for (file, extension) in changes.chain([(&mut self.data, ""), (&mut self.offsets, ".off")])
        {
            let path = jar.satellite(extension);
            file.flush().io(&path, "write")?;
            if durable {
                file.get_ref().sync_all().io(&path, "sync")?;
            }
        }
        Ok(())
    }
}

/// Reads offset number `at` of a committed jar.
fn offset_at(jar: &Jar, at: u64) -> Result<u64, Error> {
    let path = jar.satellite(".off");
    read_longs::<1>(&path, 1 + 8 * at).map(|[offset]| offset)
}

/// Reads `N` numbers of a file from `position`.
fn read_longs<const N: usize>(path: &Path, position: u64) -> Result<[u64; N], Error> {
    let mut file = File::open(path).io(path, "open")?;
    file.seek(SeekFrom::Start(position)).io(path, "seek in")?;
    let mut longs = [0; N];
    for long in &mut longs {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).io(path, "read")?;
        *long = u64::from_le_bytes(bytes);
    }
    Ok(longs)
}

/// All jars of one segment.
#[derive(Debug)]
pub(super) struct Segment {
    folder: PathBuf,
    kind: Kind,
    blocks_per_file: u64,
    durable: bool,
    /// Jars in ascending order. The last one is written.
    jars: Vec<Jar>,
    open: Option<Open>,
    scratch: Vec<u8>,
}

impl Segment {
    /// Creates a segment without files.
    pub(super) fn new(folder: &Path, kind: Kind, blocks_per_file: u64, durable: bool) -> Self {
        Self {
            folder: folder.to_path_buf(),
            kind,
            blocks_per_file,
            durable,
            jars: Vec::new(),
            open: None,
            scratch: Vec::new(),
        }
    }

    /// Starts the next block. Commits a file that is full, and begins a new one.
    pub(super) fn begin_block(&mut self, block: u64) -> Result<(), Error> {
        let start = block / self.blocks_per_file * self.blocks_per_file;
        if self.jars.last().is_none_or(|jar| jar.reserved.0 != start) {
            self.commit()?;
            self.open = None;
            let reserved = (start, start.saturating_add(self.blocks_per_file - 1));
            let name = format!(
                "static_file_{}_{}_{}",
                self.kind.name(),
                reserved.0,
                reserved.1
            );
            let path = self.folder.join(name);
            let jar = Jar {
                path,
                reserved,
                blocks: None,
                txs: None,
                rows: 0,
                max_row: 0,
            };
            self.open = Some(Open::create(&jar, self.kind)?);
            self.jars.push(jar);
        }
        let jar = self.jars.last_mut().expect("created above");
        let first = jar.blocks.map_or(block, |blocks| blocks.0);
        jar.blocks = Some((first, block));
        Ok(())
    }

    /// Appends one row of cells to the current block.
    pub(super) fn row(&mut self, cells: &[&[u8]]) -> Result<(), Error> {
        debug_assert_eq!(cells.len() as u64, self.kind.columns());
        let jar = self.jars.last_mut().expect("a block was started");
        if self.open.is_none() {
            self.open = Some(Open::append(jar, self.kind)?);
        }
        let open = self.open.as_mut().expect("opened above");
        for cell in cells {
            let cell = if self.kind == Kind::Headers {
                self.scratch
                    .resize(lz4_flex::block::get_maximum_output_size(cell.len()), 0);
                let size = lz4_flex::block::compress_into(cell, &mut self.scratch)
                    .expect("the buffer has the maximum size");
                &self.scratch[..size]
            } else {
                cell
            };
            open.data.write_all(cell).io(&jar.path, "write")?;
            open.end += cell.len() as u64;
            open.offsets
                .write_all(&open.end.to_le_bytes())
                .io(&jar.path, "write offsets of")?;
        }
        jar.rows += 1;
        jar.max_row = jar
            .max_row
            .max(cells.iter().map(|cell| cell.len() as u64).sum());
        Ok(())
    }

    /// Appends the row of a transaction number.
    pub(super) fn transaction(&mut self, number: u64, cell: &[u8]) -> Result<(), Error> {
        self.row(&[cell])?;
        let jar = self.jars.last_mut().expect("a row was written");
        let first = jar.txs.map_or(number, |txs| txs.0);
        jar.txs = Some((first, number));
        Ok(())
    }

    /// Appends all changes of the current block, sorted. An empty list is recorded too.
    pub(super) fn changes(&mut self, rows: &[Vec<u8>]) -> Result<(), Error> {
        let first = self.jars.last().map_or(0, |jar| jar.rows);
        for row in rows {
            self.row(&[row])?;
        }
        let jar = self.jars.last_mut().expect("a block was started");
        if self.open.is_none() {
            self.open = Some(Open::append(jar, self.kind)?);
        }
        let changes = self.open.as_mut().and_then(|open| open.changes.as_mut());
        let record = [first.to_le_bytes(), (rows.len() as u64).to_le_bytes()].concat();
        changes
            .expect("a segment of changes")
            .write_all(&record)
            .io(&jar.path, "write changes of")
    }

    /// Commits everything that was appended.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let (Some(jar), Some(open)) = (self.jars.last(), self.open.as_mut()) else {
            return Ok(());
        };
        open.flush(jar, self.durable)?;
        write_conf(jar, self.kind, self.durable)
    }

    /// Removes all blocks above `block`. `last_tx` is the last transaction up to and
    /// including it. Deletes files that begin above it.
    pub(super) fn truncate(&mut self, block: u64, last_tx: Option<u64>) -> Result<(), Error> {
        self.commit()?;
        self.open = None;
        while self.jars.len() > 1 && self.jars.last().is_some_and(|jar| jar.reserved.0 > block) {
            delete(&self.jars.pop().expect("there are at least two"), self.kind)?;
        }
        let Some(jar) = self.jars.last_mut() else {
            return Ok(());
        };
        let Some((first, last)) = jar.blocks.filter(|blocks| blocks.1 > block) else {
            return Ok(());
        };
        debug_assert!(
            first <= block && block < last,
            "block {block} of {first} to {last}"
        );
        if self.kind.has_transactions() {
            jar.txs = match (jar.txs, last_tx) {
                (Some((first, _)), Some(last)) if first <= last => Some((first, last)),
                _ => None,
            };
            jar.rows = jar.txs.map_or(0, |(first, last)| last - first + 1);
        } else if self.kind == Kind::Headers {
            jar.rows = block - first + 1;
        } else {
            let record = 16 * (block - first);
            let [rows, more] = read_longs(&jar.satellite(".csoff"), record)?;
            jar.rows = rows + more;
        }
        jar.blocks = Some((first, block));
        let cells = jar.rows * self.kind.columns();
        let end = offset_at(jar, cells)?;
        shorten(&jar.satellite(".off"), 1 + 8 * (cells + 1), self.durable)?;
        shorten(&jar.path, end, self.durable)?;
        if self.kind.has_changes() {
            shorten(
                &jar.satellite(".csoff"),
                16 * jar.change_records(),
                self.durable,
            )?;
        }
        write_conf(jar, self.kind, self.durable)
    }

    /// Deletes the files that end below `block`, but never the newest. Returns the last
    /// deleted block and transaction.
    pub(super) fn prune(&mut self, block: u64) -> Result<Option<(u64, Option<u64>)>, Error> {
        let mut pruned = None;
        while self.jars.len() > 1 {
            let Some((_, last)) = self.jars[0].blocks.filter(|blocks| blocks.1 < block) else {
                break;
            };
            let jar = self.jars.remove(0);
            delete(&jar, self.kind)?;
            pruned = Some((
                last,
                jar.txs.map(|txs| txs.1).or(pruned.and_then(|(_, tx)| tx)),
            ));
        }
        Ok(pruned)
    }

    /// Flushes everything to the disk.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        for jar in &self.jars {
            for extension in [".off", ".conf", ""] {
                let path = jar.satellite(extension);
                let file = File::open(&path).io(&path, "open")?;
                file.sync_all().io(&path, "sync")?;
            }
        }
        Ok(())
    }
}

/// Replaces the `.conf` atomically: readers see the old or the new one.
fn write_conf(jar: &Jar, kind: Kind, durable: bool) -> Result<(), Error> {
    let (conf, temporary) = (jar.satellite(".conf"), jar.satellite(".tmp"));
    let mut file = File::create(&temporary).io(&temporary, "create")?;
    file.write_all(&jar.conf(kind)).io(&temporary, "write")?;
    if durable {
        file.sync_all().io(&temporary, "sync")?;
    }
    std::fs::rename(&temporary, &conf).io(&conf, "replace")
}

/// Deletes a jar, the data file first.
fn delete(jar: &Jar, kind: Kind) -> Result<(), Error> {
    let changes = kind.has_changes().then_some(".csoff");
    for extension in ["", ".off", ".conf"].into_iter().chain(changes) {
        let path = jar.satellite(extension);
        std::fs::remove_file(&path).io(&path, "delete")?;
    }
    Ok(())
}

fn shorten(path: &Path, length: u64, durable: bool) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).open(path).io(path, "open")?;
    file.set_len(length).io(path, "shorten")?;
    if durable {
        file.sync_all().io(path, "sync")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_testkit::fixtures;

    const KINDS: [Kind; 6] = [
        Kind::Headers,
        Kind::Transactions,
        Kind::Receipts,
        Kind::Senders,
        Kind::AccountChanges,
        Kind::StorageChanges,
    ];

    fn long(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    /// Rewriting the `.conf` of a real node gives the same bytes.
    #[test]
    fn confs_of_a_real_node_round_trip() {
        let mut seen = 0;
        for fixture in fixtures::committed() {
            for kind in KINDS {
                let folder = fixture.path().join("static_files");
                let path = folder.join(format!("static_file_{}_0_499999", kind.name()));
                if !path.exists() {
                    continue;
                }
                let mut jar = Jar {
                    path,
                    reserved: (0, 499_999),
                    blocks: Some((0, fixture.tip().unwrap())),
                    txs: None,
                    rows: 0,
                    max_row: 0,
                };
                let real = std::fs::read(jar.satellite(".conf")).unwrap();
                if kind.has_transactions() {
                    jar.txs = Some((0, fixture.chain_info["counts"]["txs"].as_u64().unwrap() - 1));
                }
                let compressor = if kind == Kind::Headers { 5 } else { 1 };
                jar.max_row = long(&real, real.len() - 8);
                jar.rows = long(&real, real.len() - 16 - compressor);
                assert_eq!(jar.conf(kind), real, "{} of {}", kind.name(), fixture.name);
                seen += 1;
            }
        }
        assert_eq!(seen, 9);
    }
}
