//! The command line of the driver: that of txgraph, with questions to a cluster, and commands for
//! runs.

use crate::{
    Driver, Error, Result, Step,
    backend::ClusterBackend,
    run::{self, RunInfo, RunState},
};
use clap::{Parser, Subcommand};
use std::{
    cell::RefCell,
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use txgraph::{Config, Control, Source, SourceSpec};
use txgraph_cli::{Cluster, ClusterQuestion};

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
}

#[derive(Debug, Subcommand)]
enum Runs {
    /// List the runs: folder, state, question
    List,
    /// Show the steps of a run, with their measures
    Show {
        /// Folder of the run, or its name
        run: PathBuf,
        /// Print the plans, too
        #[arg(long)]
        plans: bool,
    },
    /// Ask the question of a run again; steps that it finished are not repeated
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
    // Everything else is a question, in the words of txgraph.
    if !args.get(1).is_some_and(|word| *word == "runs") {
        return ask(args);
    }
    match Cli::try_parse_from(&args) {
        Ok(cli) => {
            let Command::Runs { command } = cli.command;
            match runs(&command) {
                Ok(Some(args)) => ask(args),
                Ok(None) => ExitCode::SUCCESS,
                Err(error) => fail(error),
            }
        }
        Err(error) => error.exit(),
    }
}

/// Answers a question. Records the end of its run.
fn ask(args: Vec<OsString>) -> ExitCode {
    let opener = Opener::default();
    let code = txgraph_cli::run(args, Some(&opener));
    if let Some(driver) = opener.driver.take() {
        // `ExitCode` can only be compared by its text.
        let state = match format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS) {
            true => RunState::Done,
            false => RunState::Failed,
        };
        if let Err(error) = driver.run.finish(state) {
            return fail(error);
        }
        if state == RunState::Failed {
            say(&format!(
                "the finished steps are kept; continue with `txgraph-cluster runs resume {}`",
                driver.run.folder().display()
            ));
        }
    }
    code
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

/// Opens the cluster of a question, and keeps its driver.
#[derive(Debug, Default)]
struct Opener {
    driver: RefCell<Option<Arc<Driver>>>,
}

impl Cluster for Opener {
    fn open(
        &self,
        question: &ClusterQuestion,
        config: &Config,
        control: &Control,
    ) -> txgraph::Result<Source> {
        let folder = match &question.run {
            Some(folder) => folder.clone(),
            None => new_folder(config)?,
        };
        let args = without_run(&question.args);
        let driver = Driver::open(&question.scheduler, &folder, &args, config, control)?;
        let driver = Arc::new(driver);
        *self.driver.borrow_mut() = Some(driver.clone());
        let name = SourceSpec::from(format!("cluster:{}", question.scheduler));
        Source::with_backend_and(name, ClusterBackend::new(driver), config, control)
    }
}

/// The command line without `--run`, which names a folder and is not part of the question.
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

/// A folder for a new run: its name is the time and the process.
fn new_folder(config: &Config) -> Result<PathBuf> {
    let name = format!("{}-{}", run::unix_seconds(), std::process::id());
    Ok(runs_folder(config)?.join(name))
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
            print(&format!("question   {}", info.args.join(" ")))?;
            print(&format!("scheduler  {}", info.scheduler))?;
            print(&format!("state      {}", info.state))?;
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
    let metrics = &step.metrics;
    format!(
        "step {name}: {}\n  {} rows, {} ms (plan executed in {} ms), attempt {}, job {}",
        step.name, step.rows, metrics.millis, metrics.execution_millis, step.attempts, metrics.job
    )
}

fn print(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").map_err(|error| Error::io(Path::new("standard output"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_run_is_not_part_of_its_question() {
        let args = ["graph", "--run", "x", "-n", "2", "--run=y"].map(String::from);
        assert_eq!(without_run(&args), ["graph", "-n", "2"]);
    }

    #[test]
    fn commands_are_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
