//! Times as text.

/// Seconds in a day.
const DAY: u64 = 86_400;

/// Parses `2023-05-02T12:19:59Z`, `2023-05-02 12:19:59.000 UTC`, `2023-05-02T14:19:59+02:00` and
/// the like into Unix seconds. Times without an offset are UTC. A fraction of a second must be
/// zero, because blocks have whole seconds.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_suffix("UTC").map_or(text, str::trim_end);
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (text, offset) = split_offset(text)?;
    let text = match text.split_once('.') {
        Some((text, fraction)) if !fraction.is_empty() => {
            fraction.bytes().all(|b| b == b'0').then_some(text)?
        }
        Some(_) => return None,
        None => text,
    };
    let (date, clock) = text.split_once(['T', ' '])?;
    let [year, month, day] = parts(date, '-')?;
    let [hour, minute, second] = parts(clock, ':')?;
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let local =
        valid.then(|| days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second)?;
    local.checked_add_signed(-offset)
}

/// The text without its offset from UTC, and the offset in seconds: `+02:00`, `-0530`, `+00`.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    // The dashes of a date are before its time.
    let clock = text.find([':', 'T']).unwrap_or(text.len());
    let Some(at) = text[clock..].find(['+', '-']).map(|at| clock + at) else {
        return Some((text, 0));
    };
    let digits = text[at + 1..].replace(':', "");
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let seconds = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
    let sign = if text[at..].starts_with('-') { -1 } else { 1 };
    Some((text[..at].trim_end(), sign * seconds))
}

/// Three numbers of at most four digits.
fn parts(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut numbers = text.split(separator).map(|part| {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse().ok())?
    });
    let parts = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(parts)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days between 1970-01-01 and a date.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    years + (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1
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
            "+2023-05-02 12:19:59",
            "1969-12-31 23:59:59",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
