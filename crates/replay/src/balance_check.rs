//! Compares the balances that tokens return before and after a transaction with its logs. Finds
//! fees on transfer, rebasing balances and movements without a log.

use crate::{
    BalanceCheck, BalanceCounter, BalanceDifference, StateError, TransactionReplay, engine::Engine,
};
use alloy_primitives::{Address, Bytes, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_evm::{Block, Message, Outcome, Transition};
use txgraph_transfers::WrappedNative;

/// `balanceOf(address)`
const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
/// `balanceOf(address,uint256)`, of ERC-1155.
const BALANCE_OF_ID: [u8; 4] = [0x00, 0xfd, 0xd5, 0x8e];
/// The gas of each call: a hundred times what regular tokens need.
const GAS: u64 = 5_000_000;
/// Words of calldata from this value on may be addresses; lower ones are amounts, times and
/// precompiled contracts.
const ADDRESSES_FROM: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);

/// Compares balances after each transaction of a block.
#[derive(Debug)]
pub(crate) struct BalanceChecker<'a> {
    tokens: &'a [Address],
    counter: BalanceCounter,
    block: Block,
}

impl<'a> BalanceChecker<'a> {
    pub(crate) fn new(tokens: &'a [Address], chain_id: u64, block: Block) -> Self {
        Self {
            tokens,
            counter: BalanceCounter::new(chain_id, &WrappedNative::Auto),
            block,
        }
    }

