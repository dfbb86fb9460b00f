//! The title of a picture, and the lines below it.

use super::{Node, short_text::push_days, text::made};
use crate::{
    Metadata, TokenList,
    text::{counted, printable, printable_short, short_address},
};
use serde_json::Value;
use std::collections::BTreeSet;
use txgraph_base::number;
use txgraph_graph::{Asset, Edge, EndReason, LimitHit, Poisoning, TransferGraph};
use txgraph_transfers::{BlockTime, Direction};

/// Assets that are named; more are counted.
const NAMED_MAX: usize = 3;

/// Characters of the conditions.
const FILTER_CHARS: usize = 200;

const NAME_CHARS: usize = 40;

/// Returns the query in words: `USDC from 0x1234…abcd, 2 hops out, 2024-01-01 to 2024-02-01`.
pub(crate) fn title(graph: &TransferGraph, assets: &[Asset], tokens: &TokenList) -> String {
    let chain_id = graph.chain.chain_id;
    let what = match assets {
        [] => "No transfers".to_owned(),
        few if few.len() <= NAMED_MAX => {
            let few: BTreeSet<_> = few.iter().collect();
            let names = few.iter().map(|asset| tokens.format_asset(chain_id, asset));
            names.collect::<Vec<_>>().join(", ")
        }
        many => counted(many.len() as u64, "token"),
    };
    let who = match &graph.roots[..] {
        [] => "all addresses".to_owned(),
        [root] => {
            let root = &graph.graph[*root];
            let short = short_address(root.address);
            match root.labels.name() {
                Some(label) => format!("{} ({short})", printable_short(label, NAME_CHARS)),
                None => short,
            }
        }
        roots => number(roots.len() as u64, "address", "addresses"),
    };
    let (word, way) = match graph.direction {
        Direction::Out => ("from", " out"),
        Direction::In => ("to", " in"),
        Direction::Both => ("around", ""),
    };
    let hops = match graph.hops {
        Some(hops) => counted(hops.into(), "hop"),
        None => "all hops".to_owned(),
    };
    let mut title = format!("{what} {word} {who}, {hops}{way}");
    let time = |edge: &Edge| edge.transfer.block_timestamp;
    let times = graph.graph.edge_weights().filter_map(time);
    let ends = times.fold(
        None,
        |ends: Option<(BlockTime, BlockTime)>, time| match ends {
            None => Some((time, time)),
            Some((first, last)) => Some((first.min(time), last.max(time))),
        },
    );
    if let Some((first, last)) = ends {
        let days = made(|out| push_days(out, (0, Some(first)), (0, Some(last))));
        title = format!("{title}, {days}");
    }
    printable(&title).into_owned()
}

/// Returns the chain, the counts, and in letters as large what is left out.
pub(super) fn lines(graph: &TransferGraph, metadata: &Metadata, arrows: usize) -> Vec<String> {
    let name = graph.chain.name.as_deref().unwrap_or_default();
    let (vertices, transfers) = (graph.graph.node_count(), graph.graph.edge_count());
    let merged = if arrows < transfers {
        format!(" in {}", counted(arrows as u64, "arrow"))
    } else {
        String::new()
    };
    let addresses = if vertices == 1 {
        "address"
    } else {
        "addresses"
    };
    let mut lines = vec![format!(
        "{}chain {}, blocks {}: {vertices} {addresses}, {}{merged}",
        if name.is_empty() {
            String::new()
        } else {
            format!("{name}, ")
        },
        graph.chain.chain_id,
        graph.blocks,
        counted(transfers as u64, "transfer"),
    )];
    lines.extend(filtered(metadata));
    for gap in &metadata.scan.missing {
        lines.push(format!(
            "INCOMPLETE: blocks {} are missing ({})",
            gap.blocks, gap.reason
        ));
    }
    lines.extend(graph.limits.iter().map(limit));
    lines
        .iter()
        .map(|line| printable(line).into_owned())
        .collect()
}

/// Options of a query that leave transfers out.
const FILTERS: [&str; 6] = [
    "min-value",
    "min-values",
    "token-id",
    "standard",
    "kind",
    "time-respecting",
];

/// Returns the conditions that a transfer had to meet, in the words of the query.
fn filtered(metadata: &Metadata) -> Option<String> {
    let conditions = FILTERS.iter().filter_map(|name| {
        let value = metadata.question.get(name)?;
        Some(match value {
            Value::Bool(_) => (*name).to_owned(),
            value => format!("{name} {}", option(value)),
        })
    });
    let conditions: Vec<_> = conditions.collect();
    (!conditions.is_empty()).then(|| {
        let conditions = printable_short(&conditions.join("; "), FILTER_CHARS);
        format!("FILTERED, only transfers with: {conditions}")
    })
}

