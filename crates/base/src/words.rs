//! Counts in words.

/// `1,234,567`.
pub fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

/// Decimal digits, in groups of three.
pub fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun, and what follows it: `1 row is`, `1,234 rows are`.
pub fn number(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{} {noun}", thousands(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_a_noun_of_its_own() {
        for (count, text) in [
            (0, "0 rows"),
            (1, "1 row"),
            (2, "2 rows"),
            (1000, "1,000 rows"),
        ] {
            assert_eq!(number(count, "row", "rows"), text);
        }
        assert_eq!(grouped("1234567"), "1,234,567");
    }
}
