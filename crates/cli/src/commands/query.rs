//! `txgraph query`.

use super::{Context, ask};
use crate::{
    args::{ColumnArgs, NameArgs, OutputArgs},
    argv::{self, Files},
    cluster::ClusterArgs,
    hints::hint_text,
    output::{Terminal, aligned, print_page},
};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use txgraph::{
    Error, Result,
    parse::{ParamValue, Query, QueryFile, given},
};

/// Run a saved query
///
/// A saved query is a file with its purpose, its parameters and a command. Some are built in;
/// `./queries/NAME.toml` adds more. The file that is used is printed on stderr.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct QueryArgs {
    /// Name of a saved query, or path of its file
    #[arg(value_name = "NAME|FILE", required_unless_present = "list")]
    #[serde(skip)]
    file: Option<String>,

    /// Set a parameter; for several values of a list, repeat the option
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    #[serde(skip)]
    set: Vec<(String, String)>,

    /// List the saved queries
    #[arg(long, conflicts_with_all = ["file", "set", "show"])]
    #[serde(skip)]
    list: bool,

    /// Print purpose, parameters and command; run nothing
    #[arg(long)]
    #[serde(skip)]
    show: bool,

    #[command(flatten)]
    #[serde(flatten)]
    files: OutputArgs,

    /// Format, instead of the one in the file
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    format: Option<String>,

    #[command(flatten)]
    #[serde(flatten)]
    names: NameArgs,

    #[command(flatten)]
    #[serde(flatten)]
    columns: ColumnArgs,

    /// Accept missing or pruned blocks; the result states the gap
    #[arg(long)]
    allow_partial: bool,

    #[command(flatten)]
    #[serde(skip)]
    pub(crate) cluster: ClusterArgs,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph query --list
    $ txgraph query who-funded --show
    $ txgraph query trace-token-out --set root=0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0
    $ txgraph query cycles --set token=0xc982f6837de3bef0547ecb84171688b6a2bd4cd2
    $ txgraph query airdrop-fan-out -o airdrop.svg \\
        --set distributor=0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529 \\
        --set token=0xc982f6837de3bef0547ecb84171688b6a2bd4cd2
";

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

pub(crate) fn run(args: &QueryArgs, context: &Context<'_>) -> Result<()> {
    let terminal = context.terminal;
    let Some(name) = &args.file else {
        return list(terminal);
    };
    let file = QueryFile::open(name)?;
    if args.show {
        return show(&file, args);
    }
    let query = resolve(&file, args)?;
    Files::of_options(&given(&query)?).check(context.global)?;
    terminal.note(format_args!("{}", file.purpose));
    terminal.note(format_args!("query {} ({})", file.name, file.origin));
    if let Some(path) = file.namesake() {
        terminal.note(format_args!(
            "{0} has the same name, and is not run; to run it: txgraph query {0}",
            path.display()
        ));
    }
    ask(&query, context)
}

/// The query with the options of the command line in place of its own.
fn resolve(file: &QueryFile, args: &QueryArgs) -> Result<Query> {
    let query = file.resolve(&args.set)?;
    let command = query.command();
    if matches!(query, Query::Analyze(_)) && !given(&args.columns)?.is_empty() {
        return Err(Error::usage(format!(
            "`{command}` has no columns of transfers to choose"
        )));
    }
    let (mut options, mut given) = (given(&query)?, given(args)?);
    let labels = [&mut given, &mut options].map(|all| all.get_mut("labels"));
    if let [Some(Value::Array(first)), Some(Value::Array(rest))] = labels {
        // The labels of the command line have priority.
        first.append(rest);
    }
    if given.contains_key("output") {
        // The format of the query was for its own output.
        options.remove("format");
    }
    options.extend(given);
    Query::from_table(command, &options)
}

pub(crate) fn arguments(query: &Query) -> Result<Vec<String>> {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut args = vec![query.command().to_owned()];
    for (name, value) in given(query)? {
        match value {
            Value::Bool(_) => args.push(format!("--{name}")),
            Value::Array(items) => {
                let items = items.iter().map(word);
                args.extend(items.flat_map(|item| [format!("--{name}"), item]));
            }
            one if name == "measure" => args.insert(1, word(&one)),
            one => args.extend([format!("--{name}"), word(&one)]),
        }
    }
    Ok(args)
}

/// A query as a command line for a shell.
fn command_line(query: &Query) -> Result<String> {
    Ok(argv::command_line(&arguments(query)?))
}

fn list(terminal: &Terminal) -> Result<()> {
    let queries = QueryFile::list();
    let mut lines = Vec::new();
    for query in &queries {
        match query {
            Ok(query) => lines.push((query.name.as_str(), query.purpose.clone())),
            Err(error) => terminal.warn(format_args!("{error}")),
        }
    }
    print_page(&aligned(&lines))
}

fn show(file: &QueryFile, args: &QueryArgs) -> Result<()> {
    let mut text = format!("{}\n\n{}\n", file.purpose, hint_text(&file.hint()));
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
        text += &format!("\n{}\n", command_line(&resolve(file, args)?)?);
    }
    print_page(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_quoted() {
        let options = r#"
            root = "0xaa"
            token = ["0xbb", "eth"]
            blocks = 17
            hops = 3
            min-value = 1000
            direction = "in"
            standard = "erc20,erc721"
            time-respecting = true
            output = ["it's.dot", "a.csv"]
        "#;
        let options: toml::Table = options.parse().unwrap();
        let query = Query::from_table("graph", &options).unwrap();
        assert_eq!(
            command_line(&query).unwrap(),
            "txgraph graph --blocks 17 --direction in --hops 3 --min-value 1000 \
             --output 'it'\\''s.dot' --output a.csv --root 0xaa --standard erc20 \
             --standard erc721 --time-respecting --token 0xbb --token eth"
        );
    }

    #[test]
    fn queries_have_a_usage() {
        let text = r#"
            purpose = "Who paid this address?"
            params.root = { type = "addresses", doc = "who was paid" }
            params.hops = { type = "hops", doc = "how far back", default = 2 }
            ask = { command = "graph", root = "${root}", hops = "${hops}" }
        "#;
        let file = QueryFile::parse("funded", text).unwrap();
        assert_eq!(
            hint_text(&file.hint()),
            "usage: txgraph query funded --set root=<addresses> [--set hops=<hops>]"
        );
    }
}
