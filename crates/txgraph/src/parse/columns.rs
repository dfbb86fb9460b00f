//! The list of columns: what it needs, and the options that it replaced.

use crate::{Error, Hint, Result, options::Options};
use serde_json::Value;
use txgraph_export::ColumnChoice;

/// Refuses columns with names of addresses where there are no names.
pub(super) fn check_columns(columns: &[ColumnChoice], has_labels: bool) -> Result<()> {
    match ColumnChoice::named(columns, &["from_label", "to_label"]) {
        Some(name) if !has_labels => Err(Error::usage(format!("the column `{name}` needs labels"))
            .hint("name a file of labels, or leave the column out")),
        _ => Ok(()),
    }
}

/// Takes the options that the list of columns replaced. If they have values, the hint of the
/// error is the list that says the same.
pub(super) fn refuse_replaced(options: &mut Options) -> Result<()> {
    let names = ["schema", "u256-types", "hex", "types", "exclude"];
    let replaced = names.map(|name| words(options.remove(name), name));
    let given = names.iter().zip(&replaced);
    let given = given.filter_map(|(name, words)| (!words.is_empty()).then_some(*name));
    let given = given.collect::<Vec<_>>().join(", ");
    if given.is_empty() {
        return Ok(());
    }
    let [schema, numbers, hex, types, without] = replaced;
    let types = [numbers, hex, types].concat();
    let with_types = |name: &String| {
        types.iter().fold(name.clone(), |entry, word| {
            let between = if entry.contains(':') { '+' } else { ':' };
            let longer = format!("{entry}{between}{word}");
            // A column has only some of the types.
            let is_known = longer.parse::<ColumnChoice>().is_ok();
            if is_known { longer } else { entry }
        })
    };
    let mut columns = words(options.get("columns").cloned(), "columns");
    if columns.is_empty() {
        columns.push(
            schema
                .into_iter()
                .next()
                .unwrap_or_else(|| "all".to_owned()),
        );
    }
    let without = without.iter().map(|name| format!("-{name}"));
    let list: Vec<_> = columns.iter().map(with_types).chain(without).collect();
    let message = format!("the list of columns replaces the options: {given}");
    Err(Error::usage(message).with_hint(Hint::WriteColumns(list.join(","))))
}

/// The words of an option; its name if it is a flag.
fn words(value: Option<Value>, name: &str) -> Vec<String> {
    let items = match value {
        Some(Value::Array(items)) => items,
        other => other.into_iter().collect(),
    };
    let words = items.iter().flat_map(|item| match item {
        Value::Bool(true) => name.split(','),
        other => other.as_str().unwrap_or_default().split(','),
    });
    let words = words.map(str::trim).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
