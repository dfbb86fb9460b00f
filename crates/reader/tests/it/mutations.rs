//! Damaged files give an error or the right result, never a panic, a signal, a hang or
//! memory without bound. Every mutated directory is scanned plainly and with `verify`.
//!
//! - With `verify` there are no wrong answers.
//! - A plain scan may be wrong only in payload that has no checksum: logs, senders, native
//!   values and withdrawals. It does not recompute roots.
//!
//! Damaged pages of `mdbx.dat` could crash libmdbx, so mutations run in child processes:
//! this test binary, started again, works through a list of numbered mutations and prints
//! how each scan ended. A child that dies is a failure, and is replaced.
//!
//! `TXGRAPH_MUTATIONS` sets the number of mutated directories (default 600).

use crate::support::{ask, assert_same, everything, range};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::{fs::FileExt, process::ExitStatusExt},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions, Threads};
use txgraph_testkit::fixtures;
use txgraph_transfers::{Kind, ScanReport, Transfer};

const COUNT_ENV: &str = "TXGRAPH_MUTATIONS";
/// For a child: `layout first last`.
const CHILD_ENV: &str = "TXGRAPH_MUTATIONS_CHILD";
/// No mutation may take longer: reading the undamaged chain takes milliseconds,
/// believing an error a second.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Peak memory of a child, MiB. The undamaged chain needs some 30.
const MEMORY_MIB_MAX: u64 = 400;
/// `mdbx.dat` is sparse; this much of it is in use in the small fixtures.
const MDBX_BYTES: u64 = 900 << 10;

const PAGE_BYTES: usize = 4096;

/// Kinds of files; each must be damaged at least once.
const FILES: [&str; 22] = [
    "headers",
    "headers.conf",
    "headers.off",
    "transactions",
    "transactions.conf",
    "transactions.off",
    "receipts",
    "receipts.conf",
    "receipts.off",
    "transaction-senders",
    "transaction-senders.conf",
    "transaction-senders.off",
    "account-change-sets",
    "account-change-sets.conf",
    "account-change-sets.off",
    "account-change-sets.csoff",
    "storage-change-sets",
    "storage-change-sets.conf",
    "storage-change-sets.off",
    "storage-change-sets.csoff",
    "database.version",
    "mdbx.dat",
];

/// A data directory to be damaged and repaired, with what it answers when whole.
struct Patient {
    root: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
    mdbx_length: u64,
    expected: (Vec<Transfer>, ScanReport),
}

impl Patient {
    fn new(root: &Path) -> Self {
        let mut paths = fixtures::paths_in(&root.join("static_files"));
        paths.retain(|path| fs::metadata(path).unwrap().len() > 0);
        paths.push(root.join("db/database.version"));
        paths.push(root.join("db/mdbx.dat"));
        let read = |path: PathBuf| {
            let file = File::open(&path).unwrap();
            let length = file.metadata().unwrap().len().min(MDBX_BYTES);
            let mut bytes = vec![0; usize::try_from(length).unwrap()];
            file.read_exact_at(&mut bytes, 0).unwrap();
            (path, bytes)
        };
        Self {
            root: root.to_path_buf(),
            mdbx_length: fs::metadata(&paths[paths.len() - 1]).unwrap().len(),
            files: paths.into_iter().map(read).collect(),
            expected: read_all(root, None, false).unwrap(),
        }
    }

