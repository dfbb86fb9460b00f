//! `txgraph case`: a folder with queries, answers, hashes, labels and notes, and a report of it.
//! `docs/case.md` describes the files.

mod add;
mod answer;
mod blocks;
mod child;
mod edit;
mod excerpt;
mod folder;
mod labels;
mod list;
mod markdown;
mod method;
mod query;
mod report;
mod section;
mod verify;

use super::Context;
use clap::{Args, Command, Subcommand};
use std::path::PathBuf;
use txgraph::Result;

/// Keep queries, answers and notes in a folder, and report them
///
/// A case is a folder. Each answer in it has its command, its files with their SHA-256, the
/// version of the program, and the time. The report is one HTML or Markdown file with pictures,
/// tables, parameters and commands. `verify` compares all files with their hashes, and can run
/// the commands again.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CaseArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    New(NewArgs),
    Add(AddArgs),
    Note(NoteArgs),
    Label(LabelArgs),
    List(ListArgs),
    Report(ReportArgs),
    Verify(VerifyArgs),
}

/// Make a case: a folder that does not exist yet, or is empty
#[derive(Args, Debug)]
struct NewArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Title of the case [default: the name of the folder]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Author of the case
    #[arg(long, value_name = "TEXT")]
    author: Option<String>,
}

/// Run a command of txgraph, and keep its answer in the case
///
/// Prints what the command prints, and keeps it with the files that the command writes. Names of
/// -o and --vertices are files of the answer. Without -o, -f and --json, `graph` keeps an SVG and a
/// CSV, `transfers` a CSV, and most other commands a JSON file. The labels of the case are used. A
/// command that fails leaves no answer, and its exit status is passed on.
///
/// Options of every command, such as --datadir, can also be given before `--`. They belong to
/// the machine and not to the query: `verify --rerun` can be given others.
#[derive(Args, Debug)]
struct AddArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Name of the answer [default: 01-graph, 02-analyze, ...]
    ///
    /// Letters, digits, `-`, `_` and `.`.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// A title for the answer
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// The command, without `txgraph`: graph, transfers, analyze, path, ...
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

/// Add a note to a case, or to one of its answers
#[derive(Args, Debug)]
struct NoteArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The note, or `-` for standard input
    #[arg(value_name = "TEXT")]
    text: String,

    /// Answer that the note is about
    #[arg(long, value_name = "NAME")]
    on: Option<String>,
}

/// Name an address in labels.csv of a case
///
/// Answers that are added later use the name. Answers that exist keep the labels they were made
/// with.
#[derive(Args, Debug)]
struct LabelArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The address
    #[arg(value_name = "ADDRESS")]
    address: String,

    /// Its name
    #[arg(value_name = "NAME")]
    name: String,

    /// Its category, e.g. exchange, mixer, scam
    ///
    /// Without it, an address that has a category keeps it. An empty word removes it.
    #[arg(long, value_name = "WORD")]
    category: Option<String>,
}

/// List the answers of a case
#[derive(Args, Debug)]
struct ListArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write the report of a case as one HTML or Markdown file
///
/// An HTML report contains its pictures and loads nothing. A Markdown report names them by
/// relative links, so it belongs into the folder of the case. Files that differ from their hashes
/// are an error.
#[derive(Args, Debug)]
struct ReportArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The report, .html or .md [default: report.html in the folder]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
}

/// Compare the files of a case with their hashes, and its reports
///
/// The first file that differs is named, and the exit status is 1.
#[derive(Args, Debug)]
struct VerifyArgs {
    /// Folder of the case
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Run every command again, and compare the results
    ///
    /// The commands ask for the blocks of their answers, also if the chain has grown since. Lines of
    /// standard error are compared without times. A file that cannot be compared is named, and the exit
    /// status is 1. --datadir, --source and other options take the place of recorded ones. Recorded
    /// servers, buckets, files of the case, --index and --config are not used.
    #[arg(long)]
    rerun: bool,
}

const EXAMPLES: &str = "\
Examples (for the small chain that scripts/demo.sh unpacks, demo/small):
    $ txgraph case new theft --title 'Theft of USD6' --author 'A. Expert'
    $ txgraph case label theft 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 Thief --category scam
    $ txgraph case add theft --title 'Where did the tokens go?' -- \\
        graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3
    $ txgraph case add theft --name patterns -- analyze patterns
    $ txgraph case note theft 'The amount is peeled off hop by hop.' --on 01-graph
    $ txgraph case list theft
    $ txgraph case report theft
    $ txgraph case verify theft --rerun
";

/// Runs the command. `program`: the command line of the program. `options`: the options of every
/// command, as they were given.
pub(crate) fn run(
    args: &CaseArgs,
    program: Command,
    options: &[String],
    context: &Context<'_>,
) -> Result<()> {
    match &args.action {
        Action::New(args) => edit::make(args, context),
        Action::Add(args) => add::run(args, program, options, context),
        Action::Note(args) => edit::note(args, context),
        Action::Label(args) => labels::run(args, context),
        Action::List(args) => list::run(args, context),
        Action::Report(args) => report::run(args, context),
        Action::Verify(args) => verify::run(args, program, options, context),
    }
}
