//! Strings of DOT as Graphviz shows them.

use graphviz_rust::dot_structures::Id;

/// Returns a value without its quotes and escapes.
pub(crate) fn shown(id: &Id) -> String {
    let Id::Escaped(text) = id else {
        panic!("{id:?} is not quoted")
    };
    let inner = text.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
    let mut shown = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next().unwrap() {
                'n' => shown.push('\n'),
                c @ ('"' | '\\') => shown.push(c),
                other => panic!("\\{other} means something else to Graphviz"),
            },
            '"' => panic!("an open quote in {inner}"),
            c => shown.push(c),
        }
    }
    shown.replace("&amp;", "&")
}
