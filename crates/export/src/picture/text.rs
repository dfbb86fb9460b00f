//! The texts of a picture under construction.

use crate::{decimal::push_integer, text::counted};
use std::{fmt::Arguments, io::Write};

/// Appends lines of text, plain or as they are in a DOT file. A picture may have millions of texts, so
/// they are escaped while they are put together.
pub(super) struct Text<'o> {
    out: &'o mut Vec<u8>,
    is_quoted: bool,
}

impl<'o> Text<'o> {
    /// Plain lines, with line breaks between them.
    pub(super) const fn plain(out: &'o mut Vec<u8>) -> Self {
        let is_quoted = false;
        Self { out, is_quoted }
    }

    /// Text inside the quotes of Graphviz, which reads entities and escapes in it.
    pub(super) const fn quoted(out: &'o mut Vec<u8>) -> Self {
        let is_quoted = true;
        Self { out, is_quoted }
    }

    pub(super) fn end_line(&mut self) {
        self.put(if self.is_quoted { b"\\n" } else { b"\n" });
    }

    /// Appends text without a character that needs an escape.
    pub(super) fn put(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Appends the decimal digits of a number.
    pub(super) fn integer(&mut self, number: impl itoa::Integer) {
        push_integer(self.out, number);
    }

    /// Appends a count with its noun: `1 hub`, `2,000 hubs`.
    pub(super) fn counted(&mut self, count: u64, one: &str) {
        self.put(counted(count, one).as_bytes());
    }

    /// Lets `write` append text without a character that needs an escape.
    pub(super) fn with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
    }

    /// Appends formatted text without a character that needs an escape.
    pub(super) fn format(&mut self, text: Arguments<'_>) {
        push(self.out, text);
    }

    /// Appends any printable text.
    pub(super) fn any(&mut self, text: &str) {
        if !self.is_quoted {
            return self.put(text.as_bytes());
        }
        let mut rest = text.as_bytes();
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'&');
        while let Some(at) = rest.iter().position(is_special) {
            self.put(&rest[..at]);
            self.put(match rest[at] {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                _ => b"&amp;",
            });
            rest = &rest[at + 1..];
        }
        self.put(rest);
    }
}

/// Appends formatted text.
pub(super) fn push(out: &mut Vec<u8>, text: Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "a buffer takes any text");
}

/// Returns text that `push` makes. All text of a picture is UTF-8.
pub(super) fn made(push: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    push(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
