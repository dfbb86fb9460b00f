//! Runs `cat` of the finished file, our writers and polars in rounds, and checks every answer.

use crate::{
    CHAIN_ID, PREPARED, SEED, polars_writers,
    record::{FROM_ROWS, Record, Sample},
    rows::transfers,
    table,
    write::What,
};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};
use txgraph_export::TransferTableOptions;

#[derive(Args)]
pub(crate) struct Options {
    /// Workloads and expected answers.
    #[arg(long)]
    definitions: PathBuf,
    /// Folder for output files: some 10 GB on disk, and memory to cache the largest file.
    #[arg(long)]
    scratch: PathBuf,
    /// Folder for the record.
    #[arg(long)]
    out: PathBuf,
    /// Counted rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Threads of the writers at most.
    #[arg(long)]
    threads: usize,
    /// Fewer rows.
    #[arg(long)]
    quick: bool,
    /// Commit, machine and versions, for the summary.
    #[arg(long)]
    setup: String,
}

/// The expected rows, bytes and [`checksum`] of a file. For Parquet only the rows are given;
/// its content is read back.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// Input transfers.
    rows: usize,
    /// Output rows, if their number differs from the input.
    written: Option<usize>,
    bytes: Option<u64>,
    checksum: Option<String>,
}

/// The cost that a process printed.
struct Cost {
    wall_s: f64,
    user_s: f64,
    sys_s: f64,
    peak_kib: u64,
    prepared_kib: u64,
    rows: usize,
}

#[expect(clippy::print_stderr, reason = "progress of a command line tool")]
pub(crate) fn run(options: &Options) -> Result<()> {
    let text = fs::read_to_string(&options.definitions)
        .with_context(|| options.definitions.display().to_string())?;
    let mut sets: BTreeMap<String, BTreeMap<String, Answer>> = toml::from_str(&text)?;
    let set = if options.quick { "quick" } else { "full" };
    let answers = sets.remove(set).context("no such set of answers")?;
    let answer = |what: What| {
        let word = what.word();
        answers
            .get(&word)
            .with_context(|| format!("no answer for {set}.{word}"))
    };
    let mut bench = Bench {
        options,
        record: Record::default(),
    };
    let file = options.scratch.join("writers.out");
    for what in [What::Csv, What::Jsonl, What::Dot, What::DotMerged] {
        eprintln!("{}", what.word());
        bench.text(what, answer(what)?, &file)?;
    }
    eprintln!("parquet");
    bench.parquet(answer(What::Parquet)?, &file)?;
    fs::remove_file(&file)?;
    eprintln!("yes, and the table");
    let bytes = if options.quick { 1 << 28 } else { 1 << 30 };
    bench.record.yes = (0..options.rounds)
        .map(|_| yes(bytes))
        .collect::<Result<_>>()?;
    for _ in 0..options.rounds {
        bench.record.table.extend(table::measure(bytes)?);
    }
    bench.record.save(&options.out, &options.setup)
}

struct Bench<'a> {
    options: &'a Options,
    record: Record,
}

