//! Symbols and decimals of tokens: from lists, from the table of well-known tokens, else from what
//! the contracts claim on the state of the node.

use crate::{Capability, Error, Result, Source, files::read_list};
use alloy_primitives::Address;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use txgraph_export::{CounterfeitToken, TokenList};
use txgraph_transfers::{BlockRanges, StateUsed};

/// The columns of transfers with names of tokens.
pub(super) const TOKEN_COLUMNS: [&str; 3] = ["amount", "symbol", "decimals"];

/// The columns of transfers with names of addresses.
pub(super) const LABEL_COLUMNS: [&str; 2] = ["from_label", "to_label"];

/// Tokens of a graph that are asked. More are not readable in a picture.
pub(super) const ASKED_MAX: usize = 2_000;

/// Where the symbols of a result come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSources {
    /// Tokens whose symbol is only their own claim.
    pub claims: u64,
    /// Claims that look like a well-known token at another address. They are written with a
    /// question mark.
    pub counterfeits: Vec<CounterfeitToken>,
    /// The state in which tokens were asked, if any were.
    pub state: Option<StateUsed>,
    /// The names that the tokens that were asked give themselves.
    pub names: BTreeMap<Address, String>,
}

impl TokenSources {
    /// Adds the sources of more tokens.
    pub(super) fn add(&mut self, other: Self) {
        self.claims += other.claims;
        self.counterfeits.extend(other.counterfeits);
        self.state = self.state.or(other.state);
        self.names.extend(other.names);
    }
}

impl Source {
    /// The token lists at some paths, else the configured one.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or two of them disagree about the decimals of a token.
    pub fn token_list(&self, paths: &[impl AsRef<Path>]) -> Result<Option<TokenList>> {
        let configured = self.config.token_list.as_deref();
        let paths: Vec<&Path> = if paths.is_empty() {
            configured.into_iter().collect()
        } else {
            paths.iter().map(AsRef::as_ref).collect()
        };
        let mut all: Option<TokenList> = None;
        for path in paths {
            let list = TokenList::parse(&read_list(path)?);
            let list = list.map_err(|reason| Error::usage(reason).at(path.display()))?;
            match &mut all {
                None => all = Some(list),
                Some(all) => all.merge(list).map_err(|reason| {
                    Error::usage(format!("two token lists disagree: {reason}")).at(path.display())
                })?,
            }
        }
        Ok(all)
    }

    /// Adds to a list what tokens claim that it does not know, in the state after the last of some
    /// blocks, if the source has it. Marks claims that look like a well-known token at another
    /// address. A result is complete without names, so tokens that cannot be asked stay unknown.
    ///
    /// # Errors
    ///
    /// If the chain is not known, or the caller asked to stop.
    pub fn name_tokens(
        &self,
        list: &mut TokenList,
        tokens: impl IntoIterator<Item = Address>,
        blocks: &BlockRanges,
    ) -> Result<TokenSources> {
        let chain_id = self.chain()?.chain_id;
        let all: BTreeSet<Address> = tokens.into_iter().collect();
        let unknown: Vec<Address> = (all.iter().copied())
            .filter(|token| list.is_unknown(chain_id, *token))
            .collect();
        let asks = !unknown.is_empty() && self.capabilities().contains(Capability::State);
        let state = asks.then(|| self.state_of(blocks));
        let names = match state.and_then(|state| state.block) {
            Some(block) => self.claims(list, unknown, block)?,
            None => BTreeMap::new(),
        };
        let mut counterfeits = list.mark_counterfeits(chain_id);
        counterfeits.retain(|it| all.contains(&it.address));
        let claims = all.iter().filter(|token| {
            list.is_claim(chain_id, **token) && list.symbol(chain_id, **token).is_some()
        });
        Ok(TokenSources {
            claims: claims.count() as u64,
            counterfeits,
            state,
            names,
        })
    }

    /// Adds what tokens claim to a list. Returns their names.
    fn claims(
        &self,
        list: &mut TokenList,
        tokens: Vec<Address>,
        block: u64,
    ) -> Result<BTreeMap<Address, String>> {
        let mut all = BTreeMap::new();
        match self.tokens(tokens).block(block).run() {
            Ok(names) => {
                for (token, names) in names {
                    let (symbol, decimals) = (names.symbol, names.decimals);
                    list.claim(token, txgraph_export::ClaimedMetadata { symbol, decimals });
                    all.extend(names.name.map(|name| (token, name)));
                }
            }
            Err(error) if error.kind == crate::ErrorKind::Interrupted => return Err(error),
            Err(error) => tracing::debug!("tokens are not asked for their symbols: {error}"),
        }
        Ok(all)
    }
}
