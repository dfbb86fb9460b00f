//! What a way of handing pieces to the system costs: pieces of three sizes, each in
//! a fresh buffer, copied into one, made in one that is used again, or handed over
//! as they lie; into a pipe that `cat` empties and to `/dev/null`.

use anyhow::{Result, ensure};
use std::{
    fs::{File, OpenOptions},
    hint::black_box,
    io::{IoSlice, Write},
    process::{Command, Stdio},
    time::Instant,
};

/// Bytes of the one buffer.
const BUFFER_BYTES: usize = 256 * 1024;
/// Most pieces of one call: `IOV_MAX` of Linux.
const VECTORED_MAX: usize = 1024;

/// How pieces go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each is made in a fresh buffer and written by itself.
    Alone,
    /// Each is made in a fresh buffer and copied into the one that is written.
    Copied,
    /// Each is made where it will be written from.
    Reused,
    /// Each is made in a fresh buffer; many are written by one call.
    Vectored,
}

/// One figure of the table.
pub(crate) struct Entry {
    /// Bytes of a piece.
    pub(crate) piece_bytes: usize,
    /// How they go out.
    pub(crate) way: Way,
    /// Into a pipe, or to `/dev/null`.
    pub(crate) pipe: bool,
    /// Bytes a second.
    pub(crate) speed: f64,
}

/// All figures; each writes so many bytes.
pub(crate) fn measure(bytes: usize) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for pipe in [true, false] {
        for piece_bytes in [100, 1_000, 10_000] {
            for way in [Way::Alone, Way::Copied, Way::Reused, Way::Vectored] {
                // A system call for each hundred bytes: no need for all of them.
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
        // The same work for every way: a piece is filled, not zeroed.
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
        ensure!(written > 0, "nothing was taken");
        IoSlice::advance_slices(&mut rest, written);
    }
    held.clear();
    Ok(())
}
