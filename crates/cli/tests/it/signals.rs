//! SIGINT, SIGTERM and SIGHUP end every command, also one that is blocked.

use crate::harness::{CHAIN, Sample};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use txgraph_testkit::program;

pub(crate) fn send(signal: &str, child: &Child) {
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

/// Waits for the end of a process: its exit status. A process that the signal does not end blocks
/// the test.
pub(crate) fn status(mut child: Child) -> Option<i32> {
    child.wait().unwrap().code()
}

fn make_fifo(sample: &Sample, name: &str) {
    let made = Command::new("mkfifo").arg(sample.path(name)).status();
    assert!(made.unwrap().success());
}

/// Reads lines until one contains `text`; all of them.
pub(crate) fn read_until(reader: &mut impl BufRead, text: &str) -> String {
    let mut lines = String::new();
    while !lines.contains(text) {
        assert_ne!(reader.read_line(&mut lines).unwrap(), 0, "{lines}");
    }
    lines
}

/// A command that waits for its list of tokens, which a FIFO is to bring.
fn waiting_for_a_list(sample: &Sample) -> (Child, fs::File) {
    make_fifo(sample, "tokens");
    let mut command = sample.command();
    command
        .args(["transfers", "-t", "@tokens", "-o", "t.csv"])
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Opens when the child has opened its end.
    let fifo = fs::OpenOptions::new()
        .write(true)
        .open(sample.path("tokens"))
        .unwrap();
    (child, fifo)
}

#[test]
fn sigint_stops_with_status_130() {
    let sample = Sample::small();
    let (mut child, mut fifo) = waiting_for_a_list(&sample);
    send("-INT", &child);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut lines = read_until(&mut stderr, "stopping");
    // Fails if the process has given up waiting in the meantime.
    let _ = fifo.write_all(b"all\n");
    drop(fifo);
    stderr.read_to_string(&mut lines).unwrap();
    assert_eq!(status(child), Some(130), "{lines}");
    assert!(lines.contains("error: interrupted"), "{lines}");
    assert_eq!(sample.files(), ["tokens"], "nothing half-written");
}

#[test]
fn a_second_sigint_stops_at_once() {
    let sample = Sample::small();
    let (mut child, fifo) = waiting_for_a_list(&sample);
    send("-INT", &child);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    read_until(&mut stderr, "stopping");
    send("-INT", &child);
    assert_eq!(status(child), Some(130));
    drop(fifo);
}

#[test]
fn one_signal_ends_a_process_that_waits_for_a_fifo() {
    for signal in ["-TERM", "-INT"] {
        let sample = Sample::small();
        let (child, fifo) = waiting_for_a_list(&sample);
        send(signal, &child);
        assert_eq!(status(child), Some(130), "{signal}");
        drop(fifo);
        assert_eq!(sample.files(), ["tokens"], "{signal}");

        // A FIFO as output, which nothing opens for reading.
        make_fifo(&sample, "out");
        let mut command = sample.command();
        command.args(["transfers", "-o", "out", "-f", "csv"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        read_until(&mut stderr, "blocks 0:41");
        send(signal, &child);
        assert_eq!(status(child), Some(130), "{signal}");
    }
}

#[test]
fn one_signal_ends_a_process_whose_pipe_is_full() {
    for signal in ["-TERM", "-INT"] {
        let sample = Sample::small();
        // Megabytes: more than any pipe holds.
        let mut command = sample.command();
        command.args(["replay", "trace", "call"]);
        command.args(CHAIN.split_whitespace());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut stdout = BufReader::with_capacity(1, child.stdout.take().unwrap());
        let mut first = [0];
        stdout.read_exact(&mut first).unwrap();
        // From here on nothing reads.
        send(signal, &child);
        assert_eq!(status(child), Some(130), "{signal}");
    }
}

#[test]
fn a_signal_removes_unfinished_outputs() {
    let sample = Sample::small();
    for signal in ["-TERM", "-INT", "-HUP"] {
        // `nohup` would leave SIGHUP ignored in the tests.
        let mut command = program::bare("env", sample.folder.path());
        command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_txgraph")]);
        // An endless loop with gas for years.
        command.args([
            "evm",
            "run",
            "--code",
            "5b5f56",
            "--gas",
            "9000000000000000000",
        ]);
        let mut child = command.arg("--trace=t.jsonl").spawn().unwrap();
        let partial = || sample.files().iter().any(|name| name.ends_with(".partial"));
        while !partial() {
            assert_eq!(child.try_wait().unwrap(), None, "{:?}", sample.files());
            thread::sleep(Duration::from_millis(1));
        }
        send(signal, &child);
        assert_eq!(status(child), Some(130), "{signal}");
        assert!(sample.files().is_empty(), "{:?}", sample.files());
    }
}
