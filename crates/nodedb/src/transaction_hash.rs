//! Hashes of stored transactions without decoding them.
//!
//! A stored row and the EIP-2718 encoding have the same fields in nearly the same order, and
//! integers as the same big-endian bytes without leading zeros. So fields are copied into a
//! reused buffer: no number is parsed and nothing is allocated. The plain implementation is
//! [`transaction::decode`](crate::transaction::decode) with `alloy`'s encoder. Blob
//! and set-code transactions and the OP stack's use it, and tests compare with it.

use crate::{
    compact::{Flags, Malformed, Reader},
    transaction::{self, StoredSignature},
    tx_type,
    zstd_rows::Unzstd,
};
use alloy_eips::Encodable2718;
use alloy_rlp::Header;
use std::ops::Range;
use txgraph_base::ChainFamily;

/// Room before the fields for the type and the list header. The length is known last.
const HEAD_MAX: usize = 1 + 9;

/// Appends the EIP-2718 encoding of a stored row, possibly after some unused bytes. Returns
/// its range in `rlp`.
pub(crate) fn encode(
    row: &[u8],
    family: ChainFamily,
    unzstd: &mut Unzstd,
    rlp: &mut Vec<u8>,
) -> Result<Range<usize>, Malformed> {
    let (signature, kind, mut reader) = transaction::open_row(row, unzstd)?;
    let list = rlp.len() + HEAD_MAX;
    let mut out = Rlp(rlp);
    let tx_type = tx_type::decode(kind, &mut reader, family)?;
    if tx_type > 2 {
        let start = out.0.len();
        transaction::decode(row, family, unzstd)?.encode_2718(out.0);
        return Ok(start..out.0.len());
    }
    out.0.resize(list, 0);
    match tx_type {
        0 => legacy(reader, &signature, &mut out)?,
        1 => eip2930(reader, &mut out)?,
        _ => eip1559(reader, &mut out)?,
    }
    if tx_type != 0 {
        out.number(&[u8::from(signature.parity)]);
    }
    out.little_endian(signature.r);
    out.little_endian(signature.s);
    let start = out.close_list(list);
    if tx_type == 0 {
        return Ok(start..rlp.len());
    }
    rlp[start - 1] = tx_type;
    Ok(start - 1..rlp.len())
}

/// Legacy transactions: `v` follows EIP-155.
fn legacy(
    mut reader: Reader<'_>,
    signature: &StoredSignature<'_>,
    out: &mut Rlp<'_>,
) -> Result<(), Malformed> {
    let mut flags = Flags::read(&mut reader, 3)?;
    let has_chain_id = flags.flag();
    let (nonce, gas_price, gas_limit) = (flags.next(4), flags.next(5), flags.next(4));
    let (call, value) = (flags.flag(), flags.next(6));
    flags.finish()?;
    let chain_id = reader.optional_u64(has_chain_id)?;
    out.number(reader.trimmed(nonce, 8)?);
    out.number(reader.trimmed(gas_price, 16)?);
    out.number(reader.trimmed(gas_limit, 8)?);
    out.to(&mut reader, call)?;
    out.number(reader.trimmed(value, 32)?);
    out.string(reader.rest());
    let v = match chain_id {
        Some(id) => u128::from(id) * 2 + 35,
        None => 27,
    };
    out.number(&(v + u128::from(signature.parity)).to_be_bytes());
    Ok(())
}

fn eip2930(mut reader: Reader<'_>, out: &mut Rlp<'_>) -> Result<(), Malformed> {
    let mut flags = Flags::read(&mut reader, 3)?;
    let (chain_id, nonce) = (flags.next(4), flags.next(4));
    let (gas_price, gas_limit) = (flags.next(5), flags.next(4));
    let (call, value) = (flags.flag(), flags.next(6));
    flags.finish()?;
    out.number(reader.trimmed(chain_id, 8)?);
    out.number(reader.trimmed(nonce, 8)?);
    out.number(reader.trimmed(gas_price, 16)?);
    out.number(reader.trimmed(gas_limit, 8)?);
    out.end_with_list(reader, call, value)
}

