//! A line of text under construction, in a buffer of fixed size. Each piece is copied as a
//! block of fixed length, and the end is set to where its text ends. That takes a few vector
//! moves, where `Vec::extend_from_slice` checks the capacity and calls `memcpy`, for each of
//! some thirty pieces of a row.
//!
//! A row of CSV takes 118 ns through this and 145 ns (23 % more) through `itoa`, a `Vec` with
//! reserved capacity and [`push_decimal`](crate::decimal::push_decimal), which are the
//! oracles of the tests.

use alloy_primitives::hex;
use txgraph_transfers::BlockTime;

/// Bytes of a line, with room for the last block. Rows of transfers are shorter than 800
/// bytes (see the tests of `transfer_text`).
const LINE_BYTES: usize = 1024;

/// 10^8, the bound of [`eight`].
const PART: u64 = 100_000_000;

/// Text of at most `N` bytes that is copied as a block of `N` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Word<N> {
    /// Panics if the text is longer than `N`. It is a constant of this crate.
    pub(crate) fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self {
            bytes,
            len: text.len(),
        }
    }
}

type BlockKey = (u64, Option<BlockTime>);

/// A line under construction.
pub(crate) struct RowBuffer {
    room: [u8; LINE_BYTES],
    at: usize,
    /// The block whose number and time the room starts with, and where they end.
    block: Option<(BlockKey, usize)>,
}

impl RowBuffer {
    /// Creates an empty line. Fills its room with zeros, so use one for many rows.
    pub(crate) const fn new() -> Self {
        Self {
            room: [0; LINE_BYTES],
            at: 0,
            block: None,
        }
    }

    /// Starts a new row with what `write` appends for the number and time of a block. Rows
    /// of one block follow each other, and all but the first reuse that text. A line must
    /// always be started with the same `write`.
    #[inline(always)]
    pub(crate) fn begin(&mut self, block: BlockKey, write: impl FnOnce(&mut Self)) {
        match self.block {
            Some((same, end)) if same == block => self.at = end,
            _ => {
                self.at = 0;
                write(self);
                self.block = Some((block, self.at));
            }
        }
    }

    /// Returns the line so far.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.room[..self.at]
    }

    #[inline(always)]
    fn block<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        self.room[self.at..self.at + N].copy_from_slice(bytes);
        self.at += len;
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.block(&[byte], 1);
    }

    /// Appends text of a known length.
    #[inline(always)]
    pub(crate) fn text<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.block(bytes, N);
    }

    #[inline(always)]
    pub(crate) fn word<const N: usize>(&mut self, word: &Word<N>) {
        self.block(&word.bytes, word.len);
    }

    /// Appends lower-case hex, without `0x`.
    #[inline(always)]
    pub(crate) fn hex<const N: usize>(&mut self, bytes: &[u8; N]) {
        let room = &mut self.room[self.at..self.at + 2 * N];
        let encoded = hex::encode_to_slice(bytes, room);
        debug_assert!(encoded.is_ok(), "the room is twice the bytes");
        self.at += 2 * N;
    }

    /// Appends the decimal digits of a number.
    #[inline(always)]
    pub(crate) fn integer(&mut self, number: impl Into<u64>) {
        let number = number.into();
        if number < PART {
            self.below_part(number);
        } else {
            self.long(number);
        }
    }

    /// Appends a number below [`PART`] without leading zeros.
    #[inline(always)]
    fn below_part(&mut self, number: u64) {
        let digits = eight(number);
        // The last digit is kept even if it is zero.
        let zeros = (digits | 1 << 63).trailing_zeros() / 8;
        let text = (digits | ZEROS) >> (8 * zeros);
        self.block(&text.to_le_bytes(), 8 - zeros as usize);
    }

    /// Appends a number below [`PART`] as eight digits.
    #[inline(always)]
    fn part(&mut self, number: u64) {
        self.block(&(eight(number) | ZEROS).to_le_bytes(), 8);
    }

    /// Appends a number below 10^16 as sixteen digits.
    #[inline(always)]
    fn two_parts(&mut self, number: u64) {
        self.part(number / PART);
        self.part(number % PART);
    }

    #[inline(never)]
    fn long(&mut self, number: u64) {
        let (high, low) = (number / PART, number % PART);
        if high < PART {
            self.below_part(high);
        } else {
            self.below_part(high / PART);
            self.part(high % PART);
        }
        self.part(low);
    }

    /// Appends the decimal digits of a number of 256 bits, given by its limbs,
    /// least significant first.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, limbs: &[u64; 4]) {
        match *limbs {
            [low, 0, 0, 0] => self.integer(low),
            [low, high, 0, 0] => self.double(u128::from(high) << 64 | u128::from(low)),
            _ => self.wide(limbs),
        }
    }

    #[inline(never)]
    fn double(&mut self, number: u128) {
        let (high, low) = split(number);
        match u64::try_from(high) {
            Ok(high) => self.integer(high),
            Err(_) => {
                // 2^128 has 39 digits: two parts of sixteen and at most seven more.
                let (higher, middle) = split(high);
                self.integer(u64::try_from(higher).unwrap_or_default());
                self.two_parts(middle);
            }
        }
        self.two_parts(low);
    }

    /// Divides by 10^16 repeatedly, then appends each remainder as sixteen digits.
    #[inline(never)]
    fn wide(&mut self, limbs: &[u64; 4]) {
        let mut rest = *limbs;
        // 2^256 has 78 digits: five parts.
        let mut parts = [0; 5];
        let mut count = 0;
        while rest != [0; 4] {
            let mut remainder = 0;
            for limb in rest.iter_mut().rev() {
                let dividend = u128::from(remainder) << 64 | u128::from(*limb);
                let (quotient, left) = split(dividend);
                // The remainder before was below the divisor, so this fits a limb.
                *limb = u64::try_from(quotient).unwrap_or_default();
                remainder = left;
            }
            parts[count] = remainder;
            count += 1;
        }
        let Some((first, others)) = parts[..count].split_last() else {
            return self.byte(b'0');
        };
        self.integer(*first);
        others.iter().rev().for_each(|part| self.two_parts(*part));
    }
}

