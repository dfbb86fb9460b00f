//! Comma-separated values (RFC 4180 with `\n`). Tests compare them with the `csv` crate.

use super::RowEncoder;
use crate::{
    Column, Metadata, Result, Value, Written, output::Output, plain_text, text::printable,
    text_output::TextOutput, value::ValueText,
};

/// Encodes rows of typed values.
pub(crate) struct Rows(TextOutput);

impl Rows {
    pub(crate) fn new(columns: &[Column], output: Output) -> Self {
        let mut text = TextOutput::new(output);
        push_header(&mut text.buffer, columns.iter().map(|column| &*column.name));
        Self(text)
    }
}

impl RowEncoder for Rows {
    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        let out = &mut self.0.buffer;
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            match value.as_text() {
                Some(text) => push_text(out, text),
                // Quotes inside of JSON, and commas, need quotes around them.
                None if matches!(value, Value::Json(_)) => {
                    push_text(out, &plain_text(value));
                }
                None => value.push_plain(out),
            }
        }
        out.push(b'\n');
        self.0.end_row()
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.0.finish(metadata)
    }
}

/// Appends the header line.
pub(crate) fn push_header<'n>(out: &mut Vec<u8>, names: impl Iterator<Item = &'n str>) {
    for (i, name) in names.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_text(out, name);
    }
    out.push(b'\n');
}

/// Appends any text: printable, quoted if necessary, and never a formula to a spreadsheet (an
/// apostrophe goes before `= + - @`). Some spreadsheets divide at `;`, so each part of a text with `;`
/// is a text of its own.
fn push_text(out: &mut Vec<u8>, text: &str) {
    let text = printable(text);
    let quoted = text.contains([',', '"']);
    if quoted {
        out.push(b'"');
    }
    for (i, part) in text.split(';').enumerate() {
        if i > 0 {
            out.push(b';');
        }
        // After `;`, two quotes are an empty text, and what follows is added to it.
        let start = part.trim_start_matches(|c: char| c.is_whitespace() || (i > 0 && c == '"'));
        if start.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
            out.push(b'\'');
        }
        for (quotes, piece) in part.split('"').enumerate() {
            if quotes > 0 {
                out.extend_from_slice(b"\"\"");
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }
    if quoted {
        out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_reads_back(text in prop_oneof![any::<String>(), "[;=a\"', ]{0,8}"]) {
            let mut line = b"before,".to_vec();
            push_text(&mut line, &text);
            line.extend_from_slice(b",after\n");
            let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&line[..]);
            let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
            prop_assert_eq!(rows.len(), 1);
            let text = printable(&text);
            let (read, parts) = (rows[0][1].split(';'), text.split(';'));
            prop_assert_eq!(read.clone().count(), parts.clone().count());
            for (read, part) in read.zip(parts) {
                let plain = read.strip_prefix('\'').filter(|_| !part.starts_with('\''));
                prop_assert_eq!(plain.unwrap_or(read), part);
                prop_assert!(!read.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '\n']));
            }
        }
    }

    #[test]
    fn formulas_get_an_apostrophe() {
        let cases = [
            (
                "=HYPERLINK(\"http://x\")",
                "\"'=HYPERLINK(\"\"http://x\"\")\"",
            ),
            ("+1", "'+1"),
            ("-1+1", "'-1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("a,b", "\"a,b\""),
            ("a\nb", "a b"),
            (";=cmd|'/C calc'!A0;", ";'=cmd|'/C calc'!A0;"),
            ("a; \"=1,@b;b", "\"a;' \"\"=1,@b;b\""),
            ("a;b", "a;b"),
            ("USDC", "USDC"),
            ("", ""),
        ];
        for (text, field) in cases {
            let mut out = Vec::new();
            push_text(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), field);
        }
    }
}
