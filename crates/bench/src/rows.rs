//! Receipt rows as they lie in the static files, with the least possible code
//! between disk and caller: the peers must not pay for our checks.

use anyhow::{Context, Result, ensure};
use std::{fs, fs::File, os::unix::fs::FileExt, path::Path};

/// Bytes asked from the kernel at a time.
const WINDOW_BYTES: u64 = 1 << 20;

/// The `receipts` files of a directory written by `chaingen`, in order.
#[derive(Debug)]
pub struct ReceiptRows {
    jars: Vec<Jar>,
}

#[derive(Debug)]
struct Jar {
    data: File,
    /// Offsets of all rows, one more than rows.
    offsets: Vec<u64>,
}

impl ReceiptRows {
    /// Opens every receipts file below `datadir/static_files`.
    pub fn open(datadir: &Path) -> Result<Self> {
        let folder = datadir.join("static_files");
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let first = name
                .strip_prefix("static_file_receipts_")
                .and_then(|range| range.split_once('_'))
                .filter(|(_, last)| last.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|(first, _)| first.parse::<u64>().ok());
            found.extend(first.map(|first| (first, path)));
        }
        found.sort_unstable();
        ensure!(!found.is_empty(), "{}: no receipts", folder.display());
        let jars = found
            .into_iter()
            .map(|(_, path)| Jar::open(&path))
            .collect::<Result<_>>()?;
        Ok(Self { jars })
    }

    /// Hands the rows `first..=last` (numbered from 0 over all files: a chain
    /// that is not pruned) to `visit`, in order.
    pub fn for_each(
        &self,
        first: u64,
        last: u64,
        visit: &mut impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        let mut window = Vec::new();
        for jar in &self.jars {
            let rows = jar.offsets.len() as u64 - 1;
            let (from, to) = (first.max(start), last.min((start + rows).saturating_sub(1)));
            if rows > 0 && from <= to {
                jar.for_each(from - start, to - start, &mut window, &mut |row, bytes| {
                    visit(start + row, bytes)
                })?;
            }
            start += rows;
        }
        ensure!(last < start, "row {last} was asked for, there are {start}");
        Ok(())
    }
}

impl Jar {
    fn open(path: &Path) -> Result<Self> {
        let raw = fs::read(path.with_file_name(format!(
            "{}.off",
            path.file_name().unwrap_or_default().to_string_lossy()
        )))?;
        ensure!(
            raw.first() == Some(&8),
            "{}: offsets are not 8 bytes",
            path.display()
        );
        let (offsets, _) = raw[1..].as_chunks::<8>();
        Ok(Self {
            data: File::open(path)?,
            offsets: offsets
                .iter()
                .map(|bytes| u64::from_le_bytes(*bytes))
                .collect(),
        })
    }

    fn for_each(
        &self,
        first: u64,
        last: u64,
        window: &mut Vec<u8>,
        visit: &mut impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut row = usize::try_from(first)?;
        let end = usize::try_from(last)? + 1;
        while row < end {
            let base = self.offsets[row];
            let fitting = self.offsets[row..=end].partition_point(|at| *at <= base + WINDOW_BYTES);
            let stop = row + (fitting - 1).max(1);
            let len = usize::try_from(self.offsets[stop] - base)?;
            if window.len() < len {
                window.resize(len, 0);
            }
            self.data.read_exact_at(&mut window[..len], base)?;
            for row in row..stop {
                let from = usize::try_from(self.offsets[row] - base)?;
                let to = usize::try_from(self.offsets[row + 1] - base)?;
                visit(row as u64, &window[from..to])?;
            }
            row = stop;
        }
        Ok(())
    }
}
