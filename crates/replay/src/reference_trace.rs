//! Opcode traces by other clients: results of `debug_traceTransaction` (struct logs), or lines
//! in the format of EIP-3155.

use crate::{Error, Result};
use alloy_primitives::U256;
use serde::{Deserialize, Deserializer, de};
use std::{fs, path::Path};
use txgraph_block::opcodes;

/// A trace to compare a replay with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceTrace {
    /// The instructions, in execution order.
    pub steps: Vec<TraceStep>,
}

/// An instruction, before it was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The position in the code.
    pub pc: u64,
    /// The opcode; `None` if it has no name.
    pub op: Option<u8>,
    /// The gas left before it.
    pub gas: u64,
    /// The gas charged for it, including the gas passed to a call. `None` if it halted, because
    /// clients report different costs then.
    pub cost: Option<u64>,
    /// The call depth; 1 is the outermost frame.
    pub depth: u64,
    /// The stack, top last; `None` if the trace does not contain it.
    pub stack: Option<Vec<U256>>,
}

impl ReferenceTrace {
    /// Reads a trace from a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a trace.
    pub fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|source| Error::ReadTrace {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|what| Error::Trace {
            path: path.to_owned(),
            what,
        })
    }

    /// Parses either form; struct logs with or without the JSON-RPC envelope.
    ///
    /// # Errors
    ///
    /// A message with the fault and its line.
    pub fn parse(text: &str) -> Result<Self, String> {
        match serde_json::from_str(text) {
            Ok(Answer {
                struct_logs: Some(steps),
                ..
            })
            | Ok(Answer {
                result: Some(Logs { struct_logs: steps }),
                ..
            }) => Ok(Self {
                steps: steps.into_iter().map(Into::into).collect(),
            }),
            Ok(Answer {
                error: Some(error),
                pc: None,
                ..
            }) => Err(format!("the response of the node is an error: {error}")),
            // A single line is an object, too.
            Ok(_) => Self::lines(text),
            Err(error) if is_one_object(text) => Err(error.to_string()),
            Err(_) => Self::lines(text),
        }
    }

    fn lines(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |error| format!("line {number}: {error}");
            let object: serde_json::Value = serde_json::from_str(line).map_err(wrong)?;
            // Other lines contain the outcome or a state root.
            if object.get("pc").is_some() {
                let step: Step = serde_json::from_value(object).map_err(wrong)?;
                steps.push(step.into());
            }
        }
        match steps.is_empty() {
            true => Err("neither `structLogs` nor lines of EIP-3155 were found".to_owned()),
            false => Ok(Self { steps }),
        }
    }
}

/// Whether the text is one response rather than a line for each step.
fn is_one_object(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let is_step = |value: serde_json::Value| value.get("pc").is_some();
    !serde_json::from_str(first).is_ok_and(is_step) && text.contains("structLogs")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    struct_logs: Option<Vec<Step>>,
    result: Option<Logs>,
    error: Option<serde_json::Value>,
    /// Present in lines of EIP-3155.
    pc: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Logs {
    struct_logs: Vec<Step>,
}

/// A step in either form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    #[serde(deserialize_with = "number")]
    pc: u64,
    op: Op,
    #[serde(deserialize_with = "number")]
    gas: u64,
    #[serde(deserialize_with = "number")]
    gas_cost: u64,
    #[serde(deserialize_with = "number")]
    depth: u64,
    stack: Option<Vec<Word>>,
    error: Option<serde_json::Value>,
}

/// An opcode: a number in EIP-3155, a mnemonic in struct logs.
#[derive(Deserialize)]
#[serde(untagged)]
enum Op {
    Byte(u8),
    Name(String),
}

/// A stack word in hex, with or without `0x`.
struct Word(U256);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let word = U256::from_str_radix(digits, 16);
        word.map(Self)
            .map_err(|_| de::Error::custom(format!("{text:?} is not a word in hex")))
    }
}

