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

  A script names the saved queries of the folder in which it was written.
";

pub(crate) fn run(args: &CompletionsArgs, command: Command) -> Result<()> {
    let mut command = with_names(command)?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "txgraph", &mut script);
    if args.shell == Shell::Fish {
        // The generator leaves out the values of arguments without a name.
        let names = QueryFile::list()?.into_iter().map(|query| query.name);
        let names = names.collect::<Vec<_>>().join(" ");
        script.extend_from_slice(
            format!(
                "complete -c txgraph -n \"__fish_txgraph_using_subcommand query\" -f -a \"{names}\"\n"
            )
            .as_bytes(),
        );
    }
    print_data(&script)
}

/// The command line with the values that a completion can offer: saved queries, their
/// parameters, tables of measures, and columns.
fn with_names(command: Command) -> Result<Command> {
    let queries = QueryFile::list()?;
    let parameters: BTreeSet<String> = queries
        .iter()
        .flat_map(|query| query.params.keys().map(|name| format!("{name}=")))
        .collect();
    let queries: Vec<String> = queries.into_iter().map(|query| query.name).collect();
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
    Ok(with_columns
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
        }))
}
