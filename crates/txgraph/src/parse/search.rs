//! How to search, as it is written: with labels, and the addresses at which the search stops.

use super::{
    labels::{labels, stop_list},
    lists::addresses,
    selection::SelectionArgs,
};
use crate::{
    Error, Hops, Result, SearchOptions, Source,
    grammar::{list, shortened},
};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::Path};
use txgraph_export::TokenList;
use txgraph_labels::{Category, Labels};
use txgraph_transfers::Direction;

/// Categories that a message lists.
const CATEGORIES_LISTED: usize = 20;

/// How to search: what `graph` and `analyze` have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SearchArgs {
    /// Which transfers.
    #[serde(flatten)]
    pub selection: SelectionArgs,
    /// Addresses to start from.
    #[serde(deserialize_with = "list")]
    pub root: Vec<String>,
    /// How far to follow; absent: one hop.
    pub hops: Option<Hops>,
    /// The direction; absent: out.
    pub direction: Option<Direction>,
    /// Follow a transfer only if it happened after the tokens arrived.
    pub time_respecting: bool,
    /// Do not expand vertices with more counterparties.
    pub max_degree: Option<u32>,
    /// File of addresses that are not expanded, with labels.
    pub stop_at: Option<String>,
    /// Categories of labeled addresses that are not expanded.
    #[serde(deserialize_with = "list")]
    pub stop_at_category: Vec<String>,
    /// Files with names of addresses, in the order of their priority.
    #[serde(deserialize_with = "list")]
    pub labels: Vec<String>,
    /// The largest number of vertices.
    pub max_vertices: Option<u64>,
    /// The largest number of edges.
    pub max_edges: Option<u64>,
    /// Expand the zero address, too.
    pub expand_zero: bool,
}

impl SearchArgs {
    /// Reads the text. Amounts in units need the decimals of tokens from a list.
    pub fn read(&self, source: &Source, list: Option<&TokenList>) -> Result<SearchOptions> {
        let checksum = self.selection.checksum();
        let roots = addresses(&self.root, checksum)?;
        let (stop_at, labels) = stops(self, source)?;
        Ok(SearchOptions {
            labels,
            selection: self.selection.read(source, list)?,
            roots,
            hops: self.hops.unwrap_or_default(),
            direction: self.direction.unwrap_or_default(),
            time_respecting: self.time_respecting,
            max_degree: self.max_degree,
            stop_at,
            max_vertices: self.max_vertices,
            max_edges: self.max_edges,
            follow_top: None,
            through_swaps: false,
            expand_zero: self.expand_zero,
        })
    }
}

/// Returns the addresses that are not expanded, and all labels. The labels of the stop list
/// come last.
fn stops(search: &SearchArgs, source: &Source) -> Result<(BTreeSet<Address>, Labels)> {
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
        match labels.with_category(word) {
            Some(found) => stop_at.extend(found),
            // Some lists have no bridges, and a search that stops at them is the same.
            None if !labels.is_empty() && word.parse::<Category>().is_ok() => {
                labels.warn(format!("no label has the category `{word}`"));
            }
            None => return Err(unknown_category(word, &labels)),
        }
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
