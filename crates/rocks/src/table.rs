//! A table: sorted rows in blocks, and an index of them (`table/block_based`).

use crate::{
    block::{Block, BlockCursor, Format, Handle, TRAILER_BYTES},
    bytes::{Input, split_internal},
    cache::Blocks,
    checksum,
    compression::decompress,
    edit::FileMeta,
    error::{Decoded, Error, Fault, Result},
    footer::{FOOTER_BYTES, Footer},
    memory::RANGE_DELETION,
    source::Source,
    tombstones::Tombstones,
};
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) struct Table {
    source: Box<dyn Source>,
    path: PathBuf,
    number: u64,
    len: u64,
    footer: Footer,
    index: Handle,
    index_format: Format,
    pub(crate) tombstones: Tombstones,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Table {
    pub(crate) fn open(source: Box<dyn Source>, path: &Path, meta: &FileMeta) -> Result<Self> {
        let len = source
            .length()
            .map_err(|error| Error::io("read", path, error))?;
        if len != meta.size {
            let what = format!("it has {len} bytes, the manifest says {}", meta.size);
            return Err(Fault::Damaged(what).at(path));
        }
        let mut end = vec![0; FOOTER_BYTES.min(usize::try_from(len).unwrap_or(FOOTER_BYTES))];
        let at = len - end.len() as u64;
        source
            .read_up_to(&mut end, at)
            .map_err(|error| Error::io("read", path, error))?;
        let footer = Footer::decode(&end, len).map_err(|fault| fault.at(path))?;
        let mut table = Self {
            source,
            path: path.to_path_buf(),
            number: meta.number,
            len,
            footer,
            index: Handle::default(),
            index_format: Format {
                internal: true,
                index: true,
            },
            tombstones: Tombstones::default(),
        };
        table.load()?;
        Ok(table)
    }

    /// Reads what all reading needs: the list of blocks, properties, deleted ranges.
    fn load(&mut self) -> Result<()> {
        let mut places = [None; 4];
        let names: [&[u8]; 4] = [
            b"rocksdb.index",
            b"rocksdb.properties",
            b"rocksdb.range_del",
            b"rocksdb.compression_dict",
        ];
        let mut entries = self.entries(self.footer.metaindex, Format::default())?;
        while entries.is_valid() {
            if let Some(at) = names.iter().position(|name| *name == entries.key()) {
                let place = Handle::decode(&mut Input(entries.value()));
                let bad = || self.fault(Fault::damaged("the place of a block is invalid"));
                places[at] = Some(place.ok_or_else(bad)?);
            }
            entries.next().map_err(|fault| self.fault(fault))?;
        }
        let [index, properties, deleted, dictionary] = places;
        if dictionary.is_some() {
            let what = "a compression dictionary (rocksdb.compression_dict)";
            return Err(self.fault(Fault::unsupported(what)));
        }
        let (Some(index), Some(properties)) = (index, properties) else {
            return Err(self.fault(Fault::damaged("it lists no index or no properties")));
        };
        self.index = index;
        let mut entries = self.entries(properties, Format::default())?;
        while entries.is_valid() {
            property(&mut self.index_format, entries.key(), entries.value())
                .map_err(|fault| self.fault(fault))?;
            entries.next().map_err(|fault| self.fault(fault))?;
        }
        if let Some(deleted) = deleted {
            self.tombstones = self.deleted_ranges(deleted)?;
        }
        Ok(())
    }

    fn deleted_ranges(&self, place: Handle) -> Result<Tombstones> {
        let format = Format {
            internal: true,
            index: false,
        };
        let mut entries = self.entries(place, format)?;
        let mut ranges = Vec::new();
        while entries.is_valid() {
            if let Some((begin, packed)) = split_internal(entries.key()) {
                if packed.to_le_bytes()[0] != RANGE_DELETION {
                    return Err(self.fault(Fault::damaged("a deleted range of another type")));
                }
                ranges.push((begin.to_vec(), entries.value().to_vec(), packed >> 8));
            }
            entries.next().map_err(|fault| self.fault(fault))?;
        }
        Ok(Tombstones::new(&ranges))
    }

    /// The entries of a block that is read once, from the first one on.
    fn entries(&self, place: Handle, format: Format) -> Result<BlockCursor> {
        let block = self.read_block(place)?;
        let mut entries = BlockCursor::new(block, format);
        entries.next().map_err(|fault| self.fault(fault))?;
        Ok(entries)
    }

    fn read_block(&self, place: Handle) -> Result<Arc<Block>> {
        let block = Block::new(self.read(place)?).map_err(|fault| self.fault(fault))?;
        Ok(Arc::new(block))
    }

    fn block(&self, place: Handle, blocks: &Blocks) -> Result<Arc<Block>> {
        let at = (self.number, place.offset);
        if let Some(block) = blocks.get(at) {
            return Ok(block);
        }
        let block = self.read_block(place)?;
        blocks.insert(at, &block);
        Ok(block)
    }

    /// Reads a block, checks and decompresses it.
    fn read(&self, place: Handle) -> Result<Box<[u8]>> {
        thread_local! {
            // Allocating and clearing a buffer takes as long as reading it from the page cache.
            static RAW: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        RAW.with_borrow_mut(|buffer| {
            let raw = self.raw(place, buffer)?;
            self.verify(raw, place)?;
            let end = raw.len() - TRAILER_BYTES;
            match raw[end] {
                0 => Ok(raw[..end].into()),
                kind => decompress(kind, &raw[..end]).map_err(|fault| self.fault(fault)),
            }
        })
    }

    /// Reads a block with its trailer into a buffer, which grows if it is too short.
    fn raw<'b>(&self, place: Handle, buffer: &'b mut Vec<u8>) -> Result<&'b mut [u8]> {
        let size = place.size.checked_add(TRAILER_BYTES as u64);
        let size = size.filter(|size| {
            let end = place.offset.checked_add(*size);
            end.is_some_and(|end| end <= self.len)
        });
        let size = size.and_then(|size| usize::try_from(size).ok());
        let Some(size) = size else {
            let what = format!("a block at byte {} is outside of the file", place.offset);
            return Err(self.fault(Fault::Damaged(what)));
        };
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let raw = &mut buffer[..size];
        match self.source.read_up_to(raw, place.offset) {
            Ok(read) if read == size => Ok(raw),
            Ok(_) => Err(self.fault(Fault::damaged("it became shorter"))),
            Err(error) => Err(Error::io("read", &self.path, error)),
        }
    }

    /// Checks a block with its trailer.
    fn verify(&self, raw: &[u8], place: Handle) -> Result<()> {
        let Some((checked, stored)) = raw.split_last_chunk::<4>() else {
            return Err(self.wrong_checksum(place));
        };
        let context = checksum::context(self.footer.base, place.offset);
        let expected = checksum::xxh3(checked).wrapping_add(context);
        if u32::from_le_bytes(*stored) == expected {
            Ok(())
        } else {
            Err(self.wrong_checksum(place))
        }
    }

    #[cold]
    fn wrong_checksum(&self, place: Handle) -> Error {
        let what = format!(
            "the checksum of the block at byte {} is wrong",
            place.offset
        );
        self.fault(Fault::Damaged(what))
    }

    #[cold]
    pub(crate) fn fault(&self, fault: Fault) -> Error {
        fault.at(&self.path)
    }
}

