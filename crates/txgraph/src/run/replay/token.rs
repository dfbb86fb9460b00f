//! What tokens say of themselves: asked once, then remembered.

use super::{Node, at_end_of};
use crate::{Checksum, Error, ErrorKind, Result, lists};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, io::Write, path::Path};

/// What a token says of itself, sanitised; absent is what it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenNames {
    /// `name()`.
    pub name: Option<String>,
    /// `symbol()`.
    pub symbol: Option<String>,
    /// `decimals()`.
    pub decimals: Option<u8>,
}

/// Asks tokens for name, symbol and decimals, at the end of `block` or of the newest with
/// a state. Answers of now are kept below the cache, by chain: tokens hardly ever change
/// them, and `refresh` asks again.
pub fn token_metadata(
    node: &Node,
    tokens: &[String],
    block: Option<u64>,
    refresh: bool,
) -> Result<BTreeMap<Address, TokenNames>> {
    let mut wanted = lists::addresses(tokens, Checksum::Verify)?;
    if wanted.is_empty() {
        return Err(Error::usage("name at least one token by its address"));
    }
    wanted.sort_unstable();
    // What a token said in the past is not what it says.
    let cache = match (block, &node.config.cache) {
        (None, Some(folder)) if node.protected.check(folder).is_ok() => {
            let chain = node.chain()?;
            let name = format!("{}-{}.json", chain.chain_id, chain.genesis_hash);
            Some(folder.join("txgraph/tokens").join(name))
        }
        _ => None,
    };
    let mut known = match &cache {
        Some(path) if !refresh => remembered(path),
        _ => BTreeMap::new(),
    };
    let unknown: Vec<Address> = wanted
        .iter()
        .filter(|token| !known.contains_key(*token))
        .copied()
        .collect();
    if !unknown.is_empty() {
        known.extend(ask(node, &unknown, block)?);
        if let Some(path) = &cache {
            // An answer that could not be kept is an answer all the same.
            if let Err(error) = remember(path, &known) {
                tracing::warn!("names of tokens are not kept: {}: {error}", path.display());
            }
        }
    }
    known.retain(|token, _| wanted.binary_search(token).is_ok());
    Ok(known)
}

fn ask(
    node: &Node,
    tokens: &[Address],
    block: Option<u64>,
) -> Result<BTreeMap<Address, TokenNames>> {
    let (_, metadata) = at_end_of(node, block, |replayer, block| {
        replayer.token_metadata(tokens, block)
    })?;
    let names = metadata.into_iter().map(|said| TokenNames {
        name: said.name,
        symbol: said.symbol,
        decimals: said.decimals,
    });
    Ok(tokens.iter().copied().zip(names).collect())
}

/// What was asked before; nothing if that cannot be read: it is only a cache.
fn remembered(path: &Path) -> BTreeMap<Address, TokenNames> {
    let Ok(text) = fs::read(path) else {
        return BTreeMap::new();
    };
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!("{}: {error}; asking the tokens again", path.display());
        BTreeMap::new()
    })
}

fn remember(path: &Path, known: &BTreeMap<Address, TokenNames>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error| Error::io(path, error);
    fs::create_dir_all(folder).map_err(failed)?;
    let text = serde_json::to_vec(known)
        .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
    // Whole or not at all, also with two of us at work.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(&text).map_err(failed)?;
    let kept = file.persist(path);
    kept.map(drop).map_err(|error| failed(error.error))
}
