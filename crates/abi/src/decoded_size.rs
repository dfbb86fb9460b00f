//! The size of decoded data, before it is decoded.

use alloy_dyn_abi::DynSolType;
use alloy_primitives::U256;
use std::iter::repeat_n;

/// The bytes of a word.
const WORD: usize = 32;

/// Whether the values of `data` have at most `bytes_max` bytes, each copy counted. Many offsets can point to
/// the same bytes, and the decoder copies them for each. Data that cannot be decoded fits.
pub(crate) fn fits_in(kinds: &[DynSolType], data: &[u8], bytes_max: usize) -> bool {
    let mut left = bytes_max;
    sequence(kinds, data, &mut left) != Some(false)
}

/// Takes the bytes of consecutive values from `left`: false if there are too few. `None` if the data ends before.
fn sequence<'k>(
    kinds: impl IntoIterator<Item = &'k DynSolType>,
    data: &[u8],
    left: &mut usize,
) -> Option<bool> {
    let mut at = 0;
    for kind in kinds {
        let words = match kind.is_dynamic() {
            true => 1,
            false => kind.minimum_words(),
        };
        let bytes = words.checked_mul(WORD)?;
        if !take(bytes, left) || (kind.is_dynamic() && !dynamic(kind, data, at, left)?) {
            return Some(false);
        }
        at += bytes;
    }
    Some(true)
}

/// The same for the value that the word at `at` points to.
fn dynamic(kind: &DynSolType, data: &[u8], at: usize, left: &mut usize) -> Option<bool> {
    let body = data.get(number(data, at)?..)?;
    match kind {
        DynSolType::FixedArray(item, length) => {
            return sequence(repeat_n(&**item, *length), body, left);
        }
        DynSolType::Tuple(kinds) => return sequence(kinds, body, left),
        _ => {}
    }
    let (length, rest) = (number(body, 0)?, body.get(WORD..)?);
    match kind {
        // The decoder returns none of them.
        DynSolType::Array(item) if item.minimum_words() == 0 => Some(true),
        DynSolType::Array(item) if length <= rest.len() / WORD => {
            sequence(repeat_n(&**item, length), rest, left)
        }
        DynSolType::Array(_) => None,
        _ => (length <= rest.len()).then(|| take(length, left)),
    }
}

/// The number in a word.
fn number(data: &[u8], at: usize) -> Option<usize> {
    let word = data.get(at..at.checked_add(WORD)?)?;
    usize::try_from(U256::try_from_be_slice(word)?).ok()
}

fn take(bytes: usize, left: &mut usize) -> bool {
    match left.checked_sub(bytes) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoder reads none, so their number means nothing.
    #[test]
    fn items_without_bytes_are_not_counted() {
        let word = |number: usize| U256::from(number).to_be_bytes::<32>();
        let list = DynSolType::Array(Box::new(DynSolType::Tuple(Vec::new())));
        assert!(fits_in(&[list], &[word(32), word(usize::MAX)].concat(), 32));
    }
}
