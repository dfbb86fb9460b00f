//! The capabilities of a source.

use std::fmt;

/// Something that a source may or may not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Lists the transfers of blocks.
    Transfers,
    /// Contains headers and whole blocks.
    Blocks,
    /// Knows the hash of the transaction of each transfer.
    Hashes,
    /// Knows accounts and storage after past blocks.
    State,
    /// Executes past transactions, for transfers inside of them and for traces.
    Replay,
    /// Can be indexed, and answers from an index.
    Index,
    /// Can be stored as a lake.
    Lake,
    /// Describes the data of a node.
    Info,
}

impl Capability {
    /// All capabilities.
    pub const ALL: &'static [Self] = &[
        Self::Transfers,
        Self::Blocks,
        Self::Hashes,
        Self::State,
        Self::Replay,
        Self::Index,
        Self::Lake,
        Self::Info,
    ];

    /// The action that a source without it cannot do, after "cannot".
    const fn action(self) -> &'static str {
        match self {
            Self::Transfers => "list transfers",
            Self::Blocks => "read whole blocks with their logs",
            Self::Hashes => "find transaction hashes",
            Self::State => "read accounts and storage of past blocks",
            Self::Replay => "replay transactions",
            Self::Index => "be indexed",
            Self::Lake => "be stored as a lake",
            Self::Info => "describe the data of a node",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// As in "the source cannot …".
impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.action())
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// Whether the set contains a capability.
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// The set with one more capability.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// Its capabilities, in the order of [`Capability::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        let all = Capability::ALL.iter().copied();
        all.filter(move |capability| self.contains(*capability))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        capabilities.into_iter().fold(Self::default(), Self::with)
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_contain_what_was_added() {
        let none = Capabilities::default();
        for (at, capability) in Capability::ALL.iter().enumerate() {
            assert!(!none.contains(*capability));
            let some: Capabilities = Capability::ALL[..at].iter().copied().collect();
            assert!(!some.contains(*capability));
            assert!(some.with(*capability).contains(*capability));
            assert_eq!(some.iter().collect::<Vec<_>>(), Capability::ALL[..at]);
        }
    }
}
