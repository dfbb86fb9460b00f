//! Transaction types as reth stores them: two bits for receipts and transactions alike.

use crate::compact::{Malformed, Reader};

/// The EIP-2718 type of deposits on OP-stack chains.
pub(crate) const OP_DEPOSIT: u8 = 0x7e;

/// Decodes the EIP-2718 type from its two bits. Types from 3 on are in a byte of their own,
/// which is read from the value.
#[inline]
pub(crate) fn decode(bits: usize, reader: &mut Reader<'_>) -> Result<u8, Malformed> {
    match bits {
        0 => Ok(0),
        1 => Ok(1),
        2 => Ok(2),
        _ => match reader.byte()? {
            known @ (3 | 4) => Ok(known),
            OP_DEPOSIT => Err("an OP-stack deposit: OP-stack chains are not supported yet"),
            _ => Err("an unknown transaction type"),
        },
    }
}