    /// Damages a file; says which and how.
    fn damage(&self, chance: &mut SmallRng) -> String {
        let (path, bytes) = self.files.choose(chance).unwrap();
        // A quarter of all mutations goes to the database.
        let (path, bytes) = match self.files.last() {
            Some((path, bytes)) if chance.random_ratio(1, 4) => (path, bytes),
            _ => (path, bytes),
        };
        let mut damaged = bytes.clone();
        let is_mdbx = path.ends_with("mdbx.dat");
        let mut at = chance.random_range(0..damaged.len());
        if is_mdbx && chance.random() {
            // Where a page says what it is and where its rows lie.
            at = (at / PAGE_BYTES * PAGE_BYTES + chance.random_range(0..64)).min(damaged.len() - 1);
        }
        let end = (at + chance.random_range(1..=32)).min(damaged.len());
        let how = match chance.random_range(0..10) {
            0..4 => {
                damaged[at] ^= 1 << chance.random_range(0..8);
                "one bit"
            }
            4 => {
                for _ in 0..16 {
                    let at = chance.random_range(0..damaged.len());
                    damaged[at] ^= 1 << chance.random_range(0..8);
                }
                "16 bits"
            }
            5 => {
                chance.fill(&mut damaged[at..end]);
                "random bytes"
            }
            6 => {
                damaged[at..end].fill(*[0, 0xff].choose(chance).unwrap());
                "zeros or ones"
            }
            7 => {
                let from = chance.random_range(0..=damaged.len() - (end - at));
                damaged.copy_within(from..from + (end - at), at);
                "bytes from elsewhere"
            }
            8 => {
                damaged.truncate(at);
                "cut short"
            }
            _ => {
                let mut more = vec![0; end - at];
                chance.fill(&mut more[..]);
                damaged.extend(more);
                "longer"
            }
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        if is_mdbx && how == "cut short" {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(damaged.len() as u64).unwrap();
        } else if is_mdbx {
            let file = File::options().write(true).open(path).unwrap();
            file.write_all_at(&damaged, 0).unwrap();
        } else {
            fs::write(path, &damaged).unwrap();
        }
        format!("{name}: {how} at {at}")
    }

    fn repair(&self) {
        for (path, bytes) in &self.files {
            let file = File::options().write(true).open(path).unwrap();
            let is_mdbx = path.ends_with("mdbx.dat");
            file.write_all_at(bytes, 0).unwrap();
            let length = if is_mdbx {
                self.mdbx_length
            } else {
                bytes.len() as u64
            };
            if is_mdbx {
                // What was written behind the part in use.
                file.set_len(bytes.len() as u64).unwrap();
            }
            file.set_len(length).unwrap();
        }
    }

    /// Reads the damaged directory and judges the result. With `verify` every result must
    /// be right.
    fn verdict(&self, what: &str, chunk_blocks: Option<u64>, verify: bool) -> Verdict {
        let read = || read_all(&self.root, chunk_blocks, verify);
        match catch_unwind(AssertUnwindSafe(read)) {
            Err(_) => Verdict::Panic,
            Ok(Err(error)) => Verdict::Error(error),
            Ok(Ok(answer)) if answer == self.expected => Verdict::Right,
            Ok(Ok(_)) if verify => Verdict::Wrong,
            Ok(Ok((transfers, report))) => {
                let counts = (report.counts, self.expected.1.counts);
                let checked = counts.0.blocks == counts.1.blocks
                    && counts.0.transactions == counts.1.transactions
                    && report.last_block_hash == self.expected.1.last_block_hash;
                let file = kind_of_file(what);
                let agree = vouched_for(&transfers, &file) == vouched_for(&self.expected.0, &file);
                if checked && agree {
                    Verdict::Accepted
                } else {
                    Verdict::Wrong
                }
            }
        }
    }
}

enum Verdict {
    Right,
    Error(String),
    Panic,
    /// Wrong in what no checksum vouches for.
    Accepted,
    Wrong,
}

/// Opens a directory and reads everything in it.
fn read_all(
    root: &Path,
    chunk_blocks: Option<u64>,
    verify: bool,
) -> Result<(Vec<Transfer>, ScanReport), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let db = Arc::new(NodeDb::open(&DataDir::new(root)).map_err(|e| text(&e))?);
    // Must not panic either, whatever it says.
    let _ = db.snapshot().and_then(|snapshot| snapshot.info());
    let options = ScanOptions {
        threads: Threads::new(2).unwrap(),
        chunk_blocks,
        verify,
        ..ScanOptions::default()
    };
    let source = NodeSource::new(db, options, None).map_err(|e| text(&e))?;
    ask(&source, &everything(range(0, 40))).map_err(|e| text(&e))
}

/// For the parent, on a line of its own.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn print_line(text: &str) {
    println!("\n{text}");
}

/// The work of a child process. Not a test of its own: does nothing otherwise.
#[test]
fn child() {
    let Ok(task) = std::env::var(CHILD_ENV) else {
        return;
    };
    let words: Vec<u64> = task.split(' ').map(|word| word.parse().unwrap()).collect();
    let [layout, first, last] = words[..] else {
        panic!("{task}")
    };
    let fixture = &fixtures::committed()[usize::try_from(layout).unwrap()];
    let copy = fixture.unpack();
    let patient = Patient::new(copy.path());
    for number in first..=last {
        let mut chance = SmallRng::seed_from_u64(number * 2 + layout);
        let what = patient.damage(&mut chance);
        let chunk_blocks = *[None, Some(1), Some(7)].choose(&mut chance).unwrap();
        for verify in [false, true] {
            let mode = if verify { "verified" } else { "plain" };
            // Before reading, so that the parent knows what ended this process.
            print_line(&format!("begin {number} {mode} {what}"));
            let verdict = match patient.verdict(&what, chunk_blocks, verify) {
                Verdict::Right => "right".to_owned(),
                Verdict::Error(error) => format!("error {}", error.replace('\n', " ")),
                Verdict::Panic => "panic".to_owned(),
                Verdict::Accepted => "accepted".to_owned(),
                Verdict::Wrong => "wrong".to_owned(),
            };
            print_line(&format!("end {verdict}"));
        }
        patient.repair();
    }
    let (transfers, report) = read_all(&patient.root, None, true).unwrap();
    assert_same(&transfers, &patient.expected.0, "after the last repair");
    assert_eq!(report, patient.expected.1);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    print_line(&format!("peak {}", peak.unwrap_or("0 kB").trim()));
}