fn eip1559(mut reader: Reader<'_>, out: &mut Rlp<'_>) -> Result<(), Malformed> {
    let mut flags = Flags::read(&mut reader, 4)?;
    let [chain_id, nonce, gas_limit, max_fee, max_priority_fee] =
        transaction::fee_widths(&mut flags);
    let (call, value) = (flags.flag(), flags.next(6));
    flags.finish()?;
    out.number(reader.trimmed(chain_id, 8)?);
    out.number(reader.trimmed(nonce, 8)?);
    let gas_limit = reader.trimmed(gas_limit, 8)?;
    let max_fee = reader.trimmed(max_fee, 16)?;
    out.number(reader.trimmed(max_priority_fee, 16)?);
    out.number(max_fee);
    out.number(gas_limit);
    out.end_with_list(reader, call, value)
}

/// An RLP encoder (yellow paper, appendix B).
struct Rlp<'a>(&'a mut Vec<u8>);

impl Rlp<'_> {
    #[inline]
    fn string(&mut self, bytes: &[u8]) {
        if !matches!(bytes, [..0x80]) {
            string_head(bytes.len()).encode(self.0);
        }
        self.0.extend_from_slice(bytes);
    }

    /// Appends a big-endian integer, which may have leading zeros.
    #[inline]
    fn number(&mut self, bytes: &[u8]) {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        self.string(&bytes[zeros..]);
    }

    fn little_endian(&mut self, bytes: &[u8; 32]) {
        let mut bytes = *bytes;
        bytes.reverse();
        self.number(&bytes);
    }

    fn to(&mut self, reader: &mut Reader<'_>, call: bool) -> Result<(), Malformed> {
        let to: &[u8] = if call { reader.array::<20>()? } else { &[] };
        self.string(to);
        Ok(())
    }

    /// Appends the rest of a transaction with an access list. The row has the list before
    /// the input.
    fn end_with_list(
        &mut self,
        mut reader: Reader<'_>,
        call: bool,
        value: usize,
    ) -> Result<(), Malformed> {
        self.to(&mut reader, call)?;
        self.number(reader.trimmed(value, 32)?);
        let mut list = reader;
        let items = reader.varuint()?;
        for _ in 0..items {
            reader.nested()?;
        }
        self.string(reader.rest());
        self.access_list(&mut list)
    }

    /// Appends an access list (EIP-2930): addresses with their storage keys.
    fn access_list(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let items = reader.varuint()?;
        if items == 0 {
            list_head(0).encode(self.0);
            return Ok(());
        }
        let start = self.0.len();
        for _ in 0..items {
            let mut item = reader.nested()?;
            let address = item.array::<20>()?;
            let keys = item.varuint()?;
            let bytes = keys.checked_mul(32).ok_or("a list is too long")?;
            let (keys, _) = item.take(bytes)?.as_chunks::<32>();
            item.finish()?;
            let keys_head = list_head(keys.len() * 33);
            list_head(21 + keys_head.length_with_payload()).encode(self.0);
            self.string(address);
            keys_head.encode(self.0);
            keys.iter().for_each(|key| self.string(key));
        }
        // The header needs the length of the list, so it moves what is written.
        let end = self.0.len();
        let head = list_head(end - start);
        let moved = start + head.length();
        self.0.resize(end + head.length(), 0);
        self.0.copy_within(start..end, moved);
        head.encode(&mut &mut self.0[start..moved]);
        Ok(())
    }

    /// Writes the header of the list that begins at `start` before it, where there must be
    /// room. Returns where the list begins now.
    fn close_list(&mut self, start: usize) -> usize {
        let head = list_head(self.0.len() - start);
        let begin = start - head.length();
        head.encode(&mut &mut self.0[begin..start]);
        begin
    }
}

const fn string_head(payload_length: usize) -> Header {
    Header {
        list: false,
        payload_length,
    }
}

const fn list_head(payload_length: usize) -> Header {
    Header {
        list: true,
        payload_length,
    }
}