const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// Divides by 10^16: quotient and remainder.
#[inline(always)]
fn split(number: u128) -> (u128, u64) {
    const DIVISOR: u128 = PART as u128 * PART as u128;
    let remainder = number % DIVISOR;
    (number / DIVISOR, remainder as u64)
}

/// Returns the eight decimal digits of a number below [`PART`], the first in the lowest
/// byte. Splits it into halves, quarters, then digits, in one register. The multipliers are
/// 2^20 / 100 and 2^10 / 10, rounded up, which is exact for dividends below 10^4 and 10^2.
#[inline(always)]
const fn eight(number: u64) -> u64 {
    debug_assert!(number < PART);
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let quarters = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((quarters - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decimal::push_decimal, fixtures::numbers};
    use proptest::prelude::*;

    fn line(write: impl FnOnce(&mut RowBuffer)) -> String {
        let mut line = RowBuffer::new();
        line.text(b"x");
        write(&mut line);
        String::from_utf8(line.as_bytes()[1..].to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn decimals_agree_with_push_decimal(number in numbers::<256, 4>()) {
            let mut plain = Vec::new();
            push_decimal(&mut plain, number.as_limbs());
            prop_assert_eq!(line(|line| line.decimal(number.as_limbs())).into_bytes(), plain);
        }

        #[test]
        fn integers_agree_with_the_standard_library(number: u64, shift in 0u32..64) {
            let number = number >> shift;
            prop_assert_eq!(line(|line| line.integer(number)), number.to_string());
        }

        #[test]
        fn hex_agrees_with_the_standard_library(bytes: [u8; 32]) {
            let plain: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(line(|line| line.hex(&bytes)), plain);
        }
    }

    /// The multipliers of [`eight`] are exact for all dividends.
    #[test]
    fn eight_splits_all_numbers_of_four_digits() {
        for number in 0..10_000 {
            for whole in [number, number * 10_000, number * 10_001] {
                let digits = (eight(whole) | ZEROS).to_le_bytes();
                assert_eq!(digits, *format!("{whole:08}").as_bytes());
                assert_eq!(line(|line| line.integer(whole)), whole.to_string());
            }
        }
    }
}
