//! Block ranges in the grammar of cryo: a range has the same meaning in both tools.
//!
//! | text | blocks |
//! | --- | --- |
//! | `17M` | block 17,000,000 |
//! | `17M:18M` | 17,000,000 to 17,999,999: the end is *excluded* |
//! | `17M:` | from 17,000,000 to the tip, included |
//! | `:1000` | blocks 0 to 999 |
//! | `-1000:` | the last 1,000 blocks, including the tip |
//! | `-1000:17M` | the 1,000 blocks up to 17,000,000, included |
//! | `15M:+1000` | 1,000 blocks from 15,000,000 |
//! | `10K:20K:100` | every hundredth block of the range |
//! | `10K:20K/5` | five blocks, spread evenly over the range, including both ends |
//! | `2024-01-01:2024-02-01` | from the first block of January 2024 (UTC) to its last |
//! | `2024-01-01T12:00:` | from the first block at or after noon to the tip |
//! | `2024-01-01` | all blocks of the day |
//!
//! A date or a time (UTC) is the first block at or after it, and can be mixed with numbers. At
//! the end of a range it is excluded, also in `-1000:2024-01-01`.
//!
//! Numbers can contain `_` and end in `K`, `M` or `B`, with decimals (`18.1M`). `latest` is
//! the tip. Ranges are separated by commas or blanks; a block in two of them is read once.
//!
//! cryo also includes the end of `-1000:17M` and reads `a:b/n` like this. Numbers are exact
//! here: cryo rounds `1.0001K`, this module refuses it.

use super::{
    blocks::{BlockSpec, BlocksError, Point, Sample, Span, wrong},
    shortened::shortened,
    time::{DAY, format_time, is_date, is_time, parse_time, prefix},
};
use std::{fmt, str::FromStr};

/// Reads ranges that are separated by commas or blanks.
pub fn parse_blocks(text: &str) -> Result<Vec<BlockSpec>, BlocksError> {
    let specs: Vec<BlockSpec> = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    if specs.is_empty() {
        return Err(wrong(text, "it is empty"));
    }
    Ok(specs)
}

/// Reads a start and an end, which is excluded. Each is a number, `latest`, a date or a time.
pub fn since_until(
    since: Option<&str>,
    until: Option<&str>,
) -> Result<Option<BlockSpec>, BlocksError> {
    for text in since.iter().chain(&until) {
        time_or_number(text)?;
    }
    match (since, until) {
        (None, None) => Ok(None),
        (since, until) => {
            let [since, until] = [since, until].map(Option::unwrap_or_default);
            format!("{since}:{until}").parse().map(Some)
        }
    }
}

/// Reads a start or an end of a range.
pub(crate) fn time_or_number(text: &str) -> Result<Point, BlocksError> {
    if is_time(text) {
        let seconds = parse_time(text).map_err(|reason| wrong(text, &reason))?;
        return Ok(Point::Time(seconds));
    }
    let spec: Result<BlockSpec, BlocksError> = text.parse();
    match spec.map(|spec| spec.span) {
        Ok(Span::One(point)) => Ok(point),
        _ => Err(wrong(text, &no_bound(text))),
    }
}

/// Why a text is no start or end of a range.
fn no_bound(text: &str) -> String {
    let meant = match other_date(text) {
        Some(date) => format!("did you mean {date}?"),
        None => "write 2024-01-31, 2024-01-31T12:00 (both UTC) or a number, e.g. 17M".to_owned(),
    };
    format!("it is not a block or a date; {meant}")
}

/// A date that is written in another form: `2024/1/5`, `2024.01.05`, `2024-1-5`.
fn other_date(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split(['/', '.', '-']).collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let &[year, month, day] = parts.as_slice() else {
        return None;
    };
    if !parts.iter().all(|part| is_number(part)) || year.len() != 4 {
        return None;
    }
    let date = format!("{year}-{month:0>2}-{day:0>2}");
    (is_time(&date) && parse_time(&date).is_ok()).then_some(date)
}

