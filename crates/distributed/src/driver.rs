//! The command line of the driver: the commands of txgraph with queries for a cluster, and commands
//! for runs.

use crate::{
    Driver, Error, Result, Step,
    chain::{self, Rows, RunSteps},
    output::{OutputArgs, Outputs, Stdout},
    run::{self, RunInfo, RunState},
    source::ClusterBackend,
    sql,
};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::{
    cell::RefCell,
    ffi::OsString,
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use txgraph::{Config, RunControl, Source, SourceSpec, number};
use txgraph_cli::{Cluster, ClusterQuery};
use txgraph_transfers::{BlockRange, BlockRanges};

/// How long a job may take to be canceled after Ctrl-C.
const SIGNAL_GRACE: Duration = Duration::from_secs(10);

/// The folder of runs below the folder for files that can be made again.
const RUNS: &str = "txgraph/runs";

/// Commands that the plain program does not have.
#[derive(Debug, Parser)]
#[command(
    name = "txgraph-cluster",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List, show, continue or delete runs
    Runs {
        #[command(subcommand)]
        command: Runs,
    },
    /// Execute a query on the table `transfers`
    ///
    /// The columns are described in docs/schemas.md. Addresses, hashes and amounts are bytes:
    /// compare them with X'…', print them with hex(…) and decimal(…), and add amounts with
    /// sum_u256(…).
    Sql {
        /// The query, or @FILE
        query: String,
        #[command(flatten)]
        on: On,
    },
    /// PageRank of all addresses, highest first
    Pagerank {
        /// Rounds
        #[arg(long, value_name = "N", default_value_t = 20)]
        rounds: usize,
        #[command(flatten)]
        on: On,
    },
    /// Counts of pairs that sent to each other, and of addresses with many senders or receivers
    Motifs {
        #[command(flatten)]
        on: On,
    },
    /// Transfers, exact sum, addresses, degree and concentration of each token
    Tokens {
        #[command(flatten)]
        on: On,
    },
}

/// The sources of the executors, as a source.
const EXECUTORS: &str = "executors:";

/// The words of commands that the plain program does not have.
const OWN: [&str; 5] = ["runs", "sql", "pagerank", "motifs", "tokens"];

/// The cluster and data, and how the result is written.
#[derive(Args, Clone, Debug)]
struct On {
    /// Scheduler of the cluster; default: this process does the work
    #[arg(long, value_name = "HOST:PORT", env = "TXGRAPH_CLUSTER")]
    cluster: Option<String>,

    /// On a cluster, a lake that all executors can read, or by default the sources of the
    /// executors; in this process, any source
    #[arg(long, value_name = "KIND:LOCATION")]
    source: Option<String>,

    /// First block; default: the first of the source
    #[arg(long, value_name = "N")]
    from_block: Option<u64>,

    /// Last block, included; default: the tip
    #[arg(long, value_name = "N")]
    to_block: Option<u64>,

    /// Folder that keeps the run; a run that was interrupted continues in it
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    /// Print errors only: no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Runs {
    /// List the runs: folder, state, query
    List,
    /// Show the steps of a run, with their measures
    Show {
        /// Folder of the run, or its name
        run: PathBuf,
        /// Print the plans, too
        #[arg(long)]
        plans: bool,
    },
    /// Ask the query of a run again; steps that it finished are not repeated
    Resume {
        /// Folder of the run, or its name
        run: PathBuf,
    },
    /// Delete runs
    Drop {
        /// Folders of runs, or their names
        #[arg(required = true)]
        runs: Vec<PathBuf>,
    },
}

/// Runs the program.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    start(args)
}

