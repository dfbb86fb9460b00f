//! SVG and PNG, drawn from DOT by the `dot` program of Graphviz.

use crate::{
    DocumentFormat, Drawing, Error, GraphOptions, Metadata, Result, Written, arrows::Arrows, dot,
    output::Output, text::printable_short,
};
use std::{
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use txgraph_graph::TransferGraph;
use txgraph_work::Threads;

/// Characters of a reason why text does not parse.
const REASON_CHARS: usize = 300;

/// Bytes of the messages of Graphviz that are kept.
const MESSAGE_BYTES: u64 = 4096;

/// How often to check whether it has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) fn write(
    graph: &TransferGraph,
    format: DocumentFormat,
    options: &GraphOptions,
    metadata: &Metadata,
    mut output: Output,
) -> Result<Written> {
    let drawing = &options.drawing;
    let arrows = Arrows::new(graph, !drawing.every_transfer, &Threads::one())?;
    for (what, count, limit) in [
        ("vertices", graph.graph.node_count(), drawing.vertices_max),
        ("edges", arrows.len(), drawing.edges_max),
    ] {
        if count > limit {
            return Err(Error::TooLargeToDraw { what, count, limit });
        }
    }
    let text = dot::text(graph, &arrows, options, metadata)?;
    check_syntax(&text)?;
    let picture = run(drawing, format, text)?;
    output.put(&picture)?;
    output.finish(Some(metadata), arrows.len() as u64)
}

/// Checks that a parser other than Graphviz's reads one graph. The text holds labels from
/// outside, and Graphviz never receives what only looks like a graph.
fn check_syntax(text: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(text);
    match graphviz_rust::parse(&text) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Error::DotSyntax(printable_short(&reason, REASON_CHARS))),
    }
}

/// Runs Graphviz on `text`, within the limits of time and size. The `exec` of
/// `graphviz-rust` has neither limit, nor a choice of the program.
fn run(drawing: &Drawing, format: DocumentFormat, text: Vec<u8>) -> Result<Vec<u8>> {
    let program = &drawing.program;
    let failed = |reason: String| Error::Graphviz {
        program: program.clone(),
        reason,
    };
    let started = Command::new(program)
        .arg(format!("-T{format}"))
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
    let deadline = Instant::now() + drawing.time_max;
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
            let limit = drawing.time_max;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_single_graph_is_refused() {
        check_syntax(b"digraph \"g\" { \"a\" -> \"b\" [label=\"x\"] }").unwrap();
        for text in [
            &b"digraph \"g\" { \"a\" [label=\"x\"y\"] }"[..],
            b"digraph \"g\" { \"a\" }\nrm -rf",
            b"",
        ] {
            let error = check_syntax(text).unwrap_err();
            assert!(matches!(error, Error::DotSyntax(_)), "{error}");
        }
    }
}
