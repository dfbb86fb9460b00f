//! Times as text.

use jiff::{fmt::temporal::Pieces, tz::Offset};
use std::borrow::Cow;

/// Parses `2023-05-02T12:19:59Z`, `2023-05-02 12:19:59.000 UTC`, `2023-05-02T14:19:59+02:00` and
/// the like into Unix seconds. Times without an offset are UTC. A fraction of a second must be
/// zero, because blocks have whole seconds.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_suffix("UTC").map_or(text, str::trim_end);
    // jiff also reads dates alone, times without seconds, and leap seconds.
    let bytes = text.as_bytes();
    if bytes.get(16) != Some(&b':') || bytes.get(17..19) == Some(b"60") {
        return None;
    }
    // A space before the offset is not in any standard.
    let text = match text.rsplit_once(' ') {
        Some((time, offset)) if offset.starts_with(['+', '-']) => {
            Cow::Owned(format!("{}{offset}", time.trim_end()))
        }
        _ => Cow::Borrowed(text),
    };
    let pieces = Pieces::parse(&*text).ok()?;
    let time = pieces.date().to_datetime(pieces.time()?);
    let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
    // jiff reads offsets of more than a day.
    if offset.seconds().abs() >= 86_400 {
        return None;
    }
    let time = offset.to_timestamp(time).ok()?;
    let is_clear = time.subsec_nanosecond() == 0 && pieces.time_zone_annotation().is_none();
    is_clear.then(|| u64::try_from(time.as_second()).ok())?
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_of_several_tools_are_parsed() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2023-05-02T12:19:59Z", 1_683_029_999),
            ("2023-05-02 12:19:59", 1_683_029_999),
            ("2023-05-02 12:19:59 UTC", 1_683_029_999),
            ("2023-05-02 12:19:59.000 UTC", 1_683_029_999),
            ("2023-05-02T12:19:59.000000+00:00", 1_683_029_999),
            ("2023-05-02T14:19:59+02:00", 1_683_029_999),
            ("2023-05-02 06:49:59.000-0530", 1_683_029_999),
            ("2023-05-02 12:19:59+00", 1_683_029_999),
            ("2023-05-02 14:19:59 +0200", 1_683_029_999),
            ("2023-05-02 12:19:59.000000000Z", 1_683_029_999),
            ("2000-02-29 00:00:00", 951_782_400),
            ("2024-03-01 00:00:00", 1_709_251_200),
            ("2100-03-01 00:00:00", 4_107_542_400),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "2023-05-02",
            "2023-02-29 00:00:00",
            "2023-13-01 00:00:00",
            "2023-05-02 24:00:00",
            "2023-05-02 12:19:59.5",
            "2023-05-02 12:19:59.",
            "2023-05-02 12:19:59 CET",
            "2023-05-02 12:19:59+2",
            "2023-05-02 12:19:59+25:00",
            "1970-01-01 00:00:00+01:00",
            "2023-05-02 12:19",
            "2023-05-02 12:19+00:00",
            "2023-05-02 12:19:60",
            "2023-05-02 12:19:59[Asia/Tokyo]",
            "2023-05-02 12:19:59+09:00[Asia/Tokyo]",
            "20230502T121959",
            "+2023-05-02 12:19:59",
            "1969-12-31 23:59:59",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
