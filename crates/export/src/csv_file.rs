//! Files that users write: CSV with a header line, the columns in any order.

use crate::text::printable_short;
use csv::{Position, Reader, ReaderBuilder, StringRecord, Trim};

/// Characters of the reason why a file is refused.
pub(crate) const REASON_CHARS: usize = 300;

/// A reason why a file is refused, which may quote the file.
pub(crate) fn shown(reason: &str) -> String {
    printable_short(reason, REASON_CHARS)
}

/// Rows below a header line.
pub(crate) struct CsvFile<'t> {
    reader: Reader<&'t [u8]>,
    headers: StringRecord,
}

impl<'t> CsvFile<'t> {
    /// Reads the header line. Lines that begin with `comment` are skipped.
    pub(crate) fn new(text: &'t str, comment: Option<u8>) -> Result<Self, String> {
        let mut reader = ReaderBuilder::new()
            .trim(Trim::All)
            .comment(comment)
            .from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| error.to_string())?.clone();
        Ok(Self { reader, headers })
    }

    /// The place of the column with one of these names, in any case.
    pub(crate) fn column(&self, names: &[&str]) -> Option<usize> {
        let is = |header: &str| names.iter().any(|name| header.eq_ignore_ascii_case(name));
        self.headers.iter().position(is)
    }

    /// The same for a column that must be there. `first_line` says what the header line must be.
    pub(crate) fn needed(&self, names: &[&str], first_line: &str) -> Result<usize, String> {
        let missing = || format!("no column `{}`; the first line must {first_line}", names[0]);
        self.column(names).ok_or_else(missing)
    }

    /// Passes on each row, which has a field for each column. Errors name the line.
    pub(crate) fn each_row(
        mut self,
        mut read: impl FnMut(&StringRecord) -> Result<(), String>,
    ) -> Result<(), String> {
        for row in self.reader.records() {
            let row = row.map_err(|error| error.to_string())?;
            let line = row.position().map_or(0, Position::line);
            read(&row).map_err(|reason| format!("line {line}: {reason}"))?;
        }
        Ok(())
    }
}
