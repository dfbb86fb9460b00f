//! `txgraph man`.

use crate::output::{print_data, stdout_error};
use clap::{Args, Command};
use clap_mangen::Man;
use txgraph::{Error, Result};

/// Write the manual as man pages
///
/// Without a command, the page of `txgraph` is followed by the pages of all commands.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// Only the page of this command, e.g. `graph` or `index build`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  To read it: txgraph man | man -l -
    $ txgraph man
    $ txgraph man graph
    $ txgraph man index build
";

pub(crate) fn run(args: &ManArgs, mut command: Command) -> Result<()> {
    // Gives every subcommand the global options and its full name.
    command.build();
    let mut page = &command;
    for name in &args.command {
        page = page
            .find_subcommand(name)
            .ok_or_else(|| Error::usage(format!("there is no command `{name}`")))?;
    }
    let mut pages = Vec::new();
    render(page, args.command.is_empty(), &mut pages).map_err(stdout_error)?;
    print_data(&pages)
}

fn render(command: &Command, all: bool, pages: &mut Vec<u8>) -> std::io::Result<()> {
    let name = command
        .get_bin_name()
        .unwrap_or("txgraph")
        .replace(' ', "-");
    Man::new(command.clone()).title(name).render(pages)?;
    let commands = command.get_subcommands();
    for command in commands.filter(|command| all && command.get_name() != "help") {
        render(command, all, pages)?;
    }
    Ok(())
}
