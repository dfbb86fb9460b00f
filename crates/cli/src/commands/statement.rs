//! `txgraph statement`: what an account had, got, gave and has.

mod page;

use super::{Context, names::Names};
use crate::{
    args::{BlockArgs, NameArgs, TableOutputArgs},
    document::{DocumentFile, html},
    output::print_page,
};
use clap::{Args, Subcommand};
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use txgraph::{
    AnalysisFormat, Error, ErrorKind, Result, Source, Table, number,
    parse::{Checksum, parse_address},
    thousands, verify_proofs,
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

    /// Add proofs of the rows to the JSON
    ///
    /// For each block with rows: its header, and the transactions, receipts and withdrawals with the
    /// trie nodes that prove them by the header. `statement verify --offline` needs nothing else. A
    /// transaction takes about 10 KB.
    #[arg(long)]
    proofs: bool,

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

        /// Verify it by its own proofs, without a source
        ///
        /// The file is one that `statement --proofs -o FILE.json` wrote. Rows that no header proves
        /// are counted by kind: they rest on a replay or on the state.
        #[arg(long)]
        offline: bool,
    },
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c \\
        -o statement.json -o statement.csv -o statement.html
    $ txgraph statement verify statement.json
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c \\
        --proofs -o proven.json
    $ txgraph statement verify --offline proven.json
    $ txgraph statement 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c \\
        --table koinly -o koinly.csv
";

pub(crate) fn run(args: &StatementArgs, context: &Context<'_>) -> Result<()> {
    match &args.action {
        Some(Action::Verify {
            file,
            offline: true,
        }) => verify_offline(file, context),
        Some(Action::Verify { file, .. }) => verify(file, &context.open()?, context),
        None => show(args, &context.open()?, context),
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
    if args.proofs {
        if !outputs.iter().any(|it| it.format == AnalysisFormat::Json) {
            return Err(
                Error::usage("--proofs: only JSON contains proofs").hint("add -o FILE.json")
            );
        }
        query = query.proofs();
    }
    query.check(&outputs)?;
    let pages = (pages.iter())
        .map(|path| DocumentFile::create(path, args.files.overwrite(), &source.protected_paths()))
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
            file.write(html::text(&report).as_bytes(), terminal)?;
        }
        if is_shown {
            names.print(&chosen, terminal)?;
        }
    }
    terminal.scanned(&statement.scan, start.elapsed(), false);
    Ok(())
}

fn verify(file: &Path, source: &Source, context: &Context<'_>) -> Result<()> {
    let verified = source.verify_statement(&read(file)?);
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

fn verify_offline(file: &Path, context: &Context<'_>) -> Result<()> {
    let found = verify_proofs(&read(file)?).map_err(|error| {
        let error = error.at(file.display());
        match error.kind {
            ErrorKind::Usage => {
                error.hint("write it with `txgraph statement --proofs -o FILE.json`")
            }
            _ => error,
        }
    })?;
    context.terminal.stats.phase("verify");
    let unproven: u64 = found.unproven.values().sum();
    let mut text = format!(
        "{}: {} of {} proven by {}; the balances add up\n",
        file.display(),
        thousands(found.proven),
        number(found.proven + unproven, "row", "rows"),
        number(found.blocks.len() as u64, "header", "headers"),
    );
    if unproven > 0 {
        let kinds = found.unproven.iter();
        let kinds: Vec<_> = kinds
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        text += &format!(
            "not proven here, by replay or state only: {}\n",
            kinds.join(", ")
        );
    }
    text += "not proven: opening balances, that no other block has rows, that the headers are of the chain\n";
    if let [(first, hash), ..] = &found.blocks[..] {
        text += &format!("compare with any node: block {first} has the hash {hash}");
        if let [_, between @ .., (last, hash)] = &found.blocks[..] {
            text += &format!(", block {last} {hash}");
            if !between.is_empty() {
                let others = number(between.len() as u64, "other", "others");
                text += &format!("; {others} between them in `proofs`");
            }
        }
        text += "\n";
    }
    print_page(&text)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| Error::io(file, error))
}