impl FromStr for BlockSpec {
    type Err = BlocksError;

    fn from_str(text: &str) -> Result<Self, BlocksError> {
        let number = |part: &str| parse_number(part).map_err(|reason| wrong(text, &reason));
        let point = |part: &str| match part {
            "latest" => Ok(Point::Latest),
            _ if is_time(part) => match parse_time(part) {
                Ok(seconds) => Ok(Point::Time(seconds)),
                Err(reason) => Err(wrong(text, &reason)),
            },
            _ => number(part).map(Point::Number),
        };
        if let Some(tip) = other_notation(text) {
            return Err(wrong(text, &tip));
        }
        let mut parts = split(text).into_iter();
        let first = parts.next().unwrap_or_default();
        let Some(end) = parts.next() else {
            let span = match point(first)? {
                Point::Time(day) if is_date(first) => {
                    Span::Before(Point::Time(day), Point::Time(day.saturating_add(DAY)))
                }
                Point::Time(_) => {
                    let reason =
                        format!("a time is not a block; the first block from then on is {text}:+1");
                    return Err(wrong(text, &reason));
                }
                other => Span::One(other),
            };
            return Ok(Self {
                span,
                sample: Sample::All,
            });
        };
        let step = parts.next();
        if parts.next().is_some() {
            return Err(wrong(text, "more than two colons"));
        }
        let (end, sample) = match (end.split_once('/'), step) {
            (Some((end, count)), None) => (end, Sample::Spread(number(count)?)),
            (None, Some(step)) => (end, Sample::Every(number(step)?)),
            (None, None) => (end, Sample::All),
            (Some(_), Some(_)) => return Err(wrong(text, "both a step and a count")),
        };
        if matches!(sample, Sample::Every(0) | Sample::Spread(0)) {
            return Err(wrong(text, "step and count must be at least 1"));
        }
        let span = if let Some(count) = first.strip_prefix('-') {
            let end = if end.is_empty() {
                Point::Latest
            } else {
                point(end)?
            };
            Span::Last(number(count)?, end)
        } else {
            let first = if first.is_empty() {
                Point::Number(0)
            } else {
                point(first)?
            };
            match end {
                "" | "latest" => Span::UpToTip(first),
                _ => match end.strip_prefix('+') {
                    Some(count) => Span::Count(first, number(count)?),
                    None => Span::Before(first, point(end)?),
                },
            }
        };
        Ok(Self { span, sample })
    }
}

/// Splits a range at its colons, but not at the colons of a time of day.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let time = prefix(rest);
        match rest[time..].find(':') {
            Some(colon) => {
                parts.push(&rest[..time + colon]);
                rest = &rest[time + colon + 1..];
            }
            None => {
                parts.push(rest);
                return parts;
            }
        }
    }
}

/// Returns the correct form of a range in the notation of programming languages, or with a
/// hyphen.
fn other_notation(text: &str) -> Option<String> {
    let (first, last, included) = match text.split_once("..") {
        Some((first, last)) => match last.strip_prefix('=') {
            Some(last) => (first, last, true),
            None => (first, last, false),
        },
        None if prefix(text) > 0 => return None,
        None => {
            let (first, last) = text.split_once('-')?;
            (first, last, true)
        }
    };
    let whole = |part: &str| match part {
        "" => Some(None),
        part => parse_number(part).ok().map(Some),
    };
    let (first, last) = (whole(first)?, whole(last)?);
    let range = match (first, last) {
        // `-5` is a number of blocks that lacks a colon.
        (None, _) if !text.contains("..") => return None,
        (first, None) => format!("{}:", first.unwrap_or(0)),
        (first, Some(last)) => {
            let end = last.saturating_add(u64::from(included));
            format!("{}:{end}", first.unwrap_or(0))
        }
    };
    Some(format!(
        "ranges are written with a colon, and their end is excluded: {range}"
    ))
}

