//! `txgraph completions`.

use super::Context;
use crate::output::print_data;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use txgraph::Result;

/// Write a completion script for a shell
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  For bash, until the shell ends: source <(txgraph completions bash)
    $ txgraph completions bash
    $ txgraph completions zsh
";

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs, _: &Context<'_>) -> Result<()> {
    let mut command = crate::Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "txgraph", &mut script);
    print_data(&script)
}