    /// Compares balances around the transaction that `engine` executed last. Needs its frames,
    /// and all of its transitions.
    pub(crate) fn check(
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
        let others = mentioned_accounts(replay);
        let mut logged: BTreeMap<Address, BTreeMap<Address, (U256, U256)>> = BTreeMap::new();
        for change in self.counter.count(replay) {
            let Some(token) = change.token.filter(|token| touched.contains(token)) else {
                continue;
            };
            // The balance of an ERC-721 token is a number of tokens, whatever their ids.
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
            // The counterparty of mints and burns; most tokens keep no balance for it.
            holders.remove(&Address::ZERO);
            let calls: Vec<_> = holders
                .keys()
                .map(|holder| balance_call(token, *holder, None))
                .collect();
            let before = engine.discarded_calls(&self.block, transitions, &calls)?;
            let after = engine.discarded_calls(&self.block, &[], &calls)?;
            let outcomes = before.into_iter().zip(after);
            for ((holder, (received, sent)), (before, after)) in holders.into_iter().zip(outcomes) {
                let has_code = before.is_some() || after.is_some();
                let balances = balance(before).zip(balance(after));
                let Some((before, after)) = balances.filter(|_| has_code) else {
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

/// Whether a frame ran code of the token or in its context. Otherwise it wrote no log and
/// changed no slot.
fn is_touched(replay: &TransactionReplay, token: Address) -> bool {
    let mut frames = replay.frames.iter().flat_map(|frames| frames.iter());
    frames.any(|frame| frame.address == token || frame.code_address == token)
}

/// Accounts whose balance may have changed without a log: all addresses in the frames and in
/// their calldata, which contains the receiver of such a movement.
fn mentioned_accounts(replay: &TransactionReplay) -> BTreeSet<Address> {
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

pub(crate) fn balance_call(token: Address, holder: Address, id: Option<U256>) -> Message {
    let holder = holder.into_word();
    let input = match id {
        None => [&BALANCE_OF[..], holder.as_slice()].concat(),
        Some(id) => [
            &BALANCE_OF_ID[..],
            holder.as_slice(),
            &id.to_be_bytes::<32>(),
        ]
        .concat(),
    };
    Message {
        to: Some(token),
        input: Bytes::from(input),
        gas_limit: GAS,
        is_static: true,
        ..Message::default()
    }
}

/// The balance that a call returned; `None` if it failed. A token that has no code yet, or no
/// longer, has no balances.
pub(crate) fn balance(outcome: Option<Outcome>) -> Option<U256> {
    let Some(outcome) = outcome else {
        return Some(U256::ZERO);
    };
    let word: &[u8; 32] = outcome.output.first_chunk()?;
    outcome.is_success().then(|| U256::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameDetail, FrameRecorder, engine::OurEvm};
    use alloy_primitives::{B256, keccak256};
    use txgraph_evm::{Evm, Fork, MemoryState, StateMemory, Transaction};
    use txgraph_evm_tools::asm::assemble;

    #[test]
    fn selector_is_right() {
        assert_eq!(BALANCE_OF, keccak256("balanceOf(address)")[..4]);
        assert_eq!(BALANCE_OF_ID, keccak256("balanceOf(address,uint256)")[..4]);
    }

    #[test]
    fn addresses_start_at_2_to_the_96() {
        assert_eq!(ADDRESSES_FROM, U256::from(1) << 96);
    }

    const TOKEN: Address = Address::repeat_byte(0x70);
    const SENDER: Address = Address::repeat_byte(0x5e);
    const RECEIVER: Address = Address::repeat_byte(0xec);

    /// A token that keeps `fee` of each transfer and logs the whole amount, or nothing.
    fn token(fee: u8, logs: bool) -> Bytes {
        let topic = keccak256("Transfer(address,address,uint256)");
        let log = format!(
            "PUSH1 0 MSTORE PUSH1 4 CALLDATALOAD CALLER PUSH32 {topic} PUSH1 32 PUSH1 0 LOG3"
        );
        let source = format!(
            "PUSH1 0 CALLDATALOAD PUSH1 0xe0 SHR PUSH4 0x70a08231 EQ PUSH ask JUMPI
             PUSH1 36 CALLDATALOAD
             DUP1 CALLER SLOAD SUB CALLER SSTORE
             DUP1 PUSH1 {fee} SWAP1 SUB PUSH1 4 CALLDATALOAD SLOAD ADD
             PUSH1 4 CALLDATALOAD SSTORE
             {} STOP
             ask: JUMPDEST PUSH1 4 CALLDATALOAD SLOAD PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN",
            if logs { &log } else { "POP" },
        );
        assemble(&source).unwrap().into()
    }

    /// Differences after two transfers of 100 in one block: holder, change according to logs and
    /// according to the token, and the balance.
    fn differing(code: Bytes) -> Vec<(Address, String, String, U256)> {
        let mut state = MemoryState::default();
        state.insert(TOKEN, U256::ZERO, 1, code);
        state.insert(SENDER, U256::from(1), 0, Bytes::new());
        let slot = U256::from_be_bytes(SENDER.into_word().0);
        state.set_storage(TOKEN, slot, U256::from(1000));
        let block = Block {
            gas_limit: 10_000_000,
            ..Block::default()
        };
        let mut evm = Evm::new(Fork::London, 1);
        let mut engine = OurEvm::new(&mut evm, Fork::London, state, true, StateMemory::default());
        let mut checker = BalanceChecker::new(&[TOKEN], 1, block.clone());
        let mut differing = Vec::new();
        for nonce in 0..2 {
            let amount = U256::from(100).to_be_bytes::<32>();
            let input = [
                &[0xa9, 0x05, 0x9c, 0xbb],
                &RECEIVER.into_word()[..],
                &amount,
            ]
            .concat();
            let transaction = Transaction {
                caller: SENDER,
                to: Some(TOKEN),
                nonce,
                gas_limit: 200_000,
                input: input.into(),
                ..Transaction::default()
            };
            let mut recorder = FrameRecorder::new(FrameDetail::Everything);
            let outcome = engine.transaction(&block, &transaction, Some(&mut recorder));
            let outcome = outcome.unwrap();
            assert!(outcome.is_success(), "{outcome:?}");
            let replay = TransactionReplay {
                block: 1,
                fork: Fork::London,
                index: 0,
                hash: B256::ZERO,
                transaction,
                outcome,
                first_log: 0,
                frames: Some(recorder.take()),
                transitions: Vec::new(),
                touched: None,
                balances: None,
                without_overrides: None,
            };
            let (transitions, changes) = (engine.transitions().unwrap(), engine.changes());
            let check = checker.check(&replay, &transitions, &mut engine).unwrap();
            assert_eq!(engine.changes(), changes, "the calls have no effect");
            // The token is compared, too: it may have kept a part.
            assert_eq!((check.compared, check.unanswered), (3, 0));
            differing.extend(check.differing.iter().map(|it| {
                let (logged, actual) = (it.logged().to_string(), it.actual().to_string());
                (it.holder, logged, actual, it.after)
            }));
        }
        differing
    }

    fn row(
        holder: Address,
        logged: &str,
        actual: &str,
        after: u64,
    ) -> (Address, String, String, U256) {
        (
            holder,
            logged.to_owned(),
            actual.to_owned(),
            U256::from(after),
        )
    }

    #[test]
    fn token_with_complete_logs_has_no_difference() {
        assert_eq!(differing(token(0, true)), []);
    }

    #[test]
    fn finds_fee_without_log() {
        let expected = [
            row(RECEIVER, "100", "97", 97),
            row(RECEIVER, "100", "97", 194),
        ];
        assert_eq!(differing(token(3, true)), expected);
    }

    /// The receiver appears in the calldata only.
    #[test]
    fn finds_movements_without_log() {
        let expected = [
            row(SENDER, "0", "-100", 900),
            row(RECEIVER, "0", "100", 100),
            row(SENDER, "0", "-100", 800),
            row(RECEIVER, "0", "100", 200),
        ];
        assert_eq!(differing(token(0, false)), expected);
    }
}
