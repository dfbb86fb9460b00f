//! JSON documents as tables, for people.

use super::Grid;
use serde_json::Value;

/// Values of a list in one cell.
const LISTED_MAX: usize = 20;

/// The values of JSON documents, each with the path that leads to it.
pub(crate) fn evidence<'a>(
    title: impl Into<String>,
    documents: impl IntoIterator<Item = (String, &'a Value)>,
) -> Grid {
    let mut rows = Vec::new();
    for (name, document) in documents {
        flatten(&name, document, &mut rows);
    }
    Grid::new(title, &["key", "value"], rows)
}

/// The values of a JSON document as rows of a path and a text.
fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    let inner = |name: &str| match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&inner(name), value, rows);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (number, item) in (1..).zip(items) {
                let path = match items.len() {
                    1 => path.to_owned(),
                    _ => format!("{path}.{number}"),
                };
                flatten(&path, item, rows);
            }
        }
        value => rows.push(vec![path.to_owned(), words(value)]),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => {
            let mut shown: Vec<String> = items.iter().take(LISTED_MAX).map(words).collect();
            if items.len() > LISTED_MAX {
                shown.push(format!("and {} more", items.len() - LISTED_MAX));
            }
            shown.join(", ")
        }
        other => other.to_string(),
    }
}
