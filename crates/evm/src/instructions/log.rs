//! `LOG0` to `LOG4`.

use crate::{
    frame::{Context, Fault, Frame},
    gas::LOG_BYTE,
    stack::Stack,
};
use alloy_primitives::{B256, Bytes, Log};

/// `LOG0` to `LOG4`: memory and topics.
pub(crate) fn log(
    cx: &mut Context<'_>,
    frame: &mut Frame,
    stack: Stack,
    topics: usize,
) -> Result<(), Fault> {
    frame.may_change()?;
    let (offset, len) = (stack.at(0), stack.at(1));
    frame.charge(LOG_BYTE.saturating_mul(len.saturating_u64().min(1 << 40) as i64))?;
    let (offset, len) = frame.range(cx.memory, offset, len)?;
    let topics = (0..topics).map(|n| B256::from(stack.at(2 + n).to_be_bytes()));
    let data = Bytes::copy_from_slice(&frame.memory()[offset..offset + len]);
    let log = Log::new_unchecked(frame.address, topics.collect(), data);
    if let Some(inspector) = &mut cx.inspector {
        inspector.log(&log);
    }
    cx.journal.logs.push(log);
    Ok(())
}
