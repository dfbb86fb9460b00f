//! Names of tokens: asked once, then cached.

use crate::{Capability, Error, ErrorKind, Result, Source};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// The metadata that a token returns, sanitized. A call that failed is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenNames {
    /// `name()`.
    pub name: Option<String>,
    /// `symbol()`.
    pub symbol: Option<String>,
    /// `decimals()`.
    pub decimals: Option<u8>,
}

/// Asks tokens for name, symbol and decimals. See [`Source::tokens`].
#[derive(Clone, Debug)]
#[must_use = "tokens are asked by `run`"]
pub struct Tokens<'s> {
    source: &'s Source,
    tokens: Vec<Address>,
    block: Option<u64>,
    refresh: bool,
}

impl Source {
    /// Asks a token for its name, symbol and decimals.
    pub fn token(&self, token: Address) -> Tokens<'_> {
        self.tokens([token])
    }

    /// Asks tokens for their names, symbols and decimals.
    pub fn tokens(&self, tokens: impl IntoIterator<Item = Address>) -> Tokens<'_> {
        Tokens {
            source: self,
            tokens: tokens.into_iter().collect(),
            block: None,
            refresh: false,
        }
    }
}

impl Tokens<'_> {
    /// Asks at the end of this block; default: the newest with a state.
    pub const fn block(mut self, block: u64) -> Self {
        self.block = Some(block);
        self
    }

    /// Asks again, even if the result is cached.
    pub const fn refresh(mut self) -> Self {
        self.refresh = true;
        self
    }

    /// Asks the tokens. Answers at the newest block are cached for each chain, because
    /// tokens hardly ever change them.
    ///
    /// # Errors
    ///
    /// If there is no token, or no such state.
    pub fn run(mut self) -> Result<BTreeMap<Address, TokenNames>> {
        if self.tokens.is_empty() {
            return Err(Error::usage("name at least one token by its address"));
        }
        self.source.require(Capability::State)?;
        self.tokens.sort_unstable();
        let cache = self.cache()?;
        let mut known = match &cache {
            Some(path) if !self.refresh => read(path),
            _ => BTreeMap::new(),
        };
        let tokens = self.tokens.iter().copied();
        let unknown: Vec<Address> = tokens.filter(|token| !known.contains_key(token)).collect();
        if !unknown.is_empty() {
            known.extend(self.ask(&unknown)?);
            if let Some(path) = &cache {
                // A contract without names may have some later, or may not exist yet.
                let named = known.iter();
                let named = named.filter(|(_, names)| **names != TokenNames::default());
                let named = named
                    .map(|(token, names)| (*token, names.clone()))
                    .collect();
                // The result is correct even if it cannot be cached.
                if let Err(error) = write(path, &named) {
                    tracing::warn!(
                        "names of tokens are not cached: {}: {error}",
                        path.display()
                    );
                }
            }
        }
        known.retain(|token, _| self.tokens.binary_search(token).is_ok());
        Ok(known)
    }

    /// The file with cached answers: not for past blocks, and not inside the data directory.
    fn cache(&self) -> Result<Option<PathBuf>> {
        let source = self.source;
        let Some(folder) = &source.config.cache else {
            return Ok(None);
        };
        if self.block.is_some() || source.protected_paths().check(folder).is_err() {
            return Ok(None);
        }
        let chain = source.chain()?;
        let name = format!("{}-{}.json", chain.chain_id, chain.genesis_hash);
        Ok(Some(folder.join("txgraph/tokens").join(name)))
    }

    fn ask(&self, tokens: &[Address]) -> Result<BTreeMap<Address, TokenNames>> {
        let node = self.source.node(Capability::State)?;
        let rules = node.rules_for_calls()?;
        let (_, metadata) = node.at_end_with(rules, self.block, |replayer, block| {
            replayer.token_metadata(tokens, block)
        })?;
        let names = metadata.into_iter().map(|answer| TokenNames {
            name: answer.name,
            symbol: answer.symbol,
            decimals: answer.decimals,
        });
        Ok(tokens.iter().copied().zip(names).collect())
    }
}

/// Reads cached answers; none if the file cannot be read.
fn read(path: &Path) -> BTreeMap<Address, TokenNames> {
    let Ok(text) = fs::read(path) else {
        return BTreeMap::new();
    };
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!("{}: {error}; asking the tokens again", path.display());
        BTreeMap::new()
    })
}

fn write(path: &Path, known: &BTreeMap<Address, TokenNames>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error| Error::io(path, error);
    fs::create_dir_all(folder).map_err(failed)?;
    let text = serde_json::to_vec(known)
        .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
    // Atomic, because two processes can write it at the same time.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(&text).map_err(failed)?;
    let kept = file.persist(path);
    kept.map(drop).map_err(|error| failed(error.error))
}
