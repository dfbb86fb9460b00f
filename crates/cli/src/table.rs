//! Human-readable tables: EIP-55 addresses, amounts in units of the token.

mod cell_text;
pub(crate) mod short_names;

pub(crate) use crate::units::thousands;
pub(crate) use cell_text::label;

use crate::output::number;
use cell_text::{CellText, TOKEN, place};
use comfy_table::{Cell as Drawn, CellAlignment, ContentArrangement, presets};
use txgraph::{ColumnType, Labels, Table, TokenList, Value, printable};

/// The kind of rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Measures. Addresses are shortened only where the terminal is narrow: they are copied.
    Measures,
    /// Transfers. Addresses are short on a terminal, and amounts have their unit.
    Movements,
}

/// How a table is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) style: Style,
    /// Symbols and decimals of tokens.
    pub(crate) tokens: &'a TokenList,
    /// Names that are shown instead of short addresses.
    pub(crate) labels: &'a Labels,
    pub(crate) chain_id: u64,
    /// Columns of the terminal, if it is one.
    pub(crate) width: Option<u16>,
    /// Rows after these are left out.
    pub(crate) rows_max: usize,
}

impl<'a> View<'a> {
    /// How all rows of measures are shown.
    pub(crate) const fn measures(
        tokens: &'a TokenList,
        labels: &'a Labels,
        chain_id: u64,
        width: Option<u16>,
    ) -> Self {
        Self {
            style: Style::Measures,
            tokens,
            labels,
            chain_id,
            width,
            rows_max: usize::MAX,
        }
    }
}

/// A table as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// Whether there was no room for whole addresses.
    pub(crate) is_shortened: bool,
    /// Whether there was no room for exact amounts.
    pub(crate) is_rounded: bool,
}

impl Page {
    /// Several pages as one, with empty lines between them.
    pub(crate) fn join(pages: Vec<Self>) -> Self {
        Self {
            is_shortened: pages.iter().any(|page| page.is_shortened),
            is_rounded: pages.iter().any(|page| page.is_rounded),
            text: (pages.into_iter().map(|page| page.text).collect::<Vec<_>>()).join("\n"),
        }
    }
}

/// How much is left out so that a table fits, from nothing on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Full,
    /// Symbols stand for the addresses of tokens.
    Symbols,
    /// Addresses are short, and times have no seconds.
    Short,
    /// Times have only the day, and there is less space between columns.
    Days,
    /// Amounts are rounded, and ids of tokens cut.
    Rounded,
}

impl Level {
    const ALL: [Self; 5] = [
        Self::Full,
        Self::Symbols,
        Self::Short,
        Self::Days,
        Self::Rounded,
    ];
}

/// Draws a table with its title.
///
/// On a terminal, a column with one value moves into the title. If the table is still too
/// wide, symbols stand for tokens; then addresses are shortened, each to digits that no other
/// address in the table has; then amounts are rounded, then the [least important](importance) columns
/// are left out, which the title says. Whatever still does not fit becomes a list of its rows. Columns without any value are left out.
pub(crate) fn draw(table: &Table, view: &View<'_>) -> Page {
    if table.rows.is_empty() {
        return Page {
            text: format!("{}: none\n", printable(&table.title)),
            ..Page::default()
        };
    }
    let rows = table.rows.len().min(view.rows_max);
    let words = CellText::new(table, view, rows);
    let begin = match (view.style, view.width) {
        (Style::Movements, Some(_)) => Level::Short,
        // Addresses are copied from files and pipes.
        _ => Level::Full,
    };
    let mut page = Page {
        text: format!("{}\n", printable(&table.title)),
        ..Page::default()
    };
    match view.width {
        None => page.text += &Grid::new(&words, table, begin, rows).draw(begin),
        Some(width) => fit(&words, table, rows, begin, usize::from(width), &mut page),
    }
    let more = table.rows.len() - rows;
    if more > 0 {
        let rows = number(more as u64, "more row", "more rows");
        page.text += &match view.style {
            Style::Measures => format!("… and {rows} (--table {})\n", table.id),
            Style::Movements => format!("… and {rows}\n"),
        };
    }
    page
}