/// Sets what a property says of the keys of the index, and refuses tables that reth does not write.
fn property(index: &mut Format, key: &[u8], value: &[u8]) -> Decoded<()> {
    let bad = || Fault::damaged("a property is invalid");
    let mut input = Input(value);
    match key {
        // Not partitioned, and without hashes or first keys.
        b"rocksdb.block.based.table.index.type" => match input.fixed32().ok_or_else(bad)? {
            0 => {}
            other => return Err(Fault::unsupported(format!("an index of type {other}"))),
        },
        b"rocksdb.index.key.is.user.key" => {
            index.internal = input.varint64().ok_or_else(bad)? == 0;
        }
        b"rocksdb.index.value.is.delta.encoded" if input.varint64().ok_or_else(bad)? == 0 => {
            return Err(Fault::unsupported("an index with whole values"));
        }
        b"rocksdb.external_sst_file.version" => {
            return Err(Fault::unsupported(
                "an ingested file (rocksdb.external_sst_file)",
            ));
        }
        // Since format version 7 with the name of a family of compressions first.
        b"rocksdb.compression" => {
            if let Some(end) = value.iter().position(|byte| *byte == b';') {
                let manager = &value[..end];
                if !manager.is_empty() && manager != b"BuiltinV2" {
                    let what = format!("compression by {}", String::from_utf8_lossy(manager));
                    return Err(Fault::unsupported(what));
                }
            }
        }
        b"rocksdb.comparator" if value != b"leveldb.BytewiseComparator" => {
            let what = format!("comparator {}", String::from_utf8_lossy(value));
            return Err(Fault::unsupported(what));
        }
        _ => {}
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct TableCursor {
    table: Arc<Table>,
    index: BlockCursor,
    data: Option<BlockCursor>,
}

/// The rows of a table.
const ROWS: Format = Format {
    internal: true,
    index: false,
};

impl TableCursor {
    /// Moves to the first row with a key >= `from`.
    pub(crate) fn seek(table: Arc<Table>, from: &[u8], blocks: &Blocks) -> Result<Self> {
        let index = table.block(table.index, blocks)?;
        let mut cursor = Self {
            index: BlockCursor::new(index, table.index_format),
            data: None,
            table,
        };
        cursor.seek_index(from, blocks)?;
        Ok(cursor)
    }

    fn seek_index(&mut self, from: &[u8], blocks: &Blocks) -> Result<()> {
        let Self { table, index, data } = self;
        index.seek(from).map_err(|fault| table.fault(fault))?;
        if !index.is_valid() {
            return Ok(());
        }
        let block = table.block(index.handle(), blocks)?;
        let cursor = data.insert(BlockCursor::new(block, ROWS));
        cursor.seek(from).map_err(|fault| table.fault(fault))?;
        if cursor.is_valid() {
            return Ok(());
        }
        self.next_block(blocks)
    }

    /// The current row: key, value, and packed sequence number and type.
    #[inline]
    pub(crate) fn row(&self) -> Option<(&[u8], &[u8], u64)> {
        let data = self.data.as_ref().filter(|data| data.is_valid())?;
        let (key, packed) = split_internal(data.key())?;
        Some((key, data.value(), packed))
    }

    pub(crate) fn next(&mut self, blocks: &Blocks) -> Result<()> {
        let Some(data) = &mut self.data else {
            return Ok(());
        };
        data.next().map_err(|fault| self.table.fault(fault))?;
        if data.is_valid() {
            return Ok(());
        }
        self.next_block(blocks)
    }

    /// Moves to the first row of the next block that has any.
    fn next_block(&mut self, blocks: &Blocks) -> Result<()> {
        let Self { table, index, data } = self;
        loop {
            index.next().map_err(|fault| table.fault(fault))?;
            if !index.is_valid() {
                *data = None;
                return Ok(());
            }
            let block = table.block(index.handle(), blocks)?;
            let rows = match data {
                Some(rows) => {
                    rows.replace(block);
                    rows
                }
                None => data.insert(BlockCursor::new(block, ROWS)),
            };
            rows.next().map_err(|fault| table.fault(fault))?;
            if rows.is_valid() {
                return Ok(());
            }
        }
    }
}
