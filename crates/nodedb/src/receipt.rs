//! Receipts (`reth-core: crates/codecs/src/alloy/{receipt,log}.rs`), decoded
//! without copying: logs borrow from the decompressed row.

use crate::{
    compact::{Flags, Malformed, Reader},
    zstd_rows::Unzstd,
};
use alloy_primitives::Address;

/// A log has at most four topics (LOG0 to LOG4).
const TOPICS_MAX: usize = 4;

/// The extended transaction type of deposits on OP-stack chains.
pub(crate) const OP_DEPOSIT_TYPE: u8 = 0x7e;

/// A receipt, its logs borrowed; shape checked when it was read.
#[derive(Clone, Copy, Debug)]
pub struct Receipt<'a> {
    /// Index of its transaction in the block.
    pub index: u32,
    /// EIP-2718 type, 0 to 4.
    pub tx_type: u8,
    /// Whether the transaction succeeded (before Byzantium: was not out of gas).
    pub success: bool,
    /// Gas used by this and all earlier transactions of the block.
    pub cumulative_gas_used: u64,
    /// How many logs there are.
    pub log_count: u32,
    logs: &'a [u8],
}

impl<'a> Receipt<'a> {
    /// The logs in order.
    #[inline]
    pub const fn logs(&self) -> Logs<'a> {
        Logs {
            rest: Reader::new(self.logs),
            left: self.log_count,
        }
    }
}

/// Iterator over the logs of a receipt.
#[derive(Clone, Debug)]
pub struct Logs<'a> {
    rest: Reader<'a>,
    left: u32,
}

impl<'a> Iterator for Logs<'a> {
    type Item = Log<'a>;

    #[inline]
    fn next(&mut self) -> Option<Log<'a>> {
        self.left = self.left.checked_sub(1)?;
        // Checked by `decode`, so these never end the iteration early.
        log(&mut self.rest).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Logs<'_> {}

/// One event log.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// The contract that emitted it.
    pub address: Address,
    /// At most four topics.
    pub topics: &'a [[u8; 32]],
    /// The data as stored.
    pub data: &'a [u8],
}

#[inline]
fn log<'a>(reader: &mut Reader<'a>) -> Result<Log<'a>, Malformed> {
    let mut item = reader.nested()?;
    let address = item.address()?;
    let count = item.varuint()?;
    if count > TOPICS_MAX {
        return Err("a log has more than four topics");
    }
    let (topics, _) = item.take(count * 32)?.as_chunks::<32>();
    Ok(Log {
        address,
        topics,
        data: item.rest(),
    })
}

/// Decodes a stored row. The logs borrow from the row or from the buffer of
/// `unzstd`; all of them were walked once, so their shape is right.
pub(crate) fn decode<'a>(
    row: &'a [u8],
    index: u32,
    unzstd: &'a mut Unzstd,
) -> Result<Receipt<'a>, Malformed> {
    let mut reader = Reader::new(row);
    let mut flags = Flags::read(&mut reader, 1)?;
    let (kind, success, gas_len, compressed) =
        (flags.next(2), flags.flag(), flags.next(4), flags.flag());
    if compressed {
        reader = Reader::new(unzstd.decompress(reader.rest())?);
    }
    let tx_type = tx_type(kind, &mut reader)?;
    let cumulative_gas_used = reader.u64(gas_len)?;
    let count = reader.varuint()?;
    let log_count = u32::try_from(count).map_err(|_| "too many logs")?;
    let logs = reader.rest();
    for _ in 0..log_count {
        log(&mut reader)?;
    }
    reader.finish()?;
    Ok(Receipt {
        index,
        tx_type,
        success,
        cumulative_gas_used,
        log_count,
        logs,
    })
}

/// The two type bits of receipts and transactions, and the byte behind them.
pub(crate) fn tx_type(kind: usize, reader: &mut Reader<'_>) -> Result<u8, Malformed> {
    match kind {
        0 => Ok(0),
        1 => Ok(1),
        2 => Ok(2),
        _ => match reader.byte()? {
            known @ (3 | 4) => Ok(known),
            OP_DEPOSIT_TYPE => Err("an OP-stack deposit: OP-stack chains are not supported yet"),
            _ => Err("an unknown transaction type"),
        },
    }
}
