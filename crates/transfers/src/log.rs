//! The shapes of transfer logs: bytes in, words out. Nothing here knows what is
//! wanted. Offsets and lengths inside a log are claims of whoever emitted it.

use alloy_primitives::{Address, U256};

/// A 32-byte word of a log.
pub(crate) type Word = [u8; 32];

/// A log, borrowed from the receipt it was decoded from.
#[derive(Clone, Copy, Debug)]
pub struct LogView<'a> {
    /// Emitting contract.
    pub address: &'a Address,
    /// At most four topics.
    pub topics: &'a [[u8; 32]],
    /// The rest.
    pub data: &'a [u8],
}

/// The address in a word, which is its last 20 bytes.
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

/// The number in a word.
#[inline]
pub(crate) fn number(word: &Word) -> U256 {
    U256::from_be_bytes(*word)
}

/// The three parameters of a `Transfer` log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreeWords<'a> {
    pub(crate) from: &'a Word,
    pub(crate) to: &'a Word,
    /// Amount or token id.
    pub(crate) last: &'a Word,
    /// All three are indexed, as in ERC-721 and nowhere else.
    pub(crate) last_indexed: bool,
}

/// Reads a `Transfer` log. The rule: indexed and unindexed parameters together are
/// three whole words, and indexed ones come first. Anything else is no transfer.
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

/// Reads an event of an address and an amount, the address indexed or not.
#[inline]
pub(crate) fn two_words<'a>(log: &LogView<'a>) -> Option<(&'a Word, &'a Word)> {
    match (log.topics, log.data.as_chunks::<32>()) {
        ([_, account], ([amount], [])) | ([_], ([account, amount], [])) => Some((account, amount)),
        _ => None,
    }
}

/// The ends of an ERC-1155 log, and where its items stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MultiToken<'a> {
    pub(crate) from: &'a Word,
    pub(crate) to: &'a Word,
    pub(crate) ids: &'a [Word],
    pub(crate) amounts: &'a [Word],
}

/// The operator, sender and receiver of an ERC-1155 log are indexed by the
/// standard. Contracts that index none are as clear. With one or two of the three
/// indexed the log does not tell which, so it is no transfer.
#[inline]
fn multi_token_ends<'a>(log: &LogView<'a>) -> Option<(&'a Word, &'a Word, &'a [Word])> {
    let (words, _) = log.data.as_chunks::<32>();
    match (log.topics, words) {
        ([_, _, from, to], rest) => Some((from, to, rest)),
        ([_], [_, from, to, rest @ ..]) => Some((from, to, rest)),
        _ => None,
    }
}

/// Reads a `TransferSingle` log: one id and one amount, nothing more.
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

/// Reads a `TransferBatch` log: two arrays of equal length, found by offsets from
/// the start of the data. As in Solidity's own decoder, arrays may stand anywhere
/// in the data, even over each other, but never outside; so a log holds fewer
/// items than its data has words, whatever lengths it claims.
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

/// The array whose length stands at `offset`.
fn array<'a>(data: &'a [u8], offset: &Word) -> Option<&'a [Word]> {
    let (length, items) = data.get(index(offset)?..)?.split_first_chunk::<32>()?;
    items.as_chunks::<32>().0.get(..index(length)?)
}

/// A word as an index; nothing when it cannot be one.
fn index(word: &Word) -> Option<usize> {
    let (high, low) = word.split_last_chunk::<8>()?;
    if high != [0; 24] {
        return None;
    }
    usize::try_from(u64::from_be_bytes(*low)).ok()
}
