//! Receipts of a block: without blooms in `.ere`, as in the consensus in `.era1`.

use crate::{
    encode::list_of,
    error::Malformed,
    record::Format,
    rlp::{Item, Items},
};
use alloy_primitives::{Address, B256, Bloom};
use alloy_rlp::{Encodable, Header};
use alloy_trie::root::ordered_trie_root_with_encoder;
use std::ops::Range;
use txgraph_stored::BloomHashes;
use txgraph_transfers::LogView;

/// A log has at most four topics.
const TOPICS_MAX: usize = 4;

/// The highest known type of transactions (EIP-7702).
pub(crate) const TYPE_MAX: u8 = 4;

/// The receipts of a block, by position in their bytes. The buffers are used again.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    pub(crate) rows: Vec<Receipt>,
    logs: Vec<LogRow>,
    topics: Vec<[u8; 32]>,
}

#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    tx_type: u8,
    pub(crate) outcome: Outcome,
    pub(crate) cumulative_gas: u64,
    /// State root or status, with the gas after it.
    outcome_item: Item,
    gas_item: Item,
    logs_item: Item,
    logs: Range<usize>,
}

/// The outcome of a transaction in its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    /// Before Byzantium (EIP-658) a receipt has the state root after the transaction instead.
    StateRoot,
}

#[derive(Clone, Debug)]
struct LogRow {
    address: Range<usize>,
    topics: Range<usize>,
    data: Range<usize>,
}

