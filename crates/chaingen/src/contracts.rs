//! The contracts of the chain: tokens, pools, and contracts with anomalous logs.

use super::draw::{self, Draw};
use alloy_primitives::{Address, B256, keccak256};
use serde::Serialize;
use std::sync::LazyLock;

/// The form in which a fungible token logs transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Sender and receiver are indexed.
    Standard,
    /// The wrapped coin of the chain: `Deposit` and `Withdrawal` without `Transfer`.
    Wrapped,
    /// Only the sender is indexed.
    SenderIndexed,
    /// Nothing is indexed.
    Unindexed,
    /// Keeps a part of every transfer, which has a log of its own.
    Fee,
}

/// A fungible token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// Its contract.
    pub address: Address,
    /// The form of its logs.
    pub kind: TokenKind,
    /// Decimals. Amounts are around 100 tokens.
    pub decimals: u8,
}

/// All contracts.
#[derive(Debug)]
pub(super) struct Contracts {
    seed: u64,
    pub(super) tokens: Vec<Token>,
    pub(super) nfts: Vec<Address>,
    pub(super) multi_tokens: Vec<Address>,
    /// Emits logs with shapes of no standard.
    pub(super) anomalies: Vec<Address>,
    /// Emits transfers of other tokens under its own address.
    pub(super) spoof: Address,
    pub(super) router: Address,
    pub(super) disperser: Address,
    pub(super) vault: Address,
    /// The code that EIP-7702 accounts delegate to.
    pub(super) wallet_code: Address,
}

impl Contracts {
    pub(super) fn new(seed: u64, tokens: u64) -> Self {
        let addresses = |what: &str, count: u64| -> Vec<Address> {
            (0..count)
                .map(|index| draw::address(seed, what, &[index]))
                .collect()
        };
        let token = |index: u64| Token {
            address: draw::address(seed, "token", &[index]),
            kind: match index {
                2 => TokenKind::Wrapped,
                _ if index % 40 == 11 => TokenKind::Unindexed,
                _ if index % 40 == 23 => TokenKind::SenderIndexed,
                _ if index % 25 == 6 => TokenKind::Fee,
                _ => TokenKind::Standard,
            },
            decimals: match index {
                0 | 1 => 6,
                2 => 18,
                _ => [18, 18, 18, 6, 8, 9][usize::try_from(index % 6).expect("small")],
            },
        };
        Self {
            seed,
            tokens: (0..tokens).map(token).collect(),
            nfts: addresses("nft", 1 + tokens / 20),
            multi_tokens: addresses("multi token", 1 + tokens / 50),
            anomalies: addresses("oddity", 4),
            spoof: draw::address(seed, "spoof", &[]),
            router: draw::address(seed, "router", &[]),
            disperser: draw::address(seed, "disperser", &[]),
            vault: draw::address(seed, "vault", &[]),
            wallet_code: draw::address(seed, "wallet code", &[]),
        }
    }

    /// Returns a token. Three have 18, 13 and 17 of 100 transfers, the others follow
    /// Zipf's law.
    pub(super) fn token(&self, draw: &mut Draw) -> Token {
        let index = match draw.weighted(&[18, 13, 17, 52]) {
            3 => 3 + draw.rank(self.tokens.len() as u64 - 3),
            head => head as u64,
        };
        self.tokens[usize::try_from(index).expect("few tokens")]
    }

    /// The wrapped coin.
    pub(super) fn wrapped(&self) -> Token {
        self.tokens[2]
    }

    /// The pool of two tokens.
    pub(super) fn pool(&self, a: Token, b: Token) -> Address {
        let (low, high) = if a.address < b.address {
            (a, b)
        } else {
            (b, a)
        };
        let number = |token: Token| u64::from_be_bytes(token.address[..8].try_into().expect("8"));
        draw::address(self.seed, "pool", &[number(low), number(high)])
    }

    /// Every contract that exists from the genesis block on.
    pub(super) fn all(&self) -> Vec<Address> {
        let mut all: Vec<Address> = self.tokens.iter().map(|token| token.address).collect();
        all.extend(&self.nfts);
        all.extend(&self.multi_tokens);
        all.extend(&self.anomalies);
        all.extend([
            self.spoof,
            self.router,
            self.disperser,
            self.vault,
            self.wallet_code,
        ]);
        all
    }
}

/// The first topic of every event.
#[derive(Debug)]
pub(super) struct Topics {
    pub(super) transfer: B256,
    pub(super) transfer_single: B256,
    pub(super) transfer_batch: B256,
    pub(super) deposit: B256,
    pub(super) withdrawal: B256,
    pub(super) approval: B256,
    pub(super) sync: B256,
    pub(super) swap: B256,
}

/// Computed from the declarations of the events. Nothing comes from the decoder under test.
pub(super) static TOPICS: LazyLock<Topics> = LazyLock::new(|| Topics {
    transfer: keccak256("Transfer(address,address,uint256)"),
    transfer_single: keccak256("TransferSingle(address,address,address,uint256,uint256)"),
    transfer_batch: keccak256("TransferBatch(address,address,address,uint256[],uint256[])"),
    deposit: keccak256("Deposit(address,uint256)"),
    withdrawal: keccak256("Withdrawal(address,uint256)"),
    approval: keccak256("Approval(address,address,uint256)"),
    sync: keccak256("Sync(uint112,uint112)"),
    swap: keccak256("Swap(address,uint256,uint256,uint256,uint256,address)"),
});
