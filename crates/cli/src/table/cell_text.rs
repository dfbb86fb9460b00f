//! The cells of a table as text for people.

use super::{Level, Style, View, short_names::Names};
use crate::units::{grouped, thousands};
use txgraph::{
    Address, Asset, Labels, Table, TokenStandard, U256, Value, parse::utc, plain_text, printable,
    rounded_amount,
};

/// The column with the token of the amounts in a row.
pub(super) const TOKEN: &str = "token_address";

/// The column with the position of the transaction in the block of a row.
const INDEX: &str = "transaction_index";

/// The column with the number of the block of a row.
pub(super) const BLOCK: &str = "block_number";

/// Digits of a token id that are shown where there is little room.
const ID_DIGITS: usize = 12;

/// The printable label of an address, unless it is empty.
pub(crate) fn label(labels: &Labels, address: Address) -> Option<String> {
    let label = printable(labels.name(address)?.trim()).into_owned();
    (!label.is_empty()).then_some(label)
}

pub(super) fn place(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}

/// Turns cells into text, at one level of detail.
pub(super) struct CellText<'a> {
    table: &'a Table,
    view: &'a View<'a>,
    token: Option<usize>,
    standard: Option<usize>,
    /// The columns of the number of a block and of the transaction in it. They are shown as one,
    /// `BLOCK:INDEX`, by which commands find the transaction.
    transaction: Option<(usize, usize)>,
    names: Names,
}

impl<'a> CellText<'a> {
    /// Finds what names the addresses in the first `rows` rows.
    pub(super) fn new(table: &'a Table, view: &'a View<'a>, rows: usize) -> Self {
        let token = place(table, TOKEN);
        let mut words = Self {
            table,
            view,
            token,
            standard: place(table, "token_standard"),
            transaction: place(table, BLOCK).zip(place(table, INDEX)),
            names: Names::default(),
        };
        let cells = (table.rows.iter().take(rows)).flat_map(|row| row.iter().enumerate());
        let named = cells.filter_map(|(at, cell)| match *cell {
            Value::Address(address) if Some(at) == token => Some((address, words.symbol(address))),
            Value::Address(address) => Some((address, words.label(address))),
            _ => None,
        });
        words.names = Names::new(named);
        words
    }

    /// Whether a column is shown.
    pub(super) fn is_shown(&self, at: usize) -> bool {
        let rows = &self.table.rows;
        if self.transaction.is_some_and(|(_, index)| index == at) {
            return false;
        }
        match self.view.style {
            // An absent token is the native coin.
            Style::Measures if Some(at) == self.token => true,
            // The amount names every token, if someone else than the token says so.
            Style::Movements if Some(at) == self.token => rows.iter().any(|row| match row[at] {
                Value::Address(address) => !self.is_known_by_symbol(address),
                _ => false,
            }),
            Style::Movements if Some(at) == self.standard => false,
            _ => rows.iter().any(|row| row[at] != Value::Absent),
        }
    }

    pub(super) fn column(&self, at: usize) -> String {
        if self.transaction.is_some_and(|(block, _)| block == at) {
            return "transaction".to_owned();
        }
        let name = self.table.columns[at].name.as_str();
        let name = match self.view.style {
            Style::Measures => name,
            Style::Movements if name == "block_timestamp" => "date",
            Style::Movements => name
                .strip_suffix("_address")
                .or_else(|| name.strip_suffix("_timestamp"))
                .unwrap_or(name),
        };
        name.replace('_', " ")
    }