/// How mutations ended: by file kind and verdict.
type Tally = BTreeMap<(String, &'static str), u64>;

/// Runs mutations `first..=last` in child processes.
fn run(layout: u64, first: u64, last: u64, tally: &Mutex<Tally>, faults: &Mutex<Vec<String>>) {
    let mut next = first;
    while next <= last {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "mutations::child",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(CHILD_ENV, format!("{layout} {next} {last}"))
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, receiver) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut current: Option<(u64, String)> = None;
        let fault = |text: String| {
            faults
                .lock()
                .unwrap()
                .push(format!("layout {layout}, {text}"))
        };
        let count = |what: &str, verdict: &'static str| {
            let file = kind_of_file(what);
            *tally.lock().unwrap().entry((file, verdict)).or_default() += 1;
        };
        let hung = loop {
            let line = match receiver.recv_timeout(TIME_MAX) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => break true,
                Err(RecvTimeoutError::Disconnected) => break false,
            };
            if let Some(text) = line.strip_prefix("begin ") {
                let (number, what) = text.split_once(' ').unwrap();
                current = Some((number.parse().unwrap(), what.to_owned()));
            } else if let Some(verdict) = line.strip_prefix("end ") {
                let (number, what) = current.take().unwrap();
                next = number + 1;
                match verdict.split(' ').next().unwrap() {
                    "right" => count(&what, "right"),
                    "error" => count(&what, "error"),
                    "accepted" => count(&what, "accepted"),
                    _ => fault(format!("mutation {number} ({what}): {verdict}")),
                }
            } else if let Some(peak) = line.strip_prefix("peak ") {
                let kib: u64 = peak.trim_end_matches(" kB").trim().parse().unwrap();
                if kib > MEMORY_MIB_MAX << 10 {
                    fault(format!("mutations to {last}: {kib} KiB of memory"));
                }
                next = last + 1;
            }
        };
        if hung {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        reader.join().unwrap();
        match current {
            Some((number, what)) => {
                next = number + 1;
                match (hung, status.signal()) {
                    (false, Some(signal)) => {
                        fault(format!("mutation {number} ({what}): signal {signal}"));
                    }
                    _ => fault(format!(
                        "mutation {number} ({what}): {status}, hung: {hung}"
                    )),
                }
            }
            None if !status.success() => {
                fault(format!(
                    "a child ended between mutations, before {next}: {status}"
                ));
                return;
            }
            None => {}
        }
    }
}

/// `mdbx.dat`, or segment and part of a static file.
fn kind_of_file(what: &str) -> String {
    let name = what.split(':').next().unwrap();
    name.replace("static_file_", "").replace("_0_499999", "")
}

/// Transfers that must be right, or refused, although `file` is damaged: all that does not
/// come from the payload of its rows, for which nothing vouches but roots in the
/// header.
fn vouched_for(transfers: &[Transfer], file: &str) -> Vec<Transfer> {
    let mut rows = transfers.to_vec();
    match file {
        // Senders (v1) and withdrawals: ends and amounts of native rows.
        "mdbx.dat" | "transaction-senders" => rows.retain(|row| row.log_index.is_some()),
        // Native values, and the hash of everything.
        "transactions" | "transactions.off" => {
            rows.retain(|row| row.log_index.is_some());
            rows.iter_mut().for_each(|row| row.transaction_hash = None);
        }
        // Logs, and whether a transaction succeeded.
        "receipts" => rows.retain(|row| row.kind == Kind::Withdrawal),
        _ => {}
    }
    rows
}

#[test]
fn damage_is_an_error_or_changes_no_row() {
    let wanted = std::env::var(COUNT_ENV)
        .ok()
        .map(|count| count.parse().unwrap());
    let each = wanted.unwrap_or(600u64).div_ceil(2);
    let (tally, faults) = (Mutex::default(), Mutex::default());
    let next = AtomicU64::new(0);
    // Children sleep most of the time: an error is believed only after a while.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let batch = next.fetch_add(1, Ordering::Relaxed);
                    let (layout, first) = (batch % 2, batch / 2 * 50);
                    if first >= each {
                        break;
                    }
                    run(layout, first, (first + 49).min(each - 1), &tally, &faults);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    // Not `println!`: of interest also when the test passes.
    let mut stderr = std::io::stderr();
    for ((file, verdict), count) in &tally {
        let _ = writeln!(stderr, "mutations of {file}: {count} {verdict}");
    }
    let faults = faults.into_inner().unwrap();
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    // Two layouts, plain and with `verify`.
    assert_eq!(tally.values().sum::<u64>(), each * 4);
    let counted = |of: &dyn Fn(&str) -> bool, verdicts: &[&str]| -> u64 {
        let wanted = |(file, verdict): &(String, &str)| of(file) && verdicts.contains(verdict);
        let counts = tally.iter().filter(|(key, _)| wanted(key));
        counts.map(|(_, count)| count).sum()
    };
    let of_mode = |mode: &'static str| move |file: &str| file.starts_with(mode);
    assert_eq!(counted(&of_mode("verified"), &["accepted"]), 0);
    let (plain, verified) = (
        counted(&of_mode("plain"), &["error"]),
        counted(&of_mode("verified"), &["error"]),
    );
    assert!(plain * 4 > each && verified > plain, "{tally:?}");
    for file in FILES {
        let damaged = |kind: &str| kind.split_once(' ').is_some_and(|(_, name)| name == file);
        assert!(
            counted(&damaged, &["right", "error", "accepted"]) > 0,
            "{file}"
        );
    }
}
