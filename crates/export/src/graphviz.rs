//! The `dot` program of Graphviz, which contains its other layout engines, too.

use crate::{Drawing, Error, Result};
use std::{
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Bytes of the messages of Graphviz that are kept.
const MESSAGE_BYTES: u64 = 4096;

/// How often to check whether it has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Checks that Graphviz is installed, so that this is known before a long search.
pub fn check_graphviz(drawing: &Drawing) -> Result<()> {
    let version = run(drawing, &["-V"], Vec::new());
    match version {
        Err(error @ Error::NoGraphviz { .. }) => Err(error),
        // Other failures have a better message when something is drawn.
        _ => Ok(()),
    }
}

/// Runs Graphviz on `text`, within the limits of time and size.
pub(crate) fn run(drawing: &Drawing, args: &[&str], text: Vec<u8>) -> Result<Vec<u8>> {
    let (program, limit) = (&drawing.program, drawing.time_max);
    let failed = |reason: String| Error::Graphviz {
        program: program.clone(),
        reason,
    };
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoGraphviz {
            program: program.clone(),
        },
        _ => failed(error.to_string()),
    })?;
    let deadline = Instant::now() + limit;
    let (Some(mut input), Some(picture), Some(message)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed("it has no pipes".to_owned()));
    };
    // If the program stops reading, its exit status shows the reason, not this write.
    let _writer = thread::spawn(move || input.write_all(&text));
    // One byte more than the limit shows that the picture is too large.
    let picture = reader(picture, drawing.bytes_max as u64 + 1);
    let message = reader(message, MESSAGE_BYTES);

    let status = loop {
        if let Some(status) = child
            .try_wait()
            .map_err(|error| failed(error.to_string()))?
        {
            break status;
        }
        if Instant::now() >= deadline {
            stop(&mut child);
            return Err(Error::GraphvizTooSlow {
                program: program.clone(),
                limit,
            });
        }
        thread::sleep(POLL_INTERVAL);
    };
    let picture = collected(picture).map_err(|error| failed(error.to_string()))?;
    if picture.len() > drawing.bytes_max {
        return Err(failed(format!(
            "the picture is larger than {} bytes",
            drawing.bytes_max
        )));
    }
    let message = collected(message).unwrap_or_default();
    let message = String::from_utf8_lossy(&message);
    if !status.success() {
        return Err(failed(format!("{status}: {}", message.trim())));
    }
    if !message.is_empty() {
        tracing::debug!(program = %program.display(), "{}", message.trim());
    }
    Ok(picture)
}

type Reader = thread::JoinHandle<io::Result<Vec<u8>>>;

/// Reads at most `bytes_max` bytes on a thread, then closes the pipe.
fn reader(pipe: impl Read + Send + 'static, bytes_max: u64) -> Reader {
    thread::spawn(move || {
        let mut data = Vec::new();
        pipe.take(bytes_max).read_to_end(&mut data)?;
        Ok(data)
    })
}

fn collected(reader: Reader) -> io::Result<Vec<u8>> {
    reader
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("its output cannot be read")))
}

/// Kills the program, and waits until it has ended.
fn stop(child: &mut Child) {
    // Both calls fail only if it has ended.
    let _ = child.kill();
    let _ = child.wait();
}