/// The names of the columns and the rows of a table, all of them and in full.
pub(crate) fn texts(table: &Table, view: &View<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let rows = table.rows.len();
    let words = CellText::new(table, view, rows);
    let grid = Grid::new(&words, table, Level::Full, rows);
    let names = grid.columns.into_iter().map(|column| column.name);
    (names.collect(), grid.rows)
}

/// Columns that a table has at least; with fewer, a list is clearer.
const COLUMNS_MIN: usize = 3;

/// Draws a table in the most detailed way that fits.
fn fit(
    words: &CellText<'_>,
    table: &Table,
    rows: usize,
    begin: Level,
    width: usize,
    page: &mut Page,
) {
    for level in Level::ALL.into_iter().filter(|level| *level >= begin) {
        let mut grid = Grid::new(words, table, level, rows);
        let constant = grid.take_constant(&table.rows[..rows]);
        if grid.width(level) > width {
            continue;
        }
        page.text += &remarks(constants(words, table, constant), width);
        page.text += &grid.draw(level);
        page.is_shortened = level >= Level::Short && grid.has_addresses;
        page.is_rounded = level >= Level::Rounded;
        return;
    }
    let level = Level::Rounded;
    let mut grid = Grid::new(words, table, level, rows);
    let constant = grid.take_constant(&table.rows[..rows]);
    let removed = grid.narrow(level, width);
    if grid.columns.len() < COLUMNS_MIN {
        page.text += &Grid::new(words, table, Level::Full.max(begin), rows).list();
        return;
    }
    page.text += &remarks(constants(words, table, constant), width);
    let removed = removed.into_iter().enumerate();
    let removed = removed.map(|(place, name)| match place {
        0 => format!("not shown: {name}"),
        _ => name,
    });
    page.text += &remarks(removed, width);
    page.text += &grid.draw(level);
    page.is_shortened = grid.has_addresses;
    page.is_rounded = true;
}

/// The values of columns with one value.
fn constants(
    words: &CellText<'_>,
    table: &Table,
    columns: Vec<usize>,
) -> impl Iterator<Item = String> {
    let row = table.rows.first().map_or(&[][..], Vec::as_slice);
    columns.into_iter().map(move |at| {
        let value = words.cell(row, at, Level::Full);
        format!("{}: {value}", words.column(at))
    })
}

/// How long a column stays if there is no room: positions and kinds go first, amounts and parties last.
/// Of equals, columns on the right go first.
fn importance(name: &str, column_type: ColumnType) -> u8 {
    const MINOR: [&str; 4] = ["log_index", "token_standard", "kind", "hop"];
    match column_type {
        ColumnType::Address | ColumnType::Amount => 2,
        _ => u8::from(!MINOR.contains(&name)),
    }
}

