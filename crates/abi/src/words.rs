//! Values as people write them.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::hex;

/// The text of a value: numbers in decimal, addresses with checksum, bytes in hex, strings in
/// quotes, `[…]` for arrays and `(…)` for tuples. A text can contain characters that a terminal
/// would interpret.
pub(crate) fn words(value: &DynSolValue) -> String {
    match value {
        DynSolValue::Bool(value) => value.to_string(),
        DynSolValue::Int(value, _) => value.to_string(),
        DynSolValue::Uint(value, _) => value.to_string(),
        DynSolValue::FixedBytes(word, len) => {
            hex::encode_prefixed(word.get(..*len).unwrap_or(&word[..]))
        }
        DynSolValue::Address(address) => address.to_string(),
        DynSolValue::Function(function) => hex::encode_prefixed(function.as_slice()),
        DynSolValue::Bytes(bytes) => hex::encode_prefixed(bytes),
        DynSolValue::String(text) => quoted(text),
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) => {
            format!("[{}]", listed(values))
        }
        DynSolValue::Tuple(values) => format!("({})", listed(values)),
    }
}

fn listed(values: &[DynSolValue]) -> String {
    let values: Vec<_> = values.iter().map(words).collect();
    values.join(", ")
}

/// A string in quotes. Characters that a terminal would interpret stay as they are.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_escaped() {
        assert_eq!(quoted("a\"b\\"), r#""a\"b\\""#);
    }
}
