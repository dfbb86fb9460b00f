//! Call frames of a transaction, recorded during its execution. Call traces, internal
//! transfers and gas profiles are derived from them.

use alloy_primitives::{Address, Bytes, Log, U256};
use txgraph_evm::{FrameEnd, FrameKind, FrameStart, Inspector, Status};

/// The detail of recorded call frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDetail {
    /// Addresses, value, gas and the selector of the input.
    Calls,
    /// In addition inputs, outputs and logs.
    Everything,
}

/// All frames of a transaction in the order in which they started: the outermost first,
/// children after their parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Frames refer to parents and children by their index in this vector.
    all: Vec<Frame>,
}

/// A call frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The instruction that started it.
    pub kind: FrameKind,
    /// The calling frame; `None` for the outermost.
    pub parent: Option<usize>,
    /// The frames that it called, in order.
    pub children: Vec<usize>,
    /// The value of `CALLER`.
    pub caller: Address,
    /// The value of `ADDRESS`.
    pub address: Address,
    /// The account whose code ran.
    pub code_address: Address,
    /// The value of `CALLVALUE` in wei. See [`moves_value`](Self::moves_value).
    pub value: U256,
    /// The gas limit.
    pub gas_limit: u64,
    /// The gas used, including the frames that it called.
    pub gas_used: u64,
    /// How the frame ended.
    pub status: Status,
    /// The first four bytes of the input, if there are as many.
    pub selector: Option<[u8; 4]>,
    /// The calldata, or the init code; empty unless [`FrameDetail::Everything`] was requested.
    pub input: Bytes,
    /// The data that it returned or reverted with, or the created code; empty unless
    /// [`FrameDetail::Everything`] was requested.
    pub output: Bytes,
    /// The logs of this frame; none unless [`FrameDetail::Everything`] was requested.
    pub logs: Vec<FrameLog>,
    /// The `SELFDESTRUCT` that ended it.
    pub destruction: Option<Destruction>,
    /// Whether its effects were reverted, by itself or by a calling frame.
    pub is_reverted: bool,
}

/// A log and its position among the calls of its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameLog {
    /// The log.
    pub log: Log,
    /// The number of calls of the frame before the log.
    pub position: usize,
    /// The number of logs of the transaction before it, reverted ones included.
    pub index: usize,
}

/// A `SELFDESTRUCT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destruction {
    /// The account that receives the balance.
    pub beneficiary: Address,
    /// The balance in wei.
    pub amount: U256,
}

impl Frame {
    /// Whether a frame of this kind transfers its value, provided that it is not reverted.
    pub fn moves_value(&self) -> bool {
        matches!(
            self.kind,
            FrameKind::Call | FrameKind::Create | FrameKind::Create2
        )
    }

    /// Whether the frame created a contract.
    pub fn is_creation(&self) -> bool {
        matches!(self.kind, FrameKind::Create | FrameKind::Create2)
    }
}

impl Frames {
    /// All frames in the order in which they started.
    pub fn iter(&self) -> std::slice::Iter<'_, Frame> {
        self.all.iter()
    }

    /// The frame at an index.
    pub fn get(&self, number: usize) -> Option<&Frame> {
        self.all.get(number)
    }

    /// The outermost frame.
    pub fn root(&self) -> Option<&Frame> {
        self.all.first()
    }

    /// The path of a frame in the tree: at each level, the index of the call.
    pub fn trace_address(&self, number: usize) -> Vec<u32> {
        let mut path = Vec::new();
        let mut number = number;
        while let Some((parent, frame)) = self.parent(number) {
            let at = frame.children.iter().position(|child| *child == number);
            path.extend(at.and_then(|at| u32::try_from(at).ok()));
            number = parent;
        }
        path.reverse();
        path
    }

    fn parent(&self, number: usize) -> Option<(usize, &Frame)> {
        let parent = self.all.get(number)?.parent?;
        Some((parent, self.all.get(parent)?))
    }
}

/// The most bytes of inputs and outputs that a recorder copies. A call copies its input without a cost in
/// gas, so one transaction could ask for more than fits in memory.
const COPIED_BYTES: usize = 512 << 20;

