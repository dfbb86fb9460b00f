//! The classes of rows, and which of them a filter wants.

use super::Segment;
use crate::{
    builder::{kind_code, standard_code},
    checksummed_file::{Fault, Span},
    column::partition_point,
    layout::{CLASS_BYTES, HAS_ID, HAS_TOKEN, IS_INTERNAL, Part},
};
use alloy_primitives::Address;
use std::ops::Range;
use txgraph_transfers::{Kind, TokenFilter, TokenStandard, TransferFilter};

/// Classes of a segment, one in this many, from which on all are decoded at once: that takes less time
/// for each.
const MANY: usize = 8;

/// The properties that the rows of one class share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) token: Option<Address>,
    pub(crate) standard: TokenStandard,
    pub(crate) kind: Kind,
    pub(super) has_id: bool,
    /// Whether its rows are movements without a log.
    pub(crate) is_internal: bool,
    /// The number of rows.
    pub(crate) rows: u64,
}

/// The classes of a segment, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes<'a> {
    span: Span<'a>,
    /// The number of classes.
    pub(super) count: usize,
    /// All of them, if they were decoded.
    decoded: Option<&'a [Class]>,
}

impl<'a> Classes<'a> {
    #[inline]
    pub(super) fn get(&self, number: usize) -> Result<Class, Fault<'a>> {
        if let Some(classes) = self.decoded {
            let class = classes.get(number).copied();
            return class.ok_or_else(|| self.span.beyond());
        }
        let start = number
            .checked_mul(CLASS_BYTES)
            .ok_or_else(|| self.span.beyond())?;
        Class::decode(self.span.array(start)?).ok_or_else(|| self.span.invalid())
    }
}

impl Segment {
    /// Returns all classes, ascending.
    pub(crate) fn classes(&self) -> Result<&[Class], Fault<'_>> {
        if let Some(classes) = self.classes.get() {
            return Ok(classes);
        }
        let span = self.file.span(Part::Classes);
        let (entries, _) = span.read(0, span.len())?.as_chunks::<CLASS_BYTES>();
        let classes: Option<Box<[_]>> = entries.iter().map(Class::decode).collect();
        let classes = classes.ok_or_else(|| span.invalid())?;
        Ok(self.classes.get_or_init(|| classes))
    }

    /// Returns the classes, to be read about `uses` times: one by one, or all at once if that is often.
    pub(super) fn classes_for(&self, uses: usize) -> Result<Classes<'_>, Fault<'_>> {
        let decoded = match uses >= self.class_count / MANY {
            true => Some(self.classes()?),
            false => self.classes.get().map(AsRef::as_ref),
        };
        Ok(Classes {
            span: self.file.span(Part::Classes),
            count: self.class_count,
            decoded,
        })
    }

    /// Returns the classes that a filter wants, to be compared about `uses` times.
    pub(crate) fn wanted<'a>(
        &'a self,
        filter: &'a TransferFilter,
        uses: usize,
    ) -> Result<Wanted<'a>, Fault<'a>> {
        let everything = matches!(filter.tokens, TokenFilter::All)
            && filter.standards.is_empty()
            && filter.kinds.is_empty()
            && (filter.internal || !self.may_have_internal);
        if everything {
            return Ok(Wanted::All(self.class_count));
        }
        let classes = self.classes_for(uses)?;
        if let Some(classes) = classes.decoded {
            let wanted = classes.iter().map(|class| class.is_wanted(filter));
            return Ok(Wanted::Some(wanted.collect()));
        }
        let span = match &filter.tokens {
            TokenFilter::All => 0..classes.count,
            TokenFilter::Only { tokens, native } => {
                let none = native.then_some(None);
                let all = || tokens.iter().copied().map(Some).chain(none);
                let (first, last) = (all().min(), all().max());
                // Classes ascend by token, the native coin first.
                let below = |limit: Option<Option<Address>>, or_equal: bool| {
                    partition_point(0..classes.count, |number| {
                        let token = classes.get(number)?.token;
                        let is_below = |it| token < it || (or_equal && token == it);
                        Ok::<_, Fault<'a>>(limit.is_some_and(is_below))
                    })
                };
                below(first, false)?..below(last, true)?
            }
        };
        Ok(Wanted::By {
            classes,
            filter,
            span,
        })
    }
}

impl Class {
    fn decode(bytes: &[u8; CLASS_BYTES]) -> Option<Self> {
        let (token, rest) = bytes.split_first_chunk::<20>()?;
        let [standard, kind, flags, 0, count @ ..] = rest else {
            return None;
        };
        let by_code = |code: u8| {
            let mut standards = TokenStandard::ALL.iter().copied();
            standards.find(|standard| standard_code(*standard) == code)
        };
        let kind = Kind::ALL
            .iter()
            .copied()
            .find(|it| kind_code(*it) == *kind)?;
        if flags & !(HAS_TOKEN | HAS_ID | IS_INTERNAL) != 0 {
            return None;
        }
        Some(Self {
            token: (flags & HAS_TOKEN != 0).then_some(Address::new(*token)),
            standard: by_code(*standard)?,
            kind,
            has_id: flags & HAS_ID != 0,
            is_internal: flags & IS_INTERNAL != 0,
            rows: u64::from_le_bytes(*count.first_chunk()?),
        })
    }

