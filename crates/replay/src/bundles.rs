//! Bundles as the source of blocks and states, and as the record of a replay.

use crate::{
    BlockReplay, BlockSource, ChainRules, Error, FrameDetail, Genesis, Record, ReplayOptions,
    Replayer, Result, StateError, StateHistory, StoredBlock, StoredTransaction,
};
use alloy_primitives::B256;
use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use txgraph_base::KnownChain;
use txgraph_block::evm_transaction;
use txgraph_bundle::{Bundle, BundleState, BundledBlock, BundledChain, FlatState, Recorder};
use txgraph_evm::AccountChange;
use txgraph_nodedb::{BlockRange, Header, NodeDb, Parts, Scratch};
use txgraph_state::BlockChanges;

impl ChainRules {
    /// Returns the rules for a bundle: from a genesis file if one is given, else those known for
    /// its genesis hash or chain id, else those that the bundle contains.
    ///
    /// # Errors
    ///
    /// The genesis file cannot be read, or the rules are not known.
    pub fn of_bundle(bundle: &Bundle, chain_file: Option<&Path>) -> Result<Self> {
        if let Some(path) = chain_file {
            return Ok(Genesis::open(path)?.rules);
        }
        let BundledChain {
            id,
            genesis_hash,
            rules,
        } = *bundle.chain();
        let known = match genesis_hash {
            Some(hash) => Self::known(hash),
            // Development chains have no name, and share chain ids.
            None => (KnownChain::ALL.iter())
                .find(|chain| chain.id == id && chain.name.is_some())
                .and_then(|chain| Self::known(chain.genesis_hash?)),
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let header = &bundle.block().header;
        let rules = rules.map(|rules| {
            Self::of_block(id, genesis_hash.unwrap_or_default(), header.number, &rules)
        });
        rules.ok_or_else(|| Error::UnknownBundleChain {
            path: bundle.path().to_path_buf(),
            chain_id: id,
        })
    }
}

impl<'a> Replayer<'a, &'a Bundle, Bundle> {
    /// A replayer of the block of a bundle. The receipts root of the header stands for all receipts, which
    /// a bundle does not contain.
    ///
    /// # Errors
    ///
    /// As [`ChainRules::of_bundle`] and [`Self::new`].
    pub fn of_bundle(
        bundle: &'a Bundle,
        chain_file: Option<&Path>,
        mut options: ReplayOptions,
    ) -> Result<Self> {
        options.verify.receipts = false;
        let rules = ChainRules::of_bundle(bundle, chain_file)?;
        Self::new(rules, bundle, bundle, options)
    }
}

/// The one block of a bundle.
impl BlockSource for Bundle {
    fn check_chain(&self, rules: &ChainRules) -> Result<()> {
        let chain = self.chain();
        let path = || self.path().to_path_buf();
        if let Some(found) = chain.genesis_hash
            && found != rules.genesis_hash
        {
            return Err(Error::WrongChain {
                path: path(),
                found,
                expected: rules.genesis_hash,
            });
        }
        if chain.id != rules.chain_id {
            return Err(Error::WrongBundleChain {
                path: path(),
                found: chain.id,
                expected: rules.chain_id,
            });
        }
        Ok(())
    }

    fn header(&self, number: u64) -> Result<Header> {
        let block = self.block();
        if number != block.header.number {
            return Err(Error::NotInBundle {
                path: self.path().to_path_buf(),
                block: number,
                contained: block.header.number,
            });
        }
        Ok(Header {
            fields: block.header.clone(),
            hash: block.hash,
        })
    }

    /// The block was proven when the bundle was opened; its senders are recovered here.
    fn read(
        &self,
        blocks: BlockRange,
        _: &mut Scratch,
        _: bool,
        read: &mut Vec<StoredBlock>,
    ) -> Result<()> {
        for number in blocks.first..=blocks.last {
            let header = self.header(number)?;
            read.push(stored(self.block(), header).map_err(|index| {
                let block = number;
                Error::Unsigned { block, index }
            })?);
        }
        Ok(())
    }
}

/// Fails with the index of a transaction without a signer.
fn stored(block: &BundledBlock, header: Header) -> Result<StoredBlock, usize> {
    let transactions = block.transactions.iter().zip(block.senders()?);
    let ommers = block.ommers.iter();
    let withdrawals = block.withdrawals.iter();
    Ok(StoredBlock {
        header,
        transactions: transactions
            .map(|(signed, sender)| StoredTransaction {
                hash: *signed.tx_hash(),
                transaction: evm_transaction(signed, sender),
            })
            .collect(),
        ommers: ommers
            .map(|ommer| Header {
                fields: ommer.clone(),
                hash: ommer.hash_slow(),
            })
            .collect(),
        withdrawals: withdrawals.copied().collect(),
        receipts: None,
    })
}

