//! Logs with the signature of a transfer and another shape.

use crate::{
    events::{EIP7708_LOG_ADDRESS, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE},
    log::{LogView, three_words, transfer_batch, transfer_single},
};

/// Why a log with the signature of a transfer is none, as [`DecodeCounts::malformed`] counts them.
///
/// [`DecodeCounts::malformed`]: crate::DecodeCounts::malformed
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The event whose signature it has.
    pub event: &'static str,
    /// The fault of its shape.
    pub reason: String,
}

impl Malformed {
    /// Returns why a log is malformed. `None` if it is a transfer, or has another signature.
    pub fn of(log: &LogView<'_>) -> Option<Self> {
        let (signature, indexed) = log.topics.split_first()?;
        let is_native = *log.address == EIP7708_LOG_ADDRESS;
        let data = log.data.len();
        let shape = format!("{} indexed words and {data} bytes of data", indexed.len());
        let (event, reason) = if *signature == TRANSFER.0 {
            let reason = match three_words(log) {
                Some(words) if is_native && words.last_indexed => {
                    format!("{shape}: the amount of the native coin is not indexed")
                }
                Some(_) => return None,
                None => format!("{shape}: a transfer has three words in all"),
            };
            ("Transfer", reason)
        } else if is_native {
            let reason = "the chain emits only Transfer under this address";
            ("unknown", reason.to_owned())
        } else if *signature == TRANSFER_SINGLE.0 {
            if transfer_single(log).is_some() {
                return None;
            }
            let reason =
                format!("{shape}: five words are expected, of which three or none are indexed");
            ("TransferSingle", reason)
        } else if *signature == TRANSFER_BATCH.0 {
            if transfer_batch(log).is_some() {
                return None;
            }
            let reason = format!(
                "{shape}: two arrays of equal length inside the data are expected, and three or no \
                 indexed words"
            );
            ("TransferBatch", reason)
        } else {
            return None;
        };
        Some(Self { event, reason })
    }
}
