//! One call of bytecode on a state: what `txgraph evm run` makes, and what a benchmark
//! program describes.

use crate::{Result, engine::TestState, error::Error};
use alloy_primitives::{Address, Bytes, U256, hex};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use txgraph_block::PlainState;
use txgraph_evm::{
    Block, Evm, Fork, Inspector, MemoryStateError, Message, Outcome, State, Status,
    UNTRUSTED_MEMORY_LIMIT,
};

/// The default gas of a call.
pub const DEFAULT_GAS: u64 = 1_000_000_000;

/// The default caller.
pub const DEFAULT_CALLER: Address = Address::repeat_byte(0x11);

/// The address of code that is called without an address of its own.
pub const DEFAULT_ADDRESS: Address = Address::repeat_byte(0xcc);

/// A call of a contract, and the state before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The contract that is called.
    pub to: Address,
    /// The caller.
    pub caller: Address,
    /// Gas of the frame.
    pub gas: u64,
    /// Value sent with the call, in wei.
    pub value: U256,
    /// Input of the call.
    pub data: Bytes,
    /// Accounts with code and storage.
    pub state: PlainState,
    /// Run the code of `to` as init code that creates a contract. `data` is appended to it.
    pub create: bool,
    /// The memory limit in bytes ([`Evm::set_memory_limit`]); `None`: [`UNTRUSTED_MEMORY_LIMIT`].
    pub memory_limit: Option<usize>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// Status, gas, output and logs.
    pub outcome: Outcome,
    /// Time of the execution alone.
    pub time: Duration,
}

impl Call {
    /// Creates a call of bare `code` on `state`, which may contain other contracts.
    pub fn of_code(code: Bytes, mut state: PlainState) -> Self {
        state.entry(DEFAULT_ADDRESS).or_default().code = code;
        Self {
            to: DEFAULT_ADDRESS,
            caller: DEFAULT_CALLER,
            gas: DEFAULT_GAS,
            state,
            ..Self::default()
        }
    }

    /// The block of the call: block 1, without fees and with a gas limit for any call.
    pub fn block(&self) -> Block {
        Block {
            number: 1,
            timestamp: 1_000,
            gas_limit: u64::MAX,
            blobs_max: 6,
            ..Block::default()
        }
    }

    /// The frame of the call. Ignores [`create`](Self::create).
    pub fn message(&self) -> Message {
        Message {
            caller: self.caller,
            to: Some(self.to),
            value: self.value,
            moves_value: true,
            input: self.data.clone(),
            gas_limit: self.gas,
            ..Message::default()
        }
    }

