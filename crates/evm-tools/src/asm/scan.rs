//! Splits source lines into words with their positions.

use super::AsmError;
use alloy_primitives::{U256, hex};

/// A word of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A mnemonic, constant or label.
    Name(&'a str),
    /// A number.
    Number(U256),
    /// The bytes between quotation marks.
    Text(Vec<u8>),
    /// `:` after a label.
    Colon,
    /// `=` of a constant.
    Equals,
    /// `+` of a sum.
    Plus,
    /// `-` of a sum.
    Minus,
}

/// A word with its position.
#[derive(Clone, Debug)]
pub(super) struct Spanned<'a> {
    pub(super) token: Token<'a>,
    /// The word as written.
    pub(super) written: &'a str,
    /// Offset in the line in bytes.
    pub(super) start: usize,
}

/// A line of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Line number, from one.
    pub(super) number: usize,
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// Creates an error at a byte offset of this line.
    pub(super) fn error(&self, start: usize, what: impl Into<String>) -> AsmError {
        AsmError {
            line: self.number,
            column: self.text[..start].chars().count() + 1,
            what: what.into(),
            text: self.text.to_owned(),
        }
    }
}

/// Returns the words of a line, without comments.
pub(super) fn words<'a>(line: Line<'a>) -> Result<Vec<Spanned<'a>>, AsmError> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = line.text[at..].chars().next() {
        let rest = &line.text[at..];
        let symbol = match first {
            ';' | '#' => break,
            _ if rest.starts_with("//") => break,
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            ':' => Some(Token::Colon),
            '=' => Some(Token::Equals),
            '+' => Some(Token::Plus),
            '-' => Some(Token::Minus),
            _ => None,
        };
        let (token, length) = match symbol {
            Some(token) => (token, 1),
            None if first == '"' => quoted(line, at)?,
            None => {
                let is_word = |c: char| c.is_alphanumeric() || "_.".contains(c);
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                if length == 0 {
                    return Err(line.error(at, format!("unexpected character {first:?}")));
                }
                let word = &rest[..length];
                let token = match first.is_ascii_digit() {
                    true => number(word).map_err(|what| line.error(at, what))?,
                    false => Token::Name(word),
                };
                (token, length)
            }
        };
        words.push(Spanned {
            token,
            written: &rest[..length],
            start: at,
        });
        at += length;
    }
    Ok(words)
}

fn number<'a>(word: &str) -> Result<Token<'a>, String> {
    let (digits, radix) = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (word, 10),
    };
    if digits.is_empty() {
        return Err(format!("{word} has no digits"));
    }
    U256::from_str_radix(digits, radix)
        .map(Token::Number)
        .map_err(|e| format!("{word} is not a number of at most 256 bits: {e}"))
}

/// Parses quoted text. Returns its bytes, and the length in the line.
fn quoted<'a>(line: Line<'a>, start: usize) -> Result<(Token<'a>, usize), AsmError> {
    let inside = &line.text[start + 1..];
    match inside.find('"') {
        Some(length) => Ok((Token::Text(inside[..length].into()), length + 2)),
        None => Err(line.error(start, "the text has no closing quotation mark")),
    }
}

/// Parses bytes written as `0x…`. Unlike numbers, they keep leading zeros.
pub(super) fn raw_bytes(written: &str) -> Result<Vec<u8>, String> {
    match written.strip_prefix("0x") {
        Some(digits) => hex::decode(digits).map_err(|e| format!("{written}: {e}")),
        None => Err(format!(
            "{written} is not bytes: write 0x… with two digits per byte, or quoted text"
        )),
    }
}
