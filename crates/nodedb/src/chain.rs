//! The chain of a data directory. The database does not store a chain id: it follows from
//! the genesis hash, or from a transaction with a chain id (EIP-155).
//!
//! reth and op-reth store receipts in different layouts, and no table names the layout. It
//! follows from the genesis hash too. On chains that are not known it follows from the first
//! transaction of the tip: every block of the OP stack begins with a deposit.

use crate::{
    BlockRange, Error, NodeDb, Part, Result, Scratch, Snapshot, conf::Segment, transaction, tx_type,
};
use alloy_primitives::B256;
use serde::Serialize;
use txgraph_base::{ChainFamily, KnownChain};

/// The chain a node follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// `None` if the genesis is unknown and no transaction has a chain id.
    pub chain_id: Option<u64>,
    /// The hash of the first block.
    pub genesis_hash: B256,
    /// The name of a known chain, e.g. `mainnet`.
    pub name: Option<&'static str>,
    /// The kind of node that wrote the directory.
    pub family: ChainFamily,
}

/// The number of transactions at each end of the chain that are searched for a chain id.
/// The newest nearly always have one. Test chains may end with legacy transactions.
const PROBES: u64 = 1000;

impl NodeDb {
    /// Returns the chain: its id (from the genesis hash, or from a stored transaction), its
    /// genesis hash and its name.
    pub fn chain(&self) -> Result<Chain> {
        self.read(|snapshot| snapshot.chain())
    }

    /// Returns the chain id; `None` if the genesis is unknown and no stored
    /// transaction has an id.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if no stored transaction has an id, and the newest one is missing
    /// although the node did not prune it.
    pub fn chain_id(&self) -> Result<Option<u64>> {
        self.read(|snapshot| {
            let chain_id = snapshot.chain()?.chain_id;
            let body = snapshot.body(snapshot.tip())?;
            let newest = (body.first_tx + body.tx_count).checked_sub(1);
            let is_stored = |tx| snapshot.files.find(Segment::Transactions, tx).is_some();
            let Some(missing) = newest.filter(|tx| chain_id.is_none() && !is_stored(*tx)) else {
                return Ok(chain_id);
            };
            let block = snapshot.block_of_tx(missing)?;
            if snapshot.part_pruned_to(Part::Transactions)? >= Some(block) {
                return Ok(None);
            }
            let reason = snapshot.reason(Part::Transactions, block)?;
            Err(Error::Missing {
                part: Part::Transactions,
                block,
                reason: format!("{reason}; the chain id is not known without them"),
            })
        })
    }
}

