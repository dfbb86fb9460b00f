//! The event signatures that the decoder uses.

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

/// The address whose `Transfer` logs are movements of the native coin and not of a token
/// (EIP-7708). No contract is at this address, so blocks before Amsterdam have no such log.
pub const EIP7708_LOG_ADDRESS: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

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
        ] {
            assert_eq!(topic, keccak256(signature), "{signature}");
        }
    }
}
