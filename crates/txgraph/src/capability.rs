//! The capabilities of a source.

use std::fmt;
use txgraph_base::string_enum;

string_enum! {
    /// Something that a source may or may not be able to do. Its word is as in "the source cannot …".
    #[non_exhaustive]
    pub enum Capability: "capability" {
        /// Lists the transfers of blocks.
        Transfers = "list transfers",
        /// Contains headers and whole blocks.
        Blocks = "read whole blocks with their logs",
        /// Knows the hash of the transaction of each transfer.
        Hashes = "find transaction hashes",
        /// Knows accounts and storage after past blocks.
        State = "read accounts and storage of past blocks",
        /// Executes past transactions, for transfers inside of them and for traces.
        Replay = "replay transactions",
        /// Can be indexed, and answers from an index.
        Index = "be indexed",
        /// Can be stored as a lake.
        Lake = "be stored as a lake",
        /// Describes the data of a node.
        Info = "describe the data of a node",
    }
}

impl Capability {
    const fn bit(self) -> u8 {
        1 << self as u8
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
