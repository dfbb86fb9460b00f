//! Widths of arrows, in tenths of a point. Integers only, so that every machine draws the same.

use super::edge::PictureArrow;
use crate::drawn_edges::{Arrows, width};
use txgraph_graph::Asset;
use txgraph_transfers::TokenStandard;

/// Width of an arrow whose amount has no common unit with the others.
const CONSTANT: usize = 12;

/// Sets the width of each arrow. With one asset, it grows with the share of the amount. With
/// several, that holds for assets that have at least a tenth of the arrows, and three of
/// them: the single transfer of a token would be its whole amount. With values in one unit, it grows
/// with the share of the largest value, and arrows without a value have the constant width.
pub(super) fn set_widths(
    arrows: &mut [PictureArrow],
    styles: &Arrows<'_>,
    values: Option<&[Option<f64>]>,
) {
    if let Some(values) = values {
        let largest = values.iter().flatten().copied().fold(0.0, f64::max);
        for (arrow, value) in arrows.iter_mut().zip(values) {
            arrow.width = value.map_or(CONSTANT, |value| by_value(value, largest));
        }
        return;
    }
    let assets = styles.legend();
    let mut counts = vec![0; assets.len()];
    arrows.iter().for_each(|arrow| counts[arrow.asset] += 1);
    let matters = |(asset, count): (&Asset, &usize)| {
        let is_amount = !matches!(
            asset.token_standard,
            TokenStandard::Erc721 | TokenStandard::Erc1155
        );
        assets.len() == 1 || (is_amount && *count >= 3 && 10 * count >= arrows.len())
    };
    let totals: Vec<_> = assets
        .iter()
        .zip(&counts)
        .map(|(asset, count)| matters((asset, count)).then(|| styles.total(asset)))
        .collect();
    for arrow in arrows {
        arrow.width = totals[arrow.asset].map_or(CONSTANT, |total| width(total, arrow.amount));
    }
}

/// 50 for the largest value, 4 less for each halving, at least 8.
fn by_value(value: f64, largest: f64) -> usize {
    if value <= 0.0 || largest <= 0.0 {
        return 8;
    }
    // The difference of exponents is exact on every machine; logarithms need not be.
    let exponent = |number: f64| usize::from((number.to_bits() >> 52) as u16 & 0x7ff);
    let halvings = exponent(largest).saturating_sub(exponent(value));
    50usize.saturating_sub(4 * halvings).max(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::edge::merged;
    use txgraph_graph::testing;
    use txgraph_work::Threads;

    fn widths(transfers: &str, values: Option<&[Option<f64>]>) -> Vec<usize> {
        let graph = testing::graph(testing::transfers(transfers));
        let styles = Arrows::new(&graph, false, &Threads::one()).unwrap();
        let places = styles.legend().iter().copied().zip(0..).collect();
        let mut arrows = merged(&graph, &places, false);
        set_widths(&mut arrows, &styles, values);
        arrows.iter().map(|arrow| arrow.width).collect()
    }

    #[test]
    fn lone_transfer_of_a_token_is_not_the_widest() {
        let widths = widths("a>b:60@USD a>c:40@USD b>d:2@USD a>e:1000000@SPAM", None);
        assert_eq!(widths[3], CONSTANT, "{widths:?}");
        assert!(widths[0] > 40 && widths[0] > widths[3], "{widths:?}");
    }

    #[test]
    fn values_compare_arrows_of_different_tokens() {
        let transfers = "a>b:1@USD a>c:1@EUR a>d:1@XXX b>d:1@YYY";
        let values = [Some(1024.0), Some(512.0), None, Some(0.0)];
        assert_eq!(widths(transfers, Some(&values)), [50, 46, CONSTANT, 8]);
        let tiny = [Some(1e-300), Some(1e300), Some(3.0), Some(1.0)];
        assert_eq!(widths(transfers, Some(&tiny))[..2], [8, 50]);
    }
}
