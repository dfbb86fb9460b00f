//! The sums of a statement that was written as JSON.

use super::to_file::TABLES;
use serde_json::Value;
use std::collections::BTreeMap;
use txgraph_graph::AmountSum;

/// Larger amounts are refused, so that no sum overflows. No sum of a chain is that large.
const AMOUNT_BITS_MAX: usize = 288;

/// The sums of the rows of one asset.
#[derive(Default)]
struct Sums {
    opening: Option<AmountSum>,
    received: AmountSum,
    sent: AmountSum,
    unexplained_received: AmountSum,
    unexplained_sent: AmountSum,
}

impl Sums {
    /// The balance after the rows; `None`: not known.
    fn balance(&self) -> Option<AmountSum> {
        let had = self.opening? + self.received + self.unexplained_received;
        had.checked_sub(self.sent + self.unexplained_sent)
    }
}

/// Adds up the rows, and compares the balance after each of them, the sums, and the closing balances.
pub(super) fn verify(movements: &[Value], balances: &[Value]) -> Result<(), String> {
    let mut assets = BTreeMap::new();
    for (row, place) in with_places(balances, TABLES[1]) {
        let sums = Sums {
            opening: amount(row, "opening").map_err(&place)?,
            ..Sums::default()
        };
        if assets.insert(asset(row), sums).is_some() {
            return Err(place("there is another row of its asset".to_owned()));
        }
    }
    for (row, place) in with_places(movements, TABLES[0]) {
        let Some(sums) = assets.get_mut(&asset(row)) else {
            return Err(place(format!("`{}` lacks its asset", TABLES[1])));
        };
        let received = amount(row, "received").map_err(&place)?;
        let sent = amount(row, "sent").map_err(&place)?;
        let (plus, minus) = match row["kind"].as_str() {
            Some("unexplained") => (&mut sums.unexplained_received, &mut sums.unexplained_sent),
            _ => (&mut sums.received, &mut sums.sent),
        };
        *plus += received.unwrap_or_default();
        *minus += sent.unwrap_or_default();
        if amount(row, "balance").map_err(&place)?.is_some() {
            compare(row, "balance", sums.balance()).map_err(&place)?;
        }
    }
    for (row, place) in with_places(balances, TABLES[1]) {
        let sums = &assets[&asset(row)];
        for (name, sum) in [
            ("received", sums.received),
            ("sent", sums.sent),
            ("unexplained_received", sums.unexplained_received),
            ("unexplained_sent", sums.unexplained_sent),
        ] {
            let is_absent = row[name].is_null() && sum.is_zero();
            if !is_absent {
                compare(row, name, Some(sum)).map_err(&place)?;
            }
        }
        compare(row, "closing", sums.balance()).map_err(&place)?;
    }
    Ok(())
}

/// Rows, each with what puts its place before a message.
fn with_places<'a>(
    rows: &'a [Value],
    table: &'a str,
) -> impl Iterator<Item = (&'a Value, impl Fn(String) -> String + use<'a>)> {
    let rows = rows.iter().zip(1..);
    rows.map(move |(row, number)| {
        let place = move |what| format!("row {number} of `{table}`: {what}");
        (row, place)
    })
}

/// The key of the balance that a row belongs to.
fn asset(row: &Value) -> String {
    let standard = &row["token_standard"];
    let id = match standard.as_str() {
        Some("erc1155") => &row["token_id"],
        _ => &Value::Null,
    };
    format!("{} {standard} {id}", row["token_address"])
}

/// An amount; `None` if it is absent.
fn amount(row: &Value, name: &str) -> Result<Option<AmountSum>, String> {
    let value = &row[name];
    let read = |text| AmountSum::from_str_radix(text, 10).ok();
    match value.as_str().and_then(read) {
        Some(amount) if amount.bit_len() <= AMOUNT_BITS_MAX => Ok(Some(amount)),
        None if value.is_null() => Ok(None),
        _ => Err(format!("`{name}` is {value}, which is no amount")),
    }
}

fn compare(row: &Value, name: &str, sum: Option<AmountSum>) -> Result<(), String> {
    let stated = amount(row, name)?;
    if stated == sum {
        return Ok(());
    }
    let shown = |it: Option<AmountSum>| it.map_or("absent".to_owned(), |it| it.to_string());
    Err(format!(
        "`{name}` is {}, but by the rows it is {}",
        shown(stated),
        shown(sum)
    ))
}
