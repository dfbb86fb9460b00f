//! Checkpoints of the node's stages and of its pruner.

use crate::{
    Layout, Result, Snapshot,
    compact::{Flags, Malformed, Reader},
    escape::escaped,
    tables::{self, Table},
};
use alloy_primitives::hex;
use serde::Serialize;

/// A row of `StageCheckpoints`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageCheckpoint {
    /// The name of the stage, e.g. `Execution`.
    pub stage: String,
    /// The last block that it has processed.
    pub block: u64,
}

/// A row of `PruneCheckpoints`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PruneCheckpoint {
    /// The pruned segment, e.g. `Receipts`.
    pub segment: String,
    /// The highest pruned block.
    pub block: Option<u64>,
    /// The highest pruned transaction number.
    pub tx: Option<u64>,
    /// The prune mode: `full`, `distance N` or `before N`.
    pub mode: String,
}

/// The numbers of the prune segments that are used here
/// (`crates/prune/types/src/segment.rs` of reth).
#[derive(Clone, Copy, Debug)]
pub(crate) enum PruneSegment {
    Receipts = 2,
    ContractLogs = 3,
    AccountHistory = 4,
    StorageHistory = 5,
    TransactionsBefore2 = 7,
    Bodies = 9,
}

const PRUNE_SEGMENTS: [&str; 10] = [
    "SenderRecovery",
    "TransactionLookup",
    "Receipts",
    "ContractLogs",
    "AccountHistory",
    "StorageHistory",
    "Headers",
    "Transactions",
    "MerkleChangeSets",
    "Bodies",
];

/// The variant of the stage data of `Finish` (`StageUnitCheckpoint::Finish` of reth). Since reth
/// 2.6.0 its content is the block of the stored state.
const FINISH_DATA: u8 = 7;

/// Decodes the checkpoint of stage `Finish`: the last block whose state is in the hashed tables,
/// or what is not understood.
fn finish_state(value: &[u8]) -> Result<Result<u64, String>, Malformed> {
    let (block, data) = tables::stage_checkpoint(value)?;
    Ok(match data {
        None => Ok(block),
        Some([FINISH_DATA, content @ ..]) => match finish_data(content) {
            Ok(None) => Ok(block),
            Ok(Some(state)) if state <= block => Ok(state),
            Ok(Some(state)) => Err(format!(
                "is at block {block}, its state at the later block {state}"
            )),
            Err(what) => Err(format!("has data of a later version of reth: {what}")),
        },
        Some(data) => Err(format!(
            "has data of an unknown kind ({})",
            hex::encode(data)
        )),
    })
}

/// Decodes `FinishCheckpoint` of reth: `partial_state_trie`.
fn finish_data(content: &[u8]) -> Result<Option<u64>, Malformed> {
    let mut reader = Reader::new(content);
    let mut flags = Flags::read(&mut reader, 1)?;
    let has_state = flags.flag();
    flags.finish()?;
    let state = reader.optional_u64(has_state)?;
    reader.finish()?;
    Ok(state)
}

/// Decodes block, transaction and mode of a prune checkpoint.
fn prune_checkpoint(value: &[u8]) -> Result<(Option<u64>, Option<u64>, String), Malformed> {
    let mut reader = Reader::new(value);
    let mut flags = Flags::read(&mut reader, 1)?;
    let (has_block, has_tx) = (flags.flag(), flags.flag());
    let block = reader.optional_u64(has_block)?;
    let tx = reader.optional_u64(has_tx)?;
    let variant = reader.byte()?;
    let number = reader.rest().len();
    let number = reader.u64(number)?;
    let mode = match variant {
        0 => "full".to_owned(),
        1 => format!("distance {number}"),
        2 => format!("before {number}"),
        other => format!("unknown mode {other}"),
    };
    Ok((block, tx, mode))
}

