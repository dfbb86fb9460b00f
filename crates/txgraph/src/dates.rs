//! The blocks of dates: a binary search over the times of blocks.

use crate::{Error, ErrorKind, Hint, Result, Source, grammar::utc};
use txgraph_transfers::BlockRange;

/// The result of a search for the first block at or after a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Block(u64),
    /// The first block is later: its time.
    BeforeFirst(u64),
    /// The last block is earlier: its time.
    AfterLast(u64),
    /// The time of this block would decide, and is not known.
    Unknown(u64),
}

/// Finds the first of consecutive blocks whose time is at least `seconds`. Times ascend.
///
/// A block without a known time counts as earlier. The result is used only if the block before it
/// has a known time, so gaps never lead to a wrong block.
fn search<E>(
    blocks: BlockRange,
    seconds: u64,
    mut time_of: impl FnMut(u64) -> Result<Option<u64>, E>,
) -> Result<Found, E> {
    match time_of(blocks.first)? {
        Some(first) if first > seconds => return Ok(Found::BeforeFirst(first)),
        _ => {}
    }
    let Some(last) = time_of(blocks.last)? else {
        return Ok(Found::Unknown(blocks.last));
    };
    if last < seconds {
        return Ok(Found::AfterLast(last));
    }
    // `end` is not earlier; the blocks before `start` count as earlier.
    let (mut start, mut end) = (blocks.first, blocks.last);
    while start < end {
        let middle = start + (end - start) / 2;
        match time_of(middle)? {
            Some(time) if time >= seconds => end = middle,
            _ => start = middle + 1,
        }
    }
    if end == blocks.first {
        return Ok(Found::Block(end));
    }
    Ok(match time_of(end - 1)? {
        Some(_) => Found::Block(end),
        None => Found::Unknown(end - 1),
    })
}

impl Source {
    /// The first block at or after the start of a range. Nothing is before the genesis block, so an
    /// earlier start means that one.
    pub(crate) fn start_at(&self, seconds: u64) -> Result<u64> {
        let first = self.default_range()?.first;
        match self.time_if_known(self.backend().timed_range()?.first)? {
            Some(time) if first == 0 && time >= seconds => Ok(first),
            _ => self.block_at(seconds),
        }
    }

    /// The first block at or after the end of a range. A range that ends after the last block ends
    /// with it, and the second value says so.
    pub(crate) fn end_at(&self, seconds: u64) -> Result<(u64, Option<String>)> {
        let last = self.backend().timed_range()?.last;
        match self.time_if_known(last)? {
            Some(time) if time < seconds => {
                let end = self.default_range()?.last.saturating_add(1);
                let cut = format!(
                    "the blocks end with block {last} of {}, the last of the source, and not at {}",
                    utc(time),
                    utc(seconds)
                );
                Ok((end, Some(cut)))
            }
            _ => Ok((self.block_at(seconds)?, None)),
        }
    }

    fn time_if_known(&self, block: u64) -> Result<Option<u64>> {
        match self.block_time(block) {
            Err(error) if error.kind == ErrorKind::Unavailable => Ok(None),
            time => time,
        }
    }

    /// The first block at or after a time, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] if the time is before the first block or after the last, and
    /// [`ErrorKind::Unsupported`] if the source does not contain the times of its blocks.
    pub fn block_at(&self, seconds: u64) -> Result<u64> {
        if let Some(found) = self.backend().block_at(seconds) {
            return found;
        }
        let blocks = self.backend().timed_range()?;
        let found = search(blocks, seconds, |block| self.time_if_known(block))?;
        let (date, spec) = (utc(seconds), self.spec());
        let outside = |message: String, hint: &str| {
            Err(Error::unavailable(message).with_hint(Hint::Text(hint.to_owned())))
        };
        match found {
            Found::Block(block) => {
                tracing::debug!(block, date, "found the block of a date");
                Ok(block)
            }
            Found::BeforeFirst(time) => outside(
                format!(
                    "{date} is before the first block of the source, block {} of {}",
                    blocks.first,
                    utc(time)
                ),
                match blocks.first {
                    0 => "name a date after it",
                    _ => "leave the start of the range out to begin with the first block",
                },
            ),
            Found::AfterLast(time) => outside(
                format!(
                    "{date} is after the last block of the source, block {} of {}",
                    blocks.last,
                    utc(time)
                ),
                "name a date before it",
            ),
            Found::Unknown(block) => match self.backend().first_timed_at(seconds)? {
                Some(block) => Ok(block),
                None => Err(Error::unavailable(format!(
                    "{spec}: the block of {date} cannot be found: block {block} has no time"
                ))
                .hint("name blocks by number")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn index(block: u64) -> usize {
        usize::try_from(block).unwrap()
    }

    /// The definition, block by block.
    fn naive(first: u64, times: &[Option<u64>], seconds: u64) -> Found {
        let block = |at: usize| first + at as u64;
        let last = times.len() - 1;
        match (times[0], times[last]) {
            (_, None) => return Found::Unknown(block(last)),
            (_, Some(time)) if time < seconds => return Found::AfterLast(time),
            (Some(time), _) if time > seconds => return Found::BeforeFirst(time),
            _ => {}
        }
        let at = times
            .iter()
            .position(|time| time.is_some_and(|time| time >= seconds));
        Found::Block(block(at.unwrap()))
    }

    proptest! {
        #[test]
        fn equals_a_scan(
            first in 0u64..1000,
            steps in prop::collection::vec(0u64..5, 1..60),
            seconds in 0u64..160,
        ) {
            let mut now = 0;
            let times: Vec<Option<u64>> = steps.iter().map(|step| {
                now += step;
                Some(now)
            }).collect();
            let blocks = BlockRange { first, last: first + times.len() as u64 - 1 };
            let mut reads = 0;
            let found = search(blocks, seconds, |block| {
                reads += 1;
                Ok::<_, Infallible>(times[index(block - first)])
            });
            let Ok(found) = found;
            prop_assert_eq!(found, naive(first, &times, seconds));
            prop_assert!(reads <= 9, "{reads}");
        }

        /// With gaps, the block is the same, or none. A time before the first is always found.
        #[test]
        fn gaps_never_change_the_block(
            times in prop::collection::vec((1u64..5, prop::bool::weighted(0.7)), 1..40),
            seconds in 0u64..100,
        ) {
            let mut now = 0;
            let all: Vec<Option<u64>> = times.iter().map(|(step, _)| {
                now += step;
                Some(now)
            }).collect();
            let known: Vec<_> = all.iter().zip(&times).map(|(time, (_, known))| time.filter(|_| *known)).collect();
            let blocks = BlockRange::up_to(all.len() as u64 - 1);
            let found = search(blocks, seconds, |block| Ok::<_, Infallible>(known[index(block)]));
            let Ok(found) = found;
            match found {
                Found::Unknown(block) => {
                    prop_assert!(known[index(block)].is_none());
                    prop_assert!(known[0].is_none_or(|first| first <= seconds));
                }
                other => prop_assert_eq!(other, naive(0, &all, seconds)),
            }
        }
    }
}
