//! Which blocks: ranges whose meaning can depend on the tip.

use super::shortened::shortened;
use std::ops::{Range, RangeFrom, RangeInclusive};
use txgraph_transfers::{BlockRange, BlockRanges};

/// Blocks that one sampling range (`a:b:step`, `a:b/n`) may name.
const SAMPLED_BLOCKS_MAX: u64 = 10_000;

/// One range of blocks. Its ends can be relative to the tip.
///
/// ```
/// use txgraph::BlockSpec;
///
/// let tip = 20_000_000;
/// let blocks = |spec: BlockSpec| spec.resolve(tip).unwrap().to_string();
/// assert_eq!(blocks(BlockSpec::last(1000)), "19999001:20000001");
/// // As in Rust, the end is excluded. A number is one block.
/// assert_eq!(blocks((100..200).into()), "100:200");
/// assert_eq!(blocks(7u64.into()), "7:8");
/// assert_eq!(blocks((19_999_999..).into()), "19999999:20000001");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSpec {
    pub(crate) span: Span,
    pub(crate) sample: Sample,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Number(u64),
    Latest,
    /// The first block at or after a time, in seconds since 1970.
    Time(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    One(Point),
    /// Up to the second point, which is excluded.
    Before(Point, Point),
    /// From the first number to the second, both included.
    Through(u64, u64),
    UpToTip(Point),
    Count(Point, u64),
    /// The number of blocks, which end with the point. A time is excluded.
    Last(u64, Point),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    All,
    Every(u64),
    Spread(u64),
}

/// The place of a date in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateIs {
    /// Its first block.
    First,
    /// Its end, which is excluded.
    End,
}

/// A block range that is malformed or contains no block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block range `{text}`: {reason}")]
pub struct BlocksError {
    /// The range as text, shortened.
    pub text: String,
    /// The reason.
    pub reason: String,
    /// Whether the range is well-formed, but the chain ends before it.
    pub beyond_chain: bool,
}

impl BlockSpec {
    const fn of(span: Span) -> Self {
        Self {
            span,
            sample: Sample::All,
        }
    }

    /// The highest block of the chain.
    pub const fn latest() -> Self {
        Self::of(Span::One(Point::Latest))
    }

    /// The highest `count` blocks of the chain.
    pub const fn last(count: u64) -> Self {
        Self::of(Span::Last(count, Point::Latest))
    }

    /// Blocks by number, both ends included.
    pub const fn through(first: u64, last: u64) -> Self {
        Self::of(Span::Through(first, last))
    }

    /// Every `step`-th block of the range, from its first block on.
    #[must_use]
    pub const fn every(self, step: u64) -> Self {
        Self {
            sample: Sample::Every(step),
            ..self
        }
    }

    /// Whether it ends with the highest block of the chain, whichever that is.
    pub const fn goes_to_tip(&self) -> bool {
        let to_tip = matches!(
            self.span,
            Span::UpToTip(_) | Span::One(Point::Latest) | Span::Last(_, Point::Latest)
        );
        to_tip && matches!(self.sample, Sample::All)
    }

    /// Returns the numbers of the blocks when `tip` is the highest block.
    ///
    /// Numbers above the tip are kept: the source decides whether a block exists. An error
    /// is returned only for a range that has no numbers without such blocks, and for dates,
    /// which only a source can find.
    pub fn resolve(&self, tip: u64) -> Result<BlockRanges, BlocksError> {
        if self.has_dates() {
            let reason = "dates cannot be used here: name block numbers";
            return Err(wrong(&self.to_string(), reason));
        }
        let number = |point| match point {
            Point::Number(number) => number,
            // There are no dates: see above.
            Point::Latest | Point::Time(_) => tip,
        };
        let (first, last) = match self.span {
            Span::One(point) => (number(point), number(point)),
            Span::Before(first, end) => match number(end).checked_sub(1) {
                Some(last) => (number(first), last),
                None => return Err(self.empty()),
            },
            Span::Through(first, last) if first > last => {
                let reason = format!("first block {first} is after last block {last}");
                return Err(wrong(&self.to_string(), &reason));
            }
            Span::Through(first, last) => (first, last),
            Span::UpToTip(first) if number(first) > tip => {
                return Err(self.beyond(format!("the chain ends with block {tip}")));
            }
            Span::UpToTip(first) => (number(first), tip),
            Span::Count(first, count) => {
                let more = count.checked_sub(1).ok_or_else(|| self.empty())?;
                let first = number(first);
                let last = first.checked_add(more);
                (
                    first,
                    last.ok_or_else(|| wrong(&self.to_string(), "the end is too large"))?,
                )
            }
            Span::Last(count, end) => {
                let less = count.checked_sub(1).ok_or_else(|| self.empty())?;
                let last = number(end);
                let first = last.checked_sub(less).ok_or_else(|| {
                    self.beyond(format!(
                        "up to block {last}, the chain has only {}",
                        crate::words::number(last + 1, "block", "blocks")
                    ))
                })?;
                (first, last)
            }
        };
        let range = BlockRange::new(first, last).ok_or_else(|| self.empty())?;
        self.sampled(range)
    }

