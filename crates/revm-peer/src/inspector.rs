//! Our inspectors behind revm's trait: the same events, in the same order.

use crate::outcome;
use alloy_primitives::{Address, Bytes, Log, U256};
use revm::{
    context_interface::{ContextTr, CreateScheme, JournalTr},
    inspector::Inspector as PeerInspector,
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, Interpreter,
        InterpreterResult,
        interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr, ReturnData},
    },
};
use txgraph_evm::{FrameEnd, FrameKind, FrameStart, Inspector, Step};

/// Forwards the events of revm to one of our inspectors.
pub(crate) struct ForwardingInspector<'a> {
    inspector: &'a mut dyn Inspector,
    needs_steps: bool,
    /// Gas limits of the open frames.
    open: Vec<u64>,
    stack: Vec<[u64; 4]>,
}

impl<'a> ForwardingInspector<'a> {
    pub(crate) fn new(inspector: &'a mut dyn Inspector) -> Self {
        Self {
            needs_steps: inspector.needs_steps(),
            inspector,
            open: Vec::new(),
            stack: Vec::new(),
        }
    }

    fn enter(&mut self, start: &FrameStart<'_>) {
        self.open.push(start.gas_limit);
        self.inspector.enter(start);
    }

    fn exit(&mut self, result: &InterpreterResult, created: Option<Address>) {
        let gas_limit = self.open.pop().unwrap_or_default();
        let status = outcome::status(result.result);
        let is_success = status == txgraph_evm::Status::Success;
        self.inspector.exit(&FrameEnd {
            status,
            depth: self.open.len(),
            // revm consumes the rest of a halted frame only when it returns.
            gas_used: if result.result.is_halt() {
                gas_limit
            } else {
                result.gas.total_gas_spent()
            },
            output: &result.output,
            created: created.filter(|_| is_success),
        });
    }
}

impl<CX: ContextTr> PeerInspector<CX> for ForwardingInspector<'_> {
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut CX) {
        if !self.needs_steps {
            return;
        }
        self.stack.clear();
        let words = interpreter.stack.data().iter();
        self.stack.extend(words.map(|word| *word.as_limbs()));
        let len = interpreter.memory.size();
        self.inspector.step(&Step {
            pc: interpreter.bytecode.pc(),
            opcode: interpreter.bytecode.opcode(),
            gas: interpreter.gas.remaining(),
            depth: self.open.len(),
            address: interpreter.input.target_address(),
            stack: &self.stack,
            memory: &interpreter.memory.slice(0..len),
            return_data: interpreter.return_data.buffer(),
            refund: interpreter.gas.refunded(),
        });
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, _: &mut CX) {
        let action = interpreter.bytecode.action().as_ref();
        let result = action.and_then(|action| action.instruction_result());
        // Our inspectors do not receive the end of an instruction that halted.
        if self.needs_steps && result.is_none_or(|result| !result.is_halt()) {
            self.inspector.step_end(interpreter.gas.remaining());
        }
    }

    fn log(&mut self, _: &mut CX, log: Log) {
        self.inspector.log(&log);
    }

    fn call(&mut self, context: &mut CX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let input: Bytes = inputs.input.bytes(context);
        self.enter(&FrameStart {
            kind: match inputs.scheme {
                CallScheme::Call => FrameKind::Call,
                CallScheme::CallCode => FrameKind::CallCode,
                CallScheme::DelegateCall => FrameKind::DelegateCall,
                CallScheme::StaticCall => FrameKind::StaticCall,
            },
            depth: self.open.len(),
            caller: inputs.caller,
            address: inputs.target_address,
            code_address: inputs.bytecode_address,
            value: inputs.call_value(),
            input: &input,
            gas_limit: inputs.gas_limit,
        });
        None
    }

    fn call_end(&mut self, _: &mut CX, _: &CallInputs, outcome: &mut CallOutcome) {
        self.exit(&outcome.result, None);
    }

    fn create(&mut self, context: &mut CX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        let journal = context.journal_mut();
        // Cached already. revm reports an error when it reads the account itself.
        let nonce = (journal.load_account(inputs.caller())).map_or(0, |it| it.data.info.nonce);
        let address = inputs.created_address(nonce);
        self.enter(&FrameStart {
            kind: match inputs.scheme() {
                CreateScheme::Create2 { .. } => FrameKind::Create2,
                _ => FrameKind::Create,
            },
            depth: self.open.len(),
            caller: inputs.caller(),
            address,
            code_address: address,
            value: inputs.value(),
            input: inputs.init_code(),
            gas_limit: inputs.gas_limit(),
        });
        None
    }

    fn create_end(&mut self, _: &mut CX, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.exit(&outcome.result, outcome.address);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.inspector.selfdestruct(contract, target, value);
    }
}
