//! Decompresses receipts and longer transactions: zstd frames with a dictionary that has not
//! changed since reth 1.0. Each worker has one decompressor and one buffer, so nothing is
//! allocated per row.

use crate::compact::Malformed;
use std::sync::LazyLock;
use zstd::{bulk::Decompressor, dict::DecoderDictionary, zstd_safe};

/// The largest decompressed row. All logs of a block with 500 million gas fit (8 gas per
/// byte of data). Damaged sizes cannot make the reader allocate more.
pub(crate) const ROW_BYTES_MAX: usize = 64 << 20;

/// The first size of the buffer. Nearly every row fits.
const ROW_BYTES: usize = 32 << 10;

/// RFC 8878, 3.1.1.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

static RECEIPTS: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(reth_zstd_compressors::RECEIPT_DICTIONARY));
static TRANSACTIONS: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(reth_zstd_compressors::TRANSACTION_DICTIONARY));

/// A decompressor with its dictionary and output buffer.
pub(crate) struct Unzstd {
    dictionary: &'static LazyLock<DecoderDictionary<'static>>,
    decompressor: Option<Decompressor<'static>>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Unzstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unzstd")
            .field("buffer_bytes", &self.buffer.len())
            .finish_non_exhaustive()
    }
}

impl Unzstd {
    pub(crate) fn receipts() -> Self {
        Self {
            dictionary: &RECEIPTS,
            decompressor: None,
            buffer: vec![0; ROW_BYTES],
        }
    }

    pub(crate) fn transactions() -> Self {
        Self {
            dictionary: &TRANSACTIONS,
            decompressor: None,
            buffer: vec![0; ROW_BYTES],
        }
    }

    /// Returns the content of a frame, valid until the next call.
    pub(crate) fn decompress(&mut self, frame: &[u8]) -> Result<&[u8], Malformed> {
        // With other magic numbers, zstd would use decoders of its old formats.
        if !frame.starts_with(&MAGIC) {
            return Err("a zstd frame is expected");
        }
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(
                Decompressor::with_prepared_dictionary(self.dictionary)
                    .map_err(|_| "the zstd dictionary cannot be loaded")?,
            ),
        };
        // Passes the whole buffer and not only the size of the content: near the end of its
        // output, zstd copies byte by byte.
        if let Ok(written) = decompressor.decompress_to_buffer(frame, &mut self.buffer[..]) {
            return Ok(&self.buffer[..written]);
        }
        let size = content_size(frame)?;
        if size <= self.buffer.len() {
            return Err("a zstd frame is damaged");
        }
        self.buffer.resize(size.next_power_of_two(), 0);
        match decompressor.decompress_to_buffer(frame, &mut self.buffer[..]) {
            Ok(written) => Ok(&self.buffer[..written]),
            Err(_) => Err("a zstd frame is damaged"),
        }
    }
}

/// Returns the content size that a frame declares. More than possible is an error.
fn content_size(frame: &[u8]) -> Result<usize, Malformed> {
    match zstd_safe::get_frame_content_size(frame) {
        Ok(Some(size)) => usize::try_from(size)
            .ok()
            .filter(|size| *size <= ROW_BYTES_MAX)
            .ok_or("a zstd frame is too large"),
        Ok(None) => Err("a zstd frame without content size"),
        Err(_) => Err("a zstd frame is expected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{b256, keccak256};

    #[test]
    fn dictionaries_are_those_of_reth() {
        // keccak of the files whose SHA-256 begins with d6f76d73c6b8ad09 (receipts)
        // and cc4a9eb3822d8a38 (transactions), unchanged since reth 1.0.
        assert_eq!(
            keccak256(reth_zstd_compressors::RECEIPT_DICTIONARY),
            b256!("c54b768b293590b916951bb6be69697cf0be44a717d71704f11d607745abd1a1")
        );
        assert_eq!(
            keccak256(reth_zstd_compressors::TRANSACTION_DICTIONARY),
            b256!("d9b6dfe9eef8a45e3946150b832472654ebf8ffdeed9bdfa3e701d499dfa3f1e")
        );
        // The ids in the header of every frame on disk.
        let id = |dictionary| zstd_safe::get_dict_id_from_dict(dictionary).unwrap().get();
        assert_eq!(id(reth_zstd_compressors::RECEIPT_DICTIONARY), 0x6169_42fc);
        assert_eq!(
            id(reth_zstd_compressors::TRANSACTION_DICTIONARY),
            0x13b4_c3e4
        );
    }

    #[test]
    fn rejects_frames_with_huge_sizes() {
        // A frame header that declares 2^40 bytes.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000];
        frame.extend((1u64 << 40).to_le_bytes());
        frame.extend([1, 0, 0]);
        let mut unzstd = Unzstd::receipts();
        assert_eq!(unzstd.decompress(&frame), Err("a zstd frame is too large"));
        assert_eq!(unzstd.buffer.len(), ROW_BYTES);
        assert!(unzstd.decompress(b"").is_err());
        assert!(unzstd.decompress(b"not zstd").is_err());
    }
}
