//! Well-known tokens by chain: their symbols and decimals where nothing else states them, and the
//! addresses that distinguish them from counterfeits.
//!
//! Sources (August 2026): `Uniswap/default-token-list` and
//! `ethereum-optimism/ethereum-optimism.github.io`, which agree where both have a token; stETH is
//! from Lido's documentation. Add tokens here only with such a source.

use crate::KnownChain;
use alloy_primitives::{Address, address};

/// A token that many people know by its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownToken {
    /// Its contract.
    pub address: Address,
    /// Its symbol.
    pub symbol: &'static str,
    /// Decimal places of an amount.
    pub decimals: u8,
}

impl KnownChain {
    /// The well-known tokens of the chain.
    pub const fn tokens(&self) -> &'static [KnownToken] {
        match self.id {
            1 => MAINNET,
            10 => OP_MAINNET,
            8_453 => BASE,
            _ => &[],
        }
    }

    /// The well-known token with this address.
    pub fn token(&self, address: Address) -> Option<&'static KnownToken> {
        self.tokens().iter().find(|token| token.address == address)
    }
}

const fn token(address: Address, symbol: &'static str, decimals: u8) -> KnownToken {
    KnownToken {
        address,
        symbol,
        decimals,
    }
}

#[rustfmt::skip]
const MAINNET: &[KnownToken] = &[
    token(address!("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"), "USDC", 6),
    token(address!("dac17f958d2ee523a2206206994597c13d831ec7"), "USDT", 6),
    token(address!("6b175474e89094c44da98b954eedeac495271d0f"), "DAI", 18),
    token(address!("dc035d45d973e3ec169d2276ddab16f1e407384f"), "USDS", 18),
    token(address!("853d955acef822db058eb8505911ed77f175b99e"), "FRAX", 18),
    token(address!("6c3ea9036406852006290770bedfcaba0e23a0e8"), "PYUSD", 6),
    token(address!("1abaea1f7c830bd89acc67ec4af516284b1bc33c"), "EURC", 6),
    token(address!("4fabb145d64652a948d72533023f6e7a623c7c53"), "BUSD", 18),
    token(address!("0000000000085d4780b73119b644ae5ecd22b376"), "TUSD", 18),
    token(address!("056fd409e1d7a124bd7017459dfea2f387b6d5cd"), "GUSD", 2),
    token(address!("8e870d67f660d95d5be530380d0ec0bd388289e1"), "USDP", 18),
    token(address!("5f98805a4e8be255a32880fdec7f6728c6568ba0"), "LUSD", 18),
    token(address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"), "WETH", 18),
    token(address!("ae7ab96520de3a18e5e111b5eaab095312d7fe84"), "stETH", 18),
    token(address!("7f39c581f595b53c5cb19bd0b3f8da6c935e2ca0"), "wstETH", 18),
    token(address!("ae78736cd615f374d3085123a210448e74fc6393"), "rETH", 18),
    token(address!("be9895146f7af43049ca1c1ae358b0541ea49704"), "cbETH", 18),
    token(address!("2260fac5e5542a773aa44fbcfedf7c193bc2c599"), "WBTC", 8),
    token(address!("cbb7c0000ab88b473b1f5afd9ef808440eed33bf"), "cbBTC", 8),
    token(address!("1f9840a85d5af5bf1d1762f925bdaddc4201f984"), "UNI", 18),
    token(address!("514910771af9ca656af840dff83e8264ecf986ca"), "LINK", 18),
    token(address!("7d1afa7b718fb893db30a3abc0cfc608aacfebb0"), "MATIC", 18),
    token(address!("455e53cbb86018ac2b8092fdcd39d8444affc3f6"), "POL", 18),
    token(address!("95ad61b0a150d79219dcf64e1e6cc01f0b64c4ce"), "SHIB", 18),
    token(address!("6982508145454ce325ddbe47a25d4ec3d2311933"), "PEPE", 18),
    token(address!("5a98fcbea516cf06857215779fd812ca3bef1b32"), "LDO", 18),
    token(address!("9f8f72aa9304c8b593d555f12ef6589cc3a579a2"), "MKR", 18),
    token(address!("56072c95faa701256059aa122697b133aded9279"), "SKY", 18),
    token(address!("7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9"), "AAVE", 18),
    token(address!("d533a949740bb3306d119cc777fa900ba034cd52"), "CRV", 18),
    token(address!("c00e94cb662c3520282e6f5717214004a7f26888"), "COMP", 18),
    token(address!("c944e90c64b2c07662a292be6244bdf05cda44a7"), "GRT", 18),
    token(address!("c18360217d8f7ab5e7c516566761ea12ce7f9d72"), "ENS", 18),
];

#[rustfmt::skip]
const OP_MAINNET: &[KnownToken] = &[
    token(address!("0b2c639c533813f4aa9d7837caf62653d097ff85"), "USDC", 6),
    token(address!("7f5c764cbc14f9669b88837ca1490cca17c31607"), "USDC.e", 6),
    token(address!("94b008aa00579c1307b0ef2c499ad98a8ce58e58"), "USDT", 6),
    token(address!("da10009cbd5d07dd0cecc66161fc93d7c9000da1"), "DAI", 18),
    token(address!("4200000000000000000000000000000000000006"), "WETH", 18),
    token(address!("1f32b1c2345538c0c6f582fcb022739c4a194ebb"), "wstETH", 18),
    token(address!("9bcef72be871e61ed4fbbc7630889bee758eb81d"), "rETH", 18),
    token(address!("68f180fcce6836688e9084f035309e29bf0a2095"), "WBTC", 8),
    token(address!("350a791bfc2c21f9ed5d10980dad2e2638ffa7f6"), "LINK", 18),
    token(address!("6fd9d7ad17242c41f7131d257212c54a0e816691"), "UNI", 18),
    token(address!("76fb31fb4af56892a25e32cfc43de717950c9278"), "AAVE", 18),
    token(address!("0994206dfe8de6ec6920ff4d779b0d950605fb53"), "CRV", 18),
    token(address!("4200000000000000000000000000000000000042"), "OP", 18),
];

#[rustfmt::skip]
const BASE: &[KnownToken] = &[
    token(address!("833589fcd6edb6e08f4c7c32d4f71b54bda02913"), "USDC", 6),
    token(address!("d9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca"), "USDbC", 6),
    token(address!("fde4c96c8593536e31f229ea8f37b2ada2699bb2"), "USDT", 6),
    token(address!("50c5725949a6f0c72e6c4a641f24049a917db0cb"), "DAI", 18),
    token(address!("60a3e35cc302bfa44cb288bc5a4f316fdb1adb42"), "EURC", 6),
    token(address!("4200000000000000000000000000000000000006"), "WETH", 18),
    token(address!("c1cba3fcea344f92d9239c08c0568f6f2f0ee452"), "wstETH", 18),
    token(address!("2ae3f1ec7f1f5012cfeab0185bfc7aa3cf0dec22"), "cbETH", 18),
    token(address!("cbb7c0000ab88b473b1f5afd9ef808440eed33bf"), "cbBTC", 8),
    token(address!("63706e401c06ac8513145b7687a14804d17f814b"), "AAVE", 18),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tokens_have_one_entry_each() {
        for chain in KnownChain::ALL {
            let tokens = chain.tokens();
            let addresses: BTreeSet<_> = tokens.iter().map(|token| token.address).collect();
            let symbols: BTreeSet<_> = tokens.iter().map(|token| token.symbol).collect();
            assert_eq!(addresses.len(), tokens.len());
            assert_eq!(symbols.len(), tokens.len());
            for token in tokens {
                assert_eq!(chain.token(token.address), Some(token));
            }
            // The wrapped coin of the chain is the one that is known as such.
            let wrapped = tokens.iter().find(|token| token.symbol == "WETH");
            if let Some(wrapped) = wrapped {
                assert!(chain.wrapped_native.contains(&wrapped.address));
            }
        }
        assert!(KnownChain::by_id(1).is_some_and(|chain| chain.tokens().len() > 20));
    }
}
