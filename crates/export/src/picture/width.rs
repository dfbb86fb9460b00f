//! Widths of arrows, in tenths of a point. Integers only, so that every machine draws the same.

use super::arrow::Merged;
use crate::arrows::Arrows;
use std::collections::BTreeMap;
use txgraph_graph::Asset;
use txgraph_transfers::TokenStandard;

/// Width of an arrow whose amount has no common unit with the others.
const CONSTANT: usize = 12;

/// Returns the width of each arrow. With one asset, it grows with the share of the amount. With
/// several, that holds for assets that have at least a tenth of the arrows, and three of
/// them: the single transfer of a token would be its whole amount.
pub(super) fn widths(arrows: &[Merged], styles: &Arrows<'_>) -> Vec<usize> {
    let mut counts: BTreeMap<Asset, usize> = BTreeMap::new();
    for arrow in arrows {
        *counts.entry(arrow.asset).or_default() += 1;
    }
    let matters = |asset: &Asset| {
        let count = counts.get(asset).copied().unwrap_or(0);
        let is_amount = !matches!(
            asset.token_standard,
            TokenStandard::Erc721 | TokenStandard::Erc1155
        );
        counts.len() == 1 || (is_amount && count >= 3 && 10 * count >= arrows.len())
    };
    let width = |arrow: &Merged| match matters(&arrow.asset) {
        true => styles.color_and_width(&arrow.asset, arrow.amount).1,
        false => CONSTANT,
    };
    arrows.iter().map(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::arrow::merged;
    use txgraph_graph::testing;
    use txgraph_work::Threads;

    #[test]
    fn lone_transfer_of_a_token_is_not_the_widest() {
        let transfers = testing::transfers("a>b:60@USD a>c:40@USD b>d:2@USD a>e:1000000@SPAM");
        let graph = testing::graph(transfers);
        let styles = Arrows::new(&graph, false, &Threads::one()).unwrap();
        let widths = widths(&merged(&graph, false), &styles);
        assert_eq!(widths[3], CONSTANT, "{widths:?}");
        assert!(widths[0] > 40 && widths[0] > widths[3], "{widths:?}");
    }
}
