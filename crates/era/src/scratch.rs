//! Reads the blocks of a file, and proves them.

use crate::{
    body::Body,
    error::{Malformed, Result},
    file::EraFile,
    header::Header,
    index::Positions,
    proof,
    receipts::Receipts,
    record::{BODY, Format, HEADER, TOTAL_DIFFICULTY},
    records::{Fault, Records},
};
use alloy_primitives::U256;
use std::{fs::File, path::PathBuf};
use txgraph_stored::BloomHashes;
use txgraph_transfers::BlockRange;

/// Bytes that are read after the last record of a chunk, of which only the begin is known.
const LAST_RECORD: u64 = 1 << 16;

/// Buffers of a thread, and the file that it reads.
#[derive(Debug, Default)]
pub struct Scratch {
    open: Option<(PathBuf, File)>,
    /// One for each section of a file.
    headers: Records,
    bodies: Records,
    slim: Records,
    header: Vec<u8>,
    pub(crate) receipts_rlp: Vec<u8>,
    pub(crate) body_rlp: Vec<u8>,
    pub(crate) receipts: Receipts,
    pub(crate) body: Body,
    hashes: BloomHashes,
}

/// Reads blocks of one file, in any order.
#[derive(Debug)]
pub(crate) struct BlockReader<'a> {
    pub(crate) file: &'a EraFile,
    pub(crate) scratch: &'a mut Scratch,
    first: u64,
    positions: Vec<Positions>,
}

impl<'a> BlockReader<'a> {
    /// Prepares to read `blocks`, all of which are in the file.
    pub(crate) fn new(
        file: &'a EraFile,
        blocks: BlockRange,
        scratch: &'a mut Scratch,
    ) -> Result<Self> {
        let is_open = (scratch.open.as_ref()).is_some_and(|(path, _)| *path == file.path);
        if !is_open {
            scratch.open = Some((file.path.clone(), file.reopen()?));
            scratch.headers.forget();
            scratch.bodies.forget();
            scratch.slim.forget();
        }
        let mut reader = Self {
            file,
            scratch,
            first: blocks.first,
            positions: Vec::new(),
        };
        let positions = match &reader.scratch.open {
            Some((_, handle)) => file.index.positions(handle, blocks),
            None => Ok(Vec::new()),
        };
        reader.positions = positions.map_err(|fault| file.fault(blocks.first, fault))?;
        reader.read_ahead();
        Ok(reader)
    }

    fn read_ahead(&mut self) {
        let (Some(first), Some(last)) = (self.positions.first(), self.positions.last()) else {
            return;
        };
        let span = |of: fn(&Positions) -> Option<u64>| match (of(first), of(last)) {
            (Some(first), Some(last)) if last > first => (last - first).saturating_add(LAST_RECORD),
            _ => 0,
        };
        let Scratch {
            headers,
            bodies,
            slim,
            ..
        } = &mut *self.scratch;
        headers.read_ahead(span(|row| Some(row.header)));
        bodies.read_ahead(span(|row| row.body));
        slim.read_ahead(span(|row| row.receipts));
    }

