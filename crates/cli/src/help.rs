//! The command line with its help texts. The options of every command are described in one
//! place, `txgraph help options`, and not in the help of each command.

use crate::Cli;
use clap::{Arg, Command, CommandFactory};

/// The name of the topic.
pub(crate) const OPTIONS: &str = "options";

/// The end of every help text.
const FOOT: &str = "\
Options of every command:
  --datadir DIR, --source KIND:LOCATION    what to read
  --config FILE, --threads N, --index DIR  how to run
  --explain, --verbose, --quiet            what to print on stderr
  All of them: txgraph help options";

/// The command line as it is parsed.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let shared: Vec<Arg> = (command.get_arguments())
        .filter(|arg| arg.is_global_set())
        .cloned()
        .collect();
    let topic = Command::new(OPTIONS)
        .about("Options of every command")
        .hide(true)
        .args(shared);
    let hide = |arg: Arg| match arg.is_global_set() {
        true => arg.hide(true),
        false => arg,
    };
    with_foot(command.mut_args(hide)).subcommand(topic)
}

/// Adds the end to the help of a command and of its subcommands.
fn with_foot(command: Command) -> Command {
    let long = match command.get_after_long_help() {
        Some(text) => format!("{}\n\n{FOOT}", text.to_string().trim_end()),
        None => FOOT.to_owned(),
    };
    command
        .after_help(FOOT)
        .after_long_help(long)
        .mut_subcommands(with_foot)
}
