//! `txgraph statement`: what an account had, got, gave and has.

mod page;

use super::{Context, names::Names};
use crate::{
    args::{BlockArgs, NameArgs, TableOutputArgs},
    document::{DocumentFile, html},
    output::print_page,
};
use clap::{Args, Subcommand};
use std::{path::PathBuf, time::Instant};
use txgraph::{
    AnalysisFormat, Error, ErrorKind, Result, Source, Table, number,
    parse::{Checksum, parse_address},
};

/// Every movement of an account, from opening to closing balances
///
/// Prints transfers of tokens and of the native coin, also those inside transactions, fees,
/// withdrawals and rewards, with the balance after each. They are compared with the state of the
/// node: the coin after every block that changed the account, tokens before the first block and
/// after the last. What nothing explains is a row of its own, of kind `unexplained`. -o FILE.html
/// writes a page to read and print.
#[derive(Args, Debug)]
#[command(
    after_long_help = EXAMPLES, args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct StatementArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// The account
    #[arg(value_name = "ADDRESS", required = true)]
    address: Option<String>,

    /// The blocks of a year (UTC)
    #[arg(long, value_name = "YEAR", conflicts_with_all = ["blocks", "since", "until"])]
    year: Option<u16>,

    #[command(flatten)]
    blocks: BlockArgs,

    /// Execute every block again, not only those that changed the account
    ///
    /// Also finds transfers of the coin in blocks after which the account has as much as before: coins
    /// that a contract passes on.
    #[arg(long)]
    with_internal: bool,

    /// Only this table: movements, balances, koinly or rotki
    ///
    /// CSV and other data formats contain one table; without this option, the movements. koinly and
    /// rotki are what these programs import as CSV: Koinly's universal template, rotki's generic events.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    table: Option<String>,

    #[command(flatten)]
    files: TableOutputArgs,

    #[command(flatten)]
    names: NameArgs,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make a statement again, and name the first row that differs
    ///
    /// The file is one that `statement -o FILE.json` wrote.
    Verify {
        /// The statement
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c \\
        -o statement.json -o statement.csv -o statement.html
    $ txgraph statement verify statement.json
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c \\
        --table koinly -o koinly.csv
";

/// Runs the command.
pub(crate) fn run(args: &StatementArgs, context: &Context<'_>) -> Result<()> {
    let source = context.open()?;
    match &args.action {
        Some(Action::Verify { file }) => verify(file, &source, context),
        None => show(args, &source, context),
    }
}

fn show(args: &StatementArgs, source: &Source, context: &Context<'_>) -> Result<()> {
    let start = Instant::now();
    let terminal = context.terminal;
    let address = args.address.as_deref().unwrap_or_default();
    let mut query = source.statement(parse_address(address, Checksum::Verify)?);
    for blocks in args.blocks.read()? {
        query = query.blocks(blocks);
    }
    if let Some(year) = args.year {
        query = query.year(year)?;
    }
    if args.with_internal {
        query = query.every_block();
    }
    let table = args.table.as_deref();
    let (outputs, pages) = args.files.read_with_pages(table)?;
    query.check(&outputs)?;
    let config = context.global.config()?;
    let pages = (pages.iter())
        .map(|path| DocumentFile::create(path, args.files.overwrite(), &config))
        .collect::<Result<Vec<_>>>()?;
    terminal.check_stdout(outputs.iter().map(|output| &output.target))?;
    let labels = args.names.labels.read(source, terminal)?;
    let mut statement = query.run()?;
    terminal.stats.phase("read");
    terminal.blocks(&statement.blocks.into());
    terminal.gaps(&statement.scan);
    terminal.notes(&statement.notes);
    let is_shown = (outputs.iter()).any(|output| output.format == AnalysisFormat::Tables);
    let for_accounting = table.is_some_and(|name| name == "koinly" || name == "rotki");
    if !is_shown && !for_accounting && pages.is_empty() {
        terminal.written(&statement.write(&outputs)?);
    } else {
        let tokens: Vec<_> = (statement.balances.iter())
            .filter_map(|it| it.asset.token_address)
            .collect();
        let blocks = statement.blocks.into();
        let lists = &args.names.tokens;
        let names = Names::read(lists, labels, source, tokens, &blocks, terminal)?;
        if for_accounting {
            terminal.notes(&statement.add_accounting(&names.tokens)?);
        }
        terminal.written(&statement.write(&outputs)?);
        let chosen: Vec<&Table> = match table {
            Some(name) => vec![statement.table(Some(name))?],
            None => statement.tables.iter().rev().collect(),
        };
        for file in pages {
            let report = page::report(&statement, &chosen, &names, source)?;
            file.write(&html::text(&report), terminal)?;
        }
        if is_shown {
            names.print(&chosen, terminal)?;
        }
    }
    terminal.scanned(&statement.scan, start.elapsed(), false);
    Ok(())
}

fn verify(file: &std::path::Path, source: &Source, context: &Context<'_>) -> Result<()> {
    let text = std::fs::read(file).map_err(|error| Error::io(file, error))?;
    let verified = source.verify_statement(&text);
    let verified = verified.map_err(|error| error.at(file.display()))?;
    if let Some(difference) = verified.difference {
        let message = format!("{}: {difference}", file.display());
        return Err(Error::new(ErrorKind::Failed, message));
    }
    let rows = number(verified.statement.rows.len() as u64, "row", "rows");
    context.terminal.stats.phase("verify");
    print_page(&format!(
        "{}: {rows}, all as in the source\n",
        file.display()
    ))
}
