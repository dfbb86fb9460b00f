//! Text from the data directory, made safe for terminals and logs.

/// Returns the text with everything escaped that a terminal does not show as it is:
/// control characters, line breaks, invisible characters and those that change the
/// direction of writing. File names and database rows may hold any of them.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => escaped.push(c),
            _ => escaped.extend(c.escape_debug()),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_terminals_interpret() {
        for plain in [
            "reth/v2.5.1-abc",
            r#"{"storage_v2":true}"#,
            r"a\b'c",
            "日本",
        ] {
            assert_eq!(escaped(plain), plain);
        }
        assert_eq!(escaped("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(
            escaped("\u{202e}\u{2028}\u{9b}"),
            "\\u{202e}\\u{2028}\\u{9b}"
        );
    }
}
