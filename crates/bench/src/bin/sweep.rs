//! Runs the workloads of `benchmarks/workloads.toml` and writes raw figures, a summary and
//! plots. `bench.sh` builds everything and calls this.

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_bench::{
    answer::Answer,
    definition::{Definitions, Workload},
    measure,
    plot::{self, Line, Plot},
    report::{self, Runs, Setting, Spread},
};

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one command and prints its cost (used by `run` for every run).
    Measure {
        /// File for the output of the command.
        stdout: PathBuf,
        /// The command.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Runs the sweep.
    Run(Box<RunArgs>),
}

#[derive(clap::Args)]
struct RunArgs {
    /// Workload definitions.
    #[arg(long)]
    definitions: PathBuf,
    /// Data directory of the sample chain.
    #[arg(long)]
    datadir: PathBuf,
    /// Folder of the binaries.
    #[arg(long)]
    programs: PathBuf,
    /// Folder for the results.
    #[arg(long)]
    out: PathBuf,
    /// Counted runs of each setting, after one run that is not counted.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Thread counts.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Only the workloads marked quick, few chunk sizes.
    #[arg(long)]
    quick: bool,
    /// Blocks per chunk, instead of those of the definitions; 0 is the default of txgraph.
    #[arg(long, value_delimiter = ',')]
    chunks: Vec<u64>,
    /// Root of a search on a chain of the user, instead of the workloads. There is no expected
    /// answer; all runs must agree.
    #[arg(long, requires_all = ["token", "blocks"])]
    root: Option<String>,
    /// Token of that search.
    #[arg(long, requires = "root")]
    token: Option<String>,
    /// Blocks of that search, as for txgraph.
    #[arg(long, requires = "root", allow_hyphen_values = true)]
    blocks: Option<String>,
    /// Hops of that search.
    #[arg(long, requires = "root", default_value_t = 1)]
    hops: u32,
    /// Commit and machine, for the head of the summary.
    #[arg(long, default_value = "")]
    setup: String,
}

#[expect(
    clippy::print_stdout,
    reason = "the line that the parent process reads"
)]
fn main() -> Result<()> {
    match Args::parse().command {
        Command::Measure { stdout, command } => {
            println!("{}", measure::measure_here(&command, &stdout)?);
            Ok(())
        }
        Command::Run(args) => run(&args),
    }
}

/// One setting with the command that runs it.
struct Job<'a> {
    setting: Setting,
    workload: &'a Workload,
    command: Vec<String>,
}

fn run(args: &RunArgs) -> Result<()> {
    let mut definitions = Definitions::load(&args.definitions)?;
    if let Some(own) = own_workload(args) {
        definitions.workload = vec![own];
    }
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let jobs = jobs(args, &definitions);
    let stdout = args.out.join("answer.tmp");

    let mut runs = Runs::new();
    let mut answers: BTreeMap<&str, Answer> = BTreeMap::new();
    // All settings in each round: if the machine is slow for a minute, all are affected.
    for round in 0..=args.runs {
        for job in &jobs {
            let cost = measure::measured(&job.command, job.setting.threads, &stdout)?;
            check(args, job, &stdout, &mut answers)?;
            if round > 0 {
                runs.entry(job.setting.clone()).or_default().push(cost);
            }
        }
        progress(&format!("round {round} of {} done", args.runs));
    }
    fs::remove_file(&stdout)?;
    write_results(args, &runs, &answers)
}

/// The search on a chain of the user.
fn own_workload(args: &RunArgs) -> Option<Workload> {
    let blocks = args.blocks.as_deref()?;
    Some(Workload {
        name: format!("{blocks}, hops {}", args.hops),
        blocks: 0,
        hops: args.hops,
        root: args.root.clone(),
        token: args.token.clone(),
        quick: true,
        compare: false,
        // Not used.
        expected: Answer::default(),
    })
}

/// The options that name the blocks of a workload.
fn range(args: &RunArgs, workload: &Workload) -> Vec<String> {
    match &args.blocks {
        // Attached: a range can begin with a minus.
        Some(blocks) => vec![format!("--blocks={blocks}")],
        None => {
            let last = (workload.blocks - 1).to_string();
            ["--from-block", "0", "--to-block", &last]
                .map(str::to_owned)
                .to_vec()
        }
    }
}

