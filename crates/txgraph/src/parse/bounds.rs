//! The first and the last block of a range, as they are written.

use crate::{
    Result, Source,
    grammar::{Point, time_or_number, wrong},
};

/// Reads the first block of a range: a number such as `18M`, or a date or a time, which stands
/// for the first block at or after it.
///
/// # Errors
///
/// If it is neither, or the source has no block at or after it.
pub fn first_block(source: &Source, text: &str) -> Result<u64> {
    match time_or_number(text)? {
        Point::Time(seconds) => source.block_at(seconds),
        Point::Number(number) => Ok(number),
        Point::Latest => source.tip(),
    }
}

/// Reads the last block of a range: a number such as `18M`, or a date or a time, which stands
/// for the last block before it. The state at the end of that block is the state at that time.
///
/// # Errors
///
/// If it is neither, or the source has no block before it.
pub fn last_block(source: &Source, text: &str) -> Result<u64> {
    let Point::Time(seconds) = time_or_number(text)? else {
        return first_block(source, text);
    };
    let next = source.block_at(seconds)?;
    let last = next.checked_sub(1);
    Ok(last.ok_or_else(|| wrong(text, "no block is before it: the first one is block 0"))?)
}
