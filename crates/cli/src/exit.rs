//! Exit statuses, and messages about failures.

use crate::{hints::hint_text, progress};
use std::{error::Error as _, process::ExitCode};
use txgraph::{Error, ErrorKind, Result};

/// Returns the exit status for a kind of error.
pub fn exit_code(kind: ErrorKind) -> ExitCode {
    ExitCode::from(match kind {
        ErrorKind::BrokenPipe => 0,
        ErrorKind::Usage | ErrorKind::Unsupported(_) => 2,
        ErrorKind::Unavailable => 3,
        ErrorKind::Interrupted => 130,
        _ => 1,
    })
}

/// The result of a command of which some parts failed: the last failure. The others are printed.
pub(crate) fn last_of(mut failed: Vec<Error>) -> Result<()> {
    let last = failed.pop();
    failed.iter().for_each(report);
    last.map_or(Ok(()), Err)
}

/// Prints an error with its causes and a hint to standard error.
pub fn report(error: &Error) {
    if error.kind == ErrorKind::BrokenPipe {
        // The reader has seen enough.
        return;
    }
    let mut text = format!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    progress::say_lines(&text);
    if let Some(hint) = &error.hint {
        progress::say(format_args!("hint: {}", hint_text(hint)));
    }
}
