//! Transaction types as reth stores them: two bits for receipts and transactions alike.

use crate::compact::{Malformed, Reader};
use txgraph_base::ChainFamily;

/// The EIP-2718 type of refunds of gas on OP-stack chains.
pub(crate) const OP_POST_EXEC: u8 = 0x7d;

/// The EIP-2718 type of deposits on OP-stack chains.
pub(crate) const OP_DEPOSIT: u8 = 0x7e;

/// Decodes the EIP-2718 type from its two bits. Types from 3 on are in a byte of their own,
/// which is read from the value. Types that the family does not have are refused.
#[inline]
pub(crate) fn decode(
    bits: usize,
    reader: &mut Reader<'_>,
    family: ChainFamily,
) -> Result<u8, Malformed> {
    match bits {
        0 => Ok(0),
        1 => Ok(1),
        2 => Ok(2),
        _ => match (reader.byte()?, family) {
            (known @ (3 | 4), ChainFamily::Ethereum)
            | (known @ (4 | OP_DEPOSIT | OP_POST_EXEC), ChainFamily::OpStack) => Ok(known),
            (3, ChainFamily::OpStack) => {
                Err("a blob transaction, which the OP stack does not have")
            }
            (OP_DEPOSIT | OP_POST_EXEC, ChainFamily::Ethereum) => {
                Err("a transaction of the OP stack on a chain that is not of the OP stack")
            }
            _ => Err("an unknown transaction type"),
        },
    }
}
