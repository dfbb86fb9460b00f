//! Who signed the transfers of routes. Any contract can log a transfer of any address.

use super::{branch_ends::Account, search::PreparedSearch};
use crate::{ErrorKind, Result, Source};
use alloy_primitives::Address;
use std::collections::BTreeMap;
use txgraph_graph::{Route, TransferPaths};
use txgraph_transfers::{Position, Transfer};

/// The transfers of tokens that other accounts signed than their senders, which are no contracts.
#[derive(Clone, Debug, Default)]
pub struct OtherSigners(BTreeMap<Position, Address>);

impl OtherSigners {
    /// Sentences on the transfers of a route that other accounts signed.
    pub fn remarks(&self, route: &Route) -> Vec<String> {
        let steps = (1..).zip(&route.transfers);
        let signed = steps.filter_map(|(number, it)| Some((number, self.0.get(&it.position())?)));
        let remark = |(number, signer): (u32, &Address)| {
            format!(
                "transfer {number} was signed by {signer}, not by its sender: an approval allowed it, or \
                 the contract of the token only claims it"
            )
        };
        signed.map(remark).collect()
    }
}

impl PreparedSearch<'_> {
    /// Finds the transfers of routes that other accounts signed than their senders. None, if the source
    /// does not say who signed, or which accounts are contracts.
    ///
    /// # Errors
    ///
    /// If the caller asked to stop.
    pub fn other_signers(&self, found: &TransferPaths) -> Result<OtherSigners> {
        let source = self.source;
        let routes = found.shortest.iter().chain(&found.earliest);
        let tokens = routes
            .flat_map(|route| &route.transfers)
            .filter(|it| it.token_address.is_some() && !it.from_address.is_zero());
        let tokens: BTreeMap<Position, &Transfer> = tokens.map(|it| (it.position(), it)).collect();
        let signers = source.initiators(tokens.values().copied());
        let signers = unless_interrupted(signers)?;
        let mut others = BTreeMap::new();
        for (position, it) in tokens {
            if let Some(signer) = signers.get(&it.transaction())
                && *signer != it.from_address
                && is_account(source, it)?
            {
                others.insert(position, *signer);
            }
        }
        Ok(OtherSigners(others))
    }
}

/// Whether the sender of a transfer is an account after the block, without code before it and after it. A
/// contract that lives for one transaction is none afterwards.
fn is_account(source: &Source, it: &Transfer) -> Result<bool> {
    let block = it.block_number;
    for (last, is_after) in [(block.saturating_sub(1), false), (block, true)] {
        let Some(state) = source.state_block(last) else {
            return Ok(false);
        };
        let found = source.accounts_among(&[it.from_address], Some(state));
        let found = unless_interrupted(found)?.unwrap_or_default();
        let is_account = |it: &Account| !it.is_contract && (it.exists || !is_after);
        if !found.iter().any(is_account) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Nothing instead of an error: routes are complete without signers.
fn unless_interrupted<T: Default>(result: Result<T>) -> Result<T> {
    match result {
        Err(error) if error.kind != ErrorKind::Interrupted => Ok(T::default()),
        result => result,
    }
}
