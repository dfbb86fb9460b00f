//! Short names of addresses, different for all addresses of a result.

use std::collections::{BTreeMap, BTreeSet};
use txgraph::{Address, short_addresses};

/// How the addresses of a result are named.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By address.
    short: BTreeMap<Address, String>,
    /// Names that only one address has.
    unique: BTreeSet<String>,
}

impl Names {
    /// Takes every address of a result, with its label or symbol if it has one.
    pub(crate) fn new(addresses: impl Iterator<Item = (Address, Option<String>)>) -> Self {
        let mut owners: BTreeMap<String, BTreeSet<Address>> = BTreeMap::new();
        let mut all = BTreeSet::new();
        for (address, name) in addresses {
            all.insert(address);
            if let Some(name) = name {
                owners.entry(name).or_default().insert(address);
            }
        }
        let all: Vec<Address> = all.into_iter().collect();
        let short = short_addresses(&all);
        let unique = owners.into_iter().filter(|(_, owners)| owners.len() == 1);
        Self {
            short: all.into_iter().zip(short).collect(),
            unique: unique.map(|(name, _)| name).collect(),
        }
    }

    /// Whether no other address has this name.
    pub(crate) fn is_unique(&self, name: &str) -> bool {
        self.unique.contains(name)
    }

    /// The address, after its name if it has one. `alone`: only its name, unless another address
    /// has the same.
    pub(crate) fn text(
        &self,
        address: Address,
        name: Option<&str>,
        alone: bool,
        is_short: bool,
    ) -> String {
        let digits = match self.short.get(&address) {
            Some(short) if is_short => short.clone(),
            _ => address.to_checksum(None),
        };
        match name {
            Some(name) if alone && self.is_unique(name) => name.to_owned(),
            Some(name) => format!("{name} {digits}"),
            None => digits,
        }
    }
}
