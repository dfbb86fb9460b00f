//! Lines of text from other crates, written like all output: to a stream immediately, to a
//! file that gets its name when it is complete.

use crate::{Result, Target, Written, json_text::push_json, output::Output};
use serde::Serialize;
use std::io::{self, Write};

/// Writes lines of text.
pub struct LineWriter {
    output: Output,
    lines: u64,
}

impl std::fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineWriter")
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

impl LineWriter {
    /// Opens `target`. Fails if it could not be finished.
    pub fn new(target: &Target, overwrite: bool) -> Result<Self> {
        Ok(Self {
            output: Output::open(target, overwrite, false)?,
            lines: 0,
        })
    }

    /// Appends a line, which has no line end.
    pub fn push(&mut self, line: &str) -> Result<()> {
        self.lines += 1;
        self.output.put(line.as_bytes())?;
        self.output.put(b"\n")
    }

    /// Appends a value as JSON on a line. Characters that are not seen as they are
    /// (control characters, changes of direction) are escaped.
    pub fn push_json(&mut self, value: &impl Serialize) -> Result<()> {
        let mut line = Vec::new();
        push_json(&mut line, value)?;
        line.push(b'\n');
        self.lines += 1;
        self.output.put(&line)
    }

    /// Finishes, and gives a file its name. Every line counts as a row, also a header.
    pub fn finish(self) -> Result<Written> {
        self.output.finish(None, self.lines)
    }
}

/// For callers that write line ends themselves.
impl Write for LineWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.output.write(data)?;
        let ends = data[..written].iter().filter(|byte| **byte == b'\n');
        self.lines += ends.count() as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
