//! The first rows of tables and the first lines of texts, for people.

use crate::document::Grid;
use std::path::Path;
use txgraph::{Error, ErrorKind, Result, parse::utc};

/// Rows of a table in a report.
const ROWS_MAX: usize = 20;

/// Lines of a text in a report.
const LINES_MAX: usize = 80;

/// Columns of transfers that a report shows, in this order.
const TRANSFERS: [&str; 14] = [
    "hop",
    "block_number",
    "block_timestamp",
    "from_label",
    "from_address",
    "to_label",
    "to_address",
    "amount",
    "value",
    "symbol",
    "token_address",
    "token_id",
    "kind",
    "transaction_hash",
];

/// The beginning of a CSV file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) grid: Grid,
    /// Rows and columns of the file.
    pub(super) rows: u64,
    pub(super) columns: usize,
}

/// Reads the beginning of a CSV file. Columns that are empty in it are left out.
pub(super) fn csv(path: &Path) -> Result<Excerpt> {
    let failed = |error: csv::Error| {
        let message = format!("{}: {error}", path.display());
        Error::new(ErrorKind::Failed, message)
    };
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.flexible(true).from_path(path).map_err(failed)?;
    let header = reader.headers().map_err(failed)?.clone();
    let mut first = Vec::new();
    let mut rows = 0_u64;
    for row in reader.records() {
        let row = row.map_err(failed)?;
        rows += 1;
        if first.len() < ROWS_MAX {
            first.push(row);
        }
    }
    let shown = columns(&header, &first);
    let cell = |row: &csv::StringRecord, at: usize| {
        let text = row.get(at).unwrap_or_default();
        match (&header[at], text.parse()) {
            ("block_timestamp" | "timestamp", Ok(seconds)) => utc(seconds),
            _ => text.to_owned(),
        }
    };
    let cells = |row: &csv::StringRecord| shown.iter().map(|at| cell(row, *at)).collect();
    Ok(Excerpt {
        grid: Grid {
            title: String::new(),
            header: shown.iter().map(|at| header[*at].to_owned()).collect(),
            rows: first.iter().map(cells).collect(),
        },
        rows,
        columns: header.len(),
    })
}

/// The places of the columns that are shown.
fn columns(header: &csv::StringRecord, rows: &[csv::StringRecord]) -> Vec<usize> {
    let place = |name: &str| header.iter().position(|column| column == name);
    let has_values = |at: usize| {
        rows.is_empty()
            || rows
                .iter()
                .any(|row| row.get(at).is_some_and(|text| !text.is_empty()))
    };
    let is_transfers = ["from_address", "to_address", "transaction_hash"];
    let mut places: Vec<usize> = match is_transfers.iter().all(|name| place(name).is_some()) {
        true => TRANSFERS.iter().filter_map(|name| place(name)).collect(),
        false => (0..header.len()).collect(),
    };
    places.retain(|at| has_values(*at));
    // Amounts in units are the same numbers.
    let is_complete = |at: usize| {
        rows.iter()
            .all(|row| row.get(at).is_some_and(|it| !it.is_empty()))
    };
    if place("amount").is_some_and(is_complete) {
        places.retain(|at| &header[*at] != "value");
    }
    places
}

/// The first lines of a text, and how many more there are.
pub(super) fn lines(text: &str) -> (String, usize) {
    let mut lines = text.lines();
    let first: Vec<&str> = lines.by_ref().take(LINES_MAX).collect();
    (first.join("\n"), lines.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_cut_and_empty_columns_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let mut text = "block_number,block_timestamp,transaction_hash,from_address,to_address,\
                        value,token_id,amount,symbol\n"
            .to_owned();
        for row in 0..30 {
            text += &format!("{row},0,0xaa,0x1,0x2,1000,,1,<b>\n");
        }
        std::fs::write(&path, text).unwrap();
        let Excerpt {
            grid,
            rows,
            columns,
        } = csv(&path).unwrap();
        assert_eq!((rows, columns, grid.rows.len()), (30, 9, ROWS_MAX));
        let header = "block_number block_timestamp from_address to_address amount symbol \
                      transaction_hash";
        assert_eq!(grid.header.join(" "), header);
        assert_eq!(grid.rows[1][1], "1970-01-01 00:00:00 UTC");
        let text = (0..LINES_MAX + 2).map(|line| format!("{line}\n"));
        assert_eq!(lines(&text.collect::<String>()).1, 2);
    }
}
