//! The command line `txgraph`. Arguments become a query, which the library answers.
//! Results go to stdout or files, everything else to stderr.
//!
//! The program `txgraph` is [`main`]. A second program with the same command line, which opens
//! sources on a cluster, is [`run`] with a [`Cluster`]. The other functions give commands of
//! its own the same messages, exit statuses and signals.
//!
//! Modules, each using only those before it: stdout_check, progress, interrupt, hints, exit, units,
//! stats, output, document, table, transfer_tables, cluster, block_args, name_args, renamed,
//! output_folder, args, json_args, argv, help, commands.

mod args;
mod argv;
mod block_args;
mod cluster;
mod commands;
mod document;
mod exit;
mod help;
mod hints;
mod interrupt;
mod json_args;
mod name_args;
mod output;
mod output_folder;
mod progress;
mod renamed;
mod stats;
mod stdout_check;
mod table;
mod transfer_tables;
mod units;

use args::Global;
use argv::Files;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use cluster::ClusterArgs;
use commands::Context;
use output::{Terminal, check_stdout, stdout_error};
use stats::StatsFile;
use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};
use txgraph::{Error, Result, parse::Options};

pub use cluster::{Cluster, ClusterQuery};
pub use exit::{exit_code, report};
pub use interrupt::watch_signals;
use interrupt::watch_signals_to_end;
use progress::log_of_command;
pub use progress::{log, progress};

/// Where did these tokens go? Transfer graphs from a local reth node
///
/// Reads the database of an Ethereum node (reth 1.x or 2.x) on this machine, read-only, also while the
/// node runs, and queries its transfers of tokens and of the native coin.
#[derive(Debug, Parser)]
#[command(name = "txgraph", version = txgraph::version(), max_term_width = 100, after_long_help = MANUAL)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
    /// The name of the command.
    #[arg(skip)]
    name: String,
    /// The options of every command, as they were given.
    #[arg(skip)]
    shared: Vec<String>,
    /// The files that are named.
    #[arg(skip)]
    files: Files,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(commands::info::InfoArgs),
    Transfers(commands::transfers::TransfersArgs),
    Graph(Box<commands::graph::GraphArgs>),
    Analyze(commands::analyze::AnalyzeArgs),
    Path(commands::relations::PathArgs),
    Common(commands::relations::common::CommonArgs),
    Address(commands::address::AddressArgs),
    Approvals(commands::approvals::ApprovalsArgs),
    Holders(commands::holders::HoldersArgs),
    Tx(commands::tx::TxArgs),
    Statement(commands::statement::StatementArgs),
    Watch(commands::watch::WatchArgs),
    Replay(commands::replay::ReplayArgs),
    Call(commands::call::CallArgs),
    Token(commands::token::TokenArgs),
    Balance(commands::state::BalanceArgs),
    Nonce(commands::state::NonceArgs),
    Code(commands::state::CodeArgs),
    Storage(commands::state::StorageArgs),
    Query(commands::query::QueryArgs),
    Case(commands::case::CaseArgs),
    Evm(commands::evm::EvmArgs),
    #[cfg(feature = "index")]
    Index(commands::index::IndexArgs),
    Era(commands::era::EraArgs),
    #[cfg(feature = "lake")]
    Lake(commands::lake::LakeArgs),
    #[cfg(feature = "serve")]
    Serve(commands::serve::ServeArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
}

impl Command {
    /// Whether the command ends in order after a signal, as a server does. A case ends the command
    /// that it runs.
    const fn ends_in_order(&self) -> bool {
        matches!(self, Self::Case(_)) || self.is_server()
    }

    const fn is_server(&self) -> bool {
        #[cfg(feature = "serve")]
        if matches!(self, Self::Serve(_)) {
            return true;
        }
        false
    }

    /// Whether --explain prints how the command reads transfers. Others would ignore it.
    const fn has_plan(&self) -> bool {
        match self {
            Self::Transfers(args) => !args.malformed,
            Self::Graph(_) | Self::Analyze(_) | Self::Path(_) | Self::Common(_) => true,
            Self::Query(_) | Self::Replay(_) | Self::Watch(_) | Self::Statement(_) => true,
            Self::Address(_) | Self::Holders(_) => true,
            _ => false,
        }
    }