impl Bench<'_> {
    /// Runs a text format: once to a file that is checked, then in rounds to a pipe.
    fn text(&mut self, what: What, answer: &Answer, file: &Path) -> Result<()> {
        let (rows, threads) = (answer.rows, self.options.threads);
        let check = |what: What| {
            let cost = finished(child(what, rows, threads, file)?.spawn()?)?;
            let found = Answer {
                rows,
                written: (cost.rows != rows).then_some(cost.rows),
                bytes: Some(fs::metadata(file)?.len()),
                checksum: Some(checksum(file)?),
            };
            ensure!(
                found == *answer,
                "{}: {found:?}, not {answer:?}",
                what.word()
            );
            Ok(cost)
        };
        if what == What::Csv {
            // polars must write exactly the same bytes.
            check(What::PolarsCsv)?;
            check(What::PolarsCsvRows)?;
        }
        let cost = check(what)?;
        let bytes = fs::metadata(file)?.len();
        self.note(what, "file", threads, 0, bytes, &cost);
        // The first round only warms up.
        for round in 0..=self.options.rounds {
            let cat = cat(file)?;
            let mut samples = vec![("cat", 1, cat)];
            samples.push(("txgraph", threads, piped(what, rows, threads)?));
            if threads > 1 {
                samples.push(("txgraph", 1, piped(what, rows, 1)?));
            }
            if what == What::Csv {
                samples.push(("polars", threads, piped(What::PolarsCsv, rows, threads)?));
                let cost = piped(What::PolarsCsvRows, rows, threads)?;
                samples.push((FROM_ROWS, threads, cost));
            }
            for (who, threads, cost) in &samples {
                ensure!(
                    *who == "cat" || cost.rows == answer.written.unwrap_or(rows),
                    "{who}: {} rows",
                    cost.rows
                );
                if round > 0 {
                    self.note(what, who, *threads, round, bytes, cost);
                }
            }
        }
        Ok(())
    }

    /// Runs Parquet: reads a file back once, then writes to `/dev/null` in rounds, like polars.
    fn parquet(&mut self, answer: &Answer, file: &Path) -> Result<()> {
        let (rows, threads) = (answer.rows, self.options.threads);
        finished(child(What::Parquet, rows, threads, file)?.spawn()?)?;
        let prepared = transfers(rows.min(PREPARED), SEED);
        let frames =
            polars_writers::binary_frames(&prepared, &TransferTableOptions::new(CHAIN_ID))?;
        drop(prepared);
        ensure!(
            polars_writers::parquet_begins_with(file, &frames)?,
            "the Parquet file has other rows"
        );
        drop(frames);
        let bytes = fs::metadata(file)?.len();
        let null = Path::new("/dev/null");
        for round in 0..=self.options.rounds {
            for (who, what) in [("txgraph", What::Parquet), ("polars", What::PolarsParquet)] {
                let cost = finished(child(what, rows, threads, null)?.spawn()?)?;
                ensure!(cost.rows == rows, "{who}: {} rows", cost.rows);
                if round > 0 {
                    self.note(What::Parquet, who, threads, round, bytes, &cost);
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, what: What, who: &str, threads: usize, round: usize, bytes: u64, c: &Cost) {
        self.record.samples.push(Sample {
            workload: what.word(),
            who: who.to_owned(),
            threads,
            round,
            bytes,
            wall_s: c.wall_s,
            user_s: c.user_s,
            sys_s: c.sys_s,
            peak_kib: c.peak_kib,
            prepared_kib: c.prepared_kib,
        });
    }
}

/// Starts this binary again as a writer.
fn child(what: What, rows: usize, threads: usize, to: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["write", "--what", &what.word()])
        .args(["--rows", &rows.to_string()])
        .args(["--threads", &threads.to_string()])
        .arg("--to")
        .arg(to)
        .env("POLARS_MAX_THREADS", threads.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Waits for a process of [`child`] and parses its cost.
fn finished(child: Child) -> Result<Cost> {
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "a writer failed: {text}");
    let fields: Vec<_> = text.split_whitespace().collect();
    let [wall_s, user_s, sys_s, peak_kib, prepared_kib, rows] = fields[..] else {
        bail!("unexpected output of a writer: {text}");
    };
    Ok(Cost {
        wall_s: wall_s.parse()?,
        user_s: user_s.parse()?,
        sys_s: sys_s.parse()?,
        peak_kib: peak_kib.parse()?,
        prepared_kib: prepared_kib.parse()?,
        rows: rows.parse()?,
    })
}

/// Writes to a pipe that `cat` reads.
fn piped(what: What, rows: usize, threads: usize) -> Result<Cost> {
    let mut writer = child(what, rows, threads, Path::new("-"))?
        .stdout(Stdio::piped())
        .spawn()?;
    let pipe = writer.stdout.take().context("no pipe")?;
    let mut reader = Command::new("cat")
        .stdin(pipe)
        .stdout(Stdio::null())
        .spawn()?;
    let cost = finished(writer)?;
    ensure!(reader.wait()?.success(), "cat failed");
    Ok(cost)
}

/// Runs `cat FILE | cat > /dev/null`. The CPU time includes both processes.
fn cat(file: &Path) -> Result<Cost> {
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let start = Instant::now();
    let mut first = Command::new("cat")
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()?;
    let pipe = first.stdout.take().context("no pipe")?;
    let mut second = Command::new("cat")
        .stdin(pipe)
        .stdout(Stdio::null())
        .spawn()?;
    let ended = first.wait()?.success() && second.wait()?.success();
    ensure!(ended, "cat failed");
    let wall_s = start.elapsed().as_secs_f64();
    let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |from: nix::sys::time::TimeVal, to: nix::sys::time::TimeVal| {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let micros = (to.num_microseconds() - from.num_microseconds()) as f64;
        micros / 1e6
    };
    Ok(Cost {
        wall_s,
        user_s: seconds(before.user_time(), after.user_time()),
        sys_s: seconds(before.system_time(), after.system_time()),
        peak_kib: 0,
        prepared_kib: 0,
        rows: 0,
    })
}

/// Returns the bytes per second that `yes` writes to a pipe.
fn yes(bytes: usize) -> Result<f64> {
    let start = Instant::now();
    let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn()?;
    let mut pipe = yes.stdout.take().context("no pipe")?;
    let mut buffer = vec![0; 128 * 1024];
    let mut left = bytes;
    while left > 0 {
        let read = pipe.read(&mut buffer)?;
        ensure!(read > 0, "yes ended");
        left = left.saturating_sub(read);
    }
    let wall_s = start.elapsed().as_secs_f64();
    drop(pipe);
    // It ends by itself, because its pipe is closed.
    yes.wait()?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let bytes = bytes as f64;
    Ok(bytes / wall_s)
}

/// A checksum over words of eight bytes, the last one padded with zeros. Each word is mixed in
/// with a rotation and a multiplication, so every byte and its position matter.
fn checksum(path: &Path) -> Result<String> {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut sum = 0u64;
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        for word in buffer[..filled].chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            sum = (sum.rotate_left(23) ^ u64::from_le_bytes(bytes)).wrapping_mul(ODD);
        }
        if filled < buffer.len() {
            return Ok(format!("{sum:016x}"));
        }
    }
}

/// Writes a file of the record.
pub(crate) fn save(path: &Path, text: &str) -> Result<()> {
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    Ok(file.write_all(text.as_bytes())?)
}