/// An inspector that records frames; [`take`](Self::take) returns them after an execution.
#[derive(Debug)]
pub struct FrameRecorder {
    detail: FrameDetail,
    frames: Frames,
    /// Bytes that may still be copied; `None` after more were needed.
    left: Option<usize>,
    /// Running frames, the innermost last.
    open: Vec<usize>,
    logs: usize,
}

impl FrameRecorder {
    /// A recorder without frames.
    pub fn new(detail: FrameDetail) -> Self {
        Self {
            detail,
            frames: Frames::default(),
            left: Some(COPIED_BYTES),
            open: Vec::new(),
            logs: 0,
        }
    }

    /// Whether the inputs and outputs of all executions so far fit into the memory of a recorder, 512 MiB. If
    /// not, those that did not fit are empty.
    pub const fn is_complete(&self) -> bool {
        self.left.is_some()
    }

    /// Returns the frames of the last execution and removes them.
    pub fn take(&mut self) -> Frames {
        self.open.clear();
        self.logs = 0;
        let mut frames = std::mem::take(&mut self.frames);
        // Parents come before their children.
        for number in 1..frames.all.len() {
            let parent = frames.all[number].parent;
            let reverted = parent.is_some_and(|parent| frames.all[parent].is_reverted);
            frames.all[number].is_reverted |= reverted;
        }
        frames
    }

    fn current(&mut self) -> Option<&mut Frame> {
        self.frames.all.get_mut(*self.open.last()?)
    }

    fn keep(&mut self, bytes: &[u8]) -> Bytes {
        if self.detail == FrameDetail::Everything {
            self.left = self.left.and_then(|left| left.checked_sub(bytes.len()));
            if self.left.is_some() {
                return Bytes::copy_from_slice(bytes);
            }
        }
        Bytes::new()
    }
}

impl Inspector for FrameRecorder {
    fn enter(&mut self, start: &FrameStart<'_>) {
        let number = self.frames.all.len();
        let parent = self.open.last().copied();
        if let Some(parent) = self.current() {
            parent.children.push(number);
        }
        self.open.push(number);
        let input = self.keep(start.input);
        self.frames.all.push(Frame {
            kind: start.kind,
            parent,
            children: Vec::new(),
            caller: start.caller,
            address: start.address,
            code_address: start.code_address,
            value: start.value,
            gas_limit: start.gas_limit,
            gas_used: 0,
            // Replaced at the end of the frame.
            status: Status::Success,
            selector: start.input.first_chunk().copied(),
            input,
            output: Bytes::new(),
            logs: Vec::new(),
            destruction: None,
            is_reverted: false,
        });
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        let output = self.keep(end.output);
        if let Some(frame) = self.current() {
            frame.gas_used = end.gas_used;
            frame.status = end.status;
            frame.is_reverted = end.status != Status::Success;
            frame.output = output;
        }
        self.open.pop();
    }

    fn selfdestruct(&mut self, _: Address, beneficiary: Address, amount: U256) {
        if let Some(frame) = self.current() {
            frame.destruction = Some(Destruction {
                beneficiary,
                amount,
            });
        }
    }

    fn log(&mut self, log: &Log) {
        let index = self.logs;
        self.logs += 1;
        if self.detail == FrameDetail::Everything
            && let Some(frame) = self.current()
        {
            let log = FrameLog {
                log: log.clone(),
                position: frame.children.len(),
                index,
            };
            frame.logs.push(log);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_a_limit() {
        let mut recorder = FrameRecorder::new(FrameDetail::Everything);
        recorder.left = Some(10);
        let mut call = |input: &[u8]| {
            recorder.enter(&FrameStart {
                kind: FrameKind::Call,
                depth: 0,
                caller: Address::ZERO,
                address: Address::ZERO,
                code_address: Address::ZERO,
                value: U256::ZERO,
                input,
                gas_limit: 0,
            });
            recorder.exit(&FrameEnd {
                status: Status::Success,
                depth: 0,
                gas_used: 0,
                output: &[],
                created: None,
            });
            let input = recorder.take().root().unwrap().input.clone();
            (input.len(), recorder.is_complete())
        };
        assert_eq!(call(&[1; 6]), (6, true));
        // The sum over all executions counts.
        assert_eq!(call(&[2; 5]), (0, false));
        assert_eq!(call(&[3; 1]), (0, false));
    }
}
