//! Tables for people: EIP-55 addresses, amounts in units of the token.

use comfy_table::{Cell as Drawn, CellAlignment, ContentArrangement, presets};
use txgraph::text::utc;
use txgraph::{Asset, Cell, CellKind, Table, TokenList, TokenStandard, printable};

/// Draws a table with its title. `width`: columns of the terminal, if it is one.
///
/// Addresses are never shortened (similar ones can differ in the middle) nor broken (they
/// are copied): a table that is too wide becomes a list of its rows. Columns without any
/// value are left out, and so are rows after the first `rows_max`.
pub(crate) fn draw(
    table: &Table,
    tokens: &TokenList,
    chain_id: u64,
    width: Option<u16>,
    rows_max: usize,
) -> String {
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|at| is_shown(table, *at))
        .collect();
    let names = shown
        .iter()
        .map(|at| table.columns[*at].name.replace('_', " "));
    let names: Vec<String> = names.collect();
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .take(rows_max)
        .map(|row| {
            let texts = row_words(table, row, tokens, chain_id);
            shown.iter().map(|at| texts[*at].clone()).collect()
        })
        .collect();

    let mut drawing = comfy_table::Table::new();
    drawing.load_preset(presets::UTF8_BORDERS_ONLY);
    drawing.set_content_arrangement(ContentArrangement::Disabled);
    let align = |at: &usize| match table.columns[*at].kind.is_number() {
        true => CellAlignment::Right,
        false => CellAlignment::Left,
    };
    let cells = |texts: &[String]| -> Vec<Drawn> {
        let cells = texts.iter().zip(&shown);
        cells
            .map(|(text, at)| Drawn::new(text).set_alignment(align(at)))
            .collect()
    };
    drawing.set_header(cells(&names));
    drawing.add_rows(rows.iter().map(|row| cells(row)));
    let drawn = drawing.to_string();
    let wide = drawn.lines().next().map_or(0, |line| line.chars().count());
    let title = printable(&table.title);
    let mut text = match width {
        Some(width) if wide > usize::from(width) => list(&title, &names, &rows),
        _ => format!("{title}\n{drawn}\n"),
    };
    let more = table.rows.len() - rows.len();
    if more > 0 {
        let more = thousands(more as u64);
        text += &format!("… and {more} more rows (--table {})\n", table.id);
    }
    text
}

fn is_shown(table: &Table, at: usize) -> bool {
    // An absent token is the native coin.
    table.columns[at].name == TOKEN || table.rows.iter().any(|row| row[at] != Cell::Absent)
}

/// The rows as lists, with a line for each value.
fn list(title: &str, names: &[String], rows: &[Vec<String>]) -> String {
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = format!("{title}\n");
    for (number, row) in rows.iter().enumerate() {
        text += &format!(
            "─ {} of {}\n",
            thousands(number as u64 + 1),
            thousands(rows.len() as u64)
        );
        for (name, value) in names.iter().zip(row).filter(|(_, value)| !value.is_empty()) {
            text += &format!("  {name:width$}  {value}\n");
        }
    }
    text
}

/// The column with the token of the amounts in a row.
const TOKEN: &str = "token_address";

fn place(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}

/// The cells of a row as text for people.
fn row_words(table: &Table, row: &[Cell], tokens: &TokenList, chain_id: u64) -> Vec<String> {
    let token = place(table, TOKEN);
    let asset = Asset {
        token_address: match token.map(|at| &row[at]) {
            Some(Cell::Address(address)) => Some(*address),
            _ => None,
        },
        token_standard: match place(table, "token_standard").map(|at| &row[at]) {
            Some(Cell::Text(word)) => word.parse().unwrap_or(TokenStandard::Erc20),
            _ => TokenStandard::Erc20,
        },
    };
    let known = asset
        .token_address
        .and_then(|address| tokens.lookup(chain_id, address));
    let has_units = known.is_some() || token.is_some() && asset.token_address.is_none();
    let word = |(at, cell): (usize, &Cell)| match cell {
        Cell::Amount(amount) if has_units => tokens.format_amount(chain_id, &asset, *amount),
        // The row names the token.
        Cell::Amount(amount) => grouped(&amount.to_string()),
        Cell::Address(address) => match known.filter(|_| Some(at) == token) {
            Some(known) => format!("{} {}", printable(&known.symbol), address.to_checksum(None)),
            None => address.to_checksum(None),
        },
        Cell::Integer(number) => number_words(&table.columns[at].name, *number),
        Cell::Ratio(ratio) => format!("{ratio:.4}"),
        Cell::Text(text) => printable(text).into_owned(),
        Cell::Absent if Some(at) == token => "native coin".to_owned(),
        Cell::Absent => String::new(),
    };
    row.iter().enumerate().map(word).collect()
}

/// Whether a table contains amounts of tokens that are not in the list.
pub(crate) fn has_raw_amounts(table: &Table, tokens: &TokenList, chain_id: u64) -> bool {
    let amounts = table
        .columns
        .iter()
        .any(|column| column.kind == CellKind::Amount);
    let unknown = |cell: &Cell| matches!(cell, Cell::Address(address) if tokens.lookup(chain_id, *address).is_none());
    amounts && place(table, TOKEN).is_some_and(|at| table.rows.iter().any(|row| unknown(&row[at])))
}

/// A number for people: a time, a block number, a count.
fn number_words(column: &str, number: u64) -> String {
    match column {
        _ if column.ends_with("timestamp") => utc(number),
        _ if column.ends_with("block") => number.to_string(),
        _ => thousands(number),
    }
}

/// `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

/// Decimal digits, in groups of three.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn labels_cannot_control_the_terminal() {
        let mut table = Table::new("a", "a\u{1b}[31mb", &[("note", CellKind::Text)]);
        table.push(vec!["x\nc\u{202e}d é".into()]);
        let drawn = draw(&table, &TokenList::default(), 1, None, 9);
        assert!(drawn.starts_with("a\u{fffd}[31mb\n"), "{drawn}");
        assert!(drawn.contains("x c\u{fffd}d é"), "{drawn}");
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let columns = [
            ("address", CellKind::Address),
            ("note", CellKind::Text),
            ("n", CellKind::Integer),
        ];
        let mut table = Table::new("title", "Title", &columns);
        let address = txgraph::address!("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
        table.push(vec![
            address.into(),
            "some words that go on".into(),
            1234u64.into(),
        ]);
        let wide = draw(&table, &TokenList::default(), 1, None, 9);
        assert!(
            wide.contains("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
            "{wide}"
        );
        assert!(
            wide.contains("1,234") && wide.starts_with("Title\n"),
            "{wide}"
        );
        let none = draw(&table, &TokenList::default(), 1, None, 0);
        assert!(
            none.ends_with("… and 1 more rows (--table title)\n"),
            "{none}"
        );
        let narrow = draw(&table, &TokenList::default(), 1, Some(60), 9);
        assert_eq!(
            narrow,
            "Title\n─ 1 of 1\n  address  0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n  \
             note     some words that go on\n  n        1,234\n"
        );
    }
}
