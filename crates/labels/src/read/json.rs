//! JSON: objects by address, lists, the list of OFAC, token lists.

use super::{Cells, DecodeError, Format, Rows, fields::Places, quote::shortened, repeated};
use crate::Category;
use serde_json::{Map, Value};

/// Names of lists inside of an object.
const LISTS: &str = "addresses labels tags accounts data rows results";

/// The start of the type of an address in the list of OFAC.
const OFAC_TYPE: &str = "Digital Currency Address";

/// Tokens that are issued on several chains. The form of an address shows the chain.
const TOKENS: [&str; 2] = ["USDT", "USDC"];

pub(super) fn read(text: &str, rows: &mut Rows<'_>) -> Result<Format, DecodeError> {
    let json = serde_json::from_str(text).map_err(|error| DecodeError::syntax("JSON", &error))?;
    let format = match &json {
        Value::Array(entries) => list(entries, &|_| None, rows),
        Value::Object(object) => {
            let sdn = object.get("sdnList").unwrap_or(&json);
            let array = |name: &str| object.get(name).and_then(Value::as_array);
            if let Some(entries) = sdn.get("sdnEntry").and_then(Value::as_array) {
                ofac(entries, rows)
            } else if let Some(tokens) = array("tokens") {
                let list = object.get("name").and_then(Value::as_str);
                token_list(tokens, list.unwrap_or_default(), rows)
            } else if let Some(entries) = LISTS.split(' ').find_map(array) {
                list(entries, &|_| None, rows)
            } else {
                by_address(object, "", rows);
                Format::Json
            }
        }
        _ => Format::Json,
    };
    for key in repeated::keys(text) {
        let place = || format!("`{}`", shortened(&key));
        rows.refuse(
            "it is there more than once, and only its last value was read",
            place,
        );
    }
    Ok(format)
}

/// An array of addresses or objects. `name` replaces the name of an object.
fn list(
    entries: &[Value],
    name: &dyn Fn(&Map<String, Value>) -> Option<String>,
    rows: &mut Rows<'_>,
) -> Format {
    for (number, entry) in entries.iter().enumerate() {
        let place = || format!("entry {}", number + 1);
        match entry {
            Value::String(address) => {
                let cells = Cells {
                    address,
                    ..Cells::default()
                };
                rows.add(&cells, place);
            }
            Value::Object(object) => {
                let texts = Texts::of(object);
                let mut cells = texts.cells();
                if texts.places.address.is_none() {
                    rows.refuse("it has no `address`", place);
                    continue;
                }
                let name = name(object);
                if let Some(name) = &name {
                    cells.name = name;
                }
                rows.add(&cells, place);
            }
            _ => rows.refuse("it is neither an address nor an object", place),
        }
    }
    Format::Json
}

/// An object by address; also one of such objects by category.
fn by_address(object: &Map<String, Value>, category: &str, rows: &mut Rows<'_>) {
    for (key, value) in object {
        let place = || format!("`{}`", shortened(key));
        let is_address = || (rows.reader.address)(key).is_ok();
        match value {
            // The addresses of a category.
            Value::Object(inner)
                if category.is_empty() && !is_address() && has_address(inner, rows) =>
            {
                by_address(inner, key, rows);
            }
            Value::String(_) | Value::Null | Value::Object(_) | Value::Array(_) => {
                let texts = match value {
                    Value::Object(inner) => Texts::of(inner),
                    _ => Texts::default(),
                };
                let (words, listed) = (text(value), categories(value));
                let mut cells = texts.cells();
                cells.address = key;
                if !value.is_object() {
                    cells.name = &words;
                }
                if cells.category.is_empty() {
                    cells.category = match value {
                        _ if texts.has_decimals => "token",
                        Value::Array(_) if category.is_empty() => &listed,
                        _ => category,
                    };
                }
                rows.add(&cells, place);
            }
            _ => rows.refuse("the name is not text", place),
        }
    }
}

fn has_address(object: &Map<String, Value>, rows: &Rows<'_>) -> bool {
    object
        .keys()
        .next()
        .is_some_and(|key| (rows.reader.address)(key).is_ok())
}

