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
//! Hex with or without `0x`, `-` for empty, `#` for comments. Gas is decimal: that of
//! the frame, without the intrinsic part of a transaction.

use crate::{
    engine::TestState,
    error::{Error, Result},
};
use alloy_primitives::{Address, Bytes, U256, hex};
use std::path::{Path, PathBuf};
use txgraph_block::{PlainAccount, PlainState};
use txgraph_evm::{Block, Evm, Fork, MemoryStateError, Message, Outcome, State};

/// A call of a contract, and the state it meets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// File name without its ending.
    pub name: String,
    /// The contract that is called.
    pub to: Address,
    /// Who calls.
    pub caller: Address,
    /// Gas of the frame.
    pub gas: u64,
    /// Wei sent along.
    pub value: U256,
    /// Calldata.
    pub data: Bytes,
    /// Accounts, code and slots.
    pub state: PlainState,
}

impl Program {
    /// Reads a `.prog` file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it not be understood.
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

    /// Reads `.prog` files, and those of folders in the order of their names.
    ///
    /// # Errors
    ///
    /// A path does not exist, a file is no program, or there is none.
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

    /// Understands the text of a `.prog` file; a failure names the line, from one.
    ///
    /// # Errors
    ///
    /// A line with a word that is not known or a value that is not understood, or no
    /// `to` line (then the number is 0).
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut program = Self::default();
        let mut to = None;
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
                ["caller", at] => address(at).map(|at| program.caller = at),
                ["gas", gas] => gas
                    .parse()
                    .map(|gas| program.gas = gas)
                    .map_err(|e| format!("gas {gas:?}: {e}")),
                ["value", value] => word(value).map(|value| program.value = value),
                ["data", data] => bytes(data).map(|data| program.data = data),
                ["account", at, balance, code] => program.account(at, balance, code),
                ["slot", at, key, value] => program.slot(at, key, value),
                [first, ..] => Err(format!(
                    "{first:?} with {} values is no line of a program: to, caller, gas, value and \
                     data take one, account and slot three",
                    words.len() - 1
                )),
            };
            parsed.map_err(|what| (number, what))?;
        }
        program.to = to.ok_or((0, "there is no `to` line".to_owned()))?;
        Ok(program)
    }

    fn account(&mut self, at: &str, balance: &str, code: &str) -> Result<(), String> {
        let account = self.state.entry(address(at)?).or_default();
        account.balance = word(balance)?;
        account.code = bytes(code)?;
        Ok(())
    }

    fn slot(&mut self, at: &str, key: &str, value: &str) -> Result<(), String> {
        let account: &mut PlainAccount = self.state.entry(address(at)?).or_default();
        account.storage.insert(word(key)?, word(value)?);
        Ok(())
    }
}

/// Runs a program's call as a bare frame, in a block without fees.
///
/// # Errors
///
/// The state contradicts itself, which one that was read from a file does not.
pub fn run_program(
    program: &Program,
    fork: Fork,
) -> Result<Outcome, txgraph_evm::Error<MemoryStateError>> {
    let (mut evm, mut state) = (
        Evm::new(fork, 1),
        State::new(TestState::new(&program.state)),
    );
    evm.call(&mut state, &program.block(), &program.message())
}

impl Program {
    /// The block it runs in: the first one, with room for any gas and without fees.
    pub fn block(&self) -> Block {
        Block {
            number: 1,
            timestamp: 1_000,
            gas_limit: u64::MAX,
            blobs_max: 6,
            ..Block::default()
        }
    }

    /// The call itself.
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
    fn lines_are_understood() {
        let a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        let text = format!(
            "# a comment\nto {a}\ncaller {a}\ngas 7\ndata 0x0102\n\n\
             account {a} 0x10 6001 # one\nslot {a} 0x1 0xff\n"
        );
        let program = Program::parse(&text).unwrap();
        let account = &program.state[&Address::repeat_byte(0xaa)];
        assert_eq!((program.gas, program.data.as_ref()), (7, &[1, 2][..]));
        assert_eq!(account.balance, U256::from(16));
        assert_eq!(account.code.as_ref(), [0x60, 1]);
        assert_eq!(account.storage[&U256::from(1)], U256::from(255));
    }

    #[test]
    fn a_wrong_line_is_named() {
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
            let (at, told) = Program::parse(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(told.contains(what), "{told}");
        }
    }
}
