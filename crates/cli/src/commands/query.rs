//! `txgraph query`.

use super::{Context, ask};
use crate::{
    args::{ColumnArgs, LabelArgs, text},
    output::print_page,
};
use clap::Args;
use std::path::PathBuf;
use txgraph::{
    Error, Result, printable,
    text::{ParamValue, Query, QueryFile},
};

/// Ask a saved question
///
/// A saved question is a file with its purpose, its parameters and a command. Some are built in;
/// `./queries/NAME.toml` adds more. Where the question was found is printed on stderr.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct QueryArgs {
    /// Name of a question, or path of its file
    #[arg(value_name = "FILE", required_unless_present = "list")]
    file: Option<String>,

    /// Set a parameter; for several values of a list, repeat the option
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,

    /// List the saved questions
    #[arg(long, conflicts_with_all = ["file", "set", "explain"])]
    list: bool,

    /// Print the purpose, the parameters and, if the required ones are set, the command; ask nothing
    #[arg(long)]
    explain: bool,

    /// File to write; for several files, repeat the option
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,

    /// Format, instead of that of the question
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<String>,

    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,

    /// Symbols and decimals of tokens: a Uniswap token list, CSV, or JSON of `txgraph token`
    ///
    /// For several files, repeat the option.
    #[arg(long, value_name = "FILE")]
    token_list: Vec<PathBuf>,

    #[command(flatten)]
    labels: LabelArgs,

    #[command(flatten)]
    columns: ColumnArgs,

    /// Answer with the blocks that exist if some are missing
    #[arg(long)]
    allow_partial: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph query --list
    $ txgraph query who-funded --explain
    $ txgraph query trace-token-out --set root=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0
    $ txgraph query closed-loops --set token=0xc982f6837de3bef0547ecb84171688b6a2bd4cd2
    $ txgraph query airdrop-fan-out -o airdrop.svg \\
        --set distributor=0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529 \\
        --set token=0xc982f6837de3bef0547ecb84171688b6a2bd4cd2
";

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// Runs the command.
pub(crate) fn run(args: &QueryArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let Some(name) = &args.file else {
        return list();
    };
    let file = QueryFile::open(name)?;
    if args.explain {
        return explain(&file, args);
    }
    let query = resolve(&file, args)?;
    terminal.note(format_args!("{}", file.purpose));
    terminal.note(format_args!("question {} ({})", file.name, file.origin));
    if let Some(path) = file.namesake() {
        terminal.note(format_args!(
            "{0} has the same name, and is not asked; to ask it: txgraph query {0}",
            path.display()
        ));
    }
    ask(query, context)
}

fn resolve(file: &QueryFile, args: &QueryArgs) -> Result<Query> {
    let mut query = file.resolve(&args.set)?;
    query.selection_mut().allow_partial |= args.allow_partial;
    if !args.columns.is_empty() {
        let command = query.command();
        let columns = query.columns_mut().ok_or_else(|| {
            Error::usage(format!("`{command}` has no columns of transfers to choose"))
        })?;
        args.columns.replace(columns);
    }
    if !args.token_list.is_empty() {
        *query.token_list_mut() = args.token_list.iter().cloned().map(text).collect();
    }
    // Those of the command line have priority.
    let given = args.labels.labels.iter().cloned().map(text);
    query.labels_mut().splice(0..0, given);
    let output = query.output_mut();
    output.overwrite |= args.overwrite;
    if !args.output.is_empty() {
        output.output = args.output.iter().cloned().map(text).collect();
        // The format of the question was for its own output.
        output.format = None;
    }
    if args.format.is_some() {
        output.format.clone_from(&args.format);
    }
    Ok(query)
}

fn list() -> Result<()> {
    let queries = QueryFile::list()?;
    let widths = queries.iter().map(|query| query.name.len());
    let width = widths.max().unwrap_or(0);
    let line = |query: &QueryFile| {
        let (name, purpose) = (printable(&query.name), printable(&query.purpose));
        format!("{name:width$}  {purpose}\n")
    };
    print_page(&queries.iter().map(line).collect::<String>())
}

fn explain(file: &QueryFile, args: &QueryArgs) -> Result<()> {
    let mut text = format!("{}\n\nusage: {}\n", file.purpose, file.usage());
    let width = file.params.keys().map(String::len).max().unwrap_or(0);
    for (name, param) in &file.params {
        let value = match &param.default {
            Some(ParamValue::String(default)) => format!(" (default: {default})"),
            Some(default) => format!(" (default: {default})"),
            None if param.optional => " (optional)".to_owned(),
            None => String::new(),
        };
        text += &format!("  {name:width$}  {}{value}\n", param.doc);
    }
    let given = |name: &String| args.set.iter().any(|(set, _)| set == name);
    let ready = file
        .params
        .iter()
        .all(|(name, param)| !param.is_required() || given(name));
    if ready || !args.set.is_empty() {
        text += &format!("\n{}\n", resolve(file, args)?);
    }
    print_page(&text)
}
