//! Text in messages.

use std::borrow::Cow;

/// Characters of a text that a message quotes at most.
const QUOTED_CHARS_MAX: usize = 100;

/// The text as a message quotes it: cut, if it is long.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
    }
}
