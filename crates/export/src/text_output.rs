//! Text output: a buffer that rows are formatted into, and several threads for many rows.

use crate::{
    Metadata, Result, Written,
    output::Output,
    pieces::{Format, PIECE_BYTES, Pieces},
};

/// Text on its way to an [`Output`], gathered in one buffer that rows are
/// formatted into.
pub(crate) struct TextOutput {
    output: Output,
    /// Append here, then call [`Self::end_row`].
    pub(crate) buffer: Vec<u8>,
    rows: u64,
    pieces: Pieces,
}

impl TextOutput {
    /// For rows that come one at a time.
    pub(crate) fn new(output: Output) -> Self {
        Self::with_threads(output, Some(1))
    }

    /// With so many threads for [`Self::write_rows`]; absent: one for each core.
    pub(crate) fn with_threads(output: Output, threads: Option<usize>) -> Self {
        Self {
            output,
            // Room for the rows that cross the mark.
            buffer: Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8),
            rows: 0,
            pieces: Pieces::new(threads),
        }
    }

    /// Counts a row, and hands the buffer on when it is full.
    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.rows += 1;
        self.hand_on()
    }

    /// Hands the buffer on when it is full.
    pub(crate) fn hand_on(&mut self) -> Result<()> {
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

    /// Appends and counts so many rows. `format` is given the numbers of rows that
    /// follow each other, on several threads when there are many: it must append
    /// the same text for them however they are cut.
    pub(crate) fn write_rows(&mut self, rows: usize, format: &Format<'_>) -> Result<()> {
        self.write_items(rows, format)?;
        self.rows += rows as u64;
        Ok(())
    }

    /// [`Self::write_rows`], of what does not count as rows.
    pub(crate) fn write_items(&mut self, items: usize, format: &Format<'_>) -> Result<()> {
        if self.pieces.are_worth_it(items) {
            self.empty()?;
            return self.pieces.write(items, &mut self.output, format);
        }
        for first in (0..items).step_by(STEP_ITEMS) {
            format(first..items.min(first + STEP_ITEMS), &mut self.buffer)?;
            self.hand_on()?;
        }
        Ok(())
    }

    /// See [`Output::finish`].
    pub(crate) fn finish(mut self, metadata: Option<&Metadata>) -> Result<Written> {
        self.output.put(&self.buffer)?;
        self.output.finish(metadata, self.rows)
    }
}

/// After so many items one thread looks whether its buffer is full.
const STEP_ITEMS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_closed_pipe_is_no_other_failure() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut output = TextOutput::new(Output::stream(writer, "standard output".into()));
        output.buffer.resize(PIECE_BYTES, b'x');
        assert!(output.end_row().unwrap_err().is_broken_pipe());
    }
}