    /// The cluster, of a command that a cluster can run.
    const fn cluster(&self) -> Option<&ClusterArgs> {
        match self {
            Self::Transfers(args) => Some(&args.cluster),
            Self::Graph(args) => Some(&args.cluster),
            Self::Analyze(args) => Some(&args.cluster),
            Self::Query(args) => Some(&args.cluster),
            _ => None,
        }
    }
}

const MANUAL: &str = "\
Exit status:
  0    done
  1    failed: damaged files, no space, no permission
  2    the query or the configuration is wrong, or the source cannot answer it
  3    blocks are missing, pruned or above the tip (see --allow-partial)
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP)

Environment:
  TXGRAPH_SOURCE                  source, as KIND:LOCATION
  TXGRAPH_DATADIR, RETH_DATADIR   data directory of a node
  TXGRAPH_HEAD                    URL of the node's own JSON-RPC server
  TXGRAPH_CONFIG                  configuration file
  TXGRAPH_INDEX                   index: a directory, auto or off
  TXGRAPH_OUTPUT_DIR              folder of -o and --vertices, which then name files in it
  TXGRAPH_CLUSTER                 scheduler of a cluster, as HOST:PORT
  TXGRAPH_CLUSTER_CONFIG          settings of the driver of a cluster
  ETH_RPC_URL                     URL for --source rpc: without one
  SSL_CERT_FILE                   certificates for https, instead of those of the system
  XDG_CACHE_HOME                  where caches are, instead of ~/.cache
  AWS_*                           keys and region of buckets (lakes with --source lake:s3://…)
  TXGRAPH_SERVE_TOKEN             token of clients of txgraph serve
  TXGRAPH_THREADS                 threads; RAYON_NUM_THREADS is read after it
  RUST_LOG                        what to log, e.g. txgraph_reader=debug
  NO_COLOR                        no colors

Files:
  txgraph.toml, configs/*.toml    configurations: which node, how to run
  queries/*.toml                  saved queries
  ~/.cache/txgraph/index/         indexes, unless --index names a directory

Examples (for the small chain that scripts/demo.sh unpacks; TXGRAPH_DATADIR=demo/small):
  What does the data directory contain?
    $ txgraph info

  Follow a token from an address for three hops, and draw the graph:
    $ txgraph graph --root 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hops 3 \\
        --token 0xd601451207128971898aab8654521699f35222e2 -o trace.svg -o trace.csv

  All transfers of the last twenty blocks, as Parquet:
    $ txgraph transfers --blocks -20: -o transfers.parquet

  Which addresses pass a token round in circles?
    $ txgraph analyze cycles --token 0xc982f6837de3bef0547ecb84171688b6a2bd4cd2
";

/// How long work on this machine may go on after a SIGINT without finishing a block.
const GRACE: Duration = Duration::from_secs(1);

/// The same for work on a cluster, whose jobs are canceled over the network.
const CLUSTER_GRACE: Duration = Duration::from_secs(10);

/// Runs the program `txgraph` with the arguments of this process.
///
/// Queries for a cluster replace the process with the program `txgraph-cluster`.
pub fn main() -> ExitCode {
    run(std::env::args_os(), None)
}

/// Runs a command line. `args` begin with the name of the program.
///
/// With `--cluster`, sources are opened by `cluster`. Without a `cluster`, the process is then
/// replaced by the program `txgraph-cluster`, and this function does not return.
pub fn run(args: impl IntoIterator<Item = OsString>, cluster: Option<&dyn Cluster>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => error.exit(),
        Err(help) => return ended(print_help(&help)),
    };
    ended(answer(cli, args.get(1..).unwrap_or_default(), cluster))
}

fn ended(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            exit_code(error.kind)
        }
    }
}

/// Prints the help or the version.
fn print_help(help: &clap::Error) -> Result<()> {
    check_stdout()?;
    let printed = help.print().and_then(|()| io::stdout().flush());
    printed.map_err(stdout_error)
}

/// Parses a command line.
fn parse(args: &[OsString]) -> clap::error::Result<Cli> {
    let mut command = help::complete(Cli::command());
    let args = argv::several_blocks(args.iter().cloned());
    let matches = command.try_get_matches_from_mut(args);
    let mut matches = matches.map_err(|error| renamed::name_option(error, &command))?;
    if matches.subcommand_name() == Some(help::OPTIONS) {
        // It has no other meaning than its help.
        let topic = ["txgraph", "help", help::OPTIONS];
        command.try_get_matches_from_mut(topic)?;
    }
    let name = matches.subcommand_name().unwrap_or_default().to_owned();
    let shared = argv::given(&command, &matches, clap::Arg::is_global_set);
    let files = Files::of(&command, &matches);
    let cli = Cli::from_arg_matches_mut(&mut matches);
    let cli = cli.map_err(|error| error.format(&mut command))?;
    Ok(Cli {
        name,
        shared,
        files,
        ..cli
    })
}

fn answer(cli: Cli, args: &[OsString], cluster: Option<&dyn Cluster>) -> Result<()> {
    if cli.global.run.explain && !cli.command.has_plan() {
        let name = match cli.command {
            Command::Transfers(_) => "transfers --malformed",
            _ => cli.name.as_str(),
        };
        return Err(Error::usage(format!(
            "`{name}` has no plan to print: leave --explain out"
        )));
    }
    cli.files.check(&cli.global)?;
    let asked = cli.command.cluster();
    let query = asked.map(|asked| ClusterQuery::new(asked, args));
    let query = query.transpose()?.flatten();
    let on_cluster = match (query, cluster) {
        (None, _) => None,
        (Some(_), None) => return Err(cluster::hand_over(args)),
        (Some(query), Some(cluster)) => Some((query, cluster)),
    };
    let start_log = match cli.command.is_server() {
        true => log,
        false => log_of_command,
    };
    start_log(cli.global.run.quiet, cli.global.run.verbose);
    let cancel = match on_cluster {
        Some(_) => watch_signals(CLUSTER_GRACE)?,
        None if cli.command.ends_in_order() => watch_signals_to_end()?,
        None => watch_signals(GRACE)?,
    };
    let terminal = Terminal::new(cli.global.run.quiet, cancel);
    let stats = (cli.global.run.stats.as_deref()).map(|path| {
        let config = cli.global.config().unwrap_or_default();
        StatsFile::open(path, config, cli.name.clone())
    });
    let stats = stats.transpose()?;
    let context = Context {
        global: &cli.global,
        terminal: &terminal,
        cluster: on_cluster,
    };
    let done = dispatch(cli.command, &cli.shared, &context);
    let done = done.map_err(|error| cli.global.with_origin(error));
    if let Some(file) = stats {
        let written = file.finish(&terminal.stats, done.as_ref().err());
        // The failure of the command is the one to report.
        return done.and(written);
    }
    done
}

fn dispatch(command: Command, shared: &[String], context: &Context<'_>) -> Result<()> {
    match command {
        Command::Info(args) => commands::info::run(&args, context),
        Command::Transfers(args) if args.malformed => commands::malformed::run(&args, context),
        Command::Transfers(args) => commands::transfers::ask(&Options::from_table(&args)?, context),
        Command::Graph(args) => commands::graph::ask(&Options::from_table(&args)?, context),
        Command::Analyze(args) => commands::analyze::ask(&Options::from_table(&args)?, context),
        Command::Path(args) => commands::relations::path(&args, context),
        Command::Common(args) => commands::relations::common::run(&args, context),
        Command::Address(args) => commands::address::run(&args, context),
        Command::Approvals(args) => commands::approvals::run(&args, context),
        Command::Holders(args) => commands::holders::run(&args, context),
        Command::Tx(args) => commands::tx::run(&args, context),
        Command::Statement(args) => commands::statement::run(&args, context),
        Command::Watch(args) => commands::watch::run(&args, context),
        Command::Replay(args) => commands::replay::run(&args, context),
        Command::Call(args) => commands::call::run(&args, context),
        Command::Token(args) => commands::token::run(&args, context),
        Command::Balance(args) => commands::state::balance(&args, context),
        Command::Nonce(args) => commands::state::nonce(&args, context),
        Command::Code(args) => commands::state::code(&args, context),
        Command::Storage(args) => commands::state::storage(&args, context),
        Command::Query(args) => commands::query::run(&args, context),
        Command::Case(args) => {
            let program = help::complete(Cli::command());
            commands::case::run(&args, program, shared, context)
        }
        #[cfg(feature = "index")]
        Command::Index(args) => commands::index::run(&args, context),
        Command::Era(args) => commands::era::run(&args, context),
        #[cfg(feature = "lake")]
        Command::Lake(args) => commands::lake::run(&args, context),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(&args, context),
        Command::Evm(args) => commands::evm::run(args, context),
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
        Command::Man(args) => commands::man::run(&args, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use commands::query::arguments;
    use std::collections::BTreeSet;
    use txgraph::parse::{AnalyzeQuery, GraphQuery, Query, TransfersQuery};

    fn query(args: &[String]) -> Query {
        let args = std::iter::once("txgraph".to_owned()).chain(args.iter().cloned());
        let cli = parse(&args.map(OsString::from).collect::<Vec<_>>());
        match cli.unwrap_or_else(|error| panic!("{error}")).command {
            Command::Transfers(args) => Query::Transfers(Options::from_table(&args).unwrap()),
            Command::Graph(args) => Query::Graph(Options::from_table(&args).unwrap()),
            Command::Analyze(args) => Query::Analyze(Options::from_table(&args).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// A query with a value for every option.
    fn full(command: &str) -> Query {
        let shared = "
            blocks = ['-1000:', '5:6']
            token = ['0xaa', 'eth']
            min-value = '1e18'
            standard = ['erc20', 'native']
            kind = ['mint', 'value']
            wrapped-native = ['any']
            allow-partial = true
            allow-bad-checksum = true
            output = ['-']
            format = 'csv'
            overwrite = true
            direction = 'in'
        ";
        let search = "
            root = ['0xaa,0xbb', '@file']
            hops = 'all'
            time-respecting = true
            max-degree = 7
            stop-at = 'exchanges.csv'
            max-vertices = 8
            max-edges = 9
            expand-zero = true
        ";
        let columns = "columns = ['cryo:f64+string+rich', 'value', '-chain_id']";
        let own = match command {
            "transfers" => format!("address = ['0xcc']\ntoken-list = 'l.json'\n{columns}"),
            "graph" => format!(
                "merge = true\nvertices = 'v.csv'\ntoken-list = 'l.json'\nfollow-top = 3\nthrough-swaps = true\n\
                 layout = 'hops'\nfold = '7'\nlink = 'https://x.org/{{tx}}'\n\
                 prices = 'p.csv'\n{search}{columns}"
            ),
            _ => format!(
                "measure = 'pairs'\nlimit = 3\norder = 'count'\ntable = 'pairs'\ntoken-list = 'l'\n\
                 method = 'lifo'\n{search}"
            ),
        };
        let options: toml::Table = format!("{shared}{own}").parse().unwrap();
        Query::from_table(command, &options).unwrap()
    }

    #[test]
    fn arguments_are_well_formed() {
        Cli::command().debug_assert();
        help::complete(Cli::command()).debug_assert();
    }

    #[test]
    fn arguments_and_queries_agree() {
        for command in ["transfers", "graph", "analyze"] {
            let query = full(command);
            assert_eq!(super::tests::query(&arguments(&query).unwrap()), query);
        }
        for query in [
            Query::Transfers(TransfersQuery::default()),
            Query::Graph(GraphQuery::default()),
            Query::Analyze(AnalyzeQuery::default()),
        ] {
            assert_eq!(super::tests::query(&arguments(&query).unwrap()), query);
        }
    }

    #[test]
    fn arguments_and_queries_have_the_same_options() {
        for name in ["transfers", "graph", "analyze"] {
            let command = Cli::command();
            let command = command.find_subcommand(name).unwrap();
            let ids = command
                .get_arguments()
                .map(|arg| arg.get_id().as_str().replace('_', "-"));
            let mut options: BTreeSet<String> = ids.collect();
            let all = serde_json::to_value(full(name)).unwrap();
            let keys: BTreeSet<String> = all.as_object().unwrap().keys().cloned().collect();
            // Of clusters, of another query, and those that are only read to be refused.
            let other = [
                "help",
                "malformed",
                "cluster",
                "run",
                "schema",
                "u256-types",
                "exclude",
                "hex",
                "types",
            ];
            options.retain(|option| !other.contains(&option.as_str()));
            assert_eq!(options, keys, "{name}");
        }
    }
}
