//! Why a call or a creation cannot begin.

use crate::{frame::Context, inspect::FrameKind, outcome::Halt};

/// The maximum number of frames within the outermost one.
const DEPTH_MAX: usize = 1024;

/// Why a creation cannot begin at a depth.
pub(crate) fn creation_refusal(cx: &Context<'_>, depth: usize) -> Option<Halt> {
    // A transaction has already increased the nonce.
    let at_limit = || depth > 0 && cx.journal.account(cx.request.payer).nonce == u64::MAX;
    refusal(cx, depth).or_else(|| at_limit().then_some(Halt::NonceOverflow))
}

/// Why a frame cannot begin at a depth.
pub(crate) fn refusal(cx: &Context<'_>, depth: usize) -> Option<Halt> {
    if depth > DEPTH_MAX {
        return Some(Halt::CallDepth);
    }
    let (kind, value) = (cx.request.kind, cx.request.value);
    if kind == FrameKind::DelegateCall || value.is_zero() {
        return None;
    }
    if kind == FrameKind::Call && cx.request.transfer.is_zero() {
        // The value is visible but does not move.
        return None;
    }
    let insufficient = cx.journal.account(cx.request.payer).balance.lt(value);
    insufficient.then_some(Halt::InsufficientBalance)
}
