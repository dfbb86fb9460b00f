//! Runs the workloads of `benchmarks/workloads.toml` and writes raw figures and a summary.
//! `bench.sh` builds everything and calls this.

use crate::{
    answer::Answer,
    console::progress,
    definition::{Definitions, Workload},
    measure::{self, interleaved},
    report::{self, Results, Runs, Setting},
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Workload definitions.
    #[arg(long)]
    definitions: PathBuf,
    /// Data directory of the sample chain.
    #[arg(long)]
    datadir: PathBuf,
    /// Folder of the binaries.
    #[arg(long)]
    programs: PathBuf,
    #[command(flatten)]
    results: Results,
    /// Counted runs of each setting, after one run that is not counted.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Thread counts.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Only the workloads marked quick, few chunk sizes.
    #[arg(long)]
    quick: bool,
    /// Blocks per chunk, instead of the values in the definitions; 0 is the default of txgraph.
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
}

/// One setting with the command that runs it.
struct Job<'a> {
    setting: Setting,
    workload: &'a Workload,
    command: Vec<String>,
}

pub(crate) fn run(args: &Options) -> Result<()> {
    let mut definitions = Definitions::load(&args.definitions)?;
    if let Some(own) = own_workload(args) {
        definitions.workload = vec![own];
    }
    let folder = args.results.out.as_deref().context("--out is missing")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut jobs = jobs(args, &definitions);
    let stdout = folder.join("answer.tmp");

    let mut answers: BTreeMap<&str, Answer> = BTreeMap::new();
    let first = jobs.first().map(|job| job.setting.clone());
    let costs = interleaved(&mut jobs, args.runs, |job, round| {
        if first.as_ref() == Some(&job.setting) {
            progress(format_args!("round {round} of {}", args.runs));
        }
        let cost = measure::measured(&job.command, job.setting.threads, &stdout)?;
        check(args, job, &stdout, &mut answers)?;
        Ok(cost)
    })?;
    fs::remove_file(&stdout)?;
    let settings = jobs.into_iter().map(|job| job.setting);
    write_results(args, &settings.zip(costs).collect(), &answers)
}

/// The search on a chain of the user.
fn own_workload(args: &Options) -> Option<Workload> {
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
fn range(args: &Options, workload: &Workload) -> Vec<String> {
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

fn jobs<'a>(args: &Options, definitions: &'a Definitions) -> Vec<Job<'a>> {
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
        let query = |program: String, verb: &[&str]| {
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
                let mut command = query(program("txgraph"), &["-q", "graph"]);
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
                let mut command = query(program("txgraph-bench"), &["baseline"]);
                command.extend(search.iter().chain(&hops).cloned());
                jobs.push(Job {
                    setting: setting("baseline", 0),
                    workload,
                    command,
                });
                let command = query(program("txgraph-bench"), &["limit"]);
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
    args: &Options,
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

fn write_results(args: &Options, runs: &Runs, answers: &BTreeMap<&str, Answer>) -> Result<()> {
    args.results.write("raw.csv", &report::raw_csv(runs))?;
    let answers = answers.iter();
    let answers = answers.map(|(workload, answer)| format!("- {workload}: {answer}\n"));
    let summary = format!(
        "# Benchmark\n\n{}\n\n{} counted runs of each setting after one that is not counted, warm \
         page cache, whole processes.\n\n## Answers\n\nThe same in every run:\n\n{}\n\
         ## Compared\n\n{}\n## All settings\n\n{}",
        args.results.setup.trim(),
        args.runs,
        answers.collect::<String>(),
        report::comparison_table(runs),
        report::summary_table(runs)
    );
    args.results.write("summary.md", &summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn parse(more: &str) -> Options {
        let line = "bench sweep --definitions d --datadir n --programs p --out o";
        let words = line.split(' ').chain(more.split_whitespace());
        match crate::Args::try_parse_from(words).unwrap().task {
            crate::Task::Sweep(options) => *options,
            _ => panic!("sweep"),
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
