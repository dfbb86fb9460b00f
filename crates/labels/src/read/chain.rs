//! Finds the chain of a row.

use txgraph_base::KnownChain;

/// Words of GraphSense and others for chains with addresses of Ethereum. Tokens that were
/// issued on mainnet stand for it.
const WORDS: [(&str, u64); 22] = [
    ("eth", 1),
    ("ethereum", 1),
    ("erc20", 1),
    ("usdt", 1),
    ("usdc", 1),
    ("weth", 1),
    ("dai", 1),
    ("op", 10),
    ("optimism", 10),
    ("bsc", 56),
    ("bnb", 56),
    ("gno", 100),
    ("gnosis", 100),
    ("pol", 137),
    ("matic", 137),
    ("polygon", 137),
    ("base", 8453),
    ("arb", 42_161),
    ("arbitrum", 42_161),
    ("avax", 43_114),
    ("avalanche", 43_114),
    ("linea", 59_144),
];

/// Whether a word of a file means this chain. No word means any.
pub(super) fn is(word: &str, chain_id: u64) -> bool {
    if word.is_empty() {
        return true;
    }
    if let Ok(id) = word.parse::<u64>() {
        return id == chain_id;
    }
    let named = KnownChain::by_id(chain_id).and_then(|chain| chain.name);
    named.is_some_and(|name| name.eq_ignore_ascii_case(word))
        || (WORDS.iter()).any(|(known, id)| *id == chain_id && known.eq_ignore_ascii_case(word))
}