    const fn points(&self) -> [Option<Point>; 2] {
        match self.span {
            Span::Before(first, end) => [Some(first), Some(end)],
            Span::Through(..) => [None, None],
            Span::One(point)
            | Span::UpToTip(point)
            | Span::Count(point, _)
            | Span::Last(_, point) => [Some(point), None],
        }
    }

    /// Whether it has a date.
    pub(crate) fn has_dates(&self) -> bool {
        let points = self.points();
        let mut points = points.iter().flatten();
        points.any(|point| matches!(point, Point::Time(_)))
    }

    /// The range with numbers instead of dates. `find` returns the first block at or after a time,
    /// which is the end of a range or not.
    pub(crate) fn without_dates<E: From<BlocksError>>(
        &self,
        mut find: impl FnMut(u64, DateIs) -> Result<u64, E>,
    ) -> Result<Self, E> {
        if let Span::Before(Point::Time(first), Point::Time(end)) = self.span
            && first > end
        {
            return Err(wrong(&self.to_string(), "it ends before it begins").into());
        }
        let mut number = |point, is| match point {
            Point::Time(seconds) => find(seconds, is).map(Point::Number),
            other => Ok(other),
        };
        let span = match self.span {
            Span::One(point) => Span::One(number(point, DateIs::First)?),
            Span::Before(first, end) => {
                Span::Before(number(first, DateIs::First)?, number(end, DateIs::End)?)
            }
            Span::Through(first, last) => Span::Through(first, last),
            Span::UpToTip(first) => Span::UpToTip(number(first, DateIs::First)?),
            Span::Count(first, count) => Span::Count(number(first, DateIs::First)?, count),
            Span::Last(count, end @ Point::Time(_)) => match number(end, DateIs::End)? {
                Point::Number(0) => return Err(self.empty().into()),
                Point::Number(end) => Span::Last(count, Point::Number(end - 1)),
                other => Span::Last(count, other),
            },
            Span::Last(count, end) => Span::Last(count, end),
        };
        let found = Self { span, ..*self };
        match span {
            Span::Before(Point::Number(first), Point::Number(end)) if first >= end => {
                let reason = if first == end {
                    format!("there is no block in it: the next one is block {first}")
                } else {
                    "it ends before it begins".to_owned()
                };
                Err(wrong(&self.to_string(), &reason).into())
            }
            _ => Ok(found),
        }
    }

    fn sampled(&self, range: BlockRange) -> Result<BlockRanges, BlocksError> {
        if matches!(self.sample, Sample::Every(0) | Sample::Spread(0)) {
            return Err(wrong(
                &self.to_string(),
                "step and count must be at least 1",
            ));
        }
        let count = match self.sample {
            Sample::All => return Ok(range.into()),
            Sample::Every(step) => ((range.last - range.first) / step).saturating_add(1),
            Sample::Spread(count) => count.min(range.blocks()),
        };
        if count > SAMPLED_BLOCKS_MAX {
            let reason = format!("selects {count} single blocks; at most {SAMPLED_BLOCKS_MAX}");
            return Err(wrong(&self.to_string(), &reason));
        }
        let block = |i: u64| match self.sample {
            Sample::Every(step) => range.first + i * step,
            // Evenly spread from the first block to the last. Cannot overflow: the
            // fraction is at most 1.
            _ if count > 1 => {
                let offset =
                    u128::from(i) * u128::from(range.last - range.first) / u128::from(count - 1);
                range.first + u64::try_from(offset).unwrap_or(u64::MAX)
            }
            _ => range.first,
        };
        Ok((0..count).map(block).map(BlockRange::one).collect())
    }

    fn empty(&self) -> BlocksError {
        wrong(
            &self.to_string(),
            "contains no block (the end of a range is excluded)",
        )
    }

    fn beyond(&self, reason: String) -> BlocksError {
        BlocksError {
            text: self.to_string(),
            reason,
            beyond_chain: true,
        }
    }
}

pub(crate) fn wrong(text: &str, reason: &str) -> BlocksError {
    BlocksError {
        text: shortened(text).into_owned(),
        reason: reason.into(),
        beyond_chain: false,
    }
}

/// One block.
impl From<u64> for BlockSpec {
    fn from(block: u64) -> Self {
        Self::of(Span::One(Point::Number(block)))
    }
}

impl From<BlockRange> for BlockSpec {
    fn from(range: BlockRange) -> Self {
        Self::through(range.first, range.last)
    }
}

/// The end is excluded.
impl From<Range<u64>> for BlockSpec {
    fn from(range: Range<u64>) -> Self {
        Self::of(Span::Before(
            Point::Number(range.start),
            Point::Number(range.end),
        ))
    }
}

/// Both ends are included.
impl From<RangeInclusive<u64>> for BlockSpec {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self::through(*range.start(), *range.end())
    }
}

/// Up to the tip.
impl From<RangeFrom<u64>> for BlockSpec {
    fn from(range: RangeFrom<u64>) -> Self {
        Self::of(Span::UpToTip(Point::Number(range.start)))
    }
}
