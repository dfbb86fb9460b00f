//! Text from outside (labels, symbols), made safe to show.

use alloy_primitives::{Address, hex};
use std::borrow::Cow;
use txgraph_base::number;

/// Replaces every character that is not seen as it is: control characters, line breaks,
/// characters without width and changes of direction. Tabs and line breaks become spaces,
/// the others U+FFFD, so that a reader sees that something was there.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let replace = |c: char| match c {
        c if is_plain(c) => c,
        '\t' | '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(text.chars().map(replace).collect())
}

/// Whether a character is seen as it is.
pub(crate) fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let invisible = matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}');
    // Noncharacters: the last two code points of each plane, and FDD0..=FDEF. XML has none.
    let no_character = u32::from(c) & 0xFFFE == 0xFFFE || matches!(c, '\u{FDD0}'..='\u{FDEF}');
    !(invisible || no_character || c.is_control())
}

/// Returns the [`printable`] text, trimmed and cut to `chars` characters.
pub(crate) fn printable_short(text: &str, chars: usize) -> String {
    let text = text.trim();
    // Cut first: text from outside may have megabytes.
    match text.char_indices().nth(chars) {
        None => printable(text).into_owned(),
        Some(_) => {
            let end = text.char_indices().nth(chars - 1).map_or(0, |(at, _)| at);
            format!("{}…", printable(&text[..end]))
        }
    }
}

/// Returns a count with its noun: `1 hub`, `2,000 hubs`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    number(count, one, &format!("{one}s"))
}

/// Appends `0x` and lower-case hex.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"0x");
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    let encoded = hex::encode_to_slice(bytes, &mut out[start..]);
    debug_assert!(encoded.is_ok(), "the space is twice the bytes");
}

/// Returns `0x1234…abcd`, with the capitals of EIP-55.
pub(crate) fn short_address(address: Address) -> String {
    let full = address.to_checksum(None);
    format!("{}…{}", &full[..6], &full[38..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_replaced() {
        assert!(matches!(
            printable("USD₮ 火 é 🦊 <b>\"x\"</b>"),
            Cow::Borrowed(_)
        ));
        let cases = [
            ("a\nb\tc\r\nd", "a b c  d"),
            ("evil\u{202E}txt.exe", "evil\u{FFFD}txt.exe"),
            ("US\u{200B}DC", "US\u{FFFD}DC"),
            (
                "nul\0 bell\u{7} esc\u{1b}[31m",
                "nul\u{FFFD} bell\u{FFFD} esc\u{FFFD}[31m",
            ),
            ("del\u{7f} c1\u{9b}", "del\u{FFFD} c1\u{FFFD}"),
            (
                "\u{FFFE}\u{1FFFF}\u{FDD0}\u{E0041}",
                "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}",
            ),
        ];
        for (text, shown) in cases {
            assert_eq!(printable(text), shown);
            assert_eq!(printable(shown), shown, "a second pass changes nothing");
        }
    }

    #[test]
    fn long_text_ends_in_an_ellipsis() {
        assert_eq!(printable_short(" äöü ", 3), "äöü");
        assert_eq!(printable_short("äöüß", 3), "äö…");
    }

    #[test]
    fn short_addresses_keep_both_ends_and_capitals() {
        let address = "0xdac17f958d2ee523a2206206994597c13d831ec7"
            .parse()
            .unwrap();
        assert_eq!(short_address(address), "0xdAC1…1ec7");
    }
}
