//! Receipts (`reth-core: crates/codecs/src/alloy/{receipt,log}.rs`), decoded without
//! copying: logs borrow from the decompressed row.
//!
//! Receipts of op-reth (`op-alloy-consensus: src/reth_codec.rs`) have a second byte of flags,
//! and after the logs the nonce and the version of a deposit. The layout follows from the
//! chain. `docs/op-stack.md` shows that neither layout can be read as the other.

use crate::{
    Error,
    compact::{Flags, Malformed, Reader},
    rows::ReceiptLocation,
    tx_type,
    zstd_rows::Unzstd,
};
use alloy_primitives::{Address, B256};
use txgraph_base::ChainFamily;

type Result<T, E = Error> = std::result::Result<T, E>;

/// A log has at most four topics (LOG0 to LOG4).
const TOPICS_MAX: usize = 4;

/// A receipt with borrowed logs.
#[derive(Clone, Copy, Debug)]
pub struct Receipt<'a> {
    /// The index of its transaction in the block.
    pub index: u32,
    /// EIP-2718 type: 0 to 4, 0x7d or 0x7e.
    pub tx_type: u8,
    /// Whether the transaction succeeded. Before Byzantium: whether it did not run out of gas.
    pub success: bool,
    /// Gas used by this and all earlier transactions of the block.
    pub cumulative_gas_used: u64,
    /// The nonce of the sender before a deposit of the OP stack. `None` before Regolith.
    pub deposit_nonce: Option<u64>,
    /// The version of the receipt of a deposit. `None` before Canyon.
    pub deposit_version: Option<u64>,
    /// The number of logs.
    pub log_count: u32,
    logs: &'a [u8],
    pub(crate) location: &'a ReceiptLocation<'a>,
}

impl<'a> Receipt<'a> {
    /// Returns the logs in order. They are checked during the iteration, so call
    /// [`Logs::finish`] at the end.
    #[inline]
    pub const fn logs(&self) -> Logs<'a> {
        Logs {
            rest: Reader::new(self.logs),
            left: self.log_count,
            damage: None,
            location: self.location,
        }
    }
}

impl Receipt<'_> {
    /// Checks and copies the logs.
    pub fn to_logs(&self) -> Result<Vec<alloy_primitives::Log>> {
        let mut iterator = self.logs();
        let logs = iterator.by_ref().map(|log| {
            let topics = log.topics.iter().map(B256::from).collect();
            alloy_primitives::Log::new_unchecked(*log.address, topics, log.data.to_vec().into())
        });
        let logs = logs.collect();
        iterator.finish()?;
        Ok(logs)
    }
}

/// Iterator over the logs of a receipt. It ends early at a damaged log;
/// [`finish`](Self::finish) returns the error.
#[derive(Clone, Debug)]
pub struct Logs<'a> {
    rest: Reader<'a>,
    left: u32,
    damage: Option<Malformed>,
    location: &'a ReceiptLocation<'a>,
}

impl<'a> Iterator for Logs<'a> {
    type Item = Log<'a>;

    #[inline]
    fn next(&mut self) -> Option<Log<'a>> {
        self.left = self.left.checked_sub(1)?;
        match log(&mut self.rest) {
            Ok(log) => Some(log),
            Err(damage) => {
                (self.left, self.damage) = (0, Some(damage));
                None
            }
        }
    }

    /// An upper bound: a damaged log ends the iteration.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left as usize))
    }
}

impl Logs<'_> {
    /// Decodes the remaining logs. Returns an error if any log is damaged or if bytes follow
    /// the last one.
    #[inline]
    pub fn finish(mut self) -> Result<()> {
        while self.next().is_some() {}
        match self.damage.map_or_else(|| self.rest.finish(), Err) {
            Ok(()) => Ok(()),
            Err(what) => Err(self.location.bad(what)),
        }
    }
}

/// An event log.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// The contract that emitted it.
    pub address: &'a Address,
    /// The topics, at most four.
    pub topics: &'a [[u8; 32]],
    /// The data.
    pub data: &'a [u8],
}