fn start(mut args: Vec<OsString>) -> ExitCode {
    // Everything else is a query, in the words of txgraph.
    let is_own = |word: &OsString| OWN.iter().any(|own| word == own);
    let is_help = args.get(1).is_some_and(|word| word == "help");
    if is_help && args.get(2).is_some_and(is_own) {
        args[1] = args[2].clone();
        args[2] = "--help".into();
    }
    if !args.get(1).is_some_and(is_own) {
        let is_flag = |word: &OsString| word == "-h" || word == "--help";
        if args.len() == 1 || (args.len() == 2 && (is_help || is_flag(&args[1]))) {
            // The help of txgraph comes after it.
            if let Err(error) = print(&own_commands()) {
                return fail(error);
            }
        }
        return ask(args);
    }
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let done = match &cli.command {
        Command::Runs { command } => match runs(command) {
            Ok(Some(args)) => return start(args),
            done => done.map(drop),
        },
        Command::Sql { query, on } => query_text(query).and_then(|query| {
            answer(on, &args, |driver, blocks, rows| {
                sql::query(driver, blocks, &query, rows)
            })
        }),
        Command::Pagerank { rounds, on } => measure(on, &args, |steps, rows| {
            chain::pagerank(steps, *rounds, on.output.limit, rows)
        }),
        Command::Motifs { on } => measure(on, &args, chain::motifs),
        Command::Tokens { on } => measure(on, &args, |steps, rows| {
            chain::tokens(steps, on.output.limit, rows)
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error),
    }
}

/// The commands that the plain program does not have, with the first lines of their help.
fn own_commands() -> String {
    let mut text =
        "txgraph-cluster: queries of txgraph on a cluster (--cluster HOST:PORT), and:\n".to_owned();
    for command in Cli::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string);
        text += &format!(
            "  {:<12} {}\n",
            command.get_name(),
            about.unwrap_or_default()
        );
    }
    text
}

/// A query, or the content of the file that it names.
fn query_text(query: &str) -> Result<String> {
    match query.strip_prefix('@') {
        Some(path) => {
            let path = Path::new(path);
            std::fs::read_to_string(path).map_err(|error| Error::io(path, error))
        }
        None => Ok(query.to_owned()),
    }
}

/// Measures all transfers of the blocks, and prints the rows.
fn measure(
    on: &On,
    args: &[OsString],
    measure: impl FnOnce(&RunSteps<'_>, &mut Rows<'_>) -> Result<()>,
) -> Result<()> {
    answer(on, args, |driver, blocks, rows| {
        measure(&RunSteps::of(driver, blocks), rows)
    })
}

