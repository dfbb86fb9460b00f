//! Runs `cat` of the finished file, our writers and polars in rounds, and checks every answer.

use super::{
    CHAIN_ID, PREPARED, SEED, polars_writers,
    record::{FROM_ROWS, Record, Sample},
    rows::transfers,
    write::What,
};
use crate::{
    console::progress,
    measure::{Cost, interleaved},
    report::Results,
};
use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::UsageWho;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use txgraph_export::TransferTableOptions;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Workloads and expected answers.
    #[arg(long)]
    definitions: PathBuf,
    /// Folder for output files: some 10 GB on disk, and memory to cache the largest file.
    #[arg(long)]
    scratch: PathBuf,
    #[command(flatten)]
    results: Results,
    /// Counted rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Threads of the writers at most.
    #[arg(long)]
    threads: usize,
    /// Fewer rows.
    #[arg(long)]
    quick: bool,
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

/// The output of a process.
#[derive(Clone, Copy)]
struct Written {
    cost: Cost,
    prepared_kib: u64,
    rows: usize,
}

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
        progress(what.word());
        bench.text(what, answer(what)?, &file)?;
    }
    progress("parquet");
    bench.parquet(answer(What::Parquet)?, &file)?;
    fs::remove_file(&file)?;
    bench.record.save(&options.results)
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
            let done = finished(child(what, rows, threads, file)?.spawn()?)?;
            let found = Answer {
                rows,
                written: (done.rows != rows).then_some(done.rows),
                bytes: Some(fs::metadata(file)?.len()),
                checksum: Some(checksum(file)?),
            };
            ensure!(
                found == *answer,
                "{}: {found:?}, not {answer:?}",
                what.word()
            );
            Ok(done)
        };
        if what == What::Csv {
            // polars must write exactly the same bytes.
            check(What::PolarsCsv)?;
            check(What::PolarsCsvRows)?;
        }
        let done = check(what)?;
        let bytes = fs::metadata(file)?.len();
        self.note(what, "file", threads, 0, bytes, &done);
        let mut subjects = vec![("cat", 1, None), ("txgraph", threads, Some(what))];
        if threads > 1 {
            subjects.push(("txgraph", 1, Some(what)));
        }
        if what == What::Csv {
            subjects.push(("polars", threads, Some(What::PolarsCsv)));
            subjects.push((FROM_ROWS, threads, Some(What::PolarsCsvRows)));
        }
        let written = answer.written.unwrap_or(rows);
        self.rounds(what, bytes, &mut subjects, |(who, threads, what)| {
            let Some(what) = *what else {
                return cat(file);
            };
            let done = piped(what, rows, *threads)?;
            ensure!(done.rows == written, "{who}: {} rows", done.rows);
            Ok(done)
        })
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
        let mut subjects = [
            ("txgraph", threads, What::Parquet),
            ("polars", threads, What::PolarsParquet),
        ];
        self.rounds(
            What::Parquet,
            bytes,
            &mut subjects,
            |(who, threads, what)| {
                let done = finished(child(*what, rows, *threads, null)?.spawn()?)?;
                ensure!(done.rows == rows, "{who}: {} rows", done.rows);
                Ok(done)
            },
        )
    }

    /// Runs all subjects, each a name, its threads and its work, in rounds.
    fn rounds<W>(
        &mut self,
        what: What,
        bytes: u64,
        subjects: &mut [(&str, usize, W)],
        mut run: impl FnMut(&(&str, usize, W)) -> Result<Written>,
    ) -> Result<()> {
        let rounds = self.options.rounds;
        interleaved(subjects, rounds, |subject, round| {
            let done = run(subject)?;
            if round > 0 {
                self.note(what, subject.0, subject.1, round, bytes, &done);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn note(
        &mut self,
        what: What,
        who: &str,
        threads: usize,
        round: usize,
        bytes: u64,
        written: &Written,
    ) {
        self.record.samples.push(Sample {
            workload: what.word(),
            who: who.to_owned(),
            threads,
            round,
            bytes,
            cost: written.cost,
            prepared_kib: written.prepared_kib,
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
fn finished(child: Child) -> Result<Written> {
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "a writer failed: {text}");
    let (cost, rest) = Cost::from_line(&text)?;
    let [prepared_kib, rows] = rest[..] else {
        bail!("unexpected output of a writer: {text}");
    };
    Ok(Written {
        cost,
        prepared_kib,
        rows: usize::try_from(rows)?,
    })
}

/// Writes to a pipe that `cat` reads.
fn piped(what: What, rows: usize, threads: usize) -> Result<Written> {
    let mut writer = child(what, rows, threads, Path::new("-"))?
        .stdout(Stdio::piped())
        .spawn()?;
    let pipe = writer.stdout.take().context("no pipe")?;
    let mut reader = Command::new("cat")
        .stdin(pipe)
        .stdout(Stdio::null())
        .spawn()?;
    let written = finished(writer)?;
    ensure!(reader.wait()?.success(), "cat failed");
    Ok(written)
}

/// Runs `cat FILE | cat > /dev/null`. The CPU time includes both processes.
fn cat(file: &Path) -> Result<Written> {
    let ((), cost) = Cost::of(UsageWho::RUSAGE_CHILDREN, || {
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
        Ok(())
    })?;
    Ok(Written {
        cost: Cost {
            peak_kib: 0,
            ..cost
        },
        prepared_kib: 0,
        rows: 0,
    })
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
