//! CSV, and lists with one address per line.

use super::{DecodeError, Format, Rows, fields::Places};

/// Reads rows. The first is a header if it names a column of addresses and has no address itself.
pub(super) fn read(text: &str, rows: &mut Rows<'_>) -> Result<Format, DecodeError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .delimiter(delimiter(text))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut places = None;
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(Format::Table),
            Err(error) => return Err(DecodeError::syntax("CSV", &error)),
        }
        let line = record.position().map_or(0, csv::Position::line);
        let first = record.get(0).unwrap_or_default();
        let places = match places {
            Some(places) => places,
            None => {
                let named = Places::of(record.iter());
                // A name may be `wallet`, too, but a header has no address.
                let has_address = record
                    .iter()
                    .any(|cell| (rows.reader.address)(cell).is_ok());
                if named.address.is_some() && !has_address {
                    places = Some(named);
                    continue;
                }
                *places.insert(Places::without_header())
            }
        };
        // A quote that is not closed would swallow the rows after it.
        if record.iter().any(|field| field.contains('\n')) {
            return Err(DecodeError::Syntax {
                format: "CSV",
                reason: format!(
                    "line {line}: a field contains a line break; is a quote not closed?"
                ),
            });
        }
        if record.len() <= 1 && first.is_empty() {
            continue;
        }
        let cells = places.cells(|at| record.get(at).unwrap_or_default());
        rows.add(&cells, || format!("line {line}"));
    }
}

/// The character between the fields of the first line.
fn delimiter(text: &str) -> u8 {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let has = |c| first.is_some_and(|line| line.contains(c));
    match (has(','), has('\t'), has(';')) {
        (true, ..) => b',',
        (_, true, _) => b'\t',
        (.., true) => b';',
        _ => b',',
    }
}