/// Executes a query about some blocks, and prints the rows.
fn answer(
    on: &On,
    args: &[OsString],
    query: impl FnOnce(&Driver, BlockRange, &mut Rows<'_>) -> Result<()>,
) -> Result<()> {
    txgraph_cli::log(on.quiet, 0);
    let outputs = on.output.open()?;
    let cancel = txgraph_cli::watch_signals(SIGNAL_GRACE);
    let control = RunControl {
        cancel: cancel.map_err(|error| Error::Usage(error.message))?,
        progress: Some(txgraph_cli::progress(on.quiet)),
        ..RunControl::default()
    };
    let source = match (&on.source, &on.cluster) {
        (None, Some(_)) => Some(EXECUTORS),
        (source, _) => source.as_deref(),
    };
    let flags = Config {
        source: source.map(SourceSpec::from),
        ..Config::default()
    };
    let config = Config::resolve(flags, None).map_err(|error| Error::Usage(error.message))?;
    let place = Place::of(on.run.as_deref(), &config)?;
    let args: Vec<_> = args[1..]
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let asked = |driver: &Driver| -> Result<()> {
        let all = driver.blocks;
        let blocks = BlockRange::new(
            on.from_block.unwrap_or(all.first),
            on.to_block.unwrap_or(all.last),
        );
        let none = || {
            let (first, last) = (on.from_block.unwrap_or(all.first), on.to_block);
            Error::Usage(match last {
                Some(last) => format!("the last block, {last}, is before the first, {first}"),
                None => format!("the first block, {first}, is after the tip, {}", all.last),
            })
        };
        let blocks = blocks.ok_or_else(none)?;
        if !on.quiet {
            let count = number(blocks.blocks(), "block", "blocks");
            // As `txgraph`; a closed stderr changes no answer.
            let _ = writeln!(
                io::stderr(),
                "blocks {} ({count})",
                BlockRanges::from(blocks)
            );
        }
        write_rows(&on.output, outputs, |rows| query(driver, blocks, rows))
    };
    let scheduler = on.cluster.as_deref();
    let driver = Driver::open(
        scheduler,
        &place.folder,
        &without_run(&args),
        &config,
        &control,
    );
    let done = driver.and_then(|driver| {
        let done = asked(&driver);
        finish(&driver, done.is_ok())?;
        done
    });
    done.inspect_err(|_| place.failed())
}

/// Writes the rows that `read` passes on.
fn write_rows(
    args: &OutputArgs,
    mut outputs: Outputs,
    read: impl FnOnce(&mut Rows<'_>) -> Result<()>,
) -> Result<()> {
    let mut left = args.limit.unwrap_or(usize::MAX);
    read(&mut |batch| {
        let batch = batch.slice(0, batch.num_rows().min(left));
        left -= batch.num_rows();
        let flow = outputs.write(&batch)?;
        Ok(match left {
            0 => ControlFlow::Break(()),
            _ => flow,
        })
    })?;
    outputs.finish()
}

/// Answers a query. Records the end of its run.
fn ask(args: Vec<OsString>) -> ExitCode {
    let opener = Opener::default();
    let code = txgraph_cli::run(args, Some(&opener));
    // `ExitCode` can only be compared by its text.
    let is_done = format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS);
    let finished = opener.driver.take().map(|driver| finish(&driver, is_done));
    if let (false, Some(place)) = (is_done, opener.place.take()) {
        place.failed();
    }
    match finished {
        Some(Err(error)) => fail(error),
        _ => code,
    }
}

/// Records the end of a run.
fn finish(driver: &Driver, is_done: bool) -> Result<()> {
    let state = match is_done {
        true => RunState::Done,
        false => RunState::Failed,
    };
    driver.run.finish(state, driver.engine.received())
}

/// Where a run is kept.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    is_named: bool,
}

impl Place {
    /// The folder that the user named, or a new one, whose name is the time and the process.
    fn of(named: Option<&Path>, config: &Config) -> Result<Self> {
        let new = || {
            let name = format!("{}-{}", run::unix_seconds(), std::process::id());
            Ok::<_, Error>(runs_folder(config)?.join(name))
        };
        Ok(Self {
            folder: named.map_or_else(new, |named| Ok(named.to_owned()))?,
            is_named: named.is_some(),
        })
    }

    /// Says how to continue a run that failed. Deletes it if it has nothing to continue from, and
    /// the user did not name it.
    fn failed(&self) {
        if run::steps(&self.folder).is_ok_and(|steps| !steps.is_empty()) {
            say(&format!(
                "the finished steps are kept; continue with `txgraph-cluster runs resume {}`",
                self.folder.display()
            ));
        } else if !self.is_named
            && let Err(error) = run::drop(&self.folder)
        {
            // If it was not begun.
            tracing::debug!("{error}");
        }
    }
}

/// Reports an error. Returns the exit status for it.
fn fail(error: Error) -> ExitCode {
    let error = txgraph::Error::from(error);
    txgraph_cli::report(&error);
    txgraph_cli::exit_code(error.kind)
}

#[expect(clippy::print_stderr, reason = "a program")]
fn say(line: &str) {
    eprintln!("{line}");
}

/// Opens the cluster of a query, and keeps its driver.
#[derive(Debug, Default)]
struct Opener {
    driver: RefCell<Option<Arc<Driver>>>,
    place: RefCell<Option<Place>>,
}

impl Cluster for Opener {
    fn open(
        &self,
        query: &ClusterQuery,
        config: &Config,
        control: &RunControl,
    ) -> txgraph::Result<Source> {
        let place = Place::of(query.run.as_deref(), config)?;
        let folder = place.folder.clone();
        *self.place.borrow_mut() = Some(place);
        let args = without_run(&query.args);
        let driver = Driver::open(Some(&query.scheduler), &folder, &args, config, control)?;
        let driver = Arc::new(driver);
        *self.driver.borrow_mut() = Some(driver.clone());
        let name = SourceSpec::from(format!("cluster:{}", query.scheduler));
        Source::with_backend_and(name, ClusterBackend(driver), config, control)
    }
}

