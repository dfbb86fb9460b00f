//! The legend of a drawing: a color for each asset.

use crate::{TokenList, drawn_edges::Arrows, text::printable};
use txgraph_graph::Asset;

pub(crate) const LEGEND_MAX: usize = 12;

/// The line about a token that no list names.
pub(crate) const CLAIM: &str = "its symbol is only what the token itself claims";

/// A token and its color.
pub(crate) struct LegendEntry {
    pub(crate) label: String,
    pub(crate) tooltip: String,
    pub(crate) color: &'static str,
}

/// An entry for each of the busiest assets, in its color, and one for all others.
pub(crate) fn legend(chain_id: u64, arrows: &Arrows<'_>, tokens: &TokenList) -> Vec<LegendEntry> {
    let assets = arrows.legend();
    let entry = |asset: &Asset| {
        let name = tokens.format_asset(chain_id, asset);
        let label = printable(&format!("{name} ({})", asset.token_standard)).into_owned();
        LegendEntry {
            tooltip: match asset.token_address {
                Some(token) => {
                    let mut tooltip = format!("{label}\n{}", token.to_checksum(None));
                    if tokens.is_claim(chain_id, token) {
                        tooltip = format!("{tooltip}\n{CLAIM}");
                    }
                    tooltip
                }
                None => label.clone(),
            },
            label,
            color: arrows.color(asset),
        }
    };
    let mut entries: Vec<_> = assets.iter().take(LEGEND_MAX).map(entry).collect();
    if let more @ 1.. = assets.len().saturating_sub(LEGEND_MAX) {
        let label = format!("{more} more");
        entries.push(LegendEntry {
            tooltip: label.clone(),
            label,
            color: "#999999",
        });
    }
    entries
}
