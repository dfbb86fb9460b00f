//! What GraphML and GEXF share: elements, attributes, escapes.

use crate::text::printable;

/// Appends text that may hold anything, as content or attribute of an element.
/// XML 1.0 has no way at all to say most control characters.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    for c in printable(text).chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&apos;"),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Appends ` name="value"`.
pub(crate) fn push_attribute(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    push_text(out, value);
    out.push(b'"');
}

/// The first line of the file.
pub(crate) const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