    fn positions(&self, block: u64) -> Result<Positions, Fault> {
        let index = block.checked_sub(self.first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let row = index.and_then(|index| self.positions.get(index).copied());
        row.ok_or_else(|| "it is not in the block index".into())
    }

    /// Reads the header of a block, which must have its number.
    pub(crate) fn header(&mut self, block: u64) -> Result<Header> {
        let header = self.try_header(block);
        let header = header.map_err(|fault| self.file.fault(block, fault))?;
        match header.number == block {
            true => Ok(header),
            false => Err(self.file.block_error(
                block,
                format!("its header belongs to block {}", header.number),
            )),
        }
    }

    fn try_header(&mut self, block: u64) -> Result<Header, Fault> {
        let position = self.positions(block)?.header;
        let Scratch {
            open,
            headers,
            header,
            ..
        } = &mut *self.scratch;
        let file = opened(open.as_ref(), self.file)?;
        headers.inflate(file, position, HEADER, header)?;
        Ok(Header::decode(header)?)
    }

    /// Reads the receipts of a block into the scratch, and proves them.
    pub(crate) fn receipts(&mut self, header: &Header) -> Result<()> {
        let read = self.try_receipts(header);
        read.map_err(|fault| self.file.fault(header.number, fault))
    }

    fn try_receipts(&mut self, header: &Header) -> Result<(), Fault> {
        let format = self.file.index.format;
        let position = match self.positions(header.number)?.receipts {
            Some(position) => position,
            None => self.after(header.number, &[HEADER, BODY])?,
        };
        let Scratch {
            open,
            headers,
            slim,
            receipts_rlp,
            receipts,
            hashes,
            ..
        } = &mut *self.scratch;
        // In `.era1`, the records of a block follow each other.
        let records = match format {
            Format::Ere => slim,
            Format::Era1 => headers,
        };
        let file = opened(open.as_ref(), self.file)?;
        records.inflate(file, position, format.receipts(), receipts_rlp)?;
        receipts.decode(format, receipts_rlp)?;
        Ok(proof::receipts(header, receipts, receipts_rlp, hashes)?)
    }

    /// Reads the body of a block into the scratch, and proves it.
    pub(crate) fn body(&mut self, header: &Header) -> Result<()> {
        let read = self.try_body(header);
        read.map_err(|fault| self.file.fault(header.number, fault))
    }

    fn try_body(&mut self, header: &Header) -> Result<(), Fault> {
        let position = match self.positions(header.number)?.body {
            Some(position) => position,
            None => self.after(header.number, &[HEADER])?,
        };
        let Scratch {
            open,
            headers,
            bodies,
            body_rlp,
            body,
            ..
        } = &mut *self.scratch;
        let records = match self.file.index.format {
            Format::Ere => bodies,
            Format::Era1 => headers,
        };
        let file = opened(open.as_ref(), self.file)?;
        records.inflate(file, position, BODY, body_rlp)?;
        body.decode(body_rlp)?;
        Ok(proof::body(header, body, body_rlp)?)
    }

    /// Reads the total difficulty of a block, if the file has it.
    pub(crate) fn total_difficulty(&mut self, block: u64) -> Result<Option<U256>> {
        let read = self.try_total_difficulty(block);
        read.map_err(|fault| self.file.fault(block, fault))
    }

    fn try_total_difficulty(&mut self, block: u64) -> Result<Option<U256>, Fault> {
        let format = self.file.index.format;
        let position = match (self.positions(block)?.difficulty, format) {
            (Some(position), _) => position,
            (None, Format::Ere) => return Ok(None),
            (None, Format::Era1) => self.after(block, &[HEADER, BODY, format.receipts()])?,
        };
        let file = opened(self.scratch.open.as_ref(), self.file)?;
        let (data, _) = self.scratch.headers.raw(file, position, TOTAL_DIFFICULTY)?;
        let bytes: [u8; 32] = data
            .try_into()
            .map_err(|_| Malformed::from("its total difficulty is not 32 bytes long"))?;
        Ok(Some(U256::from_le_bytes(bytes)))
    }

    /// The position after records of a block in an `.era1` file.
    fn after(&mut self, block: u64, kinds: &[u16]) -> Result<u64, Fault> {
        let mut position = self.positions(block)?.header;
        let file = opened(self.scratch.open.as_ref(), self.file)?;
        for kind in kinds {
            position = self.scratch.headers.skip(file, position, *kind)?;
        }
        Ok(position)
    }
}

/// The file of a scratch, with its length.
fn opened<'s>(open: Option<&'s (PathBuf, File)>, file: &EraFile) -> Result<(&'s File, u64), Fault> {
    let (_, handle) = open.ok_or("no file is open")?;
    Ok((handle, file.len))
}
