//! Writes files, block by block.

use crate::{
    accumulator,
    body::Body,
    error::{Error, Malformed, Result},
    header::Header,
    proof,
    receipts::{Receipts, slim_to_full},
    record::{
        ACCUMULATOR, BLOCKS_MAX, BODY, ERA1_INDEX, ERE_INDEX, FULL_RECEIPTS, Format, HEAD_BYTES,
        HEADER, RecordHead, SLIM_RECEIPTS, TOTAL_DIFFICULTY, VERSION,
    },
};
use alloy_primitives::{B256, U256, hex};
use snap::write::FrameEncoder;
use std::{
    fs::{File, Permissions},
    io::{self, BufWriter, Seek, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use txgraph_stored::BloomHashes;

/// A block to write.
#[derive(Clone, Copy, Debug)]
pub struct EraBlock<'a> {
    /// RLP of the header.
    pub header: &'a [u8],
    /// RLP of the body, see [`encode_body`](crate::encode_body).
    pub body: &'a [u8],
    /// RLP of the receipts without blooms, see
    /// [`encode_slim_receipts`](crate::encode_slim_receipts). `None` for files of the profile
    /// `noreceipts`.
    pub receipts: Option<&'a [u8]>,
    /// The sum of the difficulties of this block and all before it; `None` after the merge.
    pub total_difficulty: Option<U256>,
}

/// Writes one file. Blocks must follow each other, and are proven before they are written. The
/// file gets its name when it is complete.
#[derive(Debug)]
pub struct EraWriter {
    format: Format,
    network: String,
    directory: PathBuf,
    overwrite: bool,
    first: u64,
    /// Hash and total difficulty of each block before the merge, for the accumulator.
    records: Vec<(B256, U256)>,
    count: u64,
    last_hash: B256,
    /// Headers, bodies, receipts, difficulties; in `.era1` the first has all records.
    sections: [Section; 4],
    receipts: Receipts,
    body: Body,
    hashes: BloomHashes,
}

/// Records that are next to each other in the file.
#[derive(Debug)]
struct Section {
    /// Without a name, so it is deleted in any case.
    spool: BufWriter<File>,
    len: u64,
    /// Where the record of each block begins.
    starts: Vec<u64>,
}

impl EraWriter {
    /// Starts a file in a directory. `network` is the first part of its name.
    ///
    /// # Errors
    ///
    /// If no temporary file can be created in the directory.
    pub fn create(directory: &Path, network: &str, format: Format) -> Result<Self> {
        let section = || -> Result<Section> {
            let spool =
                tempfile::tempfile_in(directory).map_err(|source| Error::io(directory, source))?;
            Ok(Section {
                spool: BufWriter::new(spool),
                len: 0,
                starts: Vec::new(),
            })
        };
        Ok(Self {
            format,
            network: network.to_owned(),
            directory: directory.to_path_buf(),
            overwrite: false,
            first: 0,
            records: Vec::new(),
            count: 0,
            last_hash: B256::ZERO,
            sections: [section()?, section()?, section()?, section()?],
            receipts: Receipts::default(),
            body: Body::default(),
            hashes: BloomHashes::default(),
        })
    }

    /// Whether a file that exists is replaced; default: no.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// The number of blocks so far.
    pub const fn blocks(&self) -> u64 {
        self.count
    }

    /// Adds the next block.
    ///
    /// # Errors
    ///
    /// If the block does not follow the one before, does not have the roots in its header, or
    /// cannot be written.
    pub fn push(&mut self, block: &EraBlock<'_>) -> Result<()> {
        let header = Header::decode(block.header)
            .map_err(|what| Error::Write(format!("a header cannot be written: {what}")))?;
        let number = header.number;
        let refuse = |what: &str| Error::Write(format!("block {number} cannot be written: {what}"));
        self.check(&header, block).map_err(refuse)?;
        if self.count == 0 {
            self.first = number;
        }
        self.write(&header, block)
            .map_err(|source| Error::io(&self.directory, source))?;
        self.count += 1;
        self.last_hash = header.hash;
        Ok(())
    }

    fn check(&mut self, header: &Header, block: &EraBlock<'_>) -> Result<(), Malformed> {
        if self.count == BLOCKS_MAX {
            return Err("the file has 8,192 blocks");
        }
        let follows = header.number == self.first.wrapping_add(self.count)
            && header.parent_hash == self.last_hash;
        if self.count > 0 && !follows {
            return Err("it does not follow the block before");
        }
        let [_, _, slim, difficulties] = &self.sections;
        let is_same = |has: bool, section: &Section| {
            self.count == 0 || self.format == Format::Era1 || has != section.starts.is_empty()
        };
        if !is_same(block.receipts.is_some(), slim)
            || !is_same(block.total_difficulty.is_some(), difficulties)
        {
            return Err("all blocks of a file must have the same parts");
        }
        let is_complete = block.receipts.is_some() && block.total_difficulty.is_some();
        if self.format == Format::Era1 && !is_complete {
            return Err("an .era1 file needs receipts and total difficulties");
        }
        self.body.decode(block.body)?;
        proof::body(header, &self.body, block.body)?;
        if let Some(slim) = block.receipts {
            self.receipts.decode(Format::Ere, slim)?;
            proof::receipts(header, &self.receipts, slim, &mut self.hashes)?;
        }
        Ok(())
    }

    fn write(&mut self, header: &Header, block: &EraBlock<'_>) -> io::Result<()> {
        let [headers, bodies, slim, difficulties] = &mut self.sections;
        headers.begin();
        headers.compressed(HEADER, block.header)?;
        let difficulty = block.total_difficulty;
        if let Some(total) = difficulty.filter(|_| !header.difficulty.is_zero()) {
            self.records.push((header.hash, total));
        }
        let difficulty = difficulty.map(|total| total.to_le_bytes::<32>());
        if self.format == Format::Era1 {
            headers.compressed(BODY, block.body)?;
            let mut full = Vec::new();
            // Decoded before.
            slim_to_full(block.receipts.unwrap_or_default(), &mut full)
                .map_err(io::Error::other)?;
            headers.compressed(FULL_RECEIPTS, &full)?;
            return headers.record(TOTAL_DIFFICULTY, &difficulty.unwrap_or_default());
        }
        bodies.begin();
        bodies.compressed(BODY, block.body)?;
        if let Some(receipts) = block.receipts {
            slim.begin();
            slim.compressed(SLIM_RECEIPTS, receipts)?;
        }
        if let Some(difficulty) = difficulty {
            difficulties.begin();
            difficulties.record(TOTAL_DIFFICULTY, &difficulty)?;
        }
        Ok(())
    }

    /// Completes the file and returns its path.
    ///
    /// # Errors
    ///
    /// If there are no blocks, the file exists, or it cannot be written.
    pub fn finish(mut self) -> Result<PathBuf> {
        if self.count == 0 {
            return Err(Error::Write("a file needs at least one block".to_owned()));
        }
        let path = self.directory.join(self.file_name());
        let written = self.assemble(&path);
        match written {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Exists { path })
            }
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    fn file_name(&self) -> String {
        let era = self.first / BLOCKS_MAX;
        let (hash, profile) = match self.format {
            Format::Era1 => (accumulator::root(&self.records), ""),
            Format::Ere if self.sections[2].starts.is_empty() => {
                (self.last_hash, "-noproofs-noreceipts")
            }
            Format::Ere => (self.last_hash, "-noproofs"),
        };
        let [a, b, c, d, ..] = hash.0;
        let (short, extension) = (hex::encode([a, b, c, d]), self.format.extension());
        format!("{}-{era:05}-{short}{profile}.{extension}", self.network)
    }

    fn assemble(&mut self, path: &Path) -> io::Result<()> {
        // As any new file: the default of temporary files is that only the owner may read them.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&self.directory)?;
        let mut out = BufWriter::new(file);
        let mut at = put(&mut out, VERSION, &[])?;
        let mut starts = Vec::new();
        for section in &mut self.sections {
            section.spool.flush()?;
            let spool = section.spool.get_mut();
            spool.rewind()?;
            io::copy(spool, &mut out)?;
            if !section.starts.is_empty() {
                let starts_here = section.starts.iter().map(|start| start + at);
                starts.push(starts_here.collect::<Vec<_>>());
            }
            at += section.len;
        }
        if !self.records.is_empty() {
            at += put(
                &mut out,
                ACCUMULATOR,
                accumulator::root(&self.records).as_slice(),
            )?;
        }
        let mut index = self.first.to_le_bytes().to_vec();
        let rows = starts.first().map_or(0, Vec::len);
        for row in 0..rows {
            for column in &starts {
                // Relative to the record of the index, in two's complement.
                index.extend_from_slice(&column[row].wrapping_sub(at).to_le_bytes());
            }
        }
        let kind = match self.format {
            Format::Era1 => ERA1_INDEX,
            Format::Ere => {
                index.extend_from_slice(&(starts.len() as u64).to_le_bytes());
                ERE_INDEX
            }
        };
        index.extend_from_slice(&self.count.to_le_bytes());
        put(&mut out, kind, &index)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        let named = match self.overwrite {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        };
        named.map_err(|error| error.error)?;
        Ok(())
    }
}

impl Section {
    fn begin(&mut self) {
        self.starts.push(self.len);
    }

    fn compressed(&mut self, kind: u16, data: &[u8]) -> io::Result<()> {
        let mut encoder = FrameEncoder::new(Vec::new());
        encoder.write_all(data)?;
        let data = encoder
            .into_inner()
            .map_err(|error| io::Error::other(error.to_string()))?;
        self.record(kind, &data)
    }

    fn record(&mut self, kind: u16, data: &[u8]) -> io::Result<()> {
        self.len += put(&mut self.spool, kind, data)?;
        Ok(())
    }
}

/// Writes a record and returns its length.
fn put(out: &mut impl Write, kind: u16, data: &[u8]) -> io::Result<u64> {
    let length = u32::try_from(data.len())
        .map_err(|_| io::Error::other("a record of more than 4 GiB cannot be written"))?;
    out.write_all(&RecordHead { kind, length }.to_bytes())?;
    out.write_all(data)?;
    Ok(HEAD_BYTES as u64 + u64::from(length))
}