/// Returns the value of an option as it is written.
fn option(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(option).collect::<Vec<_>>().join(","),
        Value::Object(values) => {
            let pairs = values.iter();
            let pairs = pairs.map(|(name, value)| format!("{name}={}", option(value)));
            pairs.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

/// Returns signs of address poisoning, which a picture would make look like payments.
pub(super) fn poisoning(graph: &TransferGraph) -> Vec<String> {
    let found = Poisoning::of(graph);
    let mut lines = Vec::new();
    if let groups @ 1.. = found.lookalikes.len() {
        let groups = counted(groups as u64, "group");
        lines.push(format!(
            "POSSIBLE ADDRESS POISONING: {groups} of addresses with the same first and last digits"
        ));
    }
    let transfers: u64 = found.zero_value.iter().map(|pair| pair.transfers).sum();
    if transfers > 0 {
        let transfers = counted(transfers, "transfer");
        lines.push(format!(
            "POSSIBLE ADDRESS POISONING: {transfers} of nothing to addresses that the sender had not paid"
        ));
    }
    lines
}

/// Returns what a limit did.
fn limit(limit: &LimitHit) -> String {
    match limit {
        LimitHit::MaxDegree { limit, vertices } => {
            let hubs = counted(*vertices, "hub");
            format!("{hubs} not expanded (more than {limit} counterparties)")
        }
        LimitHit::StopList { vertices } => {
            format!("not expanded because of the stop list: {vertices}")
        }
        LimitHit::ZeroAddress => "the zero address is not expanded".to_owned(),
        LimitHit::MaxVertices {
            limit,
            transfers_left_out,
        } => {
            let left_out = counted(*transfers_left_out, "transfer");
            format!("cut at {limit} vertices: at least {left_out} left out")
        }
        LimitHit::Top {
            limit,
            transfers_left_out,
        } => {
            let left_out = counted(*transfers_left_out, "transfer");
            format!("the largest {limit} of each address: {left_out} left out")
        }
        LimitHit::MaxEdges {
            limit,
            transfers_left_out,
        } => {
            let left_out = counted(*transfers_left_out, "transfer");
            format!("cut at {limit} edges: at least {left_out} left out")
        }
    }
}

/// Returns where branches end, with what to ask next, and what was never seen.
pub(super) fn ends(metadata: &Metadata) -> Vec<String> {
    let mut lines = Vec::new();
    for root in &metadata.token_roots {
        lines.push(format!(
            "{} is a token: this picture has the transfers by the contract, not those of the token",
            short_address(*root)
        ));
    }
    for (count, first, what) in [
        (
            metadata.unseen.tokens,
            &metadata.unseen.first_tokens,
            "token",
        ),
        (
            metadata.unseen.addresses,
            &metadata.unseen.first_addresses,
            "address",
        ),
    ] {
        if let (1.., Some(one)) = (count, first.first()) {
            let more = match count {
                1 => String::new(),
                _ => format!(" and {} more", count - 1),
            };
            lines.push(format!(
                "NEVER SEEN: {what} {}{more}: check for typing errors",
                one.to_checksum(None)
            ));
        }
    }
    if metadata.unseen.native {
        lines.push("NEVER SEEN: the native coin".to_owned());
    }
    let ends: Vec<_> = (metadata.ends.iter())
        .map(|end| {
            let contracts = match end.contracts {
                Some(count @ 1..) if end.reason != EndReason::Contract => {
                    format!(", {}", counted(count, "contract"))
                }
                _ => String::new(),
            };
            let words = end.reason.words();
            format!("{} ({words}{contracts}; {})", end.addresses, end.next)
        })
        .collect();
    if !ends.is_empty() {
        // One line for each two reasons, as wide as the other lines.
        for (number, some) in ends.chunks(2).enumerate() {
            let word = if number == 0 {
                "branches end at "
            } else {
                "and at "
            };
            lines.push(format!("{word}{}", some.join(", ")));
        }
    }
    lines
}

/// Returns the meaning of the shapes that a picture has.
pub(super) fn shapes(nodes: &[Node]) -> Option<String> {
    let mut shapes = Vec::new();
    let mut add = |is_there: bool, words: &'static str| {
        if is_there {
            shapes.push(words);
        }
    };
    add(
        nodes.iter().any(|node| node.is_root),
        "double line: where the search started",
    );
    for (shape, words) in [
        ("hexagon", "hexagon: contract"),
        ("octagon", "octagon: hub"),
        ("box", "box: stop list"),
        ("diamond", "diamond: mint and burn"),
        ("folder", "folder: several addresses"),
    ] {
        add(nodes.iter().any(|node| node.style.shape == shape), words);
    }
    let dashed = nodes.iter().any(|node| node.style.style.contains("dashed"));
    add(dashed, "dashed: limit reached");
    let dotted = nodes.iter().any(|node| node.style.style.contains("dotted"));
    add(dotted, "dotted: last hop, not followed");
    let is_end =
        |node: &Node| matches!(node.end, Some(EndReason::NoTransfers | EndReason::Contract));
    add(nodes.iter().any(is_end), "thick line: no further transfer");
    (!shapes.is_empty()).then(|| shapes.join(" · "))
}
