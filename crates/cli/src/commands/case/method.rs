//! The parameters and the evidence of an answer, as its own files state them.

use super::answer::{Answer, STDOUT};
use crate::document::{Part, evidence};
use serde_json::Value;
use std::{fs, path::Path};
use txgraph::{Error, Result};

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
        parts.push(Part::Table(evidence(title, [("".to_owned(), found)])));
        let rules = document.pointer("/result/rules").and_then(Value::as_array);
        if let Some(rules) = rules.filter(|rules| !rules.is_empty()) {
            let rules = (1..).zip(rules);
            let rules = rules.map(|(number, rule)| (format!("rule {number}"), rule));
            parts.push(Part::Table(evidence(format!("Rules, from {name}"), rules)));
        }
    }
    parts
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
