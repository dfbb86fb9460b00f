//! A statement as the files that accounting programs import: one table for each.
//!
//! [Koinly](https://support.koinly.io/en/articles/9489976-how-to-create-a-custom-csv-file-with-your-data)
//! (universal template) and [rotki](https://docs.rotki.com/usage-guides/import-data.html) (generic
//! events). Their amounts have a decimal point, so tokens without known decimals are left out, and so
//! are ERC-721 and ERC-1155, which neither format has. Transfers of nothing are left out, too: they
//! change no balance, and anyone can make them in the name of the account.

use super::{AccountStatement, Entry, StatementRow};
use crate::{COIN_DECIMALS, Result, grammar::utc, in_units, words::number};
use alloy_primitives::{B256, U256};
use serde_json::json;
use std::collections::BTreeMap;
use txgraph_analysis::{ColumnType, Table, Value};
use txgraph_export::TokenList;
use txgraph_graph::{AmountSum, Asset};

/// The ids of the tables.
pub(super) const TABLES: [&str; 2] = ["koinly", "rotki"];

const KOINLY: [&str; 12] = [
    "Date",
    "Sent Amount",
    "Sent Currency",
    "Received Amount",
    "Received Currency",
    "Fee Amount",
    "Fee Currency",
    "Net Worth Amount",
    "Net Worth Currency",
    "Label",
    "Description",
    "TxHash",
];

const ROTKI: [&str; 8] = [
    "Type",
    "Location",
    "Currency",
    "Amount",
    "Fee",
    "Fee Currency",
    "Description",
    "Timestamp",
];

impl AccountStatement<'_> {
    /// Adds the tables `koinly` and `rotki`, with the symbols and decimals of `tokens`. Returns notes
    /// on rows that they leave out.
    ///
    /// # Errors
    ///
    /// If the chain of the source is not known.
    pub fn add_accounting(&mut self, tokens: &TokenList) -> Result<Vec<String>> {
        let chain_id = self.source.chain()?.chain_id;
        let units = Units {
            chain_id,
            coin: self.source.native_symbol()?,
            tokens,
            currencies: self.currencies(tokens, chain_id),
        };
        let (known, unknown): (Vec<_>, Vec<_>) =
            (self.rows.iter()).partition(|row| units.decimals(row.asset).is_some());
        self.tables.push(koinly(&known, &units));
        self.tables.push(rotki(&known, &units));
        let still = |is_empty: bool| {
            let rows = known.iter().filter(|row| {
                let amount = row.received.max(row.sent);
                let is_alike = amount.is_some_and(|it| it.is_zero() == is_empty);
                matches!(row.entry, Entry::Transfer(_)) && is_alike && !changes_balance(row)
            });
            rows.count()
        };
        let left_out = [
            (
                unknown.len(),
                "of tokens without known decimals, or of ERC-721 or ERC-1155",
            ),
            (
                still(true),
                "transfers of nothing, which anyone can make in the name of the account",
            ),
            (
                still(false),
                "transfers of the account to itself, which the sums of what was received and sent contain",
            ),
        ];
        if let Some(hash) = tokens.content_hash() {
            let list = json!({ "keccak256": hash });
            self.description = self.description.clone().with("token-list", list);
        }
        let notes = left_out.iter().filter(|(count, _)| *count > 0);
        let notes = notes.map(|(count, why)| {
            let rows = number(*count as u64, "row is", "rows are");
            format!("{rows} not in the tables `koinly` and `rotki`: {why}")
        });
        Ok(notes.collect())
    }

    /// The symbols of tokens; an address where two tokens of the statement have one symbol.
    fn currencies(&self, tokens: &TokenList, chain_id: u64) -> BTreeMap<Asset, String> {
        let symbol = |asset: Asset| tokens.symbol(chain_id, asset.token_address?);
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        for it in &self.balances {
            if let Some(symbol) = symbol(it.asset) {
                *uses.entry(symbol).or_default() += 1;
            }
        }
        let named = self.balances.iter().filter_map(|it| {
            let address = it.asset.token_address?;
            let symbol = symbol(it.asset).filter(|symbol| uses.get(symbol) == Some(&1));
            Some((it.asset, symbol.map_or(address.to_string(), str::to_owned)))
        });
        named.collect()
    }
}

/// The units of amounts.
struct Units<'a> {
    chain_id: u64,
    coin: &'a str,
    tokens: &'a TokenList,
    currencies: BTreeMap<Asset, String>,
}

impl Units<'_> {
    fn decimals(&self, asset: Asset) -> Option<u8> {
        match asset.token_address {
            None => Some(COIN_DECIMALS),
            Some(_) if !asset.token_standard.is_fungible() => None,
            Some(token) => Some(self.tokens.lookup(self.chain_id, token)?.decimals),
        }
    }

    fn amount(&self, asset: Asset, amount: AmountSum) -> String {
        let decimals = self.decimals(asset).unwrap_or_default();
        in_units(amount.saturating_to::<U256>(), decimals)
    }

    fn currency(&self, asset: Asset) -> &str {
        self.currencies
            .get(&asset)
            .map_or(self.coin, String::as_str)
    }

    /// The identifier of an asset in rotki: CAIP-19 for tokens.
    fn identifier(&self, asset: Asset) -> String {
        match asset.token_address {
            None => self.coin.to_owned(),
            Some(token) => format!("eip155:{}/erc20:{token}", self.chain_id),
        }
    }
}

