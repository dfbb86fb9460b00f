//! Several sources of one chain as one source.
//!
//! Each block is answered by one source, the first that has it. The hash of the last block of
//! every segment is compared in all sources that know it, and adjacent segments are linked by
//! parent hash, so that a result is of one branch. See [`plan`] and [`read`].

mod plan;
mod read;

#[cfg(feature = "rpc")]
pub(crate) use plan::Seam;
pub(crate) use plan::{JoinedTransfers, Member};

use super::backend::Backend;
use crate::{Capabilities, Error, ErrorKind, ProtectedPaths, Result, SourceSpec};
use txgraph_transfers::{BlockRange, ChainInfo, TransferFilter, TransferSource};

/// Sources of one chain, in the order in which they are asked.
#[derive(Debug)]
pub(crate) struct Joined {
    parts: Vec<(SourceSpec, Box<dyn Backend>)>,
    chain: ChainInfo,
}

impl Joined {
    /// Joins open sources.
    ///
    /// # Errors
    ///
    /// If they belong to different chains.
    pub(crate) fn new(parts: Vec<(SourceSpec, Box<dyn Backend>)>) -> Result<Self> {
        let mut chain: Option<(ChainInfo, &SourceSpec)> = None;
        for (spec, part) in &parts {
            let found = part.chain()?;
            let Some((known, first)) = &mut chain else {
                chain = Some((found.clone(), spec));
                continue;
            };
            same_chain((found, spec), (known, first))?;
            if known.genesis_hash.is_zero() {
                *known = found.clone();
            }
        }
        let chain = chain.map(|(chain, _)| chain);
        let chain = chain.ok_or_else(|| Error::usage("no source is named"))?;
        Ok(Self { parts, chain })
    }
}

impl Backend for Joined {
    /// The capabilities for transfers that all of the sources have.
    fn capabilities(&self) -> Capabilities {
        use crate::Capability as C;
        let common = [C::Transfers, C::Hashes].into_iter();
        common
            .filter(|one| {
                self.parts
                    .iter()
                    .all(|(_, part)| part.capabilities().contains(*one))
            })
            .collect()
    }

    fn chain(&self) -> Result<&ChainInfo> {
        Ok(&self.chain)
    }

    /// A node among the sources replays its blocks.
    fn has_internal(&self) -> bool {
        let replays = |part: &dyn Backend| part.capabilities().contains(super::Capability::Replay);
        let has = |part: &dyn Backend| part.has_internal() || replays(part);
        self.parts.iter().all(|(_, part)| has(part.as_ref()))
    }

    fn why_no_internal(&self) -> Option<String> {
        let mut lacking = self.parts.iter().filter(|(_, part)| {
            !part.has_internal() && !part.capabilities().contains(super::Capability::Replay)
        });
        lacking.find_map(|(spec, part)| Some(format!("{spec}: {}", part.why_no_internal()?)))
    }

    fn tip(&self) -> Result<u64> {
        let tips: Result<Vec<u64>> = self.parts.iter().map(|(_, part)| part.tip()).collect();
        Ok(tips?.into_iter().max().unwrap_or_default())
    }

    fn default_range(&self) -> Result<BlockRange> {
        let parts = self.parts.iter().map(|(_, part)| part.default_range());
        let parts: Vec<BlockRange> = parts.collect::<Result<_>>()?;
        let all = parts.into_iter().reduce(|one, other| {
            BlockRange::from_to(one.first.min(other.first), one.last.max(other.last))
        });
        all.ok_or_else(|| Error::usage("no source is named"))
    }

    /// Returns the time of a block from the first source that has it.
    fn block_time(&self, block: u64) -> Result<Option<u64>> {
        for (_, part) in &self.parts {
            match part.block_time(block) {
                Ok(None) => {}
                Err(error) if error.kind == ErrorKind::Unavailable => {}
                time => return time,
            }
        }
        Ok(None)
    }

    fn transfers(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        let members = self.parts.iter().map(|(spec, part)| {
            Ok(Member {
                name: spec.to_string(),
                source: part.transfers(filter)?,
            })
        });
        Ok(Box::new(JoinedTransfers::new(
            &self.chain,
            members.collect::<Result<_>>()?,
            None,
        )))
    }

    fn protected_paths(&self) -> ProtectedPaths {
        let mut all = ProtectedPaths::default();
        for (_, part) in &self.parts {
            all.add(&part.protected_paths());
        }
        all
    }
}

/// Checks that two sources are of one chain, as far as they know.
///
/// # Errors
///
/// If their chain ids, or the hashes of their first blocks, differ.
pub(crate) fn same_chain(
    (one, spec): (&ChainInfo, &SourceSpec),
    (other, first): (&ChainInfo, &SourceSpec),
) -> Result<()> {
    if one.contradicts(other) {
        return Err(Error::usage(format!(
            "{spec} belongs to chain {} ({}), but {first} to chain {} ({})",
            one.chain_id, one.genesis_hash, other.chain_id, other.genesis_hash
        )));
    }
    Ok(())
}
