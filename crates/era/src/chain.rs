//! Identifies the chain of an archive.

use crate::error::{CONFIGURED, Error, Result};
use alloy_primitives::B256;
use std::path::Path;
use txgraph_base::KnownChain;
use txgraph_transfers::ChainInfo;

/// Networks that are not known by name are written as this, with the chain ID after it.
const UNNAMED: &str = "chain";

/// The network of a chain in file names.
pub(crate) fn network_of(chain: &ChainInfo) -> String {
    let known = KnownChain::by_genesis(&chain.genesis_hash);
    match known.and_then(|known| known.name) {
        Some(name) => name.to_lowercase().replace(' ', "-"),
        None => format!("{UNNAMED}{}", chain.chain_id),
    }
}

/// The known facts about the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    /// A file, for messages.
    pub(crate) path: &'a Path,
    /// The network in the file names.
    pub(crate) network: Option<&'a str>,
    /// The hash of block 0.
    pub(crate) genesis: Option<B256>,
    /// The chain ID in the signature of a transaction.
    pub(crate) signed: Option<u64>,
    /// The chain ID that the caller names.
    pub(crate) configured: Option<u64>,
}

const NAME: &str = "the file name";
const GENESIS: &str = "block 0";
const SIGNED: &str = "a transaction";

/// Identifies the chain. All facts must agree.
pub(crate) fn identify(facts: &Facts<'_>) -> Result<ChainInfo> {
    let named = facts.network.and_then(id_of_network);
    let known = facts.genesis.as_ref().and_then(KnownChain::by_genesis);
    // Anyone can start a development chain with the same block 0 and another chain ID.
    let public = known
        .filter(|known| known.name.is_some())
        .map(|known| known.id);
    let ids = [
        (CONFIGURED, facts.configured),
        (SIGNED, facts.signed),
        (GENESIS, public),
        (NAME, named),
    ];
    let mut ids = ids.into_iter().filter_map(|(fact, id)| Some((fact, id?)));
    let first = ids.next();
    if let (Some((first, first_id)), Some((second, second_id))) = (
        first,
        ids.find(|(_, id)| Some(*id) != first.map(|(_, id)| id)),
    ) {
        return Err(Error::ChainContradicts {
            path: facts.path.to_path_buf(),
            first,
            first_id,
            second,
            second_id,
        });
    }
    let id = first.map(|(_, id)| id).or(known.map(|known| known.id));
    let Some(chain_id) = id else {
        return Err(Error::UnknownChain {
            path: facts.path.to_path_buf(),
            network: facts.network.unwrap_or_default().to_owned(),
        });
    };
    let expected = KnownChain::by_id(chain_id)
        .filter(|chain| chain.name.is_some())
        .and_then(|chain| chain.genesis_hash);
    if let (Some(genesis), Some(expected), Some((fact, _))) = (facts.genesis, expected, first)
        && genesis != expected
    {
        return Err(Error::WrongGenesis {
            path: facts.path.to_path_buf(),
            chain_id,
            fact,
        });
    }
    let genesis_hash = facts.genesis.or(expected).unwrap_or_default();
    let name = KnownChain::by_genesis(&genesis_hash).and_then(|known| known.name);
    Ok(ChainInfo {
        chain_id,
        genesis_hash,
        name: name.map(str::to_owned),
    })
}

fn id_of_network(network: &str) -> Option<u64> {
    let known = KnownChain::ALL.iter().find(|chain| {
        let name = chain.name.map(|name| name.to_lowercase().replace(' ', "-"));
        name.as_deref() == Some(network)
    });
    let unnamed = || network.strip_prefix(UNNAMED)?.parse().ok();
    known.map(|chain| chain.id).or_else(unnamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts<'static> {
        Facts {
            path: Path::new("x.ere"),
            network: None,
            genesis: None,
            signed: None,
            configured: None,
        }
    }

    fn genesis(id: u64) -> Option<B256> {
        KnownChain::by_id(id).unwrap().genesis_hash
    }

    #[test]
    fn any_fact_identifies_a_known_chain() {
        let expected = ChainInfo {
            chain_id: 11_155_111,
            genesis_hash: genesis(11_155_111).unwrap(),
            name: Some("sepolia".to_owned()),
        };
        for facts in [
            Facts {
                network: Some("sepolia"),
                ..facts()
            },
            Facts {
                genesis: genesis(11_155_111),
                ..facts()
            },
            Facts {
                signed: Some(11_155_111),
                ..facts()
            },
            Facts {
                configured: Some(11_155_111),
                ..facts()
            },
        ] {
            let chain = identify(&facts).unwrap();
            assert_eq!(chain, expected, "{facts:?}");
            assert_eq!(network_of(&chain), "sepolia");
        }
    }

    #[test]
    fn unnamed_networks_have_their_id_in_the_name() {
        let chain = identify(&Facts {
            network: Some("chain77"),
            ..facts()
        })
        .unwrap();
        assert_eq!((chain.chain_id, chain.genesis_hash), (77, B256::ZERO));
        assert_eq!(network_of(&chain), "chain77");
    }

    #[test]
    fn development_chains_may_have_another_id() {
        let dev = genesis(1337);
        let chain = identify(&Facts {
            genesis: dev,
            ..facts()
        })
        .unwrap();
        assert_eq!((chain.chain_id, Some(chain.genesis_hash)), (1337, dev));
        let chain = identify(&Facts {
            genesis: dev,
            configured: Some(9),
            ..facts()
        })
        .unwrap();
        assert_eq!(chain.chain_id, 9);
    }

    #[test]
    fn contradictions_are_refused() {
        for facts in [
            Facts {
                network: Some("mainnet"),
                signed: Some(11_155_111),
                ..facts()
            },
            Facts {
                network: Some("mainnet"),
                configured: Some(5),
                ..facts()
            },
            Facts {
                network: Some("mainnet"),
                genesis: genesis(11_155_111),
                ..facts()
            },
            Facts {
                signed: Some(1),
                genesis: genesis(11_155_111),
                ..facts()
            },
        ] {
            let error = identify(&facts).unwrap_err();
            assert!(matches!(error, Error::ChainContradicts { .. }), "{error}");
        }
        let forged = Facts {
            network: Some("mainnet"),
            genesis: Some(B256::ZERO),
            ..facts()
        };
        let error = identify(&forged).unwrap_err();
        assert!(
            matches!(error, Error::WrongGenesis { chain_id: 1, .. }),
            "{error}"
        );
        let error = identify(&Facts {
            network: Some("x"),
            ..facts()
        })
        .unwrap_err();
        assert!(error.to_string().contains("`x`"), "{error}");
    }
}
