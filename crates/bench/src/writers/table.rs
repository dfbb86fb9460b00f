//! The cost of ways to write many pieces: each from its own buffer, copied into a shared
//! buffer, created in a shared buffer, or with vectored writes. Pieces have three sizes and go
//! to a pipe that `cat` reads or to `/dev/null`.

use anyhow::{Result, ensure};
use std::{
    fs::{File, OpenOptions},
    hint::black_box,
    io::{IoSlice, Write},
    process::{Command, Stdio},
    time::Instant,
};

/// Bytes of the shared buffer.
const BUFFER_BYTES: usize = 256 * 1024;
/// Pieces of a vectored write at most: `IOV_MAX` of Linux.
const VECTORED_MAX: usize = 1024;

/// A way to write pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each piece is created in its own buffer and written by itself.
    Alone,
    /// Each piece is created in its own buffer and copied into the shared one.
    Copied,
    /// Each piece is created in the shared buffer.
    Reused,
    /// Each piece is created in its own buffer; one call writes many.
    Vectored,
}

/// One figure of the table.
pub(crate) struct Entry {
    /// Bytes of a piece.
    pub(crate) piece_bytes: usize,
    /// The way to write.
    pub(crate) way: Way,
    /// Whether the pieces go to a pipe, or to `/dev/null`.
    pub(crate) pipe: bool,
    /// Bytes per second.
    pub(crate) speed: f64,
}

/// Measures all ways. Each writes `bytes` bytes.
pub(crate) fn measure(bytes: usize) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for pipe in [true, false] {
        for piece_bytes in [100, 1_000, 10_000] {
            for way in [Way::Alone, Way::Copied, Way::Reused, Way::Vectored] {
                // One system call per hundred bytes is slow, so it writes fewer bytes.
                let alone = way == Way::Alone && piece_bytes == 100;
                let bytes = if alone { bytes / 10 } else { bytes };
                let speed = run(bytes / piece_bytes, piece_bytes, way, pipe)?;
                entries.push(Entry {
                    piece_bytes,
                    way,
                    pipe,
                    speed,
                });
            }
        }
    }
    Ok(entries)
}

fn run(pieces: usize, piece_bytes: usize, way: Way, pipe: bool) -> Result<f64> {
    let start = Instant::now();
    if pipe {
        let mut reader = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        if let Some(mut sink) = reader.stdin.take() {
            write(pieces, piece_bytes, way, &mut sink)?;
        }
        ensure!(reader.wait()?.success(), "cat failed");
    } else {
        let mut sink: File = OpenOptions::new().write(true).open("/dev/null")?;
        write(pieces, piece_bytes, way, &mut sink)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let bytes = (pieces * piece_bytes) as f64;
    Ok(bytes / start.elapsed().as_secs_f64())
}

fn write(pieces: usize, piece_bytes: usize, way: Way, sink: &mut impl Write) -> Result<()> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + piece_bytes);
    let mut held: Vec<Vec<u8>> = Vec::with_capacity(VECTORED_MAX);
    for number in 0..pieces {
        // The same work for every way: a piece is filled once and not zeroed first.
        let byte = b'a' + u8::try_from(number % 26)?;
        let fill = |piece: &mut Vec<u8>| {
            let end = piece.len() + piece_bytes;
            piece.resize(end, black_box(byte));
        };
        let fresh = || {
            let mut piece = Vec::with_capacity(piece_bytes);
            fill(&mut piece);
            piece
        };
        match way {
            Way::Alone => sink.write_all(&fresh())?,
            Way::Copied => buffer.extend_from_slice(&fresh()),
            Way::Reused => fill(&mut buffer),
            Way::Vectored => held.push(fresh()),
        }
        if buffer.len() >= BUFFER_BYTES {
            sink.write_all(&buffer)?;
            buffer.clear();
        }
        if held.len() == VECTORED_MAX {
            write_held(&mut held, sink)?;
        }
    }
    sink.write_all(&buffer)?;
    write_held(&mut held, sink)
}

fn write_held(held: &mut Vec<Vec<u8>>, sink: &mut impl Write) -> Result<()> {
    let mut slices: Vec<_> = held.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        let written = sink.write_vectored(rest)?;
        ensure!(written > 0, "the writer accepted no bytes");
        IoSlice::advance_slices(&mut rest, written);
    }
    held.clear();
    Ok(())
}