impl Snapshot<'_> {
    /// Returns all stage checkpoints, by name.
    pub fn stage_checkpoints(&self) -> Result<Vec<StageCheckpoint>> {
        let mut rows = self.txn.walk_from(Table::StageCheckpoints, &[])?;
        let mut found = Vec::new();
        while let Some((key, value)) = rows.next()? {
            let stage = escaped(&String::from_utf8_lossy(key));
            let (block, _) = tables::stage_checkpoint(value)
                .map_err(|what| self.bad_row(Table::StageCheckpoints, &stage, what))?;
            found.push(StageCheckpoint { stage, block });
        }
        Ok(found)
    }

    /// Returns the last block whose state is in the hashed tables, or what is not understood.
    pub(crate) fn finish_state(&self) -> Result<Result<u64, String>> {
        match self.txn.get(Table::StageCheckpoints, b"Finish")? {
            Some(value) => finish_state(value)
                .map_err(|what| self.bad_row(Table::StageCheckpoints, "Finish", what)),
            None => Ok(Ok(self.tip())),
        }
    }

    /// Returns the last block whose state is in the tables of current state. In layout v1 this
    /// is the tip. In v2 a node may store the state of its newest blocks later, and leaves out
    /// what these blocks change again: `docs/node-state.md`.
    pub fn state_block(&self) -> Result<u64> {
        let state = match self.layout()? {
            Layout::V1 => return Ok(self.tip()),
            Layout::V2 => self.finish_state()?,
        };
        state.map_err(|_| {
            self.bad_row(
                Table::StageCheckpoints,
                "Finish",
                "the block of the stored state is not known",
            )
        })
    }

    /// Returns the block of a stage checkpoint.
    pub(crate) fn stage(&self, name: &str) -> Result<Option<u64>> {
        let Some(value) = self.txn.get(Table::StageCheckpoints, name.as_bytes())? else {
            return Ok(None);
        };
        let (block, _) = tables::stage_checkpoint(value)
            .map_err(|what| self.bad_row(Table::StageCheckpoints, name, what))?;
        Ok(Some(block))
    }

    /// Returns all prune checkpoints, in the order of their segments.
    pub fn prune_checkpoints(&self) -> Result<Vec<PruneCheckpoint>> {
        let mut rows = self.txn.walk_from(Table::PruneCheckpoints, &[])?;
        let mut found = Vec::new();
        while let Some((key, value)) = rows.next()? {
            let segment = match key {
                [number] => match PRUNE_SEGMENTS.get(usize::from(*number)) {
                    Some(name) => (*name).to_owned(),
                    None => format!("segment {number}"),
                },
                _ => {
                    return Err(self.bad_row(
                        Table::PruneCheckpoints,
                        "(unknown)",
                        "a key is not one byte long",
                    ));
                }
            };
            let (block, tx, mode) = prune_checkpoint(value)
                .map_err(|what| self.bad_row(Table::PruneCheckpoints, &segment, what))?;
            found.push(PruneCheckpoint {
                segment,
                block,
                tx,
                mode,
            });
        }
        Ok(found)
    }

    /// Returns the highest pruned block of a segment.
    pub(crate) fn pruned_to(&self, segment: PruneSegment) -> Result<Option<u64>> {
        let Some(value) = self.txn.get(Table::PruneCheckpoints, &[segment as u8])? else {
            return Ok(None);
        };
        let (block, ..) = prune_checkpoint(value).map_err(|what| {
            self.bad_row(
                Table::PruneCheckpoints,
                PRUNE_SEGMENTS[segment as usize],
                what,
            )
        })?;
        Ok(block)
    }
}

/// See [`crate::fuzzing`].
pub(crate) fn fuzz(bytes: &[u8]) {
    let _ = prune_checkpoint(bytes);
    let _ = finish_state(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_a_checkpoint_of_a_real_node() {
        assert_eq!(
            prune_checkpoint(&hex!("03 02 03e7 02 0407 01 012c")),
            Ok((Some(999), Some(1031), "distance 300".into()))
        );
        assert_eq!(prune_checkpoint(&[0, 0]), Ok((None, None, "full".into())));
        assert!(prune_checkpoint(&[]).is_err());
        assert!(prune_checkpoint(&[3, 9]).is_err());
    }

    #[test]
    fn decodes_the_block_of_the_stored_state() {
        let state = |row: &[u8]| finish_state(row).unwrap();
        // Rows of reth without and with partial persistence.
        assert_eq!(state(&hex!("01 7e")), Ok(126));
        assert_eq!(state(&hex!("11 7e 04 07 01 01 60")), Ok(96));
        assert_eq!(state(&hex!("11 7e 02 07 00")), Ok(126));
        let unknown: [&[u8]; 4] = [
            &hex!("11 7e 04 07 01 01 7f"),
            &hex!("11 7e 05 07 01 01 60 00"),
            &hex!("11 7e 02 07 02"),
            &hex!("11 7e 02 08 00"),
        ];
        for row in unknown {
            assert!(state(row).is_err(), "{}", hex::encode(row));
        }
    }
}