impl Receipts {
    /// Decodes the receipts of a block.
    pub(crate) fn decode(&mut self, format: Format, rlp: &[u8]) -> Result<(), Malformed> {
        self.rows.clear();
        self.logs.clear();
        self.topics.clear();
        let mut receipts = Items::of_list(rlp)?;
        while let Some(item) = receipts.next_item()? {
            let row = match format {
                Format::Ere => self.slim(rlp, &item)?,
                Format::Era1 => self.full(rlp, &item)?,
            };
            if row.tx_type > TYPE_MAX {
                return Err("a receipt of an unknown type of transaction");
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Type, outcome, cumulative gas and logs.
    fn slim(&mut self, rlp: &[u8], item: &Item) -> Result<Receipt, Malformed> {
        let mut fields = fields_of(rlp, item)?;
        let tx_type = fields.number()?;
        let tx_type = u8::try_from(tx_type).map_err(|_| "a type of transaction above 255")?;
        self.fields(rlp, tx_type, fields, false)
    }

    /// A list of outcome, cumulative gas, bloom and logs, after a byte for the type except for
    /// legacy transactions.
    fn full(&mut self, rlp: &[u8], item: &Item) -> Result<Receipt, Malformed> {
        if item.is_list {
            return self.fields(rlp, 0, fields_of(rlp, item)?, true);
        }
        let Range { start, end } = item.payload;
        let tx_type = match rlp.get(start..end) {
            Some([tx_type @ 1..=0x7f, ..]) => *tx_type,
            _ => return Err("a receipt without a type"),
        };
        let mut rest = Items::of(rlp, start + 1..end);
        let fields = rest.list()?;
        rest.finish()?;
        self.fields(rlp, tx_type, fields, true)
    }

    fn fields(
        &mut self,
        rlp: &[u8],
        tx_type: u8,
        mut fields: Items<'_>,
        has_bloom: bool,
    ) -> Result<Receipt, Malformed> {
        let outcome_item = fields.item()?;
        let outcome = match (outcome_item.is_list, &rlp[outcome_item.payload.clone()]) {
            (false, []) => Outcome::Failed,
            (false, [1]) => Outcome::Succeeded,
            (false, bytes) if bytes.len() == B256::len_bytes() => Outcome::StateRoot,
            _ => return Err("a receipt with neither a status nor a state root"),
        };
        let mut gas = fields.clone();
        let gas_item = fields.item()?;
        let cumulative_gas = gas.number()?;
        if has_bloom {
            fields.fixed::<256>()?;
        }
        let logs_item = fields.item()?;
        fields.finish()?;
        let first_log = self.logs.len();
        let mut logs = fields_of(rlp, &logs_item)?;
        while let Some(log) = logs.next_item()? {
            self.log(rlp, &log)?;
        }
        Ok(Receipt {
            tx_type,
            outcome,
            cumulative_gas,
            outcome_item,
            gas_item,
            logs_item,
            logs: first_log..self.logs.len(),
        })
    }

    #[inline]
    fn log(&mut self, rlp: &[u8], item: &Item) -> Result<(), Malformed> {
        let mut fields = fields_of(rlp, item)?;
        let address = fields.item()?;
        if address.is_list || address.payload.len() != Address::len_bytes() {
            return Err("the address of a log is not 20 bytes long");
        }
        let first_topic = self.topics.len();
        let mut topics = fields.list()?;
        while !topics.is_empty() {
            self.topics.push(*topics.fixed::<32>()?);
        }
        if self.topics.len() - first_topic > TOPICS_MAX {
            return Err("a log with more than four topics");
        }
        let data = fields.item()?;
        if data.is_list {
            return Err("the data of a log is a list");
        }
        fields.finish()?;
        self.logs.push(LogRow {
            address: address.payload,
            topics: first_topic..self.topics.len(),
            data: data.payload,
        });
        Ok(())
    }

    /// The logs of a receipt, in order. `rlp` are the bytes that were decoded.
    #[inline]
    pub(crate) fn logs<'a>(
        &'a self,
        rlp: &'a [u8],
        receipt: &Receipt,
    ) -> impl ExactSizeIterator<Item = LogView<'a>> + use<'a> {
        self.logs[receipt.logs.clone()].iter().map(|log| LogView {
            address: address_at(rlp, &log.address),
            topics: &self.topics[log.topics.clone()],
            data: &rlp[log.data.clone()],
        })
    }

    /// The receipts root of the header. Blooms are derived from the logs.
    pub(crate) fn root(&self, rlp: &[u8], hashes: &mut BloomHashes) -> B256 {
        ordered_trie_root_with_encoder(&self.rows, |receipt, out| {
            receipt.encode(rlp, &self.bloom(rlp, receipt, hashes), out);
        })
    }

    fn bloom(&self, rlp: &[u8], receipt: &Receipt, hashes: &mut BloomHashes) -> Bloom {
        let mut bloom = Bloom::ZERO;
        for log in self.logs(rlp, receipt) {
            hashes.add(&mut bloom, log.address.as_slice());
            for topic in log.topics {
                hashes.add(&mut bloom, topic);
            }
        }
        bloom
    }
}

impl Receipt {
    /// Whether it has logs, which only successful transactions have.
    pub(crate) fn has_logs(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Appends the consensus encoding.
    fn encode(&self, rlp: &[u8], bloom: &Bloom, out: &mut Vec<u8>) {
        if self.tx_type != 0 {
            out.push(self.tx_type);
        }
        let parts = [&self.outcome_item, &self.gas_item].map(|item| &rlp[item.whole()]);
        let logs = &rlp[self.logs_item.whole()];
        let header = Header {
            list: true,
            payload_length: parts.iter().map(|part| part.len()).sum::<usize>()
                + bloom.length()
                + logs.len(),
        };
        header.encode(out);
        for part in parts {
            out.extend_from_slice(part);
        }
        bloom.encode(out);
        out.extend_from_slice(logs);
    }
}

/// Appends the consensus form of a block's slim receipts: the RLP list in `.era1` files.
pub(crate) fn slim_to_full(slim: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut receipts = Receipts::default();
    receipts.decode(Format::Ere, slim)?;
    let mut hashes = BloomHashes::default();
    let mut list = Vec::new();
    for receipt in &receipts.rows {
        let bloom = receipts.bloom(slim, receipt, &mut hashes);
        let mut encoded = Vec::new();
        receipt.encode(slim, &bloom, &mut encoded);
        match receipt.tx_type {
            0 => list.extend_from_slice(&encoded),
            _ => encoded.as_slice().encode(&mut list),
        }
    }
    list_of(&list, out);
    Ok(())
}

fn fields_of<'a>(rlp: &'a [u8], item: &Item) -> Result<Items<'a>, Malformed> {
    match item.is_list {
        true => Ok(Items::of(rlp, item.payload.clone())),
        false => Err("an RLP string where a list is expected"),
    }
}

/// The address at a position that was checked when the log was decoded.
#[inline]
fn address_at<'a>(rlp: &'a [u8], range: &Range<usize>) -> &'a Address {
    match rlp[range.clone()].first_chunk::<20>() {
        Some(address) => address.into(),
        None => &Address::ZERO,
    }
}