#[inline]
fn log<'a>(reader: &mut Reader<'a>) -> Result<Log<'a>, Malformed> {
    let mut item = reader.nested()?;
    let address = item.array::<20>()?.into();
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

/// Decodes a stored row. The logs borrow from the row or from the buffer of `unzstd`.
#[inline]
pub(crate) fn decode<'a>(
    row: &'a [u8],
    location: &'a ReceiptLocation<'a>,
    index: u32,
    family: ChainFamily,
    unzstd: &'a mut Unzstd,
) -> Result<Receipt<'a>, Malformed> {
    // One branch per receipt: the Ethereum layout has no fields of deposits to look for.
    match family {
        ChainFamily::Ethereum => decode_as::<false>(row, location, index, unzstd),
        ChainFamily::OpStack => decode_as::<true>(row, location, index, unzstd),
    }
}

/// Decodes a row in the OP stack's layout, or in Ethereum's.
#[inline]
fn decode_as<'a, const IS_OP: bool>(
    row: &'a [u8],
    location: &'a ReceiptLocation<'a>,
    index: u32,
    unzstd: &'a mut Unzstd,
) -> Result<Receipt<'a>, Malformed> {
    let family = match IS_OP {
        false => ChainFamily::Ethereum,
        true => ChainFamily::OpStack,
    };
    let mut reader = Reader::new(row);
    let mut flags = Flags::read(&mut reader, if IS_OP { 2 } else { 1 })?;
    let (kind, success, gas_len) = (flags.next(2), flags.flag(), flags.next(4));
    let (has_nonce, has_version) = (IS_OP && flags.flag(), IS_OP && flags.flag());
    let compressed = flags.flag();
    flags.finish()?;
    if compressed {
        reader = Reader::new(unzstd.decompress(reader.rest())?);
    }
    let tx_type = tx_type::decode(kind, &mut reader, family)?;
    let cumulative_gas_used = reader.u64(gas_len)?;
    let count = reader.varuint()?;
    let mut receipt = Receipt {
        index,
        tx_type,
        success,
        cumulative_gas_used,
        deposit_nonce: None,
        deposit_version: None,
        log_count: u32::try_from(count).map_err(|_| "too many logs")?,
        logs: reader.rest(),
        location,
    };
    if has_nonce {
        deposit(&mut receipt, reader, has_version)?;
    } else if has_version {
        return Err("the receipt of a deposit has a version and no nonce");
    }
    Ok(receipt)
}

/// Reads the fields after the logs. Few receipts have them, so only these find the end of
/// their logs here.
#[cold]
fn deposit<'a>(
    receipt: &mut Receipt<'a>,
    mut reader: Reader<'a>,
    has_version: bool,
) -> Result<(), Malformed> {
    if receipt.tx_type != tx_type::OP_DEPOSIT {
        return Err("the receipt has the fields of a deposit, but is of another type");
    }
    for _ in 0..receipt.log_count {
        reader.nested()?;
    }
    let len = receipt.logs.len() - reader.rest().len();
    receipt.logs = &receipt.logs[..len];
    receipt.deposit_nonce = reader.optional_u64(true)?;
    receipt.deposit_version = reader.optional_u64(has_version)?;
    reader.finish()
}

/// Adds to an error whether the row has the layout of the other family.
#[cold]
pub(crate) fn explain(what: Malformed, row: &[u8], family: ChainFamily) -> String {
    let other = match family {
        ChainFamily::Ethereum => ChainFamily::OpStack,
        ChainFamily::OpStack => ChainFamily::Ethereum,
    };
    let mut unzstd = Unzstd::receipts();
    let read = decode(row, &ReceiptLocation::Given, 0, other, &mut unzstd);
    match read.is_ok_and(|receipt| receipt.logs().finish().is_ok()) {
        true => format!("{what}; it is a receipt of {other}, but this is a chain of {family}"),
        false => what.to_owned(),
    }
}