/// A number, or a string with a decimal or hex number.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(number) => Ok(number),
        Written::Text(text) => {
            let hex = text.strip_prefix("0x");
            let number = hex.map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
            number.map_err(|_| de::Error::custom(format!("{text:?} is not a number")))
        }
    }
}

impl From<Step> for TraceStep {
    fn from(step: Step) -> Self {
        let has_failed = step.error.is_some_and(|error| !error.is_null());
        Self {
            pc: step.pc,
            op: match step.op {
                Op::Byte(byte) => Some(byte),
                Op::Name(name) => opcodes::by_name(&name),
            }
            .filter(|opcode| opcodes::is_on_mainnet(*opcode)),
            gas: step.gas,
            cost: (!has_failed).then_some(step.gas_cost),
            depth: step.depth,
            stack: (step.stack).map(|words| words.into_iter().map(|word| word.0).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str =
        r#"{"pc":2,"op":"SHA3","gas":100,"gasCost":3,"depth":1,"stack":["0x80","00ff"]}"#;

    fn step() -> TraceStep {
        TraceStep {
            pc: 2,
            op: Some(0x20),
            gas: 100,
            cost: Some(3),
            depth: 1,
            stack: Some(vec![U256::from(0x80), U256::from(0xff)]),
        }
    }

    #[test]
    fn parses_struct_logs_and_eip3155() {
        let line = r#"{"pc":2,"op":32,"gas":"0x64","gasCost":"0x3","memSize":0,"stack":["0x80","0xff"],"depth":1,"opName":"KECCAK256"}"#;
        for text in [
            format!(r#"{{"failed":false,"gas":1,"structLogs":[{STEP}]}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"structLogs":[{STEP}]}}}}"#),
            line.to_owned(),
            format!("{line}\n\n{{\"output\":\"\",\"gasUsed\":\"0x3\"}}\n"),
        ] {
            let trace = ReferenceTrace::parse(&text).unwrap();
            assert_eq!(trace.steps, [step()], "{text}");
        }
    }

    /// Clients disagree about the names of opcodes that mainnet does not have.
    #[test]
    fn opcodes_of_later_forks_have_no_name() {
        for op in [r#""DUPN""#, "230", r#""opcode 0xe6 not defined""#] {
            let text = STEP.replace(r#""SHA3""#, op);
            let text = format!(r#"{{"structLogs":[{text}]}}"#);
            assert_eq!(
                ReferenceTrace::parse(&text).unwrap().steps[0].op,
                None,
                "{op}"
            );
        }
    }

    #[test]
    fn unknown_opcode_and_absent_fields_are_none() {
        let text = r#"{"structLogs":[{"pc":0,"op":"opcode 0x0c not defined","gas":9,"gasCost":0,"depth":1,"stack":null,"error":"invalid opcode"}]}"#;
        let trace = ReferenceTrace::parse(text).unwrap();
        let expected = TraceStep {
            pc: 0,
            op: None,
            gas: 9,
            cost: None,
            depth: 1,
            stack: None,
        };
        assert_eq!(trace.steps, [expected]);
        let empty = ReferenceTrace::parse(r#"{"structLogs":[]}"#).unwrap();
        assert_eq!(empty.steps, []);
    }

    #[test]
    fn rejects_other_text() {
        let second_line = format!("{STEP}\n{{\"pc\":1,\"op\":300}}");
        for (text, word) in [
            ("", "neither"),
            ("{}", "neither"),
            ("0x1234", "line 1"),
            (r#"{"output":"","gasUsed":"0x3"}"#, "neither"),
            (
                r#"{"error":{"code":-32000,"message":"not found"}}"#,
                "not found",
            ),
            (r#"{"structLogs":[{"pc":0}]}"#, "missing field"),
            (r#"{"result":{"structLogs":[{"pc":"x"}]}}"#, "not a number"),
            (second_line.as_str(), "line 2"),
            (
                r#"{"pc":1,"op":3,"gas":1,"gasCost":1,"depth":1,"stack":["0xg"]}"#,
                "0xg",
            ),
        ] {
            let error = ReferenceTrace::parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