    fn is_wanted(&self, filter: &TransferFilter) -> bool {
        filter.tokens.matches(self.token.as_ref())
            && filter.matches_sort(self.standard, self.kind)
            && (filter.internal || !self.is_internal)
    }
}

/// The classes of a segment that a filter wants, by number.
pub(crate) enum Wanted<'a> {
    /// All, of which there are this many.
    All(usize),
    /// The classes with `true`.
    Some(Vec<bool>),
    /// Compared one by one, for few rows. The wanted classes are in `span`.
    By {
        classes: Classes<'a>,
        filter: &'a TransferFilter,
        span: Range<usize>,
    },
}

impl<'a> Wanted<'a> {
    /// Whether a class is wanted; `None` if there is no such class.
    #[inline]
    pub(crate) fn get(&self, class: usize) -> Result<Option<bool>, Fault<'a>> {
        Ok(match self {
            Self::All(count) => (class < *count).then_some(true),
            Self::Some(wanted) => wanted.get(class).copied(),
            Self::By { classes, .. } if class >= classes.count => None,
            Self::By {
                classes,
                filter,
                span,
            } => Some(span.contains(&class) && classes.get(class)?.is_wanted(filter)),
        })
    }

    /// Whether any class can be wanted.
    pub(crate) fn any(&self) -> bool {
        !self.span().is_empty()
    }

    /// Whether every class is wanted.
    pub(crate) fn all(&self) -> bool {
        match self {
            Self::All(_) => true,
            Self::Some(wanted) => !wanted.contains(&false),
            Self::By { .. } => false,
        }
    }

    /// Counts the rows of the wanted classes.
    pub(crate) fn rows(&self, segment: &'a Segment) -> Result<u64, Fault<'a>> {
        let classes = segment.classes_for(0)?;
        let mut sum = 0_u64;
        for class in self.span() {
            if self.get(class)? == Some(true) {
                sum = sum.saturating_add(classes.get(class)?.rows);
            }
        }
        Ok(sum)
    }

    /// From the first to the last class that can be wanted.
    pub(super) fn span(&self) -> Range<usize> {
        match self {
            Self::All(count) => 0..*count,
            Self::Some(wanted) => {
                let first = wanted.iter().position(|wanted| *wanted);
                let last = wanted.iter().rposition(|wanted| *wanted);
                first.unwrap_or(0)..last.map_or(0, |last| last + 1)
            }
            Self::By { span, .. } => span.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::small_segment;
    use std::path::Path;

    fn segment() -> Segment {
        Segment::from_bytes(small_segment(), Path::new("small")).unwrap()
    }

    /// Few classes are read one by one, many at once: both decide the same.
    #[test]
    fn classes_one_by_one_are_those_of_all() {
        let all = segment().classes().unwrap().to_vec();
        assert!(all.len() > 2 * MANY, "{}", all.len());
        let tokens: Vec<Address> = all.iter().filter_map(|class| class.token).collect();
        let mut filters = vec![TransferFilter::default()];
        for count in 0..=tokens.len() {
            for native in [false, true] {
                let step = tokens.len().checked_div(count).unwrap_or(1);
                let tokens = tokens.iter().copied().step_by(step).take(count);
                let tokens = tokens.chain([Address::repeat_byte(0xee)]).collect();
                filters.push(TransferFilter {
                    tokens: TokenFilter::Only { tokens, native },
                    ..TransferFilter::with_internal(count % 2 == 0)
                });
            }
        }
        let sorts = filters.clone().into_iter().map(|filter| TransferFilter {
            standards: vec![TokenStandard::Erc20, TokenStandard::Native],
            kinds: vec![Kind::Transfer, Kind::Value],
            ..filter
        });
        filters.extend(sorts.collect::<Vec<_>>());
        let (few, many) = (segment(), segment());
        let (mut one_by_one, mut wanted_rows) = (0, 0);
        for filter in &filters {
            let (by, some) = (
                few.wanted(filter, 0).unwrap(),
                many.wanted(filter, usize::MAX).unwrap(),
            );
            assert!(matches!(some, Wanted::Some(_)));
            one_by_one += usize::from(matches!(by, Wanted::By { .. }));
            for number in 0..=all.len() {
                let found = by.get(number).unwrap();
                assert_eq!(found, some.get(number).unwrap(), "{number}: {filter:?}");
                let wanted = all.get(number).map(|class| class.is_wanted(filter));
                assert_eq!(found, wanted, "{number}: {filter:?}");
            }
            let rows = all.iter().filter(|class| class.is_wanted(filter));
            let rows: u64 = rows.map(|class| class.rows).sum();
            assert_eq!(by.rows(&few).unwrap(), rows);
            assert_eq!(some.rows(&many).unwrap(), rows);
            assert!(by.any() || rows == 0);
            wanted_rows += rows;
        }
        assert_eq!(one_by_one, filters.len());
        assert!(wanted_rows > 100, "{wanted_rows}");
        assert!(few.classes.get().is_none());
    }
}
