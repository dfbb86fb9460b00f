//! The compression of blocks (`util/compression.h`).

use crate::{
    bytes::Input,
    error::{Decoded, Fault},
};
use std::cell::RefCell;
use zstd::bulk::Decompressor;

/// The longest block after decompression. reth's have 4 or 16 KiB, or one row.
pub(crate) const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Decompresses a block of a table.
pub(crate) fn decompress(kind: u8, block: &[u8]) -> Decoded<Box<[u8]>> {
    let short = || Fault::damaged("a compressed block is too short");
    let mut input = Input(block);
    match kind {
        // Also the form that is slower to write.
        4 | 5 => {
            let size = input.varint32().ok_or_else(short)?;
            let mut bytes: Box<[u8]> = vec![0; length(size)?].into();
            match lz4_flex::block::decompress_into(input.0, &mut bytes) {
                Ok(len) if len == bytes.len() => Ok(bytes),
                Ok(_) => Err(Fault::damaged("a block of LZ4 has another length")),
                Err(error) => Err(Fault::damaged(format!("a block of LZ4: {error}"))),
            }
        }
        7 => {
            let size = length(input.varint32().ok_or_else(short)?)?;
            let mut bytes = Vec::with_capacity(size);
            match zstandard(input.0, &mut bytes) {
                Ok(len) if len == size => Ok(bytes.into()),
                Ok(_) => Err(Fault::damaged("a block of Zstandard has another length")),
                Err(error) => Err(Fault::damaged(format!("a block of Zstandard: {error}"))),
            }
        }
        other => Err(Fault::unsupported(match other {
            1 => "blocks compressed with Snappy (kSnappyCompression)".into(),
            2 => "blocks compressed with zlib (kZlibCompression)".into(),
            3 => "blocks compressed with bzip2 (kBZip2Compression)".into(),
            6 => "blocks compressed with XPRESS (kXpressCompression)".into(),
            other => format!("blocks with compression {other}"),
        })),
    }
}

fn zstandard(from: &[u8], to: &mut Vec<u8>) -> std::io::Result<usize> {
    thread_local! {
        // Its buffers take longer to allocate than a block takes to decompress.
        static CONTEXT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(Decompressor::new()?),
        };
        context.decompress_to_buffer(from, to)
    })
}

/// The length after decompression. It was checked with the block, so it is the writer's.
fn length(size: u32) -> Decoded<usize> {
    match usize::try_from(size) {
        Ok(size) if size <= BLOCK_BYTES_MAX => Ok(size),
        _ => Err(Fault::unsupported(format!(
            "a block of {size} bytes; at most {BLOCK_BYTES_MAX} are read"
        ))),
    }
}