    pub(super) fn cell(&self, row: &[Value<'_>], at: usize, level: Level) -> String {
        let name = &self.table.columns[at].name;
        match &row[at] {
            Value::Amount(_) => self.amount(row, at, level),
            Value::Address(address) if Some(at) == self.token => self.token_name(*address, level),
            Value::Address(address) => self.address(*address, level),
            Value::U64(seconds) if name.ends_with("timestamp") || name == "date" => {
                time(*seconds, level)
            }
            Value::U64(block) if name == BLOCK => match self.transaction.map(|(_, at)| &row[at]) {
                None | Some(Value::Absent) => block.to_string(),
                Some(index) => format!("{block}:{}", plain_text(index)),
            },
            Value::U64(number) if name.ends_with("block") => number.to_string(),
            Value::U64(number) => thousands(*number),
            // A word of the storage: mostly a small number or an address.
            Value::Hash(word) if name.starts_with("value_") => {
                format!("{:#x}", U256::from_be_bytes(word.0))
            }
            Value::F64(ratio) => format!("{ratio:.4}"),
            Value::Text(text) if name == "token_id" => token_id(text, level),
            Value::Text(text) => printable(text).into_owned(),
            // The native coin has a standard, too.
            Value::Absent if Some(at) == self.token && self.has_no_standard(row) => {
                "several".to_owned()
            }
            Value::Absent if Some(at) == self.token && level >= Level::Symbols => {
                let chain_id = self.view.chain_id;
                self.view.tokens.format_asset(chain_id, &Asset::NATIVE)
            }
            Value::Absent if Some(at) == self.token => "native coin".to_owned(),
            Value::Absent => String::new(),
            other => printable(&plain_text(other)).into_owned(),
        }
    }

    /// Whether a row has no asset of its own, in a table that states the standards of tokens.
    fn has_no_standard(&self, row: &[Value<'_>]) -> bool {
        self.standard.is_some_and(|at| row[at] == Value::Absent)
    }

    /// The symbol of a token in the list.
    fn symbol(&self, token: Address) -> Option<String> {
        let known = self.view.tokens.lookup(self.view.chain_id, token)?;
        let symbol = printable(&known.symbol).into_owned();
        (!symbol.is_empty()).then_some(symbol)
    }

    fn is_named_by_symbol(&self, token: Address) -> bool {
        let symbol = self.symbol(token);
        symbol.is_some_and(|symbol| self.names.is_unique(&symbol))
    }

    fn is_known_by_symbol(&self, token: Address) -> bool {
        let (tokens, chain_id) = (self.view.tokens, self.view.chain_id);
        self.is_named_by_symbol(token) && !tokens.is_claim(chain_id, token)
    }

    fn label(&self, address: Address) -> Option<String> {
        label(self.view.labels, address)
    }

    /// An address of a person or contract.
    fn address(&self, address: Address, level: Level) -> String {
        let is_short = level >= Level::Short;
        let label = self.label(address);
        self.names
            .text(address, label.as_deref(), is_short, is_short)
    }

    fn token_name(&self, token: Address, level: Level) -> String {
        let symbol = self.symbol(token);
        let (alone, is_short) = (level >= Level::Symbols, level >= Level::Short);
        self.names.text(token, symbol.as_deref(), alone, is_short)
    }

    fn amount(&self, row: &[Value<'_>], at: usize, level: Level) -> String {
        let Value::Amount(amount) = row[at] else {
            return String::new();
        };
        let (tokens, chain_id) = (self.view.tokens, self.view.chain_id);
        let asset = self.asset(row);
        let known = asset.token_address;
        let known = known.and_then(|address| tokens.lookup(chain_id, address));
        let is_native = self.token.is_some() && asset.token_address.is_none();
        let exact = level < Level::Rounded;
        if !exact || known.is_some() || is_native || self.view.style == Style::Movements {
            let text = if exact {
                tokens.format_amount(chain_id, &asset, amount)
            } else {
                rounded_amount(tokens, chain_id, &asset, amount)
            };
            if known.is_some() || is_native {
                return text;
            }
            // The row names the token.
            let name = format!(" of {}", tokens.format_asset(chain_id, &asset));
            let text = text.strip_suffix(&name).unwrap_or(&text);
            return match self.view.style {
                Style::Movements => text.to_owned(),
                Style::Measures => without_unit(text).to_owned(),
            };
        }
        grouped(&amount.to_string())
    }

    /// The token of the amounts in a row.
    fn asset(&self, row: &[Value<'_>]) -> Asset {
        let token_address = match self.token.map(|at| &row[at]) {
            Some(Value::Address(address)) => Some(*address),
            _ => None,
        };
        let standard = self.standard.and_then(|at| match &row[at] {
            Value::Text(word) => word.parse().ok(),
            _ => None,
        });
        let is_coin = self.token.is_some() && token_address.is_none();
        Asset {
            token_address,
            token_standard: standard.unwrap_or(match is_coin {
                true => TokenStandard::Native,
                false => TokenStandard::Erc20,
            }),
        }
    }
}

/// A number without the word after it.
fn without_unit(text: &str) -> &str {
    let units = [" units", " unit", " items", " item"];
    units
        .iter()
        .find_map(|unit| text.strip_suffix(unit))
        .unwrap_or(text)
}

/// A time for people: with seconds, with minutes, or only its day.
fn time(seconds: u64, level: Level) -> String {
    let text = utc(seconds);
    let chars = match level {
        Level::Full | Level::Symbols => return text,
        Level::Short => 16,
        _ => 10,
    };
    // `2026-11-21 06:49:11 UTC`
    match text.len() {
        23 => text[..chars].to_owned(),
        _ => text,
    }
}

/// The id of a token; without its middle where there is little room.
fn token_id(id: &str, level: Level) -> String {
    let half = ID_DIGITS / 2;
    if level >= Level::Rounded && id.is_ascii() && id.len() > ID_DIGITS {
        format!("{}…{}", &id[..half], &id[id.len() - half..])
    } else {
        printable(id).into_owned()
    }
}
