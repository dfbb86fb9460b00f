//! Entry points to the decoders for property tests and fuzzers. Not a stable interface.

use crate::{
    batch,
    block::{Block, BlockCursor, Format},
    cache::Blocks,
    edit::{Edit, FileMeta},
    error::Result,
    footer::Footer,
    manifest::Manifest,
    record::Records,
    table::{Table, TableCursor},
};
use std::{path::Path, sync::Arc};

/// Reads a manifest, and returns how many tables it lists.
pub fn manifest(bytes: &[u8]) -> Result<usize> {
    let mut manifest = Manifest::new();
    manifest.read(&bytes.to_vec(), Path::new("manifest"))?;
    let mut tables = 0;
    for family in manifest.families.values_mut() {
        let levels = family.levels();
        let levels = levels.map_err(|fault| fault.at(Path::new("manifest")))?;
        tables += levels.iter().map(Vec::len).sum::<usize>();
    }
    Ok(tables)
}

/// Reads a log, and returns how many changes it has.
pub fn log(bytes: &[u8]) -> Result<usize> {
    let mut changes = 0;
    Records::default().read(&bytes.to_vec(), Path::new("log"), |batch| {
        batch::decode(batch, |_, _, _| {
            changes += 1;
            Ok(())
        })
    })?;
    Ok(changes)
}

/// Reads a table by two ways, and returns its rows: all in order, and each by its key.
pub fn table(bytes: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let meta = FileMeta {
        number: 1,
        size: bytes.len() as u64,
        smallest: Vec::new(),
        largest: Vec::new(),
    };
    let source = Box::new(bytes.to_vec());
    let table = Arc::new(Table::open(source, Path::new("table"), &meta)?);
    let blocks = Blocks::default();
    let mut cursor = TableCursor::seek(Arc::clone(&table), &[], &blocks)?;
    let mut rows = Vec::new();
    while let Some((key, value, _)) = cursor.row() {
        rows.push((key.to_vec(), value.to_vec()));
        let found = TableCursor::seek(Arc::clone(&table), key, &blocks)?;
        std::hint::black_box(found.row());
        cursor.next(&blocks)?;
    }
    Ok(rows)
}

/// Decodes what checksums protect, as if they were right: a record of a manifest, a batch of
/// changes, a block in every format, and a footer. Returns whether any of them is valid.
pub fn unchecked(bytes: &[u8]) -> bool {
    let mut valid = Edit::decode(bytes).is_ok();
    valid |= batch::decode(bytes, |_, _, _| Ok(())).is_ok();
    valid |= Footer::decode(bytes, bytes.len() as u64).is_ok();
    let Ok(block) = Block::new(bytes.into()) else {
        return valid;
    };
    let block = Arc::new(block);
    for index in [false, true] {
        for internal in [false, true] {
            let format = Format { internal, index };
            let mut cursor = BlockCursor::new(Arc::clone(&block), format);
            for from in [&[][..], &[0x40], bytes] {
                if cursor.seek(from).is_err() {
                    break;
                }
                while cursor.is_valid() && cursor.next().is_ok() {
                    valid = true;
                    std::hint::black_box((cursor.key(), cursor.value(), cursor.handle()));
                }
            }
        }
    }
    valid
}
