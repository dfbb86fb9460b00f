//! The tables of other tools, column by column.
//!
//! Sources: cryo 0.3.2, `crates/freeze/src/datasets/erc20_transfers.rs` and `erc721_transfers.rs`;
//! ethereum-etl 2.4, `ethereumetl/jobs/exporters/token_transfers_item_exporter.py`.

use crate::{
    Schema,
    schema::{
        BLOCK_NUMBER, CHAIN_ID, FROM_ADDRESS, LOG_INDEX, TO_ADDRESS, TOKEN_ADDRESS, TOKEN_ID,
        TRANSACTION_HASH, TRANSACTION_INDEX, VALUE,
    },
};
use txgraph_transfers::TokenStandard;

/// A table of another tool for transfers of some standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dataset {
    /// cryo's `erc20_transfers`.
    CryoErc20,
    /// cryo's `erc721_transfers`.
    CryoErc721,
    /// ethereum-etl's `token_transfers`, whose `value` is the id of an ERC-721 token.
    EtlTokenTransfers,
}

impl Schema {
    /// The table of the schema's tool for transfers of these standards, if it has one. cryo has a
    /// table for each standard. ethereum-etl has one for ERC-20 and ERC-721.
    pub fn dataset(self, standards: &[TokenStandard]) -> Option<Dataset> {
        use TokenStandard::{Erc20, Erc721};
        match (self, standards) {
            (Self::Cryo, [Erc20]) => Some(Dataset::CryoErc20),
            (Self::Cryo, [Erc721]) => Some(Dataset::CryoErc721),
            (Self::Etl, [_, ..]) if standards.iter().all(|it| matches!(it, Erc20 | Erc721)) => {
                Some(Dataset::EtlTokenTransfers)
            }
            _ => None,
        }
    }
}

impl Dataset {
    /// The positions of its columns in the schema, in its own order.
    pub(crate) const fn columns(self) -> &'static [usize] {
        match self {
            Self::CryoErc20 => &[
                BLOCK_NUMBER,
                TRANSACTION_INDEX,
                LOG_INDEX,
                TRANSACTION_HASH,
                TOKEN_ADDRESS,
                FROM_ADDRESS,
                TO_ADDRESS,
                VALUE,
                CHAIN_ID,
            ],
            Self::CryoErc721 => &[
                BLOCK_NUMBER,
                TRANSACTION_INDEX,
                LOG_INDEX,
                TRANSACTION_HASH,
                TOKEN_ADDRESS,
                FROM_ADDRESS,
                TO_ADDRESS,
                TOKEN_ID,
                CHAIN_ID,
            ],
            Self::EtlTokenTransfers => &[
                TOKEN_ADDRESS,
                FROM_ADDRESS,
                TO_ADDRESS,
                VALUE,
                TRANSACTION_HASH,
                LOG_INDEX,
                BLOCK_NUMBER,
            ],
        }
    }

    /// Whether it is a table of cryo: block numbers have 32 bits, and 256-bit numbers all of their
    /// types in text, too.
    pub(crate) const fn is_cryo(self) -> bool {
        matches!(self, Self::CryoErc20 | Self::CryoErc721)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_depends_on_the_standards() {
        use TokenStandard::{Erc20, Erc721, Erc1155, Native};
        for (schema, standards, dataset) in [
            (Schema::Cryo, &[Erc20][..], Some(Dataset::CryoErc20)),
            (Schema::Cryo, &[Erc721], Some(Dataset::CryoErc721)),
            (Schema::Cryo, &[Erc20, Erc721], None),
            (Schema::Cryo, &[Native], None),
            (Schema::Cryo, &[], None),
            (
                Schema::Etl,
                &[Erc721, Erc20],
                Some(Dataset::EtlTokenTransfers),
            ),
            (Schema::Etl, &[Erc20, Erc1155], None),
            (Schema::Etl, &[], None),
            (Schema::Txgraph, &[Erc20], None),
        ] {
            assert_eq!(
                schema.dataset(standards),
                dataset,
                "{schema:?} {standards:?}"
            );
        }
    }
}
