//! The lower bound of a scan of receipts: decompresses every row of the range and does nothing
//! else, on `RAYON_NUM_THREADS` threads.

use crate::{console::say, rows::Receipts};
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::path::PathBuf;
use txgraph_nodedb::{DataDir, NodeDb};
use zstd::{bulk::Decompressor, dict::DecoderDictionary, zstd_safe::get_frame_content_size};

/// Blocks of a sample chain.
#[derive(clap::Args)]
pub(crate) struct Range {
    #[arg(long)]
    pub(crate) datadir: PathBuf,
    #[arg(long)]
    pub(crate) from_block: u64,
    #[arg(long)]
    pub(crate) to_block: u64,
}

pub(crate) fn run(args: &Range) -> Result<()> {
    let (first, last) = {
        let db = NodeDb::open(&DataDir::new(&args.datadir))?;
        let snapshot = db.snapshot()?;
        let (first, last) = (
            snapshot.body(args.from_block)?,
            snapshot.body(args.to_block)?,
        );
        (
            first.first_tx,
            (last.first_tx + last.tx_count).saturating_sub(1),
        )
    };
    let receipts = Receipts::open(&args.datadir)?;
    let dictionary = DecoderDictionary::copy(reth_zstd_compressors::RECEIPT_DICTIONARY);
    let parts = rayon::current_num_threads() as u64 * 16;
    let size = (last - first + 1).div_ceil(parts);
    let bytes: u64 = (0..parts)
        .into_par_iter()
        .map(|part| -> Result<u64> {
            let (from, to) = (
                first + part * size,
                (first + (part + 1) * size - 1).min(last),
            );
            if from > to {
                return Ok(0);
            }
            let mut decompressor = Decompressor::with_prepared_dictionary(&dictionary)?;
            let mut buffer: Vec<u8> = Vec::new();
            let mut bytes = 0;
            let mut jar = receipts.jar_of(from)?;
            for number in from..=to {
                if number >= jar.end() {
                    jar = receipts.jar_of(number)?;
                }
                let (flags, frame) = jar.row(number)?.split_first().context("an empty row")?;
                if flags & 0x80 == 0 {
                    bytes += frame.len() as u64;
                    continue;
                }
                let size = get_frame_content_size(frame)
                    .ok()
                    .flatten()
                    .context("a frame without its size")?;
                buffer.reserve(usize::try_from(size)?.saturating_sub(buffer.len()));
                buffer.clear();
                bytes += decompressor.decompress_to_buffer(frame, &mut buffer)? as u64;
            }
            Ok(bytes)
        })
        .try_reduce(|| 0, |a, b| Ok(a + b))?;
    say(format_args!("receipts={} bytes={bytes}", last - first + 1));
    Ok(())
}
