//! The actions of transactions, drawn from the seed in a mix of what contracts usually
//! do.

use super::contracts::{Contracts, place};
use crate::{CANCUN, Draw};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};

/// Number of addresses without a known key. The first ones are used most.
const STRANGERS: u64 = 200_000;

/// A transaction before it is signed.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Index of the signer.
    pub(crate) signer: usize,
    pub(crate) to: TxKind,
    pub(crate) value: U256,
    pub(crate) input: Bytes,
    pub(crate) gas_limit: u64,
}

/// Draws the transactions of one block.
#[derive(Debug)]
pub(crate) struct Traffic<'a> {
    contracts: &'a Contracts,
    signers: &'a [Address],
    number: u64,
    pub(crate) draw: Draw,
}

/// Init code that returns its last 12 bytes, which count calls in slot 1. It contains a
/// `PUSH0` and therefore fails before Shanghai.
const COUNTER: &[u8] = b"\x60\x0c\x80\x60\x0a\x5f\x39\x5f\xf3\x00\
    \x60\x01\x54\x60\x01\x01\x60\x01\x55\x34\x50\x00";

/// Actions with their weights per thousand.
const MIX: [(Act, u64); 15] = [
    (Act::Pay, 150),
    (Act::Token, 320),
    (Act::Swap, 170),
    (Act::Batch, 50),
    (Act::Vault, 55),
    (Act::Split, 50),
    (Act::Forward, 30),
    (Act::Hash, 35),
    (Act::Compute, 35),
    (Act::Ledger, 35),
    (Act::Fail, 20),
    (Act::Make, 35),
    (Act::Guard, 5),
    (Act::Deploy, 5),
    (Act::TooLittleGas, 5),
];

#[derive(Clone, Copy, Debug)]
enum Act {
    Pay,
    Token,
    Swap,
    Batch,
    Vault,
    Split,
    Forward,
    Hash,
    Compute,
    Ledger,
    Fail,
    Make,
    Guard,
    Deploy,
    TooLittleGas,
}

fn word(number: u64) -> B256 {
    U256::from(number).into()
}

fn words(words: &[B256]) -> Bytes {
    words.concat().into()
}

fn selector(selector: u32, arguments: &[B256]) -> Bytes {
    [&selector.to_be_bytes()[..], &arguments.concat()]
        .concat()
        .into()
}

impl<'a> Traffic<'a> {
    pub(crate) fn new(
        contracts: &'a Contracts,
        signers: &'a [Address],
        number: u64,
        draw: Draw,
    ) -> Self {
        Self {
            contracts,
            signers,
            number,
            draw,
        }
    }

    /// Draws the next transaction.
    pub(crate) fn next(&mut self) -> Draft {
        let weights = MIX.map(|(_, weight)| weight);
        let (act, _) = MIX[self.draw.weighted(&weights)];
        let signer = self.draw.index(self.signers.len());
        let (to, value, input, gas_limit) = self.act(act, self.signers[signer]);
        Draft {
            signer,
            to: to.map_or(TxKind::Create, TxKind::Call),
            value,
            input,
            gas_limit,
        }
    }

