//! Benchmark programs: one call with its state, as text.
//!
//! ```text
//! to cccccccccccccccccccccccccccccccccccccccc
//! caller 1111111111111111111111111111111111111111
//! gas 2000000000
//! data -
//! account ADDRESS BALANCE CODE
//! slot ADDRESS KEY VALUE
//! ```
//!
//! Hex may have the prefix `0x`; `-` is empty; `#` begins a comment. Gas is decimal and is
//! the gas of the frame, without the intrinsic gas of a transaction.

use crate::{
    call::Call,
    engine::TestState,
    error::{Error, Result},
};
use alloy_primitives::{Address, Bytes, U256, hex};
use std::path::{Path, PathBuf};
use txgraph_evm::{Evm, Fork, MemoryStateError, Outcome, State};

/// A benchmark program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// File name without its extension.
    pub name: String,
    /// The call that is timed.
    pub call: Call,
}

impl Program {
    /// Reads a `.prog` file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or one of its lines is wrong.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let mut program = Self::parse(&text)
            .map_err(|(line, what)| Error::format(path, format!(":{line}"), what))?;
        program.name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(program)
    }

    /// Reads `.prog` files, and those in folders, sorted by name.
    ///
    /// # Errors
    ///
    /// A path does not exist, a file is not a program, or a folder has no programs.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Self>> {
        let mut programs = Vec::new();
        for path in paths {
            if !path.is_dir() {
                programs.push(Self::open(path)?);
                continue;
            }
            let entries = std::fs::read_dir(path).map_err(Error::io(path))?;
            let files = entries.map(|entry| entry.map(|entry| entry.path()));
            let mut files: Vec<PathBuf> =
                files.collect::<Result<_, _>>().map_err(Error::io(path))?;
            files.retain(|file| file.extension().is_some_and(|end| end == "prog"));
            files.sort();
            if files.is_empty() {
                return Err(Error::format(path, "", "no `.prog` files in this folder"));
            }
            for file in files {
                programs.push(Self::open(&file)?);
            }
        }
        Ok(programs)
    }

    /// Parses the text of a `.prog` file.
    ///
    /// # Errors
    ///
    /// The number of the wrong line, from one, with a message. Line 0 means that there is
    /// no `to` line.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut program = Self::default();
        let mut to = None;
        let call = &mut program.call;
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line
                .split('#')
                .next()
                .unwrap_or("")
                .split_whitespace()
                .collect();
            let parsed = match words[..] {
                [] => Ok(()),
                ["to", at] => address(at).map(|at| to = Some(at)),
                ["caller", at] => address(at).map(|at| call.caller = at),
                ["gas", gas] => gas
                    .parse()
                    .map(|gas| call.gas = gas)
                    .map_err(|e| format!("gas {gas:?}: {e}")),
                ["value", value] => word(value).map(|value| call.value = value),
                ["data", data] => bytes(data).map(|data| call.data = data),
                ["account", at, balance, code] => account(call, at, balance, code),
                ["slot", at, key, value] => slot(call, at, key, value),
                [first, ..] => Err(format!(
                    "{first:?} with {} values is not a line of a program: to, caller, gas, value \
                     and data take one, account and slot three",
                    words.len() - 1
                )),
            };
            parsed.map_err(|what| (number, what))?;
        }
        call.to = to.ok_or((0, "there is no `to` line".to_owned()))?;
        Ok(program)
    }
}

fn account(call: &mut Call, at: &str, balance: &str, code: &str) -> Result<(), String> {
    let account = call.state.entry(address(at)?).or_default();
    account.balance = word(balance)?;
    account.code = bytes(code)?;
    Ok(())
}

fn slot(call: &mut Call, at: &str, key: &str, value: &str) -> Result<(), String> {
    let account = call.state.entry(address(at)?).or_default();
    account.storage.insert(word(key)?, word(value)?);
    Ok(())
}

/// Runs the call of a program as a bare frame.
///
/// # Errors
///
/// The state contradicts itself. A state that was read from a file does not.
pub fn run_program(
    program: &Program,
    fork: Fork,
) -> Result<Outcome, txgraph_evm::Error<MemoryStateError>> {
    let (mut evm, mut state) = (
        Evm::new(fork, 1),
        State::new(TestState::new(&program.call.state)),
    );
    evm.call(&mut state, &program.call.block(), &program.call.message())
}

fn address(text: &str) -> Result<Address, String> {
    text.parse().map_err(|e| format!("address {text:?}: {e}"))
}

fn word(text: &str) -> Result<U256, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    U256::from_str_radix(digits, 16).map_err(|e| format!("number {text:?}: {e}"))
}

fn bytes(text: &str) -> Result<Bytes, String> {
    let digits = if text == "-" { "" } else { text };
    hex::decode(digits).map(Bytes::from).map_err(|e| {
        let start: String = text.chars().take(20).collect();
        format!("bytes {start:?}: {e}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_all_kinds_of_lines() {
        let a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        let text = format!(
            "# a comment\nto {a}\ncaller {a}\ngas 7\ndata 0x0102\n\n\
             account {a} 0x10 6001 # one\nslot {a} 0x1 0xff\n"
        );
        let Program { call, .. } = Program::parse(&text).unwrap();
        let account = &call.state[&Address::repeat_byte(0xaa)];
        assert_eq!((call.gas, call.data.as_ref()), (7, &[1, 2][..]));
        assert_eq!(account.balance, U256::from(16));
        assert_eq!(account.code.as_ref(), [0x60, 1]);
        assert_eq!(account.storage[&U256::from(1)], U256::from(255));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, what) in [
            ("gas 1", 0, "no `to`"),
            ("to 12", 1, "address"),
            ("\ngas -1", 2, "gas"),
            ("data 0x123", 1, "bytes"),
            ("account 00", 1, "three"),
            (
                "slot aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0xgg 0",
                1,
                "number",
            ),
        ] {
            let (at, message) = Program::parse(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(message.contains(what), "{message}");
        }
    }
}
