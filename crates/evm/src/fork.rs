//! The hard forks in order, with the names that fixtures and chain specifications use.

use std::{fmt, str::FromStr};

/// A hard fork that changed the rules of execution. Later forks compare greater.
///
/// Forks that changed only the difficulty or fees of headers are missing: Muir Glacier, Arrow
/// Glacier, Gray Glacier, and the blob-parameter forks. They execute like the fork before them,
/// and [`Block`](crate::Block) contains what they changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Fork {
    /// The first rules, 2015.
    Frontier,
    /// EIP-2 and EIP-7.
    Homestead,
    /// EIP-150: prices of state access, the 63/64 rule.
    TangerineWhistle,
    /// EIP-155, 160, 161 and 170.
    SpuriousDragon,
    /// EIP-140, 196, 197, 198, 211 and 214.
    Byzantium,
    /// EIP-145, 1014, 1052 and 1283.
    Constantinople,
    /// Constantinople without EIP-1283.
    Petersburg,
    /// EIP-152, 1108, 1344, 1884, 2028 and 2200.
    Istanbul,
    /// EIP-2565, 2718, 2929 and 2930.
    Berlin,
    /// EIP-1559, 3198, 3529 and 3541.
    London,
    /// EIP-3675 and 4399.
    Paris,
    /// EIP-3651, 3855, 3860 and 4895.
    Shanghai,
    /// EIP-1153, 4788, 4844, 5656, 6780 and 7516.
    Cancun,
    /// EIP-2537, 2935, 7002, 7251, 7623, 7691 and 7702.
    Prague,
    /// EIP-7594, 7823, 7825, 7883, 7918, 7939 and 7951.
    Osaka,
    /// EIP-2780, 7708, 7778, 7843, 7928, 7954, 7976, 7981, 8024, 8037, 8038, 8246 and 8282.
    Amsterdam,
}

impl Fork {
    /// All forks, in order.
    pub const ALL: [Self; 16] = [
        Self::Frontier,
        Self::Homestead,
        Self::TangerineWhistle,
        Self::SpuriousDragon,
        Self::Byzantium,
        Self::Constantinople,
        Self::Petersburg,
        Self::Istanbul,
        Self::Berlin,
        Self::London,
        Self::Paris,
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
        Self::Amsterdam,
    ];

    /// The latest fork of mainnet.
    pub const LATEST: Self = Self::Osaka;

    /// The name, as printed and parsed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frontier => "Frontier",
            Self::Homestead => "Homestead",
            Self::TangerineWhistle => "TangerineWhistle",
            Self::SpuriousDragon => "SpuriousDragon",
            Self::Byzantium => "Byzantium",
            Self::Constantinople => "Constantinople",
            Self::Petersburg => "Petersburg",
            Self::Istanbul => "Istanbul",
            Self::Berlin => "Berlin",
            Self::London => "London",
            Self::Paris => "Paris",
            Self::Shanghai => "Shanghai",
            Self::Cancun => "Cancun",
            Self::Prague => "Prague",
            Self::Osaka => "Osaka",
            Self::Amsterdam => "Amsterdam",
        }
    }
}

impl fmt::Display for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No fork has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fork `{0}`; known: {known}", known = known_names())]
pub struct UnknownFork(pub String);

/// The names of all forks, in order.
fn known_names() -> String {
    Fork::ALL.map(Fork::name).join(", ")
}

impl FromStr for Fork {
    type Err = UnknownFork;

    /// Parses a name in any case. Accepts the older names of fixtures too: `EIP150`, `EIP158`,
    /// `ConstantinopleFix`, `Merge`.
    fn from_str(name: &str) -> Result<Self, UnknownFork> {
        const OTHER_NAMES: [(&str, Fork); 6] = [
            ("EIP150", Fork::TangerineWhistle),
            ("Tangerine", Fork::TangerineWhistle),
            ("EIP158", Fork::SpuriousDragon),
            ("Spurious", Fork::SpuriousDragon),
            ("ConstantinopleFix", Fork::Petersburg),
            ("Merge", Fork::Paris),
        ];
        let names = Self::ALL.into_iter().map(|fork| (fork.name(), fork));
        names
            .chain(OTHER_NAMES)
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, fork)| fork)
            .ok_or_else(|| UnknownFork(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        for fork in Fork::ALL {
            assert_eq!(fork.to_string().parse(), Ok(fork));
        }
        assert_eq!("eip158".parse(), Ok(Fork::SpuriousDragon));
        assert_eq!("Merge".parse(), Ok(Fork::Paris));
    }

    #[test]
    fn unknown_name_lists_every_fork() {
        let message = "Atlantis".parse::<Fork>().unwrap_err().to_string();
        assert!(message.starts_with("unknown fork `Atlantis`; known: Frontier, Homestead, "));
        assert!(message.ends_with(", Prague, Osaka, Amsterdam"), "{message}");
    }

    #[test]
    fn forks_are_in_historical_order() {
        assert!(Fork::ALL.is_sorted());
        assert!(Fork::Petersburg > Fork::Constantinople);
    }
}
