//! Call frames of a transaction, recorded while it is executed: what call traces,
//! internal transfers and gas profiles are made of.

use crate::FrameDetail;
use alloy_primitives::{Address, Bytes, Log, U256};
use txgraph_evm::{FrameEnd, FrameKind, FrameStart, Inspector, Status};

/// All frames of a transaction, in the order in which they began: the outermost first,
/// children behind their parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Numbers of parents and children are places in here.
    all: Vec<Frame>,
}

/// A call frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Why it ran.
    pub kind: FrameKind,
    /// The frame that called; `None` for the outermost.
    pub parent: Option<usize>,
    /// The frames it called, in order.
    pub children: Vec<usize>,
    /// `CALLER` in it.
    pub caller: Address,
    /// `ADDRESS` in it.
    pub address: Address,
    /// Whose code ran.
    pub code_address: Address,
    /// Wei that moved from caller to address, or were seen by `CALLVALUE` only.
    pub value: U256,
    /// Gas it might use.
    pub gas_limit: u64,
    /// By it and the frames within.
    pub gas_used: u64,
    /// How it ended.
    pub status: Status,
    /// The first four bytes of its input, if it has so many.
    pub selector: Option<[u8; 4]>,
    /// Calldata or init code; empty unless [`FrameDetail::Everything`] was asked for.
    pub input: Bytes,
    /// What it returned or reverted with, or the code; empty unless
    /// [`FrameDetail::Everything`] was asked for.
    pub output: Bytes,
    /// Its own logs; none unless [`FrameDetail::Everything`] was asked for.
    pub logs: Vec<FrameLog>,
    /// Its `SELFDESTRUCT`, which ended it.
    pub destruction: Option<Destruction>,
    /// It, or a frame around it, was undone.
    pub is_undone: bool,
}

/// A log among the calls of its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameLog {
    /// The log.
    pub log: Log,
    /// Calls of the frame before it.
    pub position: usize,
    /// Logs of the transaction before it, also of frames that are undone.
    pub index: usize,
}

/// A `SELFDESTRUCT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destruction {
    /// Who gets its wei.
    pub beneficiary: Address,
    /// How many.
    pub amount: U256,
}

impl Frame {
    /// Whether its value moved, when it was not undone.
    pub fn moves_value(&self) -> bool {
        matches!(
            self.kind,
            FrameKind::Call | FrameKind::Create | FrameKind::Create2
        )
    }

    /// Whether it ran init code.
    pub fn is_creation(&self) -> bool {
        matches!(self.kind, FrameKind::Create | FrameKind::Create2)
    }
}

impl Frames {
    /// All of them, in the order in which they began.
    pub fn iter(&self) -> std::slice::Iter<'_, Frame> {
        self.all.iter()
    }

    /// The frame with a number.
    pub fn get(&self, number: usize) -> Option<&Frame> {
        self.all.get(number)
    }

    /// The outermost.
    pub fn root(&self) -> Option<&Frame> {
        self.all.first()
    }

    /// Where a frame is in the tree: at each step down, which of the calls.
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

/// Records frames. Give it to an execution, then [`take`](Self::take) what it saw.
#[derive(Debug)]
pub struct FrameRecorder {
    detail: FrameDetail,
    frames: Frames,
    /// Frames that run, the innermost last.
    open: Vec<usize>,
    logs: usize,
}

impl FrameRecorder {
    /// Nothing seen yet.
    pub fn new(detail: FrameDetail) -> Self {
        Self {
            detail,
            frames: Frames::default(),
            open: Vec::new(),
            logs: 0,
        }
    }

    /// What was seen since the last time, complete after an execution.
    pub fn take(&mut self) -> Frames {
        self.open.clear();
        self.logs = 0;
        let mut frames = std::mem::take(&mut self.frames);
        // Parents stand before their children.
        for number in 1..frames.all.len() {
            let parent = frames.all[number].parent;
            let undone = parent.is_some_and(|parent| frames.all[parent].is_undone);
            frames.all[number].is_undone |= undone;
        }
        frames
    }

    fn current(&mut self) -> Option<&mut Frame> {
        self.frames.all.get_mut(*self.open.last()?)
    }

    fn keep(&self, bytes: &[u8]) -> Bytes {
        match self.detail {
            FrameDetail::Calls => Bytes::new(),
            FrameDetail::Everything => Bytes::copy_from_slice(bytes),
        }
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
            // Until it ends.
            status: Status::Success,
            selector: start.input.first_chunk().copied(),
            input,
            output: Bytes::new(),
            logs: Vec::new(),
            destruction: None,
            is_undone: false,
        });
    }

    fn exit(&mut self, end: &FrameEnd<'_>) {
        let output = self.keep(end.output);
        if let Some(frame) = self.current() {
            frame.gas_used = end.gas_used;
            frame.status = end.status;
            frame.is_undone = end.status != Status::Success;
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
