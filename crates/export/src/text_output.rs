//! Text output: a buffer that rows are formatted into, and several threads for many rows.

use crate::{
    Metadata, Result, Written,
    output::Output,
    parallel_text::{Format, OrderedWriter, PIECE_BYTES},
};
use txgraph_work::Threads;

/// Text for an [`Output`], with a buffer that rows are formatted into.
pub(crate) struct TextOutput {
    output: Output,
    /// Append here, then call [`Self::end_row`].
    pub(crate) buffer: Vec<u8>,
    rows: u64,
    writer: OrderedWriter,
}

impl TextOutput {
    /// Creates one for rows that are appended one at a time.
    pub(crate) fn new(output: Output) -> Self {
        Self::with_threads(output, &Threads::one())
    }

    /// Creates one with threads for [`Self::write_rows`].
    pub(crate) fn with_threads(output: Output, threads: &Threads) -> Self {
        Self {
            output,
            // Room for the rows that exceed the size of a piece.
            buffer: Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8),
            rows: 0,
            writer: OrderedWriter::new(threads.clone()),
        }
    }

    /// Counts a row, and writes the buffer if it is full.
    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.rows += 1;
        self.write_if_full()
    }

    /// Writes the buffer if it is full.
    pub(crate) fn write_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= PIECE_BYTES {
            self.empty()?;
        }
        Ok(())
    }

    fn empty(&mut self) -> Result<()> {
        self.output.put(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Appends and counts rows. `format` is called with ranges of row numbers, on several
    /// threads if there are many rows, and appends their text. The text must not depend on
    /// how the rows are divided into ranges.
    pub(crate) fn write_rows(&mut self, rows: usize, format: &Format<'_>) -> Result<()> {
        self.write_items(rows, format)?;
        self.rows += rows as u64;
        Ok(())
    }

    /// Like [`Self::write_rows`], for items that do not count as rows.
    pub(crate) fn write_items(&mut self, items: usize, format: &Format<'_>) -> Result<()> {
        if self.writer.is_worth_it(items) {
            self.empty()?;
            return self.writer.write(items, &mut self.output, format);
        }
        for first in (0..items).step_by(STEP_ITEMS) {
            format(first..items.min(first + STEP_ITEMS), &mut self.buffer)?;
            self.write_if_full()?;
        }
        Ok(())
    }

    /// See [`Output::finish`].
    pub(crate) fn finish(mut self, metadata: Option<&Metadata>) -> Result<Written> {
        self.output.put(&self.buffer)?;
        let rows = Some(self.rows);
        let metadata = metadata.map(|it| Metadata { rows, ..it.clone() });
        self.output.finish(metadata.as_ref(), self.rows)
    }
}

/// Items between two checks whether the buffer is full.
const STEP_ITEMS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::io;

    #[test]
    fn closed_pipe_is_an_error_of_its_own() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = TextOutput::new(Output::stream(writer, "standard output".into()));
        output.buffer.resize(PIECE_BYTES, b'x');
        assert!(matches!(output.end_row().unwrap_err(), Error::BrokenPipe));
    }
}
