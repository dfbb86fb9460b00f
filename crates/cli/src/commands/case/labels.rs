//! The labels of a case, `labels.csv`.

use super::{
    LabelArgs,
    answer::{LABELS, check_regular},
    folder,
};
use crate::commands::Context;
use std::path::Path;
use txgraph::{
    Error, ErrorKind, Result,
    parse::{Checksum, parse_address},
};

/// The columns of the file, of which `docs/labels.md` describes more.
const COLUMNS: [&str; 3] = ["address", "name", "category"];

/// A file of labels: a header, and rows of as many cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabelFile {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl LabelFile {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(LABELS);
        check_regular(&path)?;
        let failed = |error: csv::Error| {
            let message = format!("{}: {error}", path.display());
            Error::new(ErrorKind::Failed, message)
        };
        let mut reader = csv::Reader::from_path(&path).map_err(failed)?;
        let words = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect();
        let header = words(reader.headers().map_err(failed)?);
        let rows = reader.records().map(|row| row.map(|row| words(&row)));
        let rows = rows.collect::<Result<_, _>>().map_err(failed)?;
        Ok(Self { header, rows })
    }

    /// Whether it has no addresses. The first line can be one of them: the header is optional.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.header.iter().any(|cell| cell.contains("0x"))
    }

    fn write(&self, folder: &Path, overwrite: bool) -> Result<()> {
        let path = folder.join(LABELS);
        let failed = |error: csv::Error| Error::io(&path, error.into());
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.header).chain(&self.rows) {
            writer.write_record(row).map_err(failed)?;
        }
        let text = writer.into_inner();
        let text = text.map_err(|error| Error::io(&path, error.into_error()))?;
        folder::write(&path, &String::from_utf8_lossy(&text), overwrite)
    }
}

/// Writes a file without labels.
pub(super) fn make(folder: &Path) -> Result<()> {
    let empty = LabelFile {
        header: COLUMNS.map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    empty.write(folder, false)
}

pub(super) fn run(args: &LabelArgs, context: &Context<'_>) -> Result<()> {
    let address = parse_address(&args.address, Checksum::Verify)?;
    if args.name.trim().is_empty() {
        return Err(Error::usage("the name of the address is empty"));
    }
    for (what, text) in [
        ("name", Some(&args.name)),
        ("category", args.category.as_ref()),
    ] {
        if text.is_some_and(|text| text.chars().any(char::is_control)) {
            let message =
                format!("the {what} of the address has a line break or another control character");
            return Err(Error::usage(message));
        }
    }
    let mut case = folder::Folder::open_locked(&args.folder)?;
    let mut file = LabelFile::read(&case.path)?;
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let found = file.header.iter().position(|name| name == column);
        let missing = || {
            let path = case.path.join(LABELS);
            let message = format!("{}: the file has no column `{column}`", path.display());
            Error::usage(message).hint("write the label into the file")
        };
        *place = found.ok_or_else(missing)?;
    }
    let [at, name, category] = places;
    let is_same = |row: &&mut Vec<String>| {
        let known = parse_address(&row[at], Checksum::Ignore);
        known.is_ok_and(|known| known == address)
    };
    let word = args.category.as_deref().map(str::trim);
    if let Some(row) = file.rows.iter_mut().find(is_same) {
        let old = std::mem::replace(&mut row[name], args.name.trim().to_owned());
        let kept = match word {
            Some(word) => {
                word.clone_into(&mut row[category]);
                String::new()
            }
            None if row[category].is_empty() => String::new(),
            None => format!("; the category is still `{}`", row[category]),
        };
        let terminal = context.terminal;
        terminal.note(format_args!("{address}: the label replaces `{old}`{kept}"));
    } else {
        let mut row = vec![String::new(); file.header.len()];
        row[at] = address.to_string();
        args.name.trim().clone_into(&mut row[name]);
        word.unwrap_or_default().clone_into(&mut row[category]);
        file.rows.push(row);
    }
    file.write(&case.path, true)?;
    case.save()
}