/// The fields of an object as texts.
#[derive(Default)]
struct Texts {
    places: Places,
    values: Vec<String>,
    /// Whether it has the decimals of a token.
    has_decimals: bool,
}

impl Texts {
    fn of(object: &Map<String, Value>) -> Self {
        let known = |(_, value): &(&String, &Value)| !value.is_null();
        let fields: Vec<_> = object.iter().filter(known).collect();
        let places = Places::of(fields.iter().map(|(name, _)| name.as_str()));
        let values = fields.iter().enumerate();
        let values = values.map(|(at, (_, value))| match Some(at) == places.category {
            true => categories(value),
            false => text(value),
        });
        Self {
            values: values.collect(),
            places,
            has_decimals: object.contains_key("decimals") && object.contains_key("symbol"),
        }
    }

    fn cells(&self) -> Cells<'_> {
        let values = &self.values;
        self.places
            .cells(|at| values.get(at).map_or("", String::as_str))
    }
}

/// A value as text; of a list, all words.
fn categories(value: &Value) -> String {
    match value {
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            words.join(";")
        }
        value => text(value),
    }
}

/// A value as text. Of a list, the first word that has a kind counts.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            let has_kind = |word: &&&str| Category::of(word) != Category::Other;
            let word = words.iter().find(has_kind).or_else(|| words.first());
            word.copied().unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// The tokens of a list. The name is followed by the symbol.
fn token_list(tokens: &[Value], title: &str, rows: &mut Rows<'_>) -> Format {
    for (number, token) in tokens.iter().enumerate() {
        let place = || format!("token {}", number + 1);
        let field = |name: &str| token.get(name).map(text).unwrap_or_default();
        let (name, symbol, chain) = (field("name"), field("symbol"), field("chainId"));
        let name = match (name.trim(), symbol.trim()) {
            (name, symbol) if symbol.is_empty() || name.eq_ignore_ascii_case(symbol) => {
                name.to_owned()
            }
            ("", symbol) => symbol.to_owned(),
            (name, symbol) => format!("{name} ({symbol})"),
        };
        let address = field("address");
        let cells = Cells {
            address: &address,
            name: &name,
            category: "token",
            chain: &chain,
            source: title,
        };
        rows.add(&cells, place);
    }
    Format::TokenList
}

/// The entries of OFAC's list of specially designated nationals. Entries without an address of
/// a chain are not labels.
fn ofac(entries: &[Value], rows: &mut Rows<'_>) -> Format {
    for entry in entries {
        let field = |name: &str| entry.get(name).map(text).unwrap_or_default();
        let (first, last) = (field("firstName"), field("lastName"));
        let name = match (first.trim(), last.trim()) {
            ("", last) => last.to_owned(),
            (first, last) => format!("{first} {last}"),
        };
        let ids = entry.get("idList").and_then(|list| list.get("id"));
        // A single id is not in a list.
        let ids = match ids {
            Some(Value::Array(ids)) => ids.as_slice(),
            Some(id) => std::slice::from_ref(id),
            None => &[],
        };
        let uid = field("uid");
        for id in ids {
            let field = |name: &str| id.get(name).map(text).unwrap_or_default();
            let id_type = field("idType");
            let Some(currency) = id_type.trim().strip_prefix(OFAC_TYPE) else {
                continue;
            };
            let address = field("idNumber");
            let currency = currency.trim_start_matches([' ', '-']);
            // The key of an account is the same on every chain with addresses of Ethereum. The
            // addresses of other chains have another form.
            let is_here = super::chain::is(currency, rows.reader.chain_id);
            let is_address = (rows.reader.address)(address.trim()).is_ok();
            let source = match is_here || TOKENS.contains(&currency) {
                true => "OFAC".to_owned(),
                false => format!("OFAC, on {currency}"),
            };
            let cells = Cells {
                address: &address,
                name: &name,
                category: "sanctioned",
                chain: match is_address || is_here && !TOKENS.contains(&currency) {
                    true => "",
                    false => "another",
                },
                source: &source,
            };
            rows.add(&cells, || format!("entry {}", shortened(&uid)));
        }
    }
    Format::Ofac
}
