//! One call of some code, as the command line asks for it.

use crate::{Result, engine::TestState, error::Error, program::Program};
use alloy_primitives::{Address, Bytes, U256, hex};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use txgraph_block::PlainState;
use txgraph_evm::{Evm, Fork, Inspector, MemoryStateError, Outcome, State, Status};

/// Gas of a call where nobody says otherwise.
pub const DEFAULT_GAS: u64 = 1_000_000_000;

/// Who calls where nobody says otherwise.
pub const DEFAULT_CALLER: Address = Address::repeat_byte(0x11);

/// Where code runs where nobody says otherwise.
pub const DEFAULT_ADDRESS: Address = Address::repeat_byte(0xcc);

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The rules.
    pub fork: Fork,
    /// Who calls whom, with what, on which state.
    pub program: Program,
    /// The code is init code: it runs as a creation.
    pub create: bool,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub outcome: Outcome,
    /// Execution alone: no reading, no start of the programme.
    pub time: Duration,
}

impl Call {
    /// A call of bare `code` on `state`, which may hold other contracts.
    pub fn of_code(code: Bytes, mut state: PlainState, fork: Fork) -> Self {
        let account = state.entry(DEFAULT_ADDRESS).or_default();
        account.code = code;
        let program = Program {
            to: DEFAULT_ADDRESS,
            caller: DEFAULT_CALLER,
            gas: DEFAULT_GAS,
            state,
            ..Program::default()
        };
        Self {
            fork,
            program,
            create: false,
        }
    }

