//! Mnemonics to bytecode.

use super::{
    AsmError,
    scan::{Line, Spanned, Token, raw_bytes, words},
};
use alloy_primitives::U256;
use std::collections::HashMap;
use txgraph_block::opcodes;

const PUSH0: u8 = 0x5f;
/// Bytes of the widest push.
const PUSH_BYTES_MAX: usize = 32;

/// A sum of numbers and names. `true` means that the term is subtracted.
type Sum<'a> = Vec<(bool, Spanned<'a>)>;

/// A piece of the code, before the positions of labels are known.
#[derive(Debug)]
enum Piece<'a> {
    Opcode(u8),
    Bytes(Vec<u8>),
    Push {
        line: Line<'a>,
        start: usize,
        /// The width that the mnemonic gives; `None` for the shortest.
        width: Option<usize>,
        value: Sum<'a>,
    },
    /// A label at this position.
    Label(&'a str),
}

/// The definition of a name.
#[derive(Debug)]
struct Defined<'a> {
    line: usize,
    /// The value of a constant; `None` for a label.
    value: Option<(Line<'a>, Sum<'a>)>,
}

#[derive(Default, Debug)]
struct Source<'a> {
    pieces: Vec<Piece<'a>>,
    names: HashMap<&'a str, Defined<'a>>,
}

/// Turns mnemonics into bytecode.
///
/// # Errors
///
/// An unknown word, a value that does not fit, or a name that is undefined or defined
/// twice, with line and column.
pub fn assemble(source: &str) -> Result<Vec<u8>, AsmError> {
    let mut parsed = Source::default();
    for (number, text) in (1..).zip(source.lines()) {
        parsed.line(Line { number, text })?;
    }
    parsed.code()
}

impl<'a> Source<'a> {
    fn line(&mut self, line: Line<'a>) -> Result<(), AsmError> {
        let words = words(line)?;
        let mut rest = &words[..];
        if let [
            Spanned {
                token: Token::Name(name),
                start,
                ..
            },
            equals,
            value @ ..,
        ] = rest
            && equals.token == Token::Equals
        {
            let (sum, after) = sum(line, equals.start, value)?;
            if let [extra, ..] = after {
                return Err(line.error(extra.start, "a constant ends with its line"));
            }
            return self.define(line, *start, name, Some((line, sum)));
        }
        while let [word, after @ ..] = rest {
            let Token::Name(name) = word.token else {
                let what = format!("expected a mnemonic or a label, not {}", word.written);
                return Err(line.error(word.start, what));
            };
            rest = match after {
                [colon, after @ ..] if colon.token == Token::Colon => {
                    self.define(line, word.start, name, None)?;
                    self.pieces.push(Piece::Label(name));
                    after
                }
                _ => self.instruction(line, word, name, after)?,
            };
        }
        Ok(())
    }

    fn define(
        &mut self,
        line: Line<'a>,
        start: usize,
        name: &'a str,
        value: Option<(Line<'a>, Sum<'a>)>,
    ) -> Result<(), AsmError> {
        if mnemonic(name).is_some() {
            return Err(line.error(start, format!("{name} is a mnemonic and cannot be a name")));
        }
        let defined = Defined {
            line: line.number,
            value,
        };
        match self.names.insert(name, defined) {
            None => Ok(()),
            Some(first) => {
                let what = format!("{name} is already defined in line {}", first.line);
                Err(line.error(start, what))
            }
        }
    }

