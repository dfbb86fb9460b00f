//! What one worker keeps between calls.

use crate::{Withdrawal, change_file::ChangePlace, jar_reader::Place, zstd_rows::Unzstd};
use alloy_primitives::B256;
use std::{fmt, ops::Range};

/// Read and decompression buffers of one worker. Holds at most three open files
/// per segment.
pub struct Scratch {
    pub(crate) headers: Place,
    pub(crate) receipts: Place,
    pub(crate) transactions: Place,
    pub(crate) senders: Place,
    pub(crate) account_changes: ChangePlace,
    pub(crate) storage_changes: ChangePlace,
    pub(crate) receipt: Unzstd,
    pub(crate) transaction: Unzstd,
    pub(crate) withdrawals: Vec<Withdrawal>,
    /// The RLP form of a header or transaction.
    pub(crate) rlp: Vec<u8>,
    pub(crate) unchecked: Unchecked,
}

/// Headers whose hashes are still to be checked, several at once.
#[derive(Default)]
pub(crate) struct Unchecked {
    /// Their RLP forms, one after the other.
    pub(crate) rlp: Vec<u8>,
    pub(crate) forms: Vec<Range<usize>>,
    /// Number and stored hash of each.
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
            headers: Place::default(),
            receipts: Place::default(),
            transactions: Place::default(),
            senders: Place::default(),
            account_changes: ChangePlace::default(),
            storage_changes: ChangePlace::default(),
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