    /// Returns recipient, value in wei, input and gas limit of an action.
    fn act(&mut self, act: Act, from: Address) -> (Option<Address>, U256, Bytes, u64) {
        let contracts = self.contracts;
        let (to, value, input, gas) = match act {
            Act::Pay => {
                let to = self.anyone();
                (to, self.wei(), Bytes::new(), 21_000)
            }
            Act::Token => {
                let token = self.token();
                (token, U256::ZERO, self.token_call(from), 150_000)
            }
            Act::Swap => {
                let pair = self.draw.pick(&contracts.pairs);
                (pair, U256::ZERO, self.swap(from), 300_000)
            }
            Act::Batch => {
                let (value, input) = self.batch();
                (contracts.batch, value, input, 1_500_000)
            }
            Act::Vault if self.draw.permille(500) => {
                (contracts.vault, self.wei(), Bytes::new(), 100_000)
            }
            Act::Vault => {
                let amount = U256::from(self.draw.below(1 << 50)).into();
                (contracts.vault, U256::ZERO, words(&[amount]), 100_000)
            }
            Act::Split => {
                let count = self.draw.between(2, 12);
                let ends: Vec<_> = (0..count).map(|_| self.payee().into_word()).collect();
                (contracts.splitter, self.wei(), words(&ends), 1_500_000)
            }
            Act::Forward => {
                let first = self.draw.pick(&contracts.forwarders);
                (first, self.wei(), Bytes::new(), 400_000)
            }
            Act::Hash => {
                // Hashes are cheap in gas for their work. This many use a few percent of
                // the gas.
                let count = self.draw.between(100, 1_000);
                (
                    contracts.hashing,
                    U256::ZERO,
                    words(&[word(count)]),
                    1_500_000,
                )
            }
            Act::Compute => {
                let count = self.draw.between(500, 4_000);
                let c = |draw: &mut Draw| {
                    let high = U256::from(draw.below(2_000_000_000_000_000_000));
                    B256::from(high.wrapping_sub(U256::from(1_500_000_000_000_000_000_u64)))
                };
                let input = words(&[word(count), c(&mut self.draw), c(&mut self.draw)]);
                (contracts.compute, U256::ZERO, input, 2_500_000)
            }
            Act::Ledger => {
                let what = word(self.draw.below(3));
                // Ranges overlap, so that slots are changed again and cleared.
                let first = word(self.draw.rank(1 << 14) * 16);
                let count = word(self.draw.between(10, 60));
                let input = words(&[what, first, count]);
                (contracts.ledger, U256::ZERO, input, 2_500_000)
            }
            Act::Fail => {
                let how = word(self.draw.below(12) % 7);
                (contracts.fragile, U256::ZERO, words(&[how]), 500_000)
            }
            Act::Make => {
                let input = words(&[word(self.draw.below(4)), self.draw.word()]);
                (contracts.factory, self.wei(), input, 400_000)
            }
            Act::Guard if self.number >= CANCUN => {
                let depth = word(self.draw.between(5, 60));
                (contracts.guard, U256::ZERO, words(&[depth]), 1_000_000)
            }
            Act::Guard | Act::Deploy => {
                return (None, U256::ZERO, Bytes::from_static(COUNTER), 200_000);
            }
            Act::TooLittleGas => {
                let count = word(100_000);
                (contracts.hashing, U256::ZERO, words(&[count]), 60_000)
            }
        };
        (Some(to), value, input, gas)
    }

    fn wei(&mut self) -> U256 {
        U256::from(self.draw.below(1 << 58))
    }

    fn stranger(&mut self) -> Address {
        let rank = self.draw.rank(STRANGERS);
        place("stranger", rank)
    }

    fn anyone(&mut self) -> Address {
        if self.draw.permille(300) {
            self.draw.pick(self.signers)
        } else {
            self.stranger()
        }
    }

    /// Returns an address that can act on what it receives.
    fn payee(&mut self) -> Address {
        match self.draw.below(10) {
            0 => self.draw.pick(&self.contracts.forwarders),
            1 => self.contracts.vault,
            // Does not accept ether: the call fails.
            2 => self.token(),
            _ => self.anyone(),
        }
    }

    fn token(&mut self) -> Address {
        let rank = self.draw.rank(self.contracts.tokens.len() as u64);
        self.contracts.tokens[usize::try_from(rank).unwrap_or_default()]
    }

    fn amount(&mut self) -> B256 {
        self.draw.amount(70).into()
    }

    fn token_call(&mut self, from: Address) -> Bytes {
        let (to, amount) = (self.anyone().into_word(), self.amount());
        match self.draw.below(100) {
            0..80 => selector(0xa905_9cbb, &[to, amount]),
            80..90 => selector(0x095e_a7b3, &[to, amount]),
            90..94 => selector(0x40c1_0f19, &[to, amount]),
            94..97 => selector(0x70a0_8231, &[to]),
            // Usually not allowed, so it fails.
            _ => {
                let from = from.into_word();
                selector(0x23b8_72dd, &[from, to, amount])
            }
        }
    }

    fn swap(&mut self, to: Address) -> Bytes {
        let way = word(self.draw.below(2));
        words(&[self.amount(), way, to.into_word()])
    }

    /// Returns payments, transfers and swaps of the batch contract, and the wei they
    /// need.
    fn batch(&mut self) -> (U256, Bytes) {
        let mut value = U256::ZERO;
        let mut input = Vec::new();
        for _ in 0..self.draw.between(3, 8) {
            let (to, wei, call) = match self.draw.below(4) {
                0 => {
                    let to = self.anyone();
                    (to, self.wei(), Bytes::new())
                }
                1 => {
                    let pair = self.draw.pick(&self.contracts.pairs);
                    (pair, U256::ZERO, self.swap(self.contracts.batch))
                }
                _ => {
                    let (to, amount) = (self.anyone().into_word(), self.amount());
                    let call = selector(0xa905_9cbb, &[to, amount]);
                    (self.token(), U256::ZERO, call)
                }
            };
            value += wei;
            input.extend(to.into_word());
            input.extend(wei.to_be_bytes::<32>());
            input.extend(word(call.len() as u64));
            input.extend(call);
        }
        (value, input.into())
    }
}
