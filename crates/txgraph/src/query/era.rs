//! Blocks of a node, written as an archive.

use crate::{BlockSpec, Capability, Error, Result, Source, select};
use alloy_eips::Encodable2718;
use alloy_rlp::Encodable;
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use txgraph_era::{
    Archive, BLOCKS_MAX, EraBlock, EraWriter, Format, SlimReceipt, encode_body,
    encode_slim_receipts,
};
use txgraph_nodedb::{Block, ChainFamily, NodeDb, Parts, Scratch};
use txgraph_transfers::BlockRange;
use txgraph_work::ProgressGuard;

/// The blocks that a thread reads at a time, under one snapshot.
const CHUNK_BLOCKS: u64 = 64;

/// The chunks that are read before the first of them is written, for each thread.
const CHUNKS_AHEAD_PER_THREAD: usize = 2;

/// Writes blocks of a node as `.ere` files. See [`Source::export_era`].
#[derive(Clone, Debug)]
#[must_use = "nothing is written yet"]
pub struct ExportEra<'s> {
    source: &'s Source,
    blocks: Vec<BlockSpec>,
    overwrite: bool,
}

/// The files that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedEra {
    /// The files, ascending by their blocks.
    pub files: Vec<PathBuf>,
    /// The number of blocks in them.
    pub blocks: u64,
}

/// A block as the files contain it.
struct EncodedBlock {
    header: Vec<u8>,
    body: Vec<u8>,
    receipts: Vec<u8>,
}

impl Source {
    /// Writes blocks of a node as `.ere` files of up to 8,192 blocks: headers, bodies and
    /// receipts, without proofs of the consensus layer. Each block is proven before it is
    /// written, and each file gets its name when it is complete.
    pub const fn export_era(&self) -> ExportEra<'_> {
        ExportEra {
            source: self,
            blocks: Vec::new(),
            overwrite: false,
        }
    }
}

impl ExportEra<'_> {
    /// Only these blocks: a number or a range, whose end is excluded as in Rust. Call again for
    /// more blocks. The default is every block up to the tip.
    pub fn blocks(mut self, blocks: impl Into<BlockSpec>) -> Self {
        self.blocks.push(blocks.into());
        self
    }

    /// Whether files that exist are replaced; default: no.
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Writes the files into a directory, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// If the source is not a node, blocks are missing, or a block cannot be proven: reth does
    /// not store the state roots in receipts before Byzantium.
    pub fn write(&self, directory: impl AsRef<Path>) -> Result<ExportedEra> {
        let directory = directory.as_ref();
        let source = self.source;
        let node = source.node(Capability::Blocks)?;
        if node.db().family() == ChainFamily::OpStack {
            let source = source.spec();
            return Err(Error::usage(format!(
                "{source}: archives are of Ethereum; blocks of the OP stack are not written"
            )));
        }
        source.protected_paths().check(directory)?;
        let network = Archive::network(source.chain()?);
        let blocks = select::resolve_stored(&self.blocks, source)?;
        fs::create_dir_all(directory).map_err(|error| Error::io(directory, error))?;
        let mut chunks = Vec::new();
        for range in blocks.iter() {
            chunks.extend(chunks_of(range));
        }
        let control = &source.control;
        let progress = ProgressGuard::start(control.progress.as_deref(), blocks.blocks(), "blocks");
        let mut files = Files {
            directory,
            network,
            overwrite: self.overwrite,
            open: None,
            done: Vec::new(),
        };
        control.in_order(
            CHUNKS_AHEAD_PER_THREAD,
            chunks,
            Scratch::default,
            |range, scratch| Ok((range, read(node.db(), range, scratch)?)),
            |(range, chunk)| {
                let written = files.add(range, &chunk);
                progress.advance(range.blocks(), range.blocks());
                written.map(ControlFlow::Continue)
            },
        )?;
        files.finish()?;
        Ok(ExportedEra {
            files: files.done,
            blocks: blocks.blocks(),
        })
    }
}

/// Parts of a range that do not cross the end of a file.
fn chunks_of(range: BlockRange) -> impl Iterator<Item = BlockRange> {
    let mut next = Some(range.first);
    std::iter::from_fn(move || {
        let first = next.filter(|first| *first <= range.last)?;
        let end_of_file = first | (BLOCKS_MAX - 1);
        let last = first.saturating_add(CHUNK_BLOCKS - 1);
        let last = last.min(end_of_file).min(range.last);
        next = last.checked_add(1);
        BlockRange::new(first, last)
    })
}

/// Reads and encodes blocks.
fn read(db: &NodeDb, range: BlockRange, scratch: &mut Scratch) -> Result<Vec<EncodedBlock>> {
    let parts = Parts {
        headers: true,
        receipts: true,
        transactions: true,
        withdrawals: true,
        ..Parts::default()
    };
    let snapshot = db.snapshot()?;
    let mut chunk = Vec::new();
    snapshot.for_each_block(range, parts, scratch, &mut |block| {
        chunk.push(encode(block)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(chunk)
}

fn encode(block: &mut Block<'_>) -> txgraph_nodedb::Result<EncodedBlock> {
    let mut header = Vec::new();
    let checked = block.check_header()?;
    let has_withdrawals = checked.withdrawals_root.is_some();
    checked.fields.encode(&mut header);
    let mut transactions = Vec::new();
    let count = u32::try_from(block.body.tx_count).unwrap_or(u32::MAX);
    for index in 0..count {
        transactions.push(block.signed_transaction(index)?.encoded_2718());
    }
    let ommers: Vec<_> = (block.ommers()?.iter())
        .map(|ommer| ommer.fields.clone())
        .collect();
    let (ommers, withdrawals) = (
        alloy_rlp::encode(ommers),
        alloy_rlp::encode(block.withdrawals().to_vec()),
    );
    let body = encode_body(
        transactions.iter().map(Vec::as_slice),
        &ommers,
        has_withdrawals.then_some(withdrawals.as_slice()),
    );
    let mut receipts = Vec::new();
    while let Some(receipt) = block.next_receipt()? {
        receipts.push(SlimReceipt {
            tx_type: receipt.tx_type,
            success: receipt.success,
            cumulative_gas_used: receipt.cumulative_gas_used,
            logs: receipt.to_logs()?,
        });
    }
    Ok(EncodedBlock {
        header,
        body,
        receipts: encode_slim_receipts(&receipts),
    })
}

/// The files of an export.
struct Files<'a> {
    directory: &'a Path,
    network: String,
    overwrite: bool,
    /// The current file, and the block that continues it.
    open: Option<(EraWriter, u64)>,
    done: Vec<PathBuf>,
}

impl Files<'_> {
    fn add(&mut self, range: BlockRange, chunk: &[EncodedBlock]) -> Result<()> {
        let is_new_file = range.first.is_multiple_of(BLOCKS_MAX);
        let continues = |next: u64| next == range.first && !is_new_file;
        if !self.open.as_ref().is_some_and(|(_, next)| continues(*next)) {
            self.finish()?;
            let writer = EraWriter::create(self.directory, &self.network, Format::Ere)?;
            self.open = Some((writer, range.first));
        }
        let Some((writer, next)) = &mut self.open else {
            return Ok(());
        };
        for block in chunk {
            writer.push(&EraBlock {
                header: &block.header,
                body: &block.body,
                receipts: Some(&block.receipts),
                total_difficulty: None,
            })?;
        }
        *next = range.last.saturating_add(1);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if let Some((writer, _)) = self.open.take() {
            self.done.push(writer.overwrite(self.overwrite).finish()?);
        }
        Ok(())
    }
}
