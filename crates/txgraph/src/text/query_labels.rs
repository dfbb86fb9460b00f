//! The labels of a question, and the addresses at which it stops because of them.

use super::{Columns, SearchArgs, SelectionArgs, labels, shortened, stop_list};
use crate::{Error, Result, Source};
use alloy_primitives::Address;
use std::{collections::BTreeSet, path::Path};
use txgraph_labels::Labels;

/// Categories that a message lists.
const CATEGORIES_LISTED: usize = 20;

/// The addresses that are not expanded, and all labels. Those of the stop list come last.
pub(super) fn stops(search: &SearchArgs, source: &Source) -> Result<(BTreeSet<Address>, Labels)> {
    let mut labels = read_labels(&search.labels, &search.selection, source)?;
    let mut stop_at = BTreeSet::new();
    if let Some(path) = &search.stop_at {
        let checksum = search.selection.checksum();
        let (addresses, names) = stop_list(Path::new(path), checksum, chain_id(source)?)?;
        stop_at = addresses;
        labels.extend(&names);
    }
    let words = search.stop_at_category.iter();
    let words = words.flat_map(|text| text.split(',')).map(str::trim);
    for word in words.filter(|word| !word.is_empty()) {
        let found = labels.with_category(word);
        stop_at.extend(found.ok_or_else(|| unknown_category(word, &labels))?);
    }
    Ok((stop_at, labels))
}

/// Reads files of labels for the chain of a source.
pub(super) fn read_labels(
    paths: &[String],
    selection: &SelectionArgs,
    source: &Source,
) -> Result<Labels> {
    if paths.is_empty() {
        Ok(Labels::default())
    } else {
        labels(paths, selection.checksum(), chain_id(source)?)
    }
}

fn chain_id(source: &Source) -> Result<u64> {
    Ok(source.chain()?.chain_id)
}

/// No label has the category: which there are.
fn unknown_category(word: &str, labels: &Labels) -> Error {
    let message = format!("no label has the category `{}`", shortened(word));
    let categories = labels.categories();
    let words: Vec<_> = (categories.iter())
        .take(CATEGORIES_LISTED)
        .map(|(word, count)| format!("{} ({count})", shortened(word)))
        .collect();
    let hint = match (labels.is_empty(), categories.len() - words.len()) {
        (true, _) => "there are no labels; name a file of them".to_owned(),
        (_, _) if words.is_empty() => "the labels have no categories".to_owned(),
        (_, 0) => format!("the labels have: {}", words.join(", ")),
        (_, more) => format!("the labels have: {}, and {more} more", words.join(", ")),
    };
    Error::usage(message).hint(hint)
}

/// Refuses columns with names of addresses where there are no names.
pub(super) fn check_columns(columns: &Columns, labels: &[String]) -> Result<()> {
    let is = |name: &&str| {
        columns
            .columns
            .iter()
            .any(|text| text.split(',').any(|it| it.trim() == *name))
    };
    match ["from_label", "to_label"].iter().find(|name| is(name)) {
        Some(name) if labels.is_empty() => {
            Err(Error::usage(format!("the column `{name}` needs labels"))
                .hint("name a file of labels, or leave the column out"))
        }
        _ => Ok(()),
    }
}
