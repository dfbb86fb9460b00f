//! `LOG0` to `LOG4`, and the logs of the protocol.

use crate::{
    env::SYSTEM,
    fork::Fork,
    frame::{Context, Fault, Frame},
    gas::LOG_BYTE,
    stack::Operands,
    state::log_bytes,
    word::Word,
};
use alloy_primitives::{B256, Bytes, Log, b256};

/// `LOG0` to `LOG4`. Operands: offset and length of the data. `topics` are the words below, the
/// first topic last.
pub(crate) fn log(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    operands: Operands<2>,
    topics: &[Word],
) -> Result<(), Fault> {
    frame.may_change()?;
    let (offset, len) = (operands.at(0), operands.at(1));
    frame.charge(LOG_BYTE.saturating_mul(len.saturating_u64().min(1 << 40) as i64))?;
    let (offset, len) = frame.range(cx.memory, offset, len)?;
    cx.check_memory_limit(log_bytes(len))?;
    let topics = topics.iter().rev();
    let topics = topics.map(|topic| B256::from(topic.to_be_bytes()));
    let data = Bytes::copy_from_slice(&frame.memory()[offset..offset + len]);
    let log = Log::new_unchecked(frame.address, topics.collect(), data);
    if let Some(inspector) = &mut cx.inspector {
        inspector.log(&log);
    }
    cx.journal.add_log(log);
    Ok(())
}

/// `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

impl Context<'_> {
    /// Logs that wei moved from one account to another (EIP-7708).
    pub(crate) fn log_transfer(&mut self, from: u32, to: u32, amount: Word) {
        if self.fork < Fork::Amsterdam || from == to || amount.is_zero() {
            return;
        }
        let who = [from, to].map(|account| self.journal.account(account).address.into_word());
        let data = Bytes::copy_from_slice(&amount.to_be_bytes());
        let log = Log::new_unchecked(SYSTEM, vec![TRANSFER, who[0], who[1]], data);
        if let Some(inspector) = &mut self.inspector {
            inspector.log(&log);
        }
        self.journal.add_log(log);
    }
}
