//! Dates and times, in UTC.

use super::shortened::shortened;
use jiff::{Timestamp, civil, tz::TimeZone};

/// The seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// The bytes at the start of a text that look like a date, or like a date and a time of day.
pub(crate) fn prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    // `9` stands for a digit.
    let is_like = |at: usize, pattern: &[u8]| {
        bytes.get(at..at + pattern.len()).is_some_and(|part| {
            let mut pairs = part.iter().zip(pattern);
            pairs.all(|(byte, wanted)| match wanted {
                b'9' => byte.is_ascii_digit(),
                other => byte.eq_ignore_ascii_case(other),
            })
        })
    };
    if !is_like(0, b"9999-99-99") {
        return 0;
    }
    if !is_like(10, b"T99:99") {
        return 10;
    }
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    // Two digits after another colon are seconds; a block number there has more of them.
    let end = if is_like(16, b":99") && !is_digit(19) {
        19
    } else {
        16
    };
    end + usize::from(is_like(end, b"Z"))
}

/// Whether a text has the form of a date or a time.
pub(crate) fn is_time(text: &str) -> bool {
    !text.is_empty() && prefix(text) == text.len()
}

/// Whether a text has the form of a date without a time of day.
pub(crate) const fn is_date(text: &str) -> bool {
    text.len() == 10
}

/// Reads `2024-01-01`, `2024-01-01T12:00` or `2024-01-01T12:00:30`, all in UTC, as seconds since
/// 1970.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    let what = if is_date(text) { "date" } else { "time" };
    let plain = text.trim_end_matches(['Z', 'z']);
    let read = if is_date(plain) {
        (plain.parse::<civil::Date>()).map(|date| date.to_datetime(civil::Time::midnight()))
    } else {
        plain.parse::<civil::DateTime>()
    };
    let time = read.and_then(|time| TimeZone::UTC.to_timestamp(time));
    let time = time.map_err(|_| format!("`{}` is not a {what}", shortened(text)))?;
    u64::try_from(time.as_second()).map_err(|_| format!("`{text}` is before 1970"))
}

/// Writes seconds since 1970 in the shortest form that `parse_time` reads.
pub(crate) fn format_time(seconds: u64) -> String {
    let Some(time) = civil(seconds) else {
        return format!("{seconds} s after 1970");
    };
    let form = match (seconds % DAY, seconds % 60) {
        (0, _) => "%Y-%m-%d",
        (_, 0) => "%Y-%m-%dT%H:%M",
        _ => "%Y-%m-%dT%H:%M:%S",
    };
    time.strftime(form).to_string()
}

/// Writes seconds since 1970 for people: `2026-11-21 06:49:11 UTC`.
pub fn utc(seconds: u64) -> String {
    match civil(seconds) {
        Some(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        None => format!("{seconds} s after 1970-01-01 UTC"),
    }
}

fn civil(seconds: u64) -> Option<civil::DateTime> {
    let time = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(TimeZone::UTC.to_datetime(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_438_269_988, "2015-07-30 15:26:28 UTC"),
            (4_102_444_800, "2100-01-01 00:00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), text);
            assert_eq!(parse_time(&format_time(seconds)), Ok(seconds));
            assert_eq!(parse_time(&text[..19].replace(' ', "T")), Ok(seconds));
        }
        assert_eq!(format_time(951_782_400), "2000-02-29");
        assert_eq!(format_time(951_782_460), "2000-02-29T00:01");
        assert_eq!(format_time(951_782_461), "2000-02-29T00:01:01");
        // Every value of a header can be written.
        assert!(utc(u64::MAX).ends_with("UTC"));
        assert!(format_time(u64::MAX).contains("after 1970"));
    }

    #[test]
    fn times_have_a_form() {
        for (text, length) in [
            ("2024-01-01", 10),
            ("2024-01-01T12", 10),
            ("2024-01-01T12:30", 16),
            ("2024-01-01t12:30z", 17),
            ("2024-01-01T12:30:59", 19),
            ("2024-01-01T12:30:59Z:5", 20),
            ("2024-01-01T12:30:599", 16),
            ("2024-01-01:5", 10),
            ("2024-1-1", 0),
            ("17", 0),
            ("", 0),
            ("20é4-01-01", 0),
        ] {
            assert_eq!(prefix(text), length, "{text}");
        }
    }
}
