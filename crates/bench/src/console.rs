//! Lines on stdout and stderr.

/// Prints a line of the result.
#[expect(clippy::print_stdout, reason = "the output of a command line tool")]
pub(crate) fn say(line: impl std::fmt::Display) {
    println!("{line}");
}

/// Prints a line about the progress.
#[expect(clippy::print_stderr, reason = "progress of a command line tool")]
pub(crate) fn progress(line: impl std::fmt::Display) {
    eprintln!("{line}");
}
