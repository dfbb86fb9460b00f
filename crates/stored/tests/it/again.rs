//! A test that runs again, in a process of its own.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The variable with what the test that runs again gets.
const PATHS: &str = "TXGRAPH_TEST_AGAIN";

/// Runs the test `name` again, which has the name of its crate. There, [`paths`] returns these paths.
pub(crate) fn again(name: &str, paths: &[&Path]) -> Command {
    let (_, name) = name.split_once("::").unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PATHS, env::join_paths(paths).unwrap());
    command
}

/// Returns the paths of a test that runs again; `None` in the first process.
pub(crate) fn paths<const N: usize>() -> Option<[PathBuf; N]> {
    let text = env::var_os(PATHS)?;
    // No paths are one empty one.
    let paths = env::split_paths(&text).filter(|_| N > 0);
    Some(paths.collect::<Vec<_>>().try_into().unwrap())
}
