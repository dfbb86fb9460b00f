//! The parameters and the evidence of an answer, as its own files state them.

use super::{
    answer::{Answer, STDOUT},
    content::{Grid, Part},
};
use serde_json::Value;
use std::{fs, path::Path};
use txgraph::{Error, Result};

/// Values of a list in one cell.
const LISTED_MAX: usize = 20;

/// The documents with metadata of an answer, also one that was printed (`--json`): the name of the file,
/// and the document.
pub(super) fn documents(answer: &Answer, folder: &Path) -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for file in answer
        .files
        .iter()
        .filter(|file| file.name.ends_with(".json") || file.name == STDOUT)
    {
        let path = folder.join(&file.name);
        let text = fs::read(&path).map_err(|error| Error::io(&path, error))?;
        let Ok(document) = serde_json::from_slice::<Value>(&text) else {
            continue;
        };
        if metadata(&document).is_some() {
            found.push((file.name.clone(), document));
        }
    }
    Ok(found)
}

/// The metadata in a document, or the document if it is metadata.
pub(super) fn metadata(document: &Value) -> Option<&Value> {
    let is_metadata = |value: &&Value| value.get("tool").is_some() && value.get("scan").is_some();
    let inside = document.get("metadata").filter(is_metadata);
    inside.or_else(|| Some(document).filter(is_metadata))
}

/// The tables of the parameters, and of the rules if the answer states some.
pub(super) fn parts(documents: &[(String, Value)]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut seen = Vec::new();
    for (name, document) in documents {
        let Some(found) = metadata(document).filter(|found| !seen.contains(found)) else {
            continue;
        };
        seen.push(found);
        let title = format!("Parameters and evidence, from {name}");
        let mut rows = Vec::new();
        flatten("", found, &mut rows);
        parts.push(Part::Table(Grid::new(title, &["key", "value"], rows)));
        let rules = document.pointer("/result/rules").and_then(Value::as_array);
        if let Some(rules) = rules.filter(|rules| !rules.is_empty()) {
            let mut rows = Vec::new();
            for (number, rule) in (1..).zip(rules) {
                flatten(&format!("rule {number}"), rule, &mut rows);
            }
            let title = format!("Rules, from {name}");
            parts.push(Part::Table(Grid::new(title, &["key", "value"], rows)));
        }
    }
    parts
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_becomes_rows() {
        let document = json!({ "metadata": {
            "tool": "txgraph", "scan": { "missing": [], "covered": [{ "first": 0, "last": 9 }] },
            "question": { "root": ["0x1", "0x2"], "hops": 3, "name": null },
            "ends": [{ "reason": "a" }, { "reason": "b" }],
        }, "result": { "rules": [{ "rule": "at least 4" }] } });
        let parts = parts(&[
            ("a.json".into(), document.clone()),
            ("b.json".into(), document),
        ]);
        let [Part::Table(evidence), Part::Table(rules)] = &parts[..] else {
            panic!("{parts:?}")
        };
        let rows: Vec<String> = evidence.rows.iter().map(|row| row.join("=")).collect();
        for row in [
            "scan.missing=none",
            "scan.covered.last=9",
            "question.root=0x1, 0x2",
            "question.hops=3",
            "question.name=none",
            "ends.2.reason=b",
        ] {
            assert!(rows.iter().any(|known| known == row), "{row}: {rows:?}");
        }
        assert_eq!(rules.rows, [["rule 1.rule", "at least 4"]]);
    }
}
