//! Labels of addresses as they are drawn.

use crate::text::{counted, printable_short};
use std::collections::BTreeMap;
use txgraph_graph::TransferGraph;
use txgraph_labels::{Category, Label, LabelSet};

/// Labels of an address that a tooltip lists.
const LISTED_MAX: usize = 5;

/// The name of an address with the icon of its category, cut to `chars` characters.
pub(crate) fn drawn(labels: &LabelSet, chars: usize) -> Option<String> {
    let name = printable_short(labels.name()?, chars);
    Some(match labels.kind() {
        Some(kind) => format!("{} {name}", kind.icon()),
        None => name,
    })
}

/// Each label with its category and source, for a tooltip.
pub(crate) fn listed(labels: &LabelSet, chars: usize) -> Vec<String> {
    let line = |label: &Label| {
        let about = [&label.category, &label.source].map(String::as_str);
        let about: Vec<_> = about.into_iter().filter(|text| !text.is_empty()).collect();
        let name = printable_short(&label.name, chars);
        match about.is_empty() {
            true => name,
            false => format!("{name} ({})", printable_short(&about.join(", "), chars)),
        }
    };
    let mut lines: Vec<_> = labels.iter().take(LISTED_MAX).map(line).collect();
    if let Some(more @ 1..) = labels.len().checked_sub(LISTED_MAX) {
        lines.push(format!("and {}", counted(more as u64, "more label")));
    }
    lines
}

pub(crate) struct CategoryEntry {
    pub(crate) label: String,
    pub(crate) color: &'static str,
}

/// The kinds of the vertices, with their numbers.
pub(crate) fn categories(graph: &TransferGraph) -> Vec<CategoryEntry> {
    let mut counts: BTreeMap<Category, usize> = BTreeMap::new();
    for vertex in graph.graph.node_weights() {
        if let Some(kind) = vertex.labels.kind() {
            *counts.entry(kind).or_default() += 1;
        }
    }
    let entry = |(kind, count): (Category, usize)| CategoryEntry {
        label: format!("{} {kind} ({count})", kind.icon()),
        color: kind.color(),
    };
    counts.into_iter().map(entry).collect()
}