    /// Makes the call.
    ///
    /// # Errors
    ///
    /// The state contradicts itself, which one that was read from a file does not.
    pub fn run(
        &self,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Ran, txgraph_evm::Error<MemoryStateError>> {
        let (mut evm, block) = (Evm::new(self.fork, 1), self.program.block());
        let mut message = self.program.message();
        let mut pre = self.program.state.clone();
        // Nobody wants to think of the caller's balance.
        let caller = pre.entry(message.caller).or_default();
        caller.balance = caller.balance.max(message.value);
        if self.create {
            let code = pre.remove(&self.program.to).unwrap_or_default().code;
            message.input = [code, message.input].concat().into();
            message.to = None;
        }
        let mut state = State::new(TestState::new(&pre));
        let start = Instant::now();
        let outcome = match inspector {
            Some(inspector) => evm.call_inspected(&mut state, &block, &message, inspector)?,
            None => evm.call(&mut state, &block, &message)?,
        };
        Ok(Ran {
            outcome,
            time: start.elapsed(),
        })
    }
}

/// How an execution ended, in a word, and why.
pub fn status_words(status: Status) -> (&'static str, Option<String>) {
    match status {
        Status::Success => ("success", None),
        Status::Revert => ("revert", None),
        Status::Halt(halt) => ("halt", Some(halt.to_string())),
    }
}

impl Ran {
    /// Everything, as JSON.
    pub fn to_json(&self) -> Value {
        let Outcome {
            gas_used,
            gas_refunded,
            output,
            created,
            ..
        } = &self.outcome;
        let (status, reason) = status_words(self.outcome.status);
        let logs = self.outcome.logs.iter().map(|log| {
            let (address, data) = (log.address, &log.data.data);
            json!({ "address": address, "topics": log.data.topics(), "data": data })
        });
        json!({
            "status": status,
            "reason": reason,
            "gas_used": gas_used,
            "gas_refunded": gas_refunded,
            "output": output,
            "created": created,
            "logs": logs.collect::<Vec<_>>(),
            "time_ns": u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// Reads accounts from a JSON file in the form of a genesis file's `alloc`.
///
/// # Errors
///
/// The file cannot be read or is not such a state.
pub fn open_state(path: &Path) -> Result<PlainState> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    txgraph_block::parse_accounts(&text).map_err(|what| Error::format(path, "", what))
}

/// Code as people keep it: hex text, with or without `0x` and with line breaks, or the
/// bytes themselves. `path` is for messages.
///
/// # Errors
///
/// Text that begins as hex and is none.
pub fn decode_code(path: &Path, input: Vec<u8>) -> Result<Bytes> {
    let Some(text) = std::str::from_utf8(&input).ok().map(str::trim) else {
        return Ok(input.into());
    };
    let digits = text.strip_prefix("0x");
    let is_hex = |c: char| c.is_ascii_hexdigit() || c.is_whitespace();
    if digits.is_none() && !text.chars().all(is_hex) {
        return Ok(input.into());
    }
    let digits: String = digits.unwrap_or(text).split_whitespace().collect();
    hex::decode(&digits)
        .map(Bytes::from)
        .map_err(|e| Error::format(path, "", format!("not hex: {e}")))
}

/// A number of wei: decimal, or hex with `0x`.
///
/// # Errors
///
/// What is wrong with it.
pub fn parse_wei(text: &str) -> Result<U256, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => U256::from_str_radix(digits, 16),
        None => U256::from_str_radix(text, 10),
    };
    parsed.map_err(|e| format!("{text:?} is no number of wei: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8]) -> Result<Bytes> {
        decode_code(Path::new("code"), input.to_vec())
    }

    #[test]
    fn code_is_read_in_all_forms() {
        for input in [&b"0x6001"[..], b"6001\n", b" 60\n 01\n", &[0x60, 1]] {
            assert_eq!(decode(input).unwrap().as_ref(), [0x60, 1]);
        }
        assert_eq!(decode(b"").unwrap().len(), 0);
        // Bytes that are text, but no hex.
        assert_eq!(decode(b"[[").unwrap().as_ref(), b"[[");
        assert!(
            decode(b"0x600")
                .unwrap_err()
                .to_string()
                .contains("not hex")
        );
        assert!(decode(b"600").is_err());
    }

    #[test]
    fn calls_run_and_are_told() {
        let code = crate::asm::assemble("CALLVALUE PUSH 0 MSTORE PUSH 32 PUSH 0 RETURN").unwrap();
        let mut call = Call::of_code(code.into(), PlainState::new(), Fork::Osaka);
        call.program.value = U256::from(5);
        let ran = call.run(None).unwrap();
        assert_eq!(ran.outcome.output.last(), Some(&5));
        let told = ran.to_json();
        assert_eq!(told["status"], "success");
        assert_eq!(told["gas_used"], 2 + 3 + 6 + 3 + 3);
        let halts = Call::of_code(Bytes::from_static(&[0xfe]), PlainState::new(), Fork::Osaka);
        let told = halts.run(None).unwrap().to_json();
        assert_eq!(
            (&told["status"], &told["gas_used"]),
            (&json!("halt"), &json!(DEFAULT_GAS))
        );
        assert!(told["reason"].as_str().unwrap().contains("invalid opcode"));
    }

    #[test]
    fn init_code_creates() {
        // Returns one byte of code: STOP.
        let code = crate::asm::assemble("PUSH 1 PUSH 0 RETURN").unwrap();
        let mut call = Call::of_code(code.into(), PlainState::new(), Fork::Osaka);
        call.create = true;
        let outcome = call.run(None).unwrap().outcome;
        assert!(outcome.created.is_some());
        assert_eq!(outcome.output.as_ref(), [0]);
    }

    #[test]
    fn a_trace_has_a_line_for_each_instruction() {
        let code = crate::asm::assemble("PUSH1 1 PUSH1 2 ADD INVALID").unwrap();
        let call = Call::of_code(code.into(), PlainState::new(), Fork::Osaka);
        let mut trace = txgraph_block::trace::Trace::new(Vec::new(), Default::default());
        let ran = call.run(Some(&mut trace)).unwrap();
        let text = String::from_utf8(trace.finish(&ran.outcome).unwrap()).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 5, "{text}");
        let add = &lines[2];
        assert_eq!(
            (&add["pc"], &add["opName"]),
            (&json!(4), &json!("ADD")),
            "{text}"
        );
        assert_eq!(add["stack"], json!(["0x1", "0x2"]));
        assert_eq!((&add["gasCost"], &add["depth"]), (&json!("0x3"), &json!(1)));
        assert!(
            lines[3]["error"]
                .as_str()
                .unwrap()
                .contains("invalid opcode"),
            "{text}"
        );
        assert!(lines[4]["error"].is_string(), "{text}");
    }
}
