//! What tokens say of balances before and after a transaction, beside what its logs say
//! moved: fees taken on the way, balances that grow by themselves, movements without a
//! log.

use crate::{BalanceCounter, StateError, TransactionReplay, engine::Engine};
use alloy_primitives::{Address, Bytes, U256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};
use txgraph_evm::{Block, Message, Outcome, Transition};
use txgraph_transfers::WrappedNative;

/// `balanceOf(address)`
const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
/// Gas for each question: a hundred times what honest tokens need.
const GAS: u64 = 5_000_000;
/// Words of calldata are taken for addresses from here on; below are amounts, times and
/// precompiled contracts.
const ADDRESSES_FROM: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);

/// What became of the balances of named tokens in a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BalanceCheck {
    /// Pairs of token and holder that were compared.
    pub compared: u64,
    /// Pairs for which the token gave no answer.
    pub unanswered: u64,
    /// Those that differ, by token and holder.
    pub differing: Vec<BalanceDifference>,
}

/// A balance that did not change as the logs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceDifference {
    /// The contract.
    pub token: Address,
    /// Whose balance.
    pub holder: Address,
    /// What came in, by the logs.
    pub received: U256,
    /// What went out, by the logs.
    pub sent: U256,
    /// `balanceOf` before the transaction.
    pub before: U256,
    /// `balanceOf` after it.
    pub after: U256,
}

impl BalanceDifference {
    /// The change by the logs.
    pub fn logged(&self) -> SignedAmount {
        SignedAmount::between(self.sent, self.received)
    }

    /// The change by `balanceOf`.
    pub fn actual(&self) -> SignedAmount {
        SignedAmount::between(self.before, self.after)
    }
}

/// An amount that came in, or with a sign that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedAmount {
    /// It went out. Zero is not negative.
    pub is_negative: bool,
    /// How much.
    pub magnitude: U256,
}

impl SignedAmount {
    fn between(less: U256, more: U256) -> Self {
        Self {
            is_negative: more < less,
            magnitude: more.abs_diff(less),
        }
    }
}

impl fmt::Display for SignedAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        write!(f, "{sign}{}", self.magnitude)
    }
}

/// Asks tokens, transaction by transaction of a block.
#[derive(Debug)]
pub(crate) struct BalanceAsker<'a> {
    tokens: &'a [Address],
    counter: BalanceCounter,
    block: Block,
}

impl<'a> BalanceAsker<'a> {
    pub(crate) fn new(tokens: &'a [Address], chain_id: u64, block: Block) -> Self {
        Self {
            tokens,
            counter: BalanceCounter::new(chain_id, &WrappedNative::Auto),
            block,
        }
    }

    /// Compares, for a transaction that `engine` just executed and whose frames and
    /// transitions are known.
    pub(crate) fn ask(
        &mut self,
        replay: &TransactionReplay,
        transitions: &[Transition],
        engine: &mut dyn Engine,
    ) -> Result<BalanceCheck, StateError> {
        let mut check = BalanceCheck::default();
        let touched: BTreeSet<_> = (self.tokens.iter().copied())
            .filter(|token| is_touched(replay, *token))
            .collect();
        if touched.is_empty() {
            return Ok(check);
        }
        let others = bystanders(replay);
        let mut logged: BTreeMap<Address, BTreeMap<Address, (U256, U256)>> = BTreeMap::new();
        for change in self.counter.count(replay) {
            let Some(token) = change.token.filter(|token| touched.contains(token)) else {
                continue;
            };
            // Of ERC-721, balances count pieces, whichever they are.
            let sums = logged.entry(token).or_default();
            let (received, sent) = sums.entry(change.holder).or_default();
            *received = received.saturating_add(change.received);
            *sent = sent.saturating_add(change.sent);
        }
        for token in touched {
            let mut holders = logged.remove(&token).unwrap_or_default();
            for holder in &others {
                holders.entry(*holder).or_default();
            }
            // The other side of what is minted and burned; most tokens keep no balance of it.
            holders.remove(&Address::ZERO);
            let questions: Vec<_> = holders
                .keys()
                .map(|holder| question(token, *holder))
                .collect();
            let asked = engine.before_and_after(&self.block, transitions, &questions)?;
            for ((holder, (received, sent)), (before, after)) in holders.into_iter().zip(asked) {
                let Some((before, after)) = balance(&before).zip(balance(&after)) else {
                    check.unanswered += 1;
                    continue;
                };
                check.compared += 1;
                let difference = BalanceDifference {
                    token,
                    holder,
                    received,
                    sent,
                    before,
                    after,
                };
                if difference.logged() != difference.actual() {
                    check.differing.push(difference);
                }
            }
        }
        Ok(check)
    }
}

/// Whether a frame ran in the name of a token, or its code. Without one it has no log, and
/// no slot that changed.
fn is_touched(replay: &TransactionReplay, token: Address) -> bool {
    let mut frames = replay.frames.iter().flat_map(|frames| frames.iter());
    frames.any(|frame| frame.address == token || frame.code_address == token)
}

/// Who may have gained or lost without a log: everybody in the frames, and in what they
/// were given, where the receiver of a movement without a log is named.
fn bystanders(replay: &TransactionReplay) -> BTreeSet<Address> {
    let mut all = BTreeSet::from([replay.transaction.caller]);
    all.extend(replay.transaction.to.or(replay.outcome.created));
    for frame in replay.frames.iter().flat_map(|frames| frames.iter()) {
        all.extend([frame.caller, frame.address, frame.code_address]);
        all.extend(frame.destruction.map(|it| it.beneficiary));
        if let Some((_, arguments)) = frame.input.split_at_checked(BALANCE_OF.len())
            && !frame.is_creation()
        {
            let (words, _) = arguments.as_chunks::<32>();
            let named = words.iter().map(|word| U256::from_be_bytes(*word));
            let named = named.filter(|word| *word >= ADDRESSES_FROM && word.bit_len() <= 160);
            all.extend(named.map(|word| Address::from_word(word.into())));
        }
    }
    all
}

fn question(token: Address, holder: Address) -> Message {
    let input = [&BALANCE_OF[..], holder.into_word().as_slice()].concat();
    Message {
        to: Some(token),
        input: Bytes::from(input),
        gas_limit: GAS,
        is_static: true,
        ..Message::default()
    }
}

/// Who has no code yet, or no longer, keeps no balances.
fn balance(answer: &Answer) -> Option<U256> {
    match answer {
        Answer::NoCode => Some(U256::ZERO),
        Answer::Of(outcome) if outcome.is_success() => outcome
            .output
            .first_chunk()
            .map(|word| U256::from_be_bytes(*word)),
        Answer::Of(_) => None,
    }
}

/// What came of a question.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// There is nobody to answer.
    NoCode,
    /// Somebody answered.
    Of(Outcome),
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;

    #[test]
    fn the_selector() {
        assert_eq!(BALANCE_OF, keccak256("balanceOf(address)")[..4]);
    }

    #[test]
    fn amounts_have_a_sign() {
        let between = |less: u64, more: u64| {
            SignedAmount::between(U256::from(less), U256::from(more)).to_string()
        };
        assert_eq!(between(3, 10), "7");
        assert_eq!(between(10, 3), "-7");
        assert_eq!(between(3, 3), "0");
        let all = SignedAmount::between(U256::MAX, U256::ZERO);
        assert_eq!(all.to_string(), format!("-{}", U256::MAX));
    }

    #[test]
    fn small_numbers_are_no_addresses() {
        assert_eq!(ADDRESSES_FROM, U256::from(1) << 96);
    }
}