fn jobs<'a>(args: &RunArgs, definitions: &'a Definitions) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    let program = |name: &str| args.programs.join(name).display().to_string();
    let chunk_sizes: Vec<u64> = match args.quick {
        _ if !args.chunks.is_empty() => args.chunks.clone(),
        true => definitions.chunk_blocks.iter().copied().take(3).collect(),
        false => definitions.chunk_blocks.clone(),
    };
    let selected = definitions
        .workload
        .iter()
        .enumerate()
        .filter(|(_, w)| w.quick || !args.quick);
    for (order, workload) in selected {
        let range = range(args, workload);
        let question = |program: String, verb: &[&str]| {
            let mut command = vec![program];
            command.extend(verb.iter().map(|word| (*word).to_owned()));
            command.extend(["--datadir".to_owned(), args.datadir.display().to_string()]);
            command.extend(range.clone());
            command
        };
        let chain = &definitions.chain;
        let search = [
            "--root",
            workload.root.as_ref().unwrap_or(&chain.root),
            "--token",
            workload.token.as_ref().unwrap_or(&chain.token),
        ]
        .map(str::to_owned);
        for &threads in &args.threads {
            let setting = |program: &str, chunk_blocks| Setting {
                order,
                workload: workload.name.clone(),
                program: program.to_owned(),
                chunk_blocks,
                threads,
            };
            let hops = ["--hops".to_owned(), workload.hops.to_string()];
            for &chunk_blocks in &chunk_sizes {
                let mut command = question(program("txgraph"), &["-q", "graph"]);
                command.extend(search.iter().chain(&hops).cloned());
                command.extend(["--format", "csv", "-o", "-"].map(str::to_owned));
                if chunk_blocks > 0 {
                    command.extend(["--chunk-blocks".to_owned(), chunk_blocks.to_string()]);
                }
                jobs.push(Job {
                    setting: setting("txgraph", chunk_blocks),
                    workload,
                    command,
                });
            }
            if workload.compare {
                let mut command = question(program("txgraph-bench-baseline"), &[]);
                command.extend(search.iter().chain(&hops).cloned());
                jobs.push(Job {
                    setting: setting("baseline", 0),
                    workload,
                    command,
                });
                let command = question(program("txgraph-bench-limit"), &[]);
                jobs.push(Job {
                    setting: setting("limit", 0),
                    workload,
                    command,
                });
            }
        }
    }
    jobs
}

/// Checks the answer of a run.
fn check<'a>(
    args: &RunArgs,
    job: &Job<'a>,
    stdout: &Path,
    answers: &mut BTreeMap<&'a str, Answer>,
) -> Result<()> {
    let text = fs::read_to_string(stdout)?;
    let answer = match job.setting.program.as_str() {
        "limit" => return Ok(()),
        "txgraph" => Answer::from_csv(&text),
        _ => Answer::from_line(&text),
    }
    .with_context(|| format!("`{}`", job.command.join(" ")))?;
    ensure!(
        answer.edges > 0,
        "{}: an empty answer; check root, token and blocks",
        job.workload.name
    );
    let first = *answers.entry(&job.workload.name).or_insert(answer);
    if args.root.is_none() && job.workload.expected != answer {
        bail!(
            "{}: wrong answer {answer}, expected {}",
            job.workload.name,
            job.workload.expected
        );
    }
    ensure!(
        answer == first,
        "{}: `{}` answers {answer}, an earlier run {first}",
        job.workload.name,
        job.command.join(" ")
    );
    Ok(())
}

