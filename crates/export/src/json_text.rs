//! JSON text. Characters that are not seen as they are (control characters, line
//! separators, characters without width, changes of direction) are always escaped: a
//! parser gives them back, a terminal never receives them.

use crate::{Result, text::is_plain};
use serde::Serialize;
use serde_json::{
    Serializer,
    ser::{CompactFormatter, Formatter, PrettyFormatter},
};
use std::io::{self, Write};

/// Appends a value on one line.
pub(crate) fn push_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(
        out,
        Escaping(CompactFormatter),
    ))?)
}

/// Appends text or a number on one line. Both can always be encoded.
pub(crate) fn push_scalar(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = push_json(out, value);
    debug_assert!(written.is_ok(), "a buffer takes any text");
}

/// A value as a document of its own, indented. Characters that are not seen as they are, such as control
/// characters, are escaped.
pub fn pretty_json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    push_json_pretty(&mut text, value)?;
    text.push(b'\n');
    Ok(text)
}

/// Appends a value, indented.
pub(crate) fn push_json_pretty(out: &mut Vec<u8>, value: &impl Serialize) -> Result<()> {
    let formatter = Escaping(PrettyFormatter::new());
    Ok(value.serialize(&mut Serializer::with_formatter(out, formatter))?)
}

/// Appends what needs no escapes, between quotes.
pub(crate) fn quoted(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    content(out);
    out.push(b'"');
}

/// Appends a key that needs no escapes.
pub(crate) fn push_key(out: &mut Vec<u8>, key: &str) {
    quoted(out, |out| out.extend_from_slice(key.as_bytes()));
    out.push(b':');
}

/// Another formatter, with more characters escaped.
struct Escaping<F>(F);

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*)),+ $(,)?) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $arg: $type)*) -> io::Result<()> {
            self.0.$name(writer $(, $arg)*)
        })+
    };
}

impl<F: Formatter> Formatter for Escaping<F> {
    // All that the two formatters of serde_json override.
    forward! {
        begin_array(),
        end_array(),
        begin_array_value(first: bool),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first: bool),
        begin_object_value(),
        end_object_value(),
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| !is_plain(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::printable;
    use proptest::prelude::*;
    use serde_json::json;
    use std::borrow::Cow;

    proptest! {
        #[test]
        fn text_reads_back_and_is_printable(text in "(\\PC|.|[\u{7f}-\u{9f}\u{61c}\u{2028}-\u{202e}\u{e0001}]){0,20}") {
            let value = json!({ "key": text, "list": [text, 1, null], "empty": [] });
            for pretty in [false, true] {
                let mut out = Vec::new();
                if pretty {
                    push_json_pretty(&mut out, &value).unwrap();
                } else {
                    push_json(&mut out, &value).unwrap();
                }
                let out = String::from_utf8(out).unwrap();
                prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&out).unwrap(), &value);
                let without_breaks = out.replace('\n', "");
                prop_assert!(matches!(printable(&without_breaks), Cow::Borrowed(_)), "{}", out);
            }
        }
    }

    #[test]
    fn plain_values_are_written_as_serde_json_does() {
        let value =
            json!({"a": [1, 2.5, true, null], "b": {"c": "火 é \" \\ \n"}, "d": {}, "e": []});
        let mut out = Vec::new();
        push_json(&mut out, &value).unwrap();
        assert_eq!(out, serde_json::to_vec(&value).unwrap());
        out.clear();
        push_json_pretty(&mut out, &value).unwrap();
        assert_eq!(out, serde_json::to_vec_pretty(&value).unwrap());
    }

    #[test]
    fn hidden_characters_are_escaped() {
        let mut out = Vec::new();
        push_json(
            &mut out,
            "a\u{61c}b\u{2028}c\u{2029}d\u{202e}e\u{7f}f\u{9b}g\u{e0001}",
        )
        .unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#""a\u061cb\u2028c\u2029d\u202ee\u007ff\u009bg\udb40\udc01""#
        );
    }
}