    /// Parses one instruction with its operand, and returns the words after it.
    fn instruction<'w>(
        &mut self,
        line: Line<'a>,
        word: &Spanned<'a>,
        name: &str,
        after: &'w [Spanned<'a>],
    ) -> Result<&'w [Spanned<'a>], AsmError> {
        match mnemonic(name) {
            Some(Mnemonic::Plain(opcode)) => {
                self.pieces.push(Piece::Opcode(opcode));
                Ok(after)
            }
            Some(Mnemonic::Push(width)) => {
                let (value, after) = sum(line, word.start + word.written.len(), after)?;
                let start = value[0].1.start;
                self.pieces.push(Piece::Push {
                    line,
                    start,
                    width,
                    value,
                });
                Ok(after)
            }
            Some(Mnemonic::Data) => {
                let [operand, after @ ..] = after else {
                    let what = "DATA needs bytes: 0x… or text in quotation marks";
                    return Err(line.error(word.start, what));
                };
                let bytes = match &operand.token {
                    Token::Text(bytes) => bytes.clone(),
                    _ => raw_bytes(operand.written).map_err(|e| line.error(operand.start, e))?,
                };
                self.pieces.push(Piece::Bytes(bytes));
                Ok(after)
            }
            None => {
                let what = match nearest(name) {
                    Some(near) => format!("{name} is not a mnemonic; did you mean {near}?"),
                    None => format!("{name} is not a mnemonic; a label ends with `:`"),
                };
                Err(line.error(word.start, what))
            }
        }
    }

    /// Lays out the pieces. Once all positions are known, a push of a label may need more
    /// bytes, which moves later positions. Widths only grow, so the loop ends.
    fn code(self) -> Result<Vec<u8>, AsmError> {
        let mut widths: Vec<usize> = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Push { width, .. } => width.unwrap_or(1),
                _ => 0,
            })
            .collect();
        loop {
            let positions = self.positions(&widths);
            let mut grown = false;
            let mut code = Vec::new();
            for (piece, piece_width) in self.pieces.iter().zip(&mut widths) {
                match piece {
                    Piece::Opcode(opcode) => code.push(*opcode),
                    Piece::Bytes(bytes) => code.extend_from_slice(bytes),
                    Piece::Label(_) => {}
                    Piece::Push {
                        line,
                        start,
                        width,
                        value,
                    } => {
                        let value = self.value(*line, value, &positions, 0)?;
                        let needed = value.byte_len().max(1);
                        if needed > *piece_width {
                            if let Some(width) = width {
                                let what = format!(
                                    "{value:#x} needs {needed} bytes, PUSH{width} has {width}"
                                );
                                return Err(line.error(*start, what));
                            }
                            *piece_width = needed;
                            grown = true;
                        }
                        let width = *piece_width;
                        #[expect(clippy::cast_possible_truncation, reason = "at most 32")]
                        code.push(PUSH0 + width as u8);
                        code.extend_from_slice(
                            &value.to_be_bytes::<32>()[PUSH_BYTES_MAX - width..],
                        );
                    }
                }
            }
            if !grown {
                return Ok(code);
            }
        }
    }

    fn positions(&self, widths: &[usize]) -> HashMap<&'a str, U256> {
        let mut positions = HashMap::new();
        let mut at = 0;
        for (piece, width) in self.pieces.iter().zip(widths) {
            at += match piece {
                Piece::Opcode(_) => 1,
                Piece::Bytes(bytes) => bytes.len(),
                Piece::Push { .. } => 1 + width,
                Piece::Label(name) => {
                    positions.insert(*name, U256::from(at));
                    0
                }
            };
        }
        positions
    }

    fn value(
        &self,
        line: Line<'_>,
        sum: &Sum<'_>,
        positions: &HashMap<&str, U256>,
        depth: usize,
    ) -> Result<U256, AsmError> {
        let mut total = U256::ZERO;
        for (minus, word) in sum {
            let term = match word.token {
                Token::Number(number) => number,
                Token::Name(name) => match self.names.get(name) {
                    // A chain longer than the number of names contains one of them twice.
                    Some(_) if depth > self.names.len() => {
                        let what = format!("{name} is defined in terms of itself");
                        return Err(line.error(word.start, what));
                    }
                    Some(Defined {
                        value: Some((line, sum)),
                        ..
                    }) => self.value(*line, sum, positions, depth + 1)?,
                    Some(Defined { value: None, .. }) => positions[name],
                    None => {
                        let what = format!("there is no label or constant {name}");
                        return Err(line.error(word.start, what));
                    }
                },
                _ => unreachable!("a sum consists of numbers and names"),
            };
            let next = match minus {
                true => total.checked_sub(term),
                false => total.checked_add(term),
            };
            total = next.ok_or_else(|| {
                let what = if *minus {
                    "the sum is below zero"
                } else {
                    "the sum exceeds 256 bits"
                };
                line.error(word.start, what)
            })?;
        }
        Ok(total)
    }
}

/// Parses `A`, `A+B`, `A-B…` at the front, and returns the words after it.
fn sum<'a, 'w>(
    line: Line<'a>,
    end: usize,
    words: &'w [Spanned<'a>],
) -> Result<(Sum<'a>, &'w [Spanned<'a>]), AsmError> {
    let mut sum = Sum::new();
    let mut rest = words;
    let mut minus = false;
    loop {
        match rest {
            [word, after @ ..] if is_term(word) => {
                sum.push((minus, word.clone()));
                rest = after;
            }
            [word, ..] => {
                let what = format!("expected a number, constant or label, not {}", word.written);
                return Err(line.error(word.start, what));
            }
            [] => {
                let end = rest
                    .first()
                    .map_or(end.min(line.text.len()), |word| word.start);
                return Err(line.error(end, "a number, constant or label is missing"));
            }
        }
        match rest {
            [
                Spanned {
                    token: Token::Plus, ..
                },
                after @ ..,
            ] => (minus, rest) = (false, after),
            [
                Spanned {
                    token: Token::Minus,
                    ..
                },
                after @ ..,
            ] => (minus, rest) = (true, after),
            _ => return Ok((sum, rest)),
        }
    }
}

fn is_term(word: &Spanned<'_>) -> bool {
    match word.token {
        Token::Number(_) => true,
        Token::Name(name) => mnemonic(name).is_none(),
        _ => false,
    }
}

enum Mnemonic {
    Plain(u8),
    Push(Option<usize>),
    Data,
}

fn mnemonic(name: &str) -> Option<Mnemonic> {
    let upper = name.to_ascii_uppercase();
    match upper.as_str() {
        "PUSH" => return Some(Mnemonic::Push(None)),
        "DATA" => return Some(Mnemonic::Data),
        _ => {}
    }
    let opcode = opcodes::by_name(&upper)?;
    Some(match opcodes::immediate_bytes(opcode) {
        0 => Mnemonic::Plain(opcode),
        width => Mnemonic::Push(Some(width)),
    })
}

/// Returns a mnemonic that differs by one typing error, for the suggestion in a message: a
/// wrong, missing or extra letter, or two swapped letters.
fn nearest(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    (0..=u8::MAX)
        .filter_map(opcodes::name)
        .find(|known| one_typing_error(upper.as_bytes(), known.as_bytes()))
}

fn one_typing_error(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    match (short, long) {
        ([a, b, rest @ ..], [c, d, others @ ..]) if (a, b) == (d, c) => rest == others,
        ([_, rest @ ..], [_, others @ ..]) if rest.len() == others.len() => rest == others,
        (rest, [_, others @ ..]) => rest == others,
        _ => false,
    }
}
