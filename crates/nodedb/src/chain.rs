//! The chain of a data directory. The database does not store a chain id: it follows from
//! the genesis hash, or from a transaction with a chain id (EIP-155).

use crate::{Error, NodeDb, Part, Result, Scratch, Snapshot, conf::Segment, transaction, tx_type};
use alloy_consensus::Transaction as _;
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

    /// Returns the chain id; `None` if the genesis is not that of a known chain and no stored
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
            let signed = transaction::decode(bytes, &mut scratch.transaction)
                .map_err(|what| jar.bad_row(row, what))?;
            if let Some(chain_id) = signed.chain_id() {
                return Ok(Some(chain_id));
            }
        }
        Ok(None)
    }

    /// Refuses OP-stack chains: their receipts have another encoding, which the decoder
    /// could misread without an error.
    pub(crate) fn refuse_op_stack(&self) -> Result<()> {
        let refuse = |found: String| {
            Err(Error::Unsupported {
                path: self.db.dir().root.clone(),
                what: format!("{found}: OP-stack chains are not supported yet"),
            })
        };
        let genesis_hash = self.block_hash(self.genesis_block())?;
        if let Some(known) = KnownChain::by_genesis(&genesis_hash)
            && known.family == ChainFamily::OpStack
        {
            let name = known.name.unwrap_or("a development chain");
            return refuse(format!("this is {name} (chain id {})", known.id));
        }
        // Every block of such a chain begins with a deposit, and so does the tip.
        let body = self.body(self.tip())?;
        if body.tx_count == 0 {
            return Ok(());
        }
        let Some((jar, row)) = self.files.find(Segment::Transactions, body.first_tx) else {
            return Ok(());
        };
        let mut scratch = Scratch::default();
        let bytes = scratch.transactions.reader(jar)?.cell(row, 0, row)?;
        match transaction::peek_type(bytes, &mut scratch.transaction) {
            Ok(tx_type::OP_DEPOSIT) => refuse(format!(
                "block {} begins with a deposit (transaction type 0x7e)",
                self.tip()
            )),
            // A damaged row is reported when it is read.
            _ => Ok(()),
        }
    }
}