fn text_table(id: &'static str, title: &str, columns: &[&str]) -> Table {
    let columns: Vec<_> = columns
        .iter()
        .map(|name| (*name, ColumnType::Text))
        .collect();
    Table::new(id, title, &columns)
}

/// A row, where an empty text is no value.
fn cells<const N: usize>(cells: [String; N]) -> Vec<Value<'static>> {
    let value = |cell: String| Some(cell).filter(|cell| !cell.is_empty()).into();
    cells.into_iter().map(value).collect()
}

/// The kind of a row, with the other side.
fn described(row: &StatementRow) -> String {
    let kind = row.entry.as_str();
    match (row.counterparty, row.received) {
        (Some(other), Some(_)) => format!("{kind} from {other}"),
        (Some(other), None) => format!("{kind} to {other}"),
        (None, _) => kind.to_owned(),
    }
}

/// Whether a row changes the balance. Transfers to itself and transfers of nothing do not.
fn changes_balance(row: &StatementRow) -> bool {
    row.received.unwrap_or_default() != row.sent.unwrap_or_default()
}

/// The rows of each transaction. A row outside of transactions is a group of its own.
fn groups<'a>(rows: &[&'a StatementRow]) -> Vec<Vec<&'a StatementRow>> {
    let together = |a: &&StatementRow, b: &&StatementRow| {
        a.block == b.block && a.transaction.is_some() && a.transaction == b.transaction
    };
    rows.chunk_by(together).map(<[_]>::to_vec).collect()
}

/// Koinly's universal template. A transaction in which one asset was sent and another one received is
/// one row, and so is a fee with its transfer.
fn koinly(rows: &[&StatementRow], units: &Units<'_>) -> Table {
    let mut table = text_table(TABLES[0], "Universal template of Koinly", &KOINLY);
    for group in groups(rows) {
        let (fees, moved): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|row| row.entry == Entry::Fee);
        let mut fee = fees.first().copied();
        let moved = moved.into_iter().filter(|row| changes_balance(row));
        let moved: Vec<&StatementRow> = moved.collect();
        let lines: Vec<Vec<&StatementRow>> = match moved[..] {
            [a, b] if a.sent.is_some() != b.sent.is_some() && a.asset != b.asset => vec![moved],
            [] => fee.take().map(|fee| vec![fee]).into_iter().collect(),
            _ => moved.into_iter().map(|row| vec![row]).collect(),
        };
        for line in lines {
            table.push(koinly_row(&line, fee.take(), units));
        }
    }
    table
}

fn koinly_row(
    line: &[&StatementRow],
    fee: Option<&StatementRow>,
    units: &Units<'_>,
) -> Vec<Value<'static>> {
    let side = |amount: fn(&StatementRow) -> Option<AmountSum>| {
        let found = line.iter().find_map(|row| Some((row.asset, amount(row)?)));
        found.map_or_else(Default::default, |(asset, amount)| {
            let currency = units.currency(asset).to_owned();
            (units.amount(asset, amount), currency)
        })
    };
    let (sent, sent_currency) = side(|row| row.sent);
    let (received, received_currency) = side(|row| row.received);
    let (fee, fee_currency) = match fee.and_then(|fee| Some((fee.asset, fee.sent?))) {
        Some((asset, amount)) => (
            units.amount(asset, amount),
            units.currency(asset).to_owned(),
        ),
        None => Default::default(),
    };
    let first = line.first();
    let label = match first.map(|row| row.entry) {
        Some(Entry::Fee) => "cost",
        Some(Entry::Reward) => "reward",
        _ => "",
    };
    let hash = first
        .and_then(|row| row.transaction)
        .and_then(|(_, hash)| hash);
    let described: Vec<String> = line.iter().map(|row| described(row)).collect();
    cells([
        first
            .and_then(|row| row.timestamp)
            .map_or_else(String::new, utc),
        sent,
        sent_currency,
        received,
        received_currency,
        fee,
        fee_currency,
        String::new(),
        String::new(),
        label.to_owned(),
        described.join(", "),
        hash.as_ref().map_or_else(String::new, B256::to_string),
    ])
}

/// The generic events of rotki: a row for each movement, and for each fee.
fn rotki(rows: &[&StatementRow], units: &Units<'_>) -> Table {
    let mut table = text_table(TABLES[1], "Generic events of rotki", &ROTKI);
    for row in rows {
        let sides = [("Income", row.received), ("Spend", row.sent)];
        for (kind, amount) in sides {
            let Some(amount) = amount.filter(|_| changes_balance(row)) else {
                continue;
            };
            let transaction = row.transaction.and_then(|(_, hash)| hash);
            let hash = transaction.map_or_else(String::new, |hash| format!(" in {hash}"));
            let time = row.timestamp.unwrap_or_default();
            table.push(cells([
                kind.to_owned(),
                "external".to_owned(),
                units.identifier(row.asset),
                units.amount(row.asset, amount),
                String::new(),
                String::new(),
                described(row) + &hash,
                (u128::from(time) * 1000).to_string(),
            ]));
        }
    }
    table
}
