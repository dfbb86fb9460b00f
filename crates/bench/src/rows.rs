//! Receipt rows of the static files, with as little code as possible between disk and caller:
//! the methods that txgraph is compared with must not pay for our checks. Files are mapped,
//! as reth does.

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;
use std::{
    collections::BTreeMap,
    fs,
    fs::File,
    path::Path,
    sync::{Arc, RwLock},
};

/// A mapped `receipts` file.
#[derive(Debug)]
pub(crate) struct Jar {
    data: Mmap,
    offsets: Mmap,
    /// Number of the first row.
    first: u64,
    rows: u64,
    /// Length of the longest row, uncompressed.
    row_bytes_max: usize,
}

/// The `receipts` files of a directory that `chaingen` wrote. It is not pruned, so rows are
/// numbered from 0 over all files.
#[derive(Debug)]
pub(crate) struct Receipts {
    /// Files by the number of their last row. Behind a lock as in reth, where the node may add
    /// files during reads.
    jars: RwLock<BTreeMap<u64, Arc<Jar>>>,
}

impl Receipts {
    /// Maps all receipts files in `datadir/static_files`.
    pub(crate) fn open(datadir: &Path) -> Result<Self> {
        let folder = datadir.join("static_files");
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let first_block = name
                .strip_prefix("static_file_receipts_")
                .and_then(|range| range.split_once('_'))
                .filter(|(_, last)| last.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|(first, _)| first.parse::<u64>().ok());
            found.extend(first_block.map(|block| (block, path)));
        }
        ensure!(!found.is_empty(), "{}: no receipts", folder.display());
        let mut jars = BTreeMap::new();
        let mut first = 0;
        for path in found.values() {
            let jar = Jar::open(path, first)?;
            first += jar.rows;
            if jar.rows > 0 {
                jars.insert(first - 1, Arc::new(jar));
            }
        }
        Ok(Self {
            jars: RwLock::new(jars),
        })
    }

    /// Returns the file of a row, with one look-up under the lock.
    pub(crate) fn jar_of(&self, number: u64) -> Result<Arc<Jar>> {
        let jars = self
            .jars
            .read()
            .map_err(|_| anyhow::anyhow!("a worker panicked"))?;
        let (_, jar) = jars
            .range(number..)
            .next()
            .with_context(|| format!("no row {number}"))?;
        Ok(Arc::clone(jar))
    }
}

impl Jar {
    fn open(path: &Path, first: u64) -> Result<Self> {
        let satellite = |extension: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(extension);
            name
        };
        let offsets = map(Path::new(&satellite(".off")))?;
        ensure!(
            offsets.first() == Some(&8),
            "{}: offsets are not 8 bytes",
            path.display()
        );
        let conf = fs::read(satellite(".conf"))?;
        let row_bytes_max = conf.last_chunk().context("an empty .conf")?;
        Ok(Self {
            data: map(path)?,
            rows: (offsets.len() as u64 - 1) / 8 - 1,
            offsets,
            first,
            row_bytes_max: usize::try_from(u64::from_le_bytes(*row_bytes_max))?,
        })
    }

    /// The length of the longest row in bytes, uncompressed.
    pub(crate) fn row_bytes_max(&self) -> usize {
        self.row_bytes_max
    }

    /// The number after the last row.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.rows
    }

    /// Returns a row by its number over all files.
    #[inline]
    pub(crate) fn row(&self, number: u64) -> Result<&[u8]> {
        let at = usize::try_from(number - self.first)? * 8 + 1;
        let offset = |at: usize| -> Option<usize> {
            let bytes = self.offsets.get(at..)?.first_chunk()?;
            usize::try_from(u64::from_le_bytes(*bytes)).ok()
        };
        let range = offset(at).zip(offset(at + 8));
        range
            .and_then(|(from, to)| self.data.get(from..to))
            .with_context(|| format!("row {number} is not in its file"))
    }
}

#[expect(unsafe_code, reason = "mapping a file")]
fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    // SAFETY: sample chains are not written to while they are measured.
    unsafe { Mmap::map(&file) }.with_context(|| path.display().to_string())
}