/// `1_000`, `18M`, `18.1M`, exactly.
fn parse_number(text: &str) -> Result<u64, String> {
    let shown = shortened(text);
    let not_a_number = || format!("`{shown}` is not a block number");
    let plain = text.replace('_', "");
    let (digits, zeros) = match plain.char_indices().last() {
        Some((at, 'K' | 'k')) => (&plain[..at], 3),
        Some((at, 'M' | 'm')) => (&plain[..at], 6),
        Some((at, 'B' | 'b')) => (&plain[..at], 9),
        _ => (plain.as_str(), 0),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && decimals.is_empty()
        || !whole
            .bytes()
            .chain(decimals.bytes())
            .all(|byte| byte.is_ascii_digit())
    {
        return Err(not_a_number());
    }
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > zeros {
        return Err(format!("`{shown}` is not a whole number"));
    }
    let all = format!("{whole}{decimals:0<zeros$}");
    all.parse().map_err(|_| format!("`{shown}` is too large"))
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Latest => f.write_str("latest"),
            Self::Time(seconds) => f.write_str(&format_time(*seconds)),
        }
    }
}

/// Writes the range in the form that `FromStr` reads.
impl fmt::Display for BlockSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.span {
            Span::One(point) => write!(f, "{point}"),
            Span::Before(first, end) => write!(f, "{first}:{end}"),
            Span::Through(first, last) if first <= last && last - first < u64::MAX => {
                write!(f, "{first}:+{}", last - first + 1)
            }
            Span::Through(first, last) => write!(f, "{first}:{last}"),
            Span::UpToTip(first) => write!(f, "{first}:"),
            Span::Count(first, count) => write!(f, "{first}:+{count}"),
            Span::Last(count, Point::Latest) => write!(f, "-{count}:"),
            Span::Last(count, end) => write!(f, "-{count}:{end}"),
        }?;
        match self.sample {
            Sample::All => Ok(()),
            Sample::Every(step) => write!(f, ":{step}"),
            Sample::Spread(count) => write!(f, "/{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use txgraph_transfers::{BlockRange, BlockRanges};

    const TIP: u64 = 20_000_000;

    fn resolved(text: &str) -> String {
        let specs = match parse_blocks(text) {
            Ok(specs) => specs,
            Err(error) => return error.reason,
        };
        let ranges: Result<Vec<_>, _> = specs.iter().map(|spec| spec.resolve(TIP)).collect();
        match ranges {
            Ok(ranges) => {
                BlockRanges::new(ranges.iter().flat_map(|r| r.iter()).collect()).to_string()
            }
            Err(error) => error.reason,
        }
    }

    #[test]
    fn reads_the_grammar_of_cryo() {
        for (text, expected) in [
            // cryo's own test cases
            ("1:2", "1:2"),
            ("0:2", "0:2"),
            ("-10:100", "91:101"),
            ("10:+100", "10:110"),
            ("1:latest", "1:20000001"),
            ("1:", "1:20000001"),
            ("1", "1:2"),
            ("1 2", "1:3"),
            (
                "15M:+1 1000:1002 2000",
                "1000:1002, 2000:2001, 15000000:15000001",
            ),
            // its help text
            ("18M:18.1M", "18000000:18100000"),
            ("16_000:17_000", "16000:17000"),
            (":700", "0:700"),
            ("-1000:", "19999001:20000001"),
            ("15M:+1000", "15000000:15001000"),
            ("100:200:25", "100:101, 125:126, 150:151, 175:176"),
            ("0:101/3", "0:1, 50:51, 100:101"),
            ("5:6/9", "5:6"),
            ("latest", "20000000:20000001"),
            ("1k,1m,.001b", "1000:1001, 1000000:1000001"),
            ("1.5K", "1500:1501"),
            ("1:3,2:5", "1:5"),
        ] {
            assert_eq!(resolved(text), expected, "{text}");
        }
    }

    #[test]
    fn rejects_malformed_and_empty_ranges() {
        for (text, expected) in [
            ("", "it is empty"),
            (",", "it is empty"),
            ("5:5", "contains no block (the end of a range is excluded)"),
            (":0", "contains no block (the end of a range is excluded)"),
            ("7:5", "contains no block (the end of a range is excluded)"),
            ("1:+0", "contains no block (the end of a range is excluded)"),
            ("1.5", "`1.5` is not a whole number"),
            ("1.0001K", "`1.0001K` is not a whole number"),
            ("1e6", "`1e6` is not a block number"),
            ("K", "`K` is not a block number"),
            ("0x10", "`0x10` is not a block number"),
            ("-5", "`-5` is not a block number"),
            ("1:-5", "`-5` is not a block number"),
            ("99999999999B", "`99999999999B` is too large"),
            ("1:2:3:4", "more than two colons"),
            (
                "0..100",
                "ranges are written with a colon, and their end is excluded: 0:100",
            ),
            (
                "0..=900",
                "ranges are written with a colon, and their end is excluded: 0:901",
            ),
            (
                "10-20",
                "ranges are written with a colon, and their end is excluded: 10:21",
            ),
            (
                "17M..",
                "ranges are written with a colon, and their end is excluded: 17000000:",
            ),
            ("2024-13-01:", "`2024-13-01` is not a date"),
            ("2024-01-01T25:00:", "`2024-01-01T25:00` is not a time"),
            ("1969-12-31:", "`1969-12-31` is before 1970"),
            (
                "2024-01-01T12:00",
                "a time is not a block; the first block from then on is 2024-01-01T12:00:+1",
            ),
            (
                "2024-01-01:",
                "dates cannot be used here: name block numbers",
            ),
            ("1:2/3:4", "both a step and a count"),
            ("1:9:0", "step and count must be at least 1"),
            ("0:1M:2", "selects 500000 single blocks; at most 10000"),
            ("21M:", "the chain ends with block 20000000"),
            (
                "-30M:",
                "up to block 20000000, the chain has only 20,000,001 blocks",
            ),
            ("18446744073709551615:+2", "the end is too large"),
        ] {
            assert_eq!(resolved(text), expected, "{text}");
        }
    }

    #[test]
    fn starts_and_ends_are_points() {
        let read = |since, until| match since_until(since, until) {
            Ok(spec) => spec.map_or_else(String::new, |spec| spec.to_string()),
            Err(error) => error.to_string(),
        };
        assert_eq!(read(None, None), "");
        assert_eq!(read(Some("5"), None), "5:");
        assert_eq!(read(None, Some("1K")), "0:1000");
        assert_eq!(
            read(Some("2024-01-01"), Some("2024-01-02T12:00")),
            "2024-01-01:2024-01-02T12:00"
        );
        for text in ["5:6", "-5:", "5:", "x", "yesterday", "2024-13-1"] {
            let error = read(Some(text), None);
            assert!(error.contains("write 2024-01-31, "), "{error}");
        }
        for text in ["2024/1/5", "2024.01.05", "2024-1-5", "2024-01-5"] {
            let error = read(None, Some(text));
            assert!(error.ends_with("did you mean 2024-01-05?"), "{error}");
        }
        // A block number.
        assert_eq!(read(Some("20240105"), None), "20240105:");
        assert!(read(Some("2024-13-01"), None).contains("is not a date"));
    }

    /// The range with dates replaced: a block each second, from 2024 on.
    fn found(text: &str) -> String {
        let spec: BlockSpec = text.parse().unwrap();
        let written = spec.to_string();
        assert_eq!(
            written.parse::<BlockSpec>().unwrap(),
            spec,
            "{text} {written}"
        );
        let found = spec.without_dates(|seconds, _| Ok::<_, BlocksError>(seconds - 1_704_067_200));
        found.map_or_else(|error| error.reason, |spec| spec.to_string())
    }

    #[test]
    fn dates_are_points() {
        for (text, expected) in [
            ("2024-01-01:2024-01-02", "0:86400"),
            ("2024-01-01", "0:86400"),
            ("2024-01-01T00:01:2024-01-01T00:02", "60:120"),
            ("2024-01-01T00:01:30:2024-01-01T00:02:05Z", "90:125"),
            ("2024-01-01T00:01Z:100000", "60:100000"),
            ("2024-01-01T00:01:100000", "60:100000"),
            ("17:2024-01-02", "17:86400"),
            ("2024-01-02:", "86400:"),
            ("2024-01-02:latest", "86400:"),
            (":2024-01-02", "0:86400"),
            ("2024-01-02:+10", "86400:+10"),
            ("-10:2024-01-02", "-10:86399"),
            ("2024-01-01:2024-01-03:3600", "0:172800:3600"),
            ("2024-01-01:2024-01-03/5", "0:172800/5"),
            ("2024-02-29T12:00:+1", "5140800:+1"),
            (
                "2024-01-02:2024-01-02",
                "there is no block in it: the next one is block 86400",
            ),
            ("2024-01-03:2024-01-02", "it ends before it begins"),
            (
                "-10:2024-01-01",
                "contains no block (the end of a range is excluded)",
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_read_back(seconds in 0u64..250_000_000_000, end in 0u64..250_000_000_000) {
            let spec = BlockSpec {
                span: Span::Before(Point::Time(seconds), Point::Time(end)),
                sample: Sample::All,
            };
            prop_assert_eq!(spec.to_string().parse::<BlockSpec>().unwrap(), spec);
        }

        #[test]
        fn display_reads_back(first in 0u64..1 << 40, more in 1u64..1000, form in 0usize..9) {
            let text = match form {
                0 => format!("{first}"),
                1 => format!("{first}:{}", first + more),
                2 => format!("{first}:"),
                3 => format!("{first}:+{more}"),
                4 => format!("-{more}:"),
                5 => format!("-{more}:{first}"),
                6 => format!("{first}:{}:{more}", first + 5 * more),
                7 => format!("{first}:{}/{more}", first + 5 * more),
                _ => format!("latest:+{more}"),
            };
            let spec: BlockSpec = text.parse().unwrap();
            prop_assert_eq!(spec.to_string(), text.clone());
            prop_assert_eq!(spec.to_string().parse::<BlockSpec>().unwrap(), spec);
        }

        #[test]
        fn never_panics(text in "[-+0-9KMBkmb_.:/, latestTZ]{0,24}|20[0-9T:Z-]{0,30}", tip in any::<u64>()) {
            for spec in parse_blocks(&text).unwrap_or_default() {
                let _ = spec.resolve(tip);
            }
        }

        #[test]
        fn suffixes_are_powers_of_ten(whole in 0u64..1 << 30, thousandths in 0u64..1000) {
            for (suffix, unit) in [('K', 1_000u64), ('M', 1_000_000), ('B', 1_000_000_000)] {
                let text = format!("{whole}.{thousandths:03}{suffix}");
                prop_assert_eq!(parse_number(&text), Ok(whole * unit + thousandths * (unit / 1000)));
            }
        }

        #[test]
        fn samples_are_inside_the_range(first in 0u64..1000, blocks in 1u64..3000, n in 1u64..200) {
            let all = BlockRange::new(first, first + blocks - 1).unwrap();
            let end = first + blocks;
            let every = format!("{first}:{end}:{n}").parse::<BlockSpec>().unwrap().resolve(TIP).unwrap();
            prop_assert_eq!(every.blocks(), blocks.div_ceil(n));
            let spread = format!("{first}:{end}/{n}").parse::<BlockSpec>().unwrap().resolve(TIP).unwrap();
            prop_assert_eq!(spread.blocks(), n.min(blocks));
            for range in [&every, &spread] {
                prop_assert_eq!(range.span().unwrap().first, first);
                prop_assert!(range.span().unwrap().last <= all.last);
            }
            if n > 1 {
                prop_assert_eq!(spread.span().unwrap().last, all.last);
            }
        }
    }
}
