//! Text of a file in a message.

/// Characters of a reason that quotes the file.
const REASON_CHARS: usize = 200;

/// A reason that may quote the file, in one line.
pub(super) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(REASON_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
