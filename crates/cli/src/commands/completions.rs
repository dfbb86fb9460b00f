//! `txgraph completions`.

use crate::output::print_data;
use clap::{Args, Command, builder::PossibleValuesParser};
use clap_complete::Shell;
use std::collections::BTreeSet;
use txgraph::{Measure, Result, column_names, parse::QueryFile};

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

  A script names the saved queries of the folder in which it was written, except for names with
  characters that mean something to a shell.
";

pub(crate) fn run(args: &CompletionsArgs, command: Command) -> Result<()> {
    let queries = QueryFile::list().into_iter().flatten();
    let queries: Vec<_> = queries.filter(|query| is_plain(&query.name)).collect();
    let mut command = with_names(command, &queries);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "txgraph", &mut script);
    if args.shell == Shell::Fish {
        // The generator leaves out the values of arguments without a name.
        let names: Vec<_> = queries.iter().map(|query| query.name.as_str()).collect();
        let names = names.join(" ");
        script.extend_from_slice(
            format!(
                "complete -c txgraph -n \"__fish_txgraph_using_subcommand query\" -f -a \"{names}\"\n"
            )
            .as_bytes(),
        );
    }
    print_data(&script)
}

/// Whether a name is one word wherever it is in a script. The files of a folder can have any name,
/// also one with a command in it, which a shell would run.
fn is_plain(name: &str) -> bool {
    (name.chars()).all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// The command line with the values that a completion can offer: saved queries, their
/// parameters, tables of measures, and columns.
fn with_names(command: Command, queries: &[QueryFile]) -> Command {
    let parameters = queries.iter().flat_map(|query| query.params.keys());
    let parameters = parameters.filter(|name| is_plain(name));
    let parameters: BTreeSet<_> = parameters.map(|name| format!("{name}=")).collect();
    let queries: Vec<_> = queries.iter().map(|query| query.name.clone()).collect();
    let tables: BTreeSet<&str> = (Measure::ALL.iter())
        .flat_map(|measure| measure.table_ids().iter().copied())
        .collect();
    let columns: Vec<&str> = column_names().collect();
    let with_columns = |command: Command| {
        let columns = PossibleValuesParser::new(columns.clone());
        command.mut_arg("columns", |arg| arg.value_parser(columns))
    };
    let with_columns = ["graph", "transfers", "watch", "query"]
        .into_iter()
        .fold(command, |command, name| {
            command.mut_subcommand(name, with_columns)
        });
    with_columns
        .mut_subcommand("query", |command| {
            command
                .mut_arg("file", |arg| {
                    arg.value_parser(PossibleValuesParser::new(queries))
                })
                .mut_arg("set", |arg| {
                    arg.value_parser(PossibleValuesParser::new(parameters))
                })
        })
        .mut_subcommand("analyze", |command| {
            command.mut_arg("table", |arg| {
                arg.value_parser(PossibleValuesParser::new(tables))
            })
        })
}
