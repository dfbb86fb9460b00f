//! Accounts that delegate to a contract (EIP-7702).

use alloy_primitives::Address;

/// The first bytes of the code of a delegated account, which is no contract.
const DELEGATION: &[u8] = &[0xef, 0x01, 0x00];

/// The contract that code delegates to (EIP-7702); `None` for any other code.
pub fn delegate(code: &[u8]) -> Option<Address> {
    let address = code.strip_prefix(DELEGATION)?;
    Some(Address::new(address.try_into().ok()?))
}
