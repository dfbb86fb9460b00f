//! Counts and limits in words.

use alloy_primitives::{U256, utils::format_units};
pub use txgraph_base::{grouped, number, thousands};
use txgraph_graph::LimitHit;

/// Decimals of the native coin: of ETH, and of the coins of all known chains.
pub const COIN_DECIMALS: u8 = 18;

/// An amount with a decimal point, without zeros at its end.
pub fn in_units(amount: U256, decimals: u8) -> String {
    match format_units(amount, decimals) {
        Ok(text) if text.contains('.') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Ok(text) => text,
        // More decimals than a number of 256 bits has digits.
        Err(_) => format!("{amount}e-{decimals}"),
    }
}

/// The part of a graph that a limit left out.
pub fn limit_words(limit: &LimitHit) -> String {
    match limit {
        LimitHit::MaxDegree { limit, vertices } => format!(
            "{} with more than {}",
            number(*vertices, "hub", "hubs"),
            number(u64::from(*limit), "counterparty", "counterparties")
        ),
        LimitHit::StopList { vertices } => {
            let addresses = number(*vertices, "address", "addresses");
            format!("{addresses} of the stop list")
        }
        LimitHit::ZeroAddress => "the zero address".to_owned(),
        LimitHit::MaxVertices {
            limit,
            transfers_left_out,
        } => format!(
            "limit of {} reached: {} omitted, and what follows from them",
            number(*limit, "address", "addresses"),
            number(*transfers_left_out, "transfer", "transfers")
        ),
        LimitHit::Top {
            limit,
            transfers_left_out,
        } => format!(
            "the largest {} of each address and token: {} omitted, and what follows from them",
            thousands(u64::from(*limit)),
            number(*transfers_left_out, "transfer", "transfers")
        ),
        LimitHit::MaxEdges {
            limit,
            transfers_left_out,
        } => format!(
            "limit of {} reached: {} omitted, and what follows from them",
            number(*limit, "transfer", "transfers"),
            thousands(*transfers_left_out)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_no_zeros_at_their_end() {
        for (amount, decimals, text) in [
            (1_500_000u64, 6, "1.5"),
            (1_000_000, 6, "1"),
            (100, 0, "100"),
            (0, 18, "0"),
            (7, 200, "7e-200"),
        ] {
            assert_eq!(in_units(U256::from(amount), decimals), text);
        }
    }
}