    /// Executes the call under the rules of `fork`. The caller gets the balance that
    /// `value` needs.
    ///
    /// # Errors
    ///
    /// The state contradicts itself. A state that was read from a file does not.
    pub fn run(
        mut self,
        fork: Fork,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<CallResult, txgraph_evm::Error<MemoryStateError>> {
        let (mut evm, block) = (Evm::new(fork, 1), self.block());
        evm.set_memory_limit(Some(self.memory_limit.unwrap_or(UNTRUSTED_MEMORY_LIMIT)));
        let mut message = self.message();
        let caller = self.state.entry(message.caller).or_default();
        caller.balance = caller.balance.max(message.value);
        if self.create {
            let code = self.state.remove(&self.to).unwrap_or_default().code;
            message.input = [code, message.input].concat().into();
            message.to = None;
        }
        let mut state = State::new(TestState::new(&self.state));
        let start = Instant::now();
        let outcome = match inspector {
            Some(inspector) => evm.call_inspected(&mut state, &block, &message, inspector)?,
            None => evm.call(&mut state, &block, &message)?,
        };
        Ok(CallResult {
            outcome,
            time: start.elapsed(),
        })
    }
}

/// Returns the status of an execution as a word, and the reason of a halt.
pub fn status_words(status: Status) -> (&'static str, Option<String>) {
    match status {
        Status::Success => ("success", None),
        Status::Revert => ("revert", None),
        Status::Halt(halt) => ("halt", Some(halt.to_string())),
    }
}

impl CallResult {
    /// The result as JSON.
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

/// How bytecode is written in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeForm {
    /// [`Hex`](Self::Hex) if the input begins with `0x` or consists of hex digits and
    /// white space, otherwise [`Binary`](Self::Binary).
    ///
    /// A guess: the two bytes `61 62` of binary code are the text `ab`, and are read as hex.
    #[default]
    Detect,
    /// Hex text, with or without `0x`; white space is ignored.
    Hex,
    /// The bytes themselves.
    Binary,
}

/// Decodes the contents of a code file. `path` is used in messages only.
///
/// # Errors
///
/// Hex was given or detected, and the input is not hex.
pub fn decode_code(path: &Path, input: Vec<u8>, form: CodeForm) -> Result<Bytes> {
    let text = std::str::from_utf8(&input).map(str::trim);
    let is_hex_text = |text: &str| {
        let is_hex = |c: char| c.is_ascii_hexdigit() || c.is_whitespace();
        text.starts_with("0x") || text.chars().all(is_hex)
    };
    let text = match (form, text) {
        (CodeForm::Binary, _) | (CodeForm::Detect, Err(_)) => return Ok(input.into()),
        (CodeForm::Detect, Ok(text)) if !is_hex_text(text) => return Ok(input.into()),
        (CodeForm::Hex, Err(_)) => return Err(Error::format(path, "", "not hex: not even text")),
        (CodeForm::Hex | CodeForm::Detect, Ok(text)) => text,
    };
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let digits: String = digits.split_whitespace().collect();
    hex::decode(&digits)
        .map(Bytes::from)
        .map_err(|e| Error::format(path, "", format!("not hex: {e}")))
}

/// Parses a number of wei: decimal, or hex with `0x`.
///
/// # Errors
///
/// A message that quotes the text.
pub fn parse_wei(text: &str) -> Result<U256, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => U256::from_str_radix(digits, 16),
        None => U256::from_str_radix(text, 10),
    };
    parsed.map_err(|e| format!("{text:?} is not a number of wei: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8], form: CodeForm) -> Result<Bytes> {
        decode_code(Path::new("code"), input.to_vec(), form)
    }

    #[test]
    fn detects_the_form_of_code() {
        let detect = |input: &[u8]| decode(input, CodeForm::Detect);
        for input in [&b"0x6001"[..], b"6001\n", b" 60\n 01\n", &[0x60, 1]] {
            assert_eq!(detect(input).unwrap().as_ref(), [0x60, 1]);
        }
        assert_eq!(detect(b"").unwrap().len(), 0);
        // Text, but not hex.
        assert_eq!(detect(b"[[").unwrap().as_ref(), b"[[");
        let error = detect(b"0x600").unwrap_err().to_string();
        assert!(error.contains("not hex"), "{error}");
        assert!(detect(b"600").is_err());
    }

    #[test]
    fn explicit_forms_are_not_guessed() {
        // PUSH2 0x62.., which is also the text "ab".
        let code = [0x61, 0x62];
        assert_eq!(decode(&code, CodeForm::Detect).unwrap().as_ref(), [0xab]);
        assert_eq!(decode(&code, CodeForm::Binary).unwrap().as_ref(), code);
        assert_eq!(decode(b"\x0c", CodeForm::Binary).unwrap().as_ref(), b"\x0c");
        assert_eq!(decode(b"42\n", CodeForm::Hex).unwrap().as_ref(), [0x42]);
        for input in [&b"[["[..], b"4", &[0xff]] {
            let error = decode(input, CodeForm::Hex).unwrap_err().to_string();
            assert!(error.contains("code: not hex"), "{error}");
        }
    }

    #[test]
    fn calls_return_their_outcome() {
        let code = crate::asm::assemble("CALLVALUE PUSH 0 MSTORE PUSH 32 PUSH 0 RETURN").unwrap();
        let mut call = Call::of_code(code.into(), PlainState::new());
        call.value = U256::from(5);
        let result = call.run(Fork::Osaka, None).unwrap();
        assert_eq!(result.outcome.output.last(), Some(&5));
        let json = result.to_json();
        assert_eq!(json["status"], "success");
        assert_eq!(json["gas_used"], 2 + 3 + 6 + 3 + 3);
        let halts = Call::of_code(Bytes::from_static(&[0xfe]), PlainState::new());
        let json = halts.run(Fork::Osaka, None).unwrap().to_json();
        assert_eq!(
            (&json["status"], &json["gas_used"]),
            (&json!("halt"), &json!(DEFAULT_GAS))
        );
        assert!(json["reason"].as_str().unwrap().contains("invalid opcode"));
    }

    #[test]
    fn init_code_creates_a_contract() {
        // Returns one byte of code: STOP.
        let code = crate::asm::assemble("PUSH 1 PUSH 0 RETURN").unwrap();
        let mut call = Call::of_code(code.into(), PlainState::new());
        call.create = true;
        let outcome = call.run(Fork::Osaka, None).unwrap().outcome;
        assert!(outcome.created.is_some());
        assert_eq!(outcome.output.as_ref(), [0]);
    }

    #[test]
    fn a_trace_has_a_line_for_each_instruction() {
        let code = crate::asm::assemble("PUSH1 1 PUSH1 2 ADD INVALID").unwrap();
        let call = Call::of_code(code.into(), PlainState::new());
        let mut trace = txgraph_block::trace::Trace::new(Vec::new(), Default::default());
        let result = call.run(Fork::Osaka, Some(&mut trace)).unwrap();
        let text = String::from_utf8(trace.finish(&result.outcome).unwrap()).unwrap();
        let lines = txgraph_testkit::program::json_lines(&text);
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
