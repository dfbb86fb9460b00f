//! The forms of transfer logs. Splits bytes into words and does not depend on what is wanted.
//! Offsets and lengths inside a log come from the contract that emitted it, and may be wrong.

use alloy_primitives::{Address, U256};

/// A 32-byte word of a log.
pub(crate) type Word = [u8; 32];

/// A log, borrowed from the receipt it was decoded from.
#[derive(Clone, Copy, Debug)]
pub struct LogView<'a> {
    /// The contract that emitted the log.
    pub address: &'a Address,
    /// At most four topics.
    pub topics: &'a [[u8; 32]],
    /// The unindexed parameters.
    pub data: &'a [u8],
}

/// Returns the address in a word: its last 20 bytes.
#[inline]
pub(crate) fn address_of(word: &Word) -> &Address {
    let [_, _, _, _, _, _, _, _, _, _, _, _, address @ ..] = word;
    address.into()
}

/// Whether the 12 bytes before the address are not all zero.
#[inline]
pub(crate) fn is_dirty(word: &Word) -> bool {
    let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *word;
    u64::from_ne_bytes([a, b, c, d, e, f, g, h]) | u64::from(u32::from_ne_bytes([i, j, k, l])) != 0
}

#[inline]
pub(crate) fn number(word: &Word) -> U256 {
    U256::from_be_bytes(*word)
}

/// The three parameters of a `Transfer` log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreeWords<'a> {
    pub(crate) from: &'a Word,
    pub(crate) to: &'a Word,
    /// Amount or token ID.
    pub(crate) last: &'a Word,
    /// Whether all three are indexed, which only ERC-721 does.
    pub(crate) last_indexed: bool,
}

/// Reads a `Transfer` log. Indexed and unindexed parameters must be three whole words in
/// total, with the indexed ones first. Anything else is not a transfer.
#[inline]
pub(crate) fn three_words<'a>(log: &LogView<'a>) -> Option<ThreeWords<'a>> {
    let data = log.data.as_chunks::<32>();
    let ([from, to, last], last_indexed) = match (log.topics, data) {
        ([_, from, to], ([last], [])) => ([from, to, last], false),
        ([_, from, to, last], ([], [])) => ([from, to, last], true),
        ([_], ([from, to, last], [])) => ([from, to, last], false),
        ([_, from], ([to, last], [])) => ([from, to, last], false),
        _ => return None,
    };
    Some(ThreeWords {
        from,
        to,
        last,
        last_indexed,
    })
}

/// Reads an event with an address, indexed or not, and an amount.
#[inline]
pub(crate) fn two_words<'a>(log: &LogView<'a>) -> Option<(&'a Word, &'a Word)> {
    match (log.topics, log.data.as_chunks::<32>()) {
        ([_, account], ([amount], [])) | ([_], ([account, amount], [])) => Some((account, amount)),
        _ => None,
    }
}

/// Sender, receiver and items of an ERC-1155 log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MultiToken<'a> {
    pub(crate) from: &'a Word,
    pub(crate) to: &'a Word,
    pub(crate) ids: &'a [Word],
    pub(crate) amounts: &'a [Word],
}

/// Returns sender, receiver and the remaining words. The standard indexes operator, sender and
/// receiver. Contracts that index none of them are unambiguous, too. With one or two indexed,
/// it is unknown which, so the log is not a transfer.
#[inline]
fn multi_token_ends<'a>(log: &LogView<'a>) -> Option<(&'a Word, &'a Word, &'a [Word])> {
    let (words, _) = log.data.as_chunks::<32>();
    match (log.topics, words) {
        ([_, _, from, to], rest) => Some((from, to, rest)),
        ([_], [_, from, to, rest @ ..]) => Some((from, to, rest)),
        _ => None,
    }
}

/// Reads a `TransferSingle` log: exactly one ID and one amount.
#[inline]
pub(crate) fn transfer_single<'a>(log: &LogView<'a>) -> Option<MultiToken<'a>> {
    let (from, to, rest) = multi_token_ends(log)?;
    match rest {
        [id, amount] if log.data.len().is_multiple_of(32) => Some(MultiToken {
            from,
            to,
            ids: std::slice::from_ref(id),
            amounts: std::slice::from_ref(amount),
        }),
        _ => None,
    }
}

/// Reads a `TransferBatch` log: two arrays of equal length, located by offsets from the start
/// of the data. As in Solidity's decoder, the arrays may be anywhere in the data and may
/// overlap, but must not exceed it. So a log has fewer items than its data has words, whatever
/// lengths it states.
#[inline]
pub(crate) fn transfer_batch<'a>(log: &LogView<'a>) -> Option<MultiToken<'a>> {
    let (from, to, rest) = multi_token_ends(log)?;
    let [ids, amounts, ..] = rest else {
        return None;
    };
    let (ids, amounts) = (array(log.data, ids)?, array(log.data, amounts)?);
    (ids.len() == amounts.len()).then_some(MultiToken {
        from,
        to,
        ids,
        amounts,
    })
}

/// Returns the array whose length is at `offset`.
fn array<'a>(data: &'a [u8], offset: &Word) -> Option<&'a [Word]> {
    let (length, items) = data.get(index(offset)?..)?.split_first_chunk::<32>()?;
    items.as_chunks::<32>().0.get(..index(length)?)
}

/// Converts a word to an index; `None` if it is too large.
fn index(word: &Word) -> Option<usize> {
    let (high, low) = word.split_last_chunk::<8>()?;
    if high != [0; 24] {
        return None;
    }
    usize::try_from(u64::from_be_bytes(*low)).ok()
}