/// Remarks of a title, in lines that fit if possible.
fn remarks(remarks: impl Iterator<Item = String>, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for remark in remarks {
        match lines.last_mut() {
            Some(line) if chars(line) + chars(&remark) + 2 <= width => {
                *line += "; ";
                *line += &remark;
            }
            _ => lines.push(format!("  {remark}")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The text of a table, in rows and columns.
struct Grid {
    columns: Vec<Column>,
    /// Rows of text, with a cell for each column.
    rows: Vec<Vec<String>>,
    has_addresses: bool,
}

struct Column {
    /// Its place in the table.
    at: usize,
    name: String,
    column_type: ColumnType,
    importance: u8,
}

impl Grid {
    /// The first `rows` rows.
    fn new(words: &CellText<'_>, table: &Table, level: Level, rows: usize) -> Self {
        let columns: Vec<Column> = (0..table.columns.len())
            .filter(|at| words.is_shown(*at))
            .map(|at| Column {
                at,
                name: words.column(at),
                column_type: table.columns[at].column_type,
                importance: importance(&table.columns[at].name, table.columns[at].column_type),
            })
            .collect();
        let row = |row: &Vec<Value<'static>>| {
            let cells = columns.iter();
            cells
                .map(|column| words.cell(row, column.at, level))
                .collect()
        };
        Self {
            rows: table.rows.iter().take(rows).map(row).collect(),
            has_addresses: columns
                .iter()
                .any(|column| column.column_type == ColumnType::Address),
            columns,
        }
    }

    /// Removes the columns with one value in these rows of the table, unless there is one row
    /// only; the places of these columns in the table. One column stays.
    fn take_constant(&mut self, rows: &[Vec<Value<'static>>]) -> Vec<usize> {
        let mut taken = Vec::new();
        for place in (0..self.columns.len()).rev() {
            // Equal texts can stand for different values: minutes for seconds. Equal values can
            // have different texts: amounts of two tokens.
            let at = self.columns[place].at;
            let mut values =
                (self.rows.iter().zip(rows)).map(|(row, cells)| (&row[place], &cells[at]));
            let first = values.next();
            let is_constant = self.rows.len() > 1
                && first.is_some_and(|(text, _)| !text.is_empty())
                && values.all(|value| Some(value) == first);
            if is_constant && self.columns.len() > 1 {
                taken.push(self.columns.remove(place).at);
                for row in &mut self.rows {
                    row.remove(place);
                }
            }
        }
        taken.reverse();
        taken
    }

    /// Removes the least important columns until the drawing fits. Returns their names.
    fn narrow(&mut self, level: Level, width: usize) -> Vec<String> {
        let mut removed = Vec::new();
        while self.width(level) > width
            && let Some((place, _)) = (self.columns.iter().enumerate())
                .min_by_key(|(place, column)| (column.importance, std::cmp::Reverse(*place)))
        {
            let column = self.columns.remove(place);
            removed.push((column.at, column.name));
            for row in &mut self.rows {
                row.remove(place);
            }
        }
        removed.sort_unstable();
        removed.into_iter().map(|(_, name)| name).collect()
    }

    /// The columns of the terminal that the drawing needs.
    fn width(&self, level: Level) -> usize {
        let widest = |(place, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| chars(&row[place]));
            let name = chars(&column.name);
            cells.max().map_or(name, |cell| cell.max(name))
        };
        let text: usize = self.columns.iter().enumerate().map(widest).sum();
        // Borders, and between two columns a separator and the blanks around it.
        1 + text + (usize::from(padding(level)) + 2) * self.columns.len()
    }

    fn draw(&self, level: Level) -> String {
        let mut drawing = comfy_table::Table::new();
        drawing.load_preset(presets::UTF8_BORDERS_ONLY);
        drawing.set_content_arrangement(ContentArrangement::Disabled);
        let align = |column: &Column| {
            if column.column_type.is_number() {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            }
        };
        let cells = |texts: &mut dyn Iterator<Item = &String>| -> Vec<Drawn> {
            let cells = texts.zip(&self.columns);
            cells
                .map(|(text, column)| Drawn::new(text).set_alignment(align(column)))
                .collect()
        };
        drawing.set_header(cells(&mut self.columns.iter().map(|column| &column.name)));
        drawing.add_rows(self.rows.iter().map(|row| cells(&mut row.iter())));
        for column in drawing.column_iter_mut() {
            column.set_padding((padding(level), 1));
        }
        format!("{drawing}\n")
    }

    /// The rows as lists, with a line for each value.
    fn list(&self) -> String {
        let names = || self.columns.iter().map(|column| &column.name);
        let width = names().map(|name| chars(name)).max().unwrap_or(0);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            text += &format!(
                "─ {} of {}\n",
                thousands(number as u64 + 1),
                thousands(self.rows.len() as u64)
            );
            for (name, value) in names().zip(row).filter(|(_, value)| !value.is_empty()) {
                text += &format!("  {name:width$}  {value}\n");
            }
        }
        text
    }
}

/// Blanks in front of a cell.
fn padding(level: Level) -> u16 {
    u16::from(level < Level::Days)
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Whether a table contains amounts of tokens that are not in the list.
pub(crate) fn has_raw_amounts(table: &Table, tokens: &TokenList, chain_id: u64) -> bool {
    let amounts = table
        .columns
        .iter()
        .any(|column| column.column_type == ColumnType::Amount);
    let unknown = |cell: &Value<'_>| matches!(cell, Value::Address(address) if tokens.lookup(chain_id, *address).is_none());
    amounts && place(table, TOKEN).is_some_and(|at| table.rows.iter().any(|row| unknown(&row[at])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph::Address;
    use txgraph_testkit::says;

    fn drawn(table: &Table, width: Option<u16>, rows_max: usize) -> String {
        let (tokens, labels) = Default::default();
        let view = View {
            rows_max,
            ..View::measures(&tokens, &labels, 1, width)
        };
        draw(table, &view).text
    }

    fn widest(text: &str) -> usize {
        text.lines().map(chars).max().unwrap_or(0)
    }

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
        let mut table = Table::new("a", "a\u{1b}[31mb", &[("note", ColumnType::Text)]);
        table.push(vec!["x\nc\u{202e}d é".into()]);
        let drawn = drawn(&table, None, 9);
        assert!(drawn.starts_with("a\u{fffd}[31mb\n"), "{drawn}");
        says(&drawn, "x c\u{fffd}d é");
    }

    /// Two transfers of one token between addresses that look alike.
    fn movements() -> Table {
        let mut table = Table::new(
            "transfers",
            "Title",
            &[
                ("date", ColumnType::U64),
                ("from_address", ColumnType::Address),
                ("to_address", ColumnType::Address),
                ("amount", ColumnType::Amount),
                (TOKEN, ColumnType::Address),
                ("token_standard", ColumnType::Text),
                ("kind", ColumnType::Text),
            ],
        );
        let token = txgraph::address!("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
        for (to, amount) in [
            (
                txgraph::address!("0x20611111111111111111111111111111111ae8c7"),
                1_234_567_890u64,
            ),
            (
                txgraph::address!("0x20612222222222222222222222222222222be8c7"),
                1,
            ),
        ] {
            table.push(vec![
                1_438_269_988u64.into(),
                Address::ZERO.into(),
                to.into(),
                txgraph::AmountSum::from(amount).into(),
                token.into(),
                "erc20".into(),
                "mint".into(),
            ]);
        }
        table
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let table = movements();
        let wide = drawn(&table, None, 9);
        says(&wide, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
        assert!(wide.contains("1,234,567,890") && wide.starts_with("Title\n"));
        let none = drawn(&table, None, 0);
        assert!(
            none.ends_with("… and 2 more rows (--table transfers)\n"),
            "{none}"
        );
        for width in [80, 120, 200] {
            let text = drawn(&table, Some(width), 9);
            assert!(widest(&text) <= usize::from(width), "{width}:\n{text}");
            says(&text, "  date: 2015-07-30 15:26:28 UTC");
            says(&text, "kind: mint\n");
            assert!(!text.contains("─ 1 of 2"), "{text}");
        }
        // Only values that do not fit in any form become a list.
        let list = drawn(&table, Some(20), 9);
        says(
            &list,
            "─ 1 of 2\n  date            2015-07-30 15:26:28 UTC\n",
        );
    }

    #[test]
    fn movements_have_short_addresses_that_differ_and_units() {
        let table = movements();
        let (tokens, mut labels) = (TokenList::default(), Labels::default());
        labels.add(Address::ZERO, txgraph::Label::named("coins\u{1b}[31m"));
        let view = View {
            style: Style::Movements,
            ..View::measures(&tokens, &labels, 1, Some(100))
        };
        let text = draw(&table, &view).text;
        says(&text, "0x206111…");
        says(&text, "0x206122…");
        says(&text, "1,234,567,890 units");
        says(&text, " 1 unit ");
        says(&text, "from: coins\u{fffd}[31m 0x0000");
        assert!(!text.contains("standard"), "{text}");
    }

    #[test]
    fn one_symbol_of_two_tokens_does_not_stand_for_either() {
        let mut table = movements();
        let other = txgraph::address!("0x00000000000000000000000000000000000000aa");
        table.rows[1][4] = other.into();
        let list = format!(
            "address,symbol,decimals\n0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed,USD,6\n\
             {other},USD,6\n"
        );
        let tokens = TokenList::parse(&list).unwrap();
        let labels = Labels::default();
        let view = View {
            style: Style::Movements,
            ..View::measures(&tokens, &labels, 1, Some(120))
        };
        let text = draw(&table, &view).text;
        says(&text, "USD 0x5aAe…eAed");
        says(&text, "USD 0x0000…00AA");
        says(&text, "1,234.56789 USD");
    }
}