fn write_results(args: &RunArgs, runs: &Runs, answers: &BTreeMap<&str, Answer>) -> Result<()> {
    let write = |name: &str, text: &str| {
        let path = args.out.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    write("raw.csv", &report::raw_csv(runs))?;
    let mut summary = format!("# Benchmark\n\n{}\n", args.setup.trim());
    summary.push_str(&format!(
        "\n{} counted runs of each setting after one that is not counted, warm page cache, \
         whole processes.\n\n## Answers\n\nThe same in every run:\n\n",
        args.runs
    ));
    for (workload, answer) in answers {
        summary.push_str(&format!("- {workload}: {answer}\n"));
    }
    summary.push_str(&format!(
        "\n## Compared\n\n{}",
        report::comparison_table(runs)
    ));
    summary.push_str(&format!(
        "\n## All settings\n\n{}",
        report::summary_table(runs)
    ));
    summary
        .push_str("\n![time by chunk size](chunks.svg)\n\n![speed-up by threads](threads.svg)\n");
    write("summary.md", &summary)?;
    write("chunks.svg", &plot::svg(&chunk_plot(runs)))?;
    write("threads.svg", &plot::svg(&thread_plot(runs)))?;
    progress(&format!("results in {}", args.out.display()));
    Ok(())
}

fn ours(runs: &Runs) -> impl Iterator<Item = (&Setting, f64)> {
    runs.iter()
        .filter(|(setting, _)| setting.program == "txgraph")
        .map(|(setting, costs)| (setting, Spread::over(costs, |cost| cost.wall_s).median))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "chunk sizes and thread counts are small"
)]
fn chunk_plot(runs: &Runs) -> Plot {
    let threads = ours(runs)
        .map(|(setting, _)| setting.threads)
        .max()
        .unwrap_or(1);
    let mut ticks: Vec<u64> = ours(runs)
        .map(|(setting, _)| setting.chunk_blocks)
        .collect();
    ticks.sort_unstable();
    ticks.dedup();
    let mut lines: BTreeMap<(usize, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for (setting, wall) in ours(runs).filter(|(setting, _)| setting.threads == threads) {
        let line = lines.entry((setting.order, &setting.workload)).or_default();
        line.push((setting.chunk_blocks as f64, wall));
    }
    Plot {
        title: format!("Time by chunk size, {threads} threads"),
        x_label: "blocks per chunk".into(),
        y_label: "wall time, s (median)".into(),
        x_ticks: ticks
            .into_iter()
            .map(|blocks| {
                (
                    blocks as f64,
                    if blocks == 0 {
                        "auto".into()
                    } else {
                        blocks.to_string()
                    },
                )
            })
            .collect(),
        lines: named(lines),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "chunk sizes and thread counts are small"
)]
fn thread_plot(runs: &Runs) -> Plot {
    let auto = || ours(runs).filter(|(setting, _)| setting.chunk_blocks == 0);
    let mut ticks: Vec<usize> = auto().map(|(setting, _)| setting.threads).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let mut lines: BTreeMap<(usize, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for (setting, wall) in auto() {
        let line = lines.entry((setting.order, &setting.workload)).or_default();
        // The first entry of a workload has the fewest threads: the map is ordered.
        line.push((setting.threads as f64, wall));
    }
    for line in lines.values_mut() {
        let single = line[0].1;
        line.iter_mut().for_each(|point| point.1 = single / point.1);
    }
    Plot {
        title: "Speed-up by threads".into(),
        x_label: "threads".into(),
        y_label: "speed relative to the fewest threads".into(),
        x_ticks: ticks
            .into_iter()
            .map(|count| (count as f64, count.to_string()))
            .collect(),
        lines: named(lines),
    }
}

fn named(lines: BTreeMap<(usize, &str), Vec<(f64, f64)>>) -> Vec<Line> {
    lines
        .into_iter()
        .map(|((_, name), points)| Line {
            name: name.to_owned(),
            points,
        })
        .collect()
}

#[expect(clippy::print_stderr, reason = "progress of a command line tool")]
fn progress(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &str) -> RunArgs {
        let line = "sweep run --definitions d --datadir n --programs p --out o";
        let words = line.split(' ').chain(more.split_whitespace());
        match Args::try_parse_from(words).unwrap().command {
            Command::Run(args) => *args,
            Command::Measure { .. } => panic!("run"),
        }
    }

    #[test]
    fn a_search_of_the_user_replaces_the_workloads() {
        let args = parse("--chunks 500,5000 --threads 1 --root 0xaa --token eth --blocks -100:");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut definitions = Definitions::load(&root.join("benchmarks/workloads.toml")).unwrap();
        definitions.workload = vec![own_workload(&args).unwrap()];
        let jobs = jobs(&args, &definitions);
        let commands: Vec<String> = jobs.iter().map(|job| job.command.join(" ")).collect();
        let begin =
            "p/txgraph -q graph --datadir n --blocks=-100: --root 0xaa --token eth --hops 1";
        assert_eq!(
            commands,
            [500, 5000].map(|chunk| format!("{begin} --format csv -o - --chunk-blocks {chunk}"))
        );
        assert!(own_workload(&parse("")).is_none());
    }

    /// Help is printed where nothing can be built.
    #[test]
    fn help_of_the_script_never_builds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for words in [&["--help"][..], &["--quick", "--help"], &["evm", "-h"]] {
            let run = std::process::Command::new(root.join("bench.sh"))
                .args(words)
                .env("PATH", "/usr/bin:/bin")
                .env("HOME", "/nonexistent")
                .output()
                .unwrap();
            assert!(run.status.success(), "{run:?}");
            let page = String::from_utf8(run.stdout).unwrap();
            assert!(page.contains("./bench.sh"), "{page}");
        }
    }
}
