//! How vertices are drawn, and text in quotes.

use txgraph_graph::{EndReason, Expansion};
use txgraph_labels::Category;

/// Characters of a label that are drawn.
pub(crate) const LABEL_CHARS: usize = 32;

/// Characters of a label in a tooltip. Graphviz refuses strings of 16 KB.
pub(crate) const TOOLTIP_CHARS: usize = 256;

/// Characters of an amount that are drawn; the tooltip has all.
pub(crate) const AMOUNT_CHARS: usize = 48;

/// Lines of totals in a tooltip.
pub(crate) const TOTALS_MAX: usize = 10;

/// How a vertex is drawn.
pub(crate) struct VertexStyle {
    pub(crate) shape: &'static str,
    pub(crate) fill: &'static str,
    pub(crate) style: &'static str,
    /// A line below the name; may be empty.
    pub(crate) note: &'static str,
}

impl VertexStyle {
    /// The shape says what an address is, the border whether the trail goes on there.
    pub(crate) const fn new(
        expansion: Expansion,
        is_root: bool,
        is_contract: Option<bool>,
        end: Option<EndReason>,
    ) -> Self {
        let (shape, fill, style, note) = match expansion {
            _ if matches!(end, Some(EndReason::SilentRoot)) => {
                ("ellipse", "#FFE3C2", "filled,bold", "no transfers")
            }
            _ if is_root => ("ellipse", "#FFE3C2", "filled,bold", ""),
            Expansion::Expanded => match end {
                Some(EndReason::Contract) => {
                    ("ellipse", "#FFFFFF", "filled,bold", "contract, trail ends")
                }
                Some(_) => ("ellipse", "#FFFFFF", "filled,bold", ""),
                None => ("ellipse", "#FFFFFF", "filled", ""),
            },
            Expansion::LastHop => ("ellipse", "#FFFFFF", "filled,dotted", ""),
            Expansion::Hub => ("octagon", "#E6E6E6", "filled", "hub, not expanded"),
            Expansion::StopList => ("box", "#DCE9F9", "filled", "stop list, not expanded"),
            Expansion::ZeroAddress => ("diamond", "#E6E6E6", "filled", "mint and burn"),
            Expansion::Limit => ("ellipse", "#FFFFFF", "filled,dashed", "limit reached"),
        };
        let shape = match (is_contract, expansion) {
            (Some(true), Expansion::ZeroAddress) => shape,
            (Some(true), _) => "hexagon",
            _ => shape,
        };
        Self {
            shape,
            fill,
            style,
            note,
        }
    }

    /// The kind of a labelled address decides shape and colour; a root keeps its colour.
    pub(crate) const fn of_kind(self, kind: Option<Category>, is_root: bool) -> Self {
        match kind {
            None => self,
            Some(kind) => Self {
                shape: kind.shape(),
                fill: if is_root { self.fill } else { kind.color() },
                ..self
            },
        }
    }
}

/// Text that is shown. Graphviz reads entities and escapes in it, so `&` and `\` are
/// escaped. Line breaks become `line_break`: `\n` centres the line before it, `\l` aligns
/// it left.
pub(crate) fn escaped(text: &str, line_break: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str(line_break),
            '&' => escaped.push_str("&amp;"),
            c => escaped.push(c),
        }
    }
    escaped
}
