//! Buffers that a worker keeps between calls.

use crate::{Withdrawal, change_file::OpenChangeFile, jar_reader::OpenJar, zstd_rows::Unzstd};
use alloy_primitives::B256;
use std::{fmt, ops::Range};

/// Read and decompression buffers of one worker, with at most three open files per segment.
pub struct Scratch {
    pub(crate) headers: OpenJar,
    pub(crate) receipts: OpenJar,
    pub(crate) transactions: OpenJar,
    pub(crate) senders: OpenJar,
    pub(crate) account_changes: OpenChangeFile,
    pub(crate) storage_changes: OpenChangeFile,
    pub(crate) receipt: Unzstd,
    pub(crate) transaction: Unzstd,
    pub(crate) withdrawals: Vec<Withdrawal>,
    /// The RLP encoding of headers or transactions.
    pub(crate) rlp: Vec<u8>,
    pub(crate) unchecked: Unchecked,
}

/// Headers whose hashes will be checked, several at once.
#[derive(Default)]
pub(crate) struct Unchecked {
    /// Their RLP encodings, concatenated.
    pub(crate) rlp: Vec<u8>,
    pub(crate) forms: Vec<Range<usize>>,
    /// The number and the stored hash of each.
    pub(crate) headers: Vec<(u64, B256)>,
}

impl Unchecked {
    pub(crate) fn clear(&mut self) {
        self.rlp.clear();
        self.forms.clear();
        self.headers.clear();
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            headers: OpenJar::default(),
            receipts: OpenJar::default(),
            transactions: OpenJar::default(),
            senders: OpenJar::default(),
            account_changes: OpenChangeFile::default(),
            storage_changes: OpenChangeFile::default(),
            receipt: Unzstd::receipts(),
            transaction: Unzstd::transactions(),
            withdrawals: Vec::new(),
            rlp: Vec::new(),
            unchecked: Unchecked::default(),
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