/// The command line without `--run`, which names a folder and is not part of the query.
fn without_run(args: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--run" {
            args.next();
        } else if !arg.starts_with("--run=") {
            kept.push(arg.clone());
        }
    }
    kept
}

fn runs_folder(config: &Config) -> Result<PathBuf> {
    let cache = config.cache.as_ref().ok_or_else(|| {
        Error::Usage("there is no folder for runs: name one with --run, or set HOME".to_owned())
    })?;
    Ok(cache.join(RUNS))
}

/// Finds a run by its folder, or by its name in the folder of runs.
fn find(run: &Path) -> Result<(PathBuf, RunInfo)> {
    let mut places = vec![run.to_owned()];
    if let Ok(folder) = default_config().and_then(|config| runs_folder(&config)) {
        places.push(folder.join(run));
    }
    for place in places {
        if let Some(info) = run::info(&place)? {
            return Ok((place, info));
        }
    }
    Err(Error::Usage(format!(
        "there is no run {}; `txgraph-cluster runs list` lists them",
        run.display()
    )))
}

fn default_config() -> Result<Config> {
    Config::resolve(Config::default(), None).map_err(|error| Error::Usage(error.message))
}

/// Executes a command on runs. Returns the command line of the run that is continued.
fn runs(command: &Runs) -> Result<Option<Vec<OsString>>> {
    match command {
        Runs::List => {
            let folder = runs_folder(&default_config()?)?;
            for name in run::names(&folder)? {
                let path = folder.join(&name);
                if let Some(info) = run::info(&path)? {
                    print(&format!(
                        "{name}  {:<10}  {}",
                        info.state,
                        info.args.join(" ")
                    ))?;
                }
            }
            Ok(None)
        }
        Runs::Show { run, plans } => {
            let (folder, info) = find(run)?;
            print(&format!("folder     {}", folder.display()))?;
            print(&format!("query      {}", info.args.join(" ")))?;
            print(&format!("scheduler  {}", info.scheduler))?;
            print(&format!("state      {}", info.state))?;
            print(&format!("received   {} bytes", info.received))?;
            for (name, step) in run::steps(&folder)? {
                print(&describe(&name, &step))?;
                if *plans {
                    print(&step.plan)?;
                }
            }
            Ok(None)
        }
        Runs::Resume { run } => {
            let (folder, info) = find(run)?;
            // Its query names files from there.
            let folder = folder.canonicalize().unwrap_or(folder);
            let moved = std::env::set_current_dir(Path::new(".").join(&info.folder));
            moved.map_err(|error| Error::io(&info.folder, error))?;
            let program = OsString::from("txgraph-cluster");
            let mut args = vec![program];
            args.extend(info.args.iter().map(OsString::from));
            args.extend([OsString::from("--run"), folder.into()]);
            Ok(Some(args))
        }
        Runs::Drop { runs } => {
            for run in runs {
                let (folder, _) = find(run)?;
                // Fails while a driver works on it.
                run::drop(&folder)?;
            }
            Ok(None)
        }
    }
}

fn describe(name: &str, step: &Step) -> String {
    format!(
        "step {name}: {}\n  {}, {} ms, attempt {}, job {}",
        step.name,
        number(step.rows, "row", "rows"),
        step.millis,
        step.attempts,
        step.job
    )
}

fn print(line: &str) -> Result<()> {
    let written = writeln!(Stdout::default(), "{line}");
    written.map_err(|error| Error::io(Path::new("standard output"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_run_is_not_part_of_its_query() {
        let args = ["graph", "--run", "x", "-n", "2", "--run=y"].map(String::from);
        assert_eq!(without_run(&args), ["graph", "-n", "2"]);
    }

    #[test]
    fn commands_are_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
