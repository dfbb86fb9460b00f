//! Which chain this is. The database does not say; the genesis hash does, else a
//! transaction that carries a chain id (EIP-155).

use crate::{
    Error, NodeDb, Result, Scratch, Snapshot, conf::Segment, receipt::OP_DEPOSIT_TYPE, transaction,
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, b256};
use serde::Serialize;

/// The chain a node follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// None: genesis unknown and no transaction carries a chain id; ask the user.
    pub chain_id: Option<u64>,
    /// Hash of the first block.
    pub genesis_hash: B256,
    /// A well-known name, e.g. `mainnet`.
    pub name: Option<&'static str>,
}

/// A chain that is known by its genesis.
struct Known {
    genesis_hash: B256,
    chain_id: u64,
    name: &'static str,
}

const ETHEREUM: [Known; 4] = [
    Known {
        genesis_hash: b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"),
        chain_id: 1,
        name: "mainnet",
    },
    Known {
        genesis_hash: b256!("25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"),
        chain_id: 11_155_111,
        name: "sepolia",
    },
    Known {
        genesis_hash: b256!("b5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4"),
        chain_id: 17_000,
        name: "holesky",
    },
    Known {
        genesis_hash: b256!("bbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b"),
        chain_id: 560_048,
        name: "hoodi",
    },
];

/// OP-stack chains op-reth knows by name. Others are recognised by their deposits.
const OP_STACK: [Known; 4] = [
    Known {
        genesis_hash: b256!("7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b"),
        chain_id: 10,
        name: "OP Mainnet",
    },
    Known {
        genesis_hash: b256!("f712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd"),
        chain_id: 8453,
        name: "Base",
    },
    Known {
        genesis_hash: b256!("102de6ffb001480cc9b8b548fd05c34cd4f46ae4aa91759393db90ea0409887d"),
        chain_id: 11_155_420,
        name: "OP Sepolia",
    },
    Known {
        genesis_hash: b256!("0dcc9e089e30b90ddfc55be9a37dd15bc551aeee999d2e2b51414c54eaf934e4"),
        chain_id: 84_532,
        name: "Base Sepolia",
    },
];

/// How many transactions at each end of the chain are asked for a chain id. The
/// newest nearly always carry one; test chains may end with old-style ones.
const PROBES: u64 = 1000;

impl NodeDb {
    /// Chain id (from the genesis hash, else from a stored transaction), genesis
    /// hash, name.
    pub fn chain(&self) -> Result<Chain> {
        self.read(|snapshot| snapshot.chain())
    }
}

impl Snapshot<'_> {
    /// Chain id (from the genesis hash, else from a stored transaction), genesis
    /// hash, name.
    pub fn chain(&self) -> Result<Chain> {
        let genesis_hash = self.block_hash(self.genesis_block())?;
        Ok(
            match ETHEREUM
                .iter()
                .find(|known| known.genesis_hash == genesis_hash)
            {
                Some(known) => Chain {
                    chain_id: Some(known.chain_id),
                    genesis_hash,
                    name: Some(known.name),
                },
                None => Chain {
                    chain_id: self.probe_chain_id()?,
                    genesis_hash,
                    name: None,
                },
            },
        )
    }

    /// Transaction numbers at both ends of what is stored and committed.
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

    /// Refuses OP-stack chains: their receipts have another form, which our
    /// decoder would misread without noticing.
    pub(crate) fn refuse_op_stack(&self) -> Result<()> {
        let refuse = |found: String| {
            Err(Error::Unsupported {
                path: self.db.dir().root.clone(),
                what: format!("{found}: OP-stack chains are not supported yet"),
            })
        };
        let genesis_hash = self.block_hash(self.genesis_block())?;
        if let Some(known) = OP_STACK
            .iter()
            .find(|known| known.genesis_hash == genesis_hash)
        {
            return refuse(format!(
                "this is {} (chain id {})",
                known.name, known.chain_id
            ));
        }
        // Every block of such a chain begins with a deposit; so does its tip.
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
            Ok(OP_DEPOSIT_TYPE) => refuse(format!(
                "block {} begins with a deposit (transaction type 0x7e)",
                self.tip()
            )),
            // A damaged row is reported when it is read.
            _ => Ok(()),
        }
    }
}
