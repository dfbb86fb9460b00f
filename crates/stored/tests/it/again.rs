//! A test that runs again, in a process of its own.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The variable with what the test that runs again gets.
const PATHS: &str = "TXGRAPH_TEST_AGAIN";

/// Runs the test `name` again. There, [`paths`] returns these paths.
pub(crate) fn again(name: &str, paths: &[&Path]) -> Command {
    command(Command::new(env::current_exe().unwrap()), name, paths)
}

/// The same with files that cannot be longer than a limit which the test sets. Writing beyond it
/// raises SIGXFSZ unless it is ignored, which `exec` keeps.
pub(crate) fn again_without_signal(name: &str, paths: &[&Path]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    shell.arg(env::current_exe().unwrap());
    command(shell, name, paths)
}

fn command(mut command: Command, name: &str, paths: &[&Path]) -> Command {
    // Without the name of the crate.
    let (_, name) = name.split_once("::").unwrap();
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PATHS, env::join_paths(paths).unwrap());
    command
}

/// What a test that runs again got; `None` in the first process.
pub(crate) fn paths<const N: usize>() -> Option<[PathBuf; N]> {
    let text = env::var_os(PATHS)?;
    // No paths are one empty one.
    let paths = env::split_paths(&text).filter(|_| N > 0);
    Some(paths.collect::<Vec<_>>().try_into().unwrap())
}