impl Snapshot<'_> {
    /// Returns the chain: its id (from the genesis hash, or from a stored transaction), its
    /// genesis hash and its name.
    pub fn chain(&self) -> Result<Chain> {
        let genesis_hash = self.block_hash(self.genesis_block())?;
        // The genesis block of a development chain does not fix its chain ID.
        let known = KnownChain::by_genesis(&genesis_hash).filter(|known| known.name.is_some());
        Ok(Chain {
            chain_id: match known {
                Some(known) => Some(known.id),
                None => self.probe_chain_id()?,
            },
            genesis_hash,
            name: known.and_then(|known| known.name),
            family: self.family(),
        })
    }

    /// Returns transaction numbers at both ends of the stored range.
    fn probes(&self) -> Result<impl Iterator<Item = u64> + use<>> {
        let body = self.body(self.tip())?;
        let end = body.first_tx + body.tx_count;
        let jars = self.files.jars(Segment::Transactions).iter();
        let first = jars
            .filter_map(|jar| jar.row_range())
            .map(|txs| txs.first)
            .min()
            .unwrap_or(end);
        let newest = (end.saturating_sub(PROBES).max(first)..end).rev();
        let oldest = first..first.saturating_add(PROBES).min(end.saturating_sub(PROBES));
        Ok(newest.chain(oldest))
    }

    fn probe_chain_id(&self) -> Result<Option<u64>> {
        let mut scratch = Scratch::default();
        for tx in self.probes()? {
            let Some((jar, row)) = self.files.find(Segment::Transactions, tx) else {
                continue;
            };
            let bytes = scratch.transactions.reader(jar)?.cell(row, 0, row)?;
            let bad = |what| jar.bad_row(row, what);
            let unzstd = &mut scratch.transaction;
            // These have no chain id.
            if let tx_type::OP_DEPOSIT | tx_type::OP_POST_EXEC =
                transaction::peek_type(bytes, unzstd).map_err(bad)?
            {
                continue;
            }
            let stored = transaction::decode(bytes, ChainFamily::Ethereum, unzstd).map_err(bad)?;
            if let Some(chain_id) = stored.chain_id() {
                return Ok(Some(chain_id));
            }
        }
        Ok(None)
    }

    /// The family of the chain, which fixes the layout of receipts.
    pub(crate) const fn family(&self) -> ChainFamily {
        self.db.family()
    }

    /// Finds out the family of the chain: from the genesis hash, else from the first
    /// transaction of the tip, else from the chain id.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if these contradict each other. Receipts would be read in the
    /// wrong layout.
    pub(crate) fn find_family(&self) -> Result<ChainFamily> {
        let genesis_hash = self.block_hash(self.genesis_block())?;
        // Anyone can start a chain with the genesis block of a development chain.
        let known = KnownChain::by_genesis(&genesis_hash).filter(|known| known.name.is_some());
        let tip = self.tip();
        let first_type = self.first_type_of_tip()?;
        let begins_with_deposit = first_type.map(|first| first == tx_type::OP_DEPOSIT);
        let is_op = |known: &KnownChain| known.family == ChainFamily::OpStack;
        let known = match (known, begins_with_deposit) {
            (Some(known), _) => Some(known),
            (None, Some(true)) => return Ok(ChainFamily::OpStack),
            (None, _) => match self.probe_chain_id() {
                Ok(chain_id) => chain_id
                    .and_then(KnownChain::by_id)
                    .filter(|known| is_op(known)),
                Err(error) if error.is_stale() => return Err(error),
                // Reported when the row is read.
                Err(_) => None,
            },
        };
        let Some(known) = known else {
            return Ok(ChainFamily::Ethereum);
        };
        let expected = is_op(known) && tip >= known.first_block;
        match (begins_with_deposit, first_type) {
            (Some(found), Some(first)) if found != expected => Err(Error::Unsupported {
                path: self.db.dir().root.clone(),
                what: format!(
                    "this is {} (chain id {}), a chain of {}, but block {tip} begins with a \
                     transaction of type {first:#x}; blocks of the OP stack begin with a deposit \
                     (0x7e), and others have none",
                    known.name.unwrap_or("a development chain"),
                    known.id,
                    known.family,
                ),
            }),
            _ => Ok(known.family),
        }
    }

    /// Returns the type of the first transaction of the tip. `None` if there is none, or if
    /// it is not stored. A damaged row is reported when it is read.
    fn first_type_of_tip(&self) -> Result<Option<u8>> {
        let body = self.body(self.tip())?;
        if body.tx_count == 0 {
            return Ok(None);
        }
        let Some((jar, row)) = self.files.find(Segment::Transactions, body.first_tx) else {
            return Ok(None);
        };
        let mut scratch = Scratch::default();
        let bytes = scratch.transactions.reader(jar)?.cell(row, 0, row)?;
        Ok(transaction::peek_type(bytes, &mut scratch.transaction).ok())
    }

    /// The imported blocks of an older system before the first block of the OP stack. Their
    /// receipts are not read.
    pub(crate) fn before_first_block(&self) -> Result<Option<BlockRange>> {
        let genesis_hash = self.block_hash(self.genesis_block())?;
        let known = KnownChain::by_genesis(&genesis_hash);
        let last = known.and_then(|known| known.first_block.checked_sub(1));
        Ok(last.map(BlockRange::up_to))
    }
}
