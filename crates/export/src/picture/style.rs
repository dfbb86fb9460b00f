//! How vertices are drawn.

use txgraph_graph::{EndReason, Expansion};
use txgraph_labels::Category;

/// Characters of a label that are drawn.
pub(super) const LABEL_CHARS: usize = 32;

/// Characters of a label in a tooltip. Graphviz refuses strings of 16 KB.
pub(super) const TOOLTIP_CHARS: usize = 256;

/// Lines of totals in a tooltip.
pub(super) const TOTALS_MAX: usize = 10;

pub(crate) struct VertexStyle {
    pub(crate) shape: &'static str,
    pub(crate) fill: &'static str,
    pub(crate) style: &'static str,
    /// A line below the name; may be empty.
    pub(crate) note: &'static str,
}

impl VertexStyle {
    /// Several leaves.
    pub(super) const FOLDED: Self = Self {
        shape: "folder",
        fill: "#F3F3F3",
        style: "filled",
        note: "",
    };

    /// The shape says what an address is, the border whether the branch goes on there.
    pub(super) const fn new(
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
                    ("ellipse", "#FFFFFF", "filled,bold", "contract, branch ends")
                }
                Some(_) => ("ellipse", "#FFFFFF", "filled,bold", ""),
                None => ("ellipse", "#FFFFFF", "filled", ""),
            },
            Expansion::LastHop => ("ellipse", "#FFFFFF", "filled,dotted", ""),
            Expansion::Swap => ("ellipse", "#F3F3F3", "filled", "carries a swap"),
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

    /// The kind of a labeled address decides shape and color; a root keeps its color.
    pub(super) const fn of_kind(self, kind: Option<Category>, is_root: bool) -> Self {
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
