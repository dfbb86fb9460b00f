//! Every event signature the decoder knows, once.

use alloy_primitives::{Address, B256, address, b256};

/// `Transfer(address,address,uint256)`: ERC-20 and ERC-721 alike.
pub const TRANSFER: B256 =
    b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// `TransferSingle(address,address,address,uint256,uint256)`: ERC-1155.
pub const TRANSFER_SINGLE: B256 =
    b256!("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62");

/// `TransferBatch(address,address,address,uint256[],uint256[])`: ERC-1155.
pub const TRANSFER_BATCH: B256 =
    b256!("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb");

/// `Deposit(address,uint256)`: WETH9.
pub const DEPOSIT: B256 = b256!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c");

/// `Withdrawal(address,uint256)`: WETH9.
pub const WITHDRAWAL: B256 =
    b256!("7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65");

/// `Burn(address,uint256)`: native coin destroyed by `SELFDESTRUCT`, in the drafts
/// of EIP-7708 before EIP-8246 ended such burns. Only from [`EIP7708_LOG_ADDRESS`].
pub const EIP7708_BURN: B256 =
    b256!("cc16f5dbb4873280815c1ee09dbd06736cffcc184412cf7a71a0fdb75d397ca5");

/// `Selfdestruct(address,uint256)`: the name of [`EIP7708_BURN`] in older drafts.
pub const EIP7708_SELFDESTRUCT: B256 =
    b256!("4bfaba3443c1a1836cd362418edc679fc96cae8449cbefccb6457cdf2c943083");

/// The address that emits native movements as `Transfer` logs under EIP-7708.
/// They are the native coin, not a token.
pub const EIP7708_LOG_ADDRESS: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

/// Contracts whose `Transfer` has three unindexed words of which the last is a
/// token id. Nothing in such a log tells it from an ERC-20 transfer, so they are
/// known by chain id and address: CryptoKitties, older than ERC-721.
const UNINDEXED_ERC721: &[(u64, &[Address])] =
    &[(1, &[address!("06012c8cf97bead5deae237070f9587f8e7a266d")])];

/// The part of [`UNINDEXED_ERC721`] that lives on a chain.
pub(crate) fn unindexed_erc721(chain_id: u64) -> &'static [Address] {
    by_chain(UNINDEXED_ERC721, chain_id)
}

/// The predeployed wrapped coin of every OP-stack chain.
const OP_STACK: &[Address] = &[address!("4200000000000000000000000000000000000006")];

/// Wrapped native coins in the manner of WETH9, by chain id. Sepolia has two that
/// are in use.
const WRAPPED_NATIVE: &[(u64, &[Address])] = &[
    (1, &[address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2")]),
    (10, OP_STACK),        // OP Mainnet
    (130, OP_STACK),       // Unichain
    (480, OP_STACK),       // World Chain
    (1_301, OP_STACK),     // Unichain Sepolia
    (1_868, OP_STACK),     // Soneium
    (8_453, OP_STACK),     // Base
    (34_443, OP_STACK),    // Mode
    (57_073, OP_STACK),    // Ink
    (84_532, OP_STACK),    // Base Sepolia
    (7_777_777, OP_STACK), // Zora
    (
        11_155_111,
        &[
            address!("7b79995e5f793a07bc00c21412e50ecae098e7f9"),
            address!("fff9976782d46cc05630d1f6ebab18b2324d6b14"),
        ],
    ),
    (11_155_420, OP_STACK), // OP Sepolia
];

/// The known wrapped coins of a chain; empty when the chain is not known.
pub(crate) fn wrapped_native(chain_id: u64) -> &'static [Address] {
    by_chain(WRAPPED_NATIVE, chain_id)
}

fn by_chain(table: &[(u64, &'static [Address])], chain_id: u64) -> &'static [Address] {
    table
        .iter()
        .find(|(chain, _)| *chain == chain_id)
        .map_or(&[], |(_, addresses)| addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;

    #[test]
    fn every_topic_is_the_hash_of_its_signature() {
        for (topic, signature) in [
            (TRANSFER, "Transfer(address,address,uint256)"),
            (
                TRANSFER_SINGLE,
                "TransferSingle(address,address,address,uint256,uint256)",
            ),
            (
                TRANSFER_BATCH,
                "TransferBatch(address,address,address,uint256[],uint256[])",
            ),
            (DEPOSIT, "Deposit(address,uint256)"),
            (WITHDRAWAL, "Withdrawal(address,uint256)"),
            (EIP7708_BURN, "Burn(address,uint256)"),
            (EIP7708_SELFDESTRUCT, "Selfdestruct(address,uint256)"),
        ] {
            assert_eq!(topic, keccak256(signature), "{signature}");
        }
    }

    #[test]
    fn known_contracts_belong_to_their_chain() {
        assert_eq!(wrapped_native(8_453), OP_STACK);
        assert_eq!(wrapped_native(1_337), &[] as &[Address]);
        assert_eq!(unindexed_erc721(1).len(), 1);
        assert_eq!(unindexed_erc721(10), &[] as &[Address]);
    }
}