/// The state before the one block of a bundle.
impl StateHistory for Bundle {
    type At<'a> = BundleState<'a>;

    fn at(&self, block: u64) -> Result<BundleState<'_>, StateError> {
        let contained = self.block().header.number;
        if block.checked_add(1) != Some(contained) {
            return Err(Error::NotInBundle {
                path: self.path().to_path_buf(),
                block: block.saturating_add(1),
                contained,
            }
            .into());
        }
        Ok(self.state())
    }

    fn changes(&self, _: u64, _: B256) -> Result<Option<BlockChanges>, StateError> {
        Ok(None)
    }

    fn state_root_after(
        &self,
        _: u64,
        changes: &[AccountChange],
    ) -> Result<Option<B256>, StateError> {
        match self.is_witness() {
            true => Ok(Some(Bundle::state_root_after(self, changes)?)),
            false => Ok(None),
        }
    }
}

/// A history that records what is read of one state.
#[derive(Debug)]
struct Recording<'h, H> {
    history: &'h H,
    record: Arc<Mutex<FlatState>>,
}

impl<H: StateHistory> StateHistory for Recording<'_, H> {
    type At<'a>
        = Recorder<H::At<'a>>
    where
        Self: 'a;

    fn at(&self, block: u64) -> Result<Self::At<'_>, StateError> {
        let state = self.history.at(block)?;
        Ok(Recorder::new(state, Arc::clone(&self.record)))
    }

    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError> {
        self.history.changes(block, hash)
    }
}

/// A replayed block with everything that its bundle contains.
#[derive(Debug)]
pub struct RecordedBlock {
    /// The replay, compared with what the node stored.
    pub replay: BlockReplay,
    /// The chain, with the rules of the block.
    pub chain: BundledChain,
    /// The block.
    pub block: BundledBlock,
    /// The state that the execution read.
    pub state: FlatState,
}

impl<H: StateHistory> Replayer<'_, H> {
    /// Replays a block and records what it reads, for a bundle.
    ///
    /// Records as much as any output of a replay needs, also the former code of accounts that
    /// changed. Blocks share no code, because code that an earlier block has read would be absent
    /// from the record of a later one.
    pub fn record(&self, number: u64) -> Result<RecordedBlock> {
        let block = bundled(self.blocks, number)?;
        let record = Arc::default();
        let history = Recording {
            history: &self.history,
            record: Arc::clone(&record),
        };
        let mut options = self.options.clone();
        options.record = Record {
            frames: Some(FrameDetail::Calls),
            transitions: true,
            ..Record::default()
        };
        let replayer = Replayer::new(self.rules.clone(), self.blocks, history, options)?;
        let replay = replayer.block(number)?;
        if replay.hash != block.hash {
            return Err(Error::Replaced { block: number });
        }
        let header = self.blocks.snapshot()?.header(number)?;
        let mut state = record.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(RecordedBlock {
            replay,
            chain: BundledChain {
                id: self.rules.chain_id,
                genesis_hash: Some(self.rules.genesis_hash),
                rules: Some(self.rules.at(&header)),
            },
            block,
            state: std::mem::take(&mut *state),
        })
    }
}

/// Reads a block with its signed transactions.
fn bundled(db: &NodeDb, number: u64) -> Result<BundledBlock> {
    let range = BlockRange::one(number);
    let parts = Parts {
        headers: true,
        receipts: false,
        transactions: true,
        senders: false,
        withdrawals: true,
    };
    let mut read = None;
    let snapshot = db.snapshot()?;
    snapshot.for_each_block(range, parts, &mut Scratch::default(), &mut |block| {
        let header = block.check_header()?.clone();
        let count = u32::try_from(block.body.tx_count).unwrap_or(u32::MAX);
        let transactions = (0..count).map(|index| block.signed_transaction(index));
        let transactions = transactions.collect::<Result<_, _>>()?;
        read = Some(BundledBlock {
            header: header.fields.clone(),
            hash: header.hash,
            transactions,
            withdrawals: block.withdrawals().to_vec(),
            ommers: (block.ommers()?.into_iter())
                .map(|ommer| ommer.fields)
                .collect(),
        });
        Ok(ControlFlow::Continue(()))
    })?;
    read.ok_or(Error::Replaced { block: number })
}
