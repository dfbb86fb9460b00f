//! The accounts of the chain: signers with keys, and many strangers without.
//!
//! No list is kept. The address of a stranger is a hash of an index. The range of used
//! indexes grows with the block number, and the nonce of a signer follows from the number
//! of the transaction. Any block can therefore be generated without the blocks before it.

use super::draw::{self, Draw};
use alloy_consensus::{SignableTransaction, Signed};
use alloy_primitives::{Address, B256, Signature, U256, keccak256};
use secp256k1::{Message, PublicKey, SECP256K1, SecretKey};

/// How many times as often hubs send as other signers.
const HUB_SENDS: u64 = 16;

/// Indexes of strangers in use at the genesis block.
const STRANGERS_AT_GENESIS: u64 = 5_000;

/// A key and its address.
#[derive(Clone, Copy)]
pub struct Signer {
    secret: SecretKey,
    /// The address of the key.
    pub address: Address,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({})", self.address)
    }
}

impl Signer {
    /// Creates the signer for `what` and `numbers`.
    pub fn new(seed: u64, what: &str, numbers: &[u64]) -> Self {
        let secret = SecretKey::from_slice(draw::hash(seed, what, numbers).as_slice())
            .expect("a hash is a valid key but for one in 2^127");
        let public = PublicKey::from_secret_key(SECP256K1, &secret).serialize_uncompressed();
        let address = Address::from_word(keccak256(&public[1..]));
        Self { secret, address }
    }

    /// Signs the hash of a transaction or authorization.
    pub fn sign(&self, hash: B256) -> Signature {
        let signature =
            SECP256K1.sign_ecdsa_recoverable(&Message::from_digest(hash.0), &self.secret);
        let (recovery, bytes) = signature.serialize_compact();
        let number = |at: usize| U256::from_be_slice(&bytes[at..at + 32]);
        Signature::new(number(0), number(32), i32::from(recovery) == 1)
    }

    /// Returns a transaction with its signature.
    pub fn sign_transaction<T: SignableTransaction<Signature>>(&self, transaction: T) -> Signed<T> {
        let signature = self.sign(transaction.signature_hash());
        transaction.into_signed(signature)
    }
}

/// All signers, and the rules for other accounts.
#[derive(Debug)]
pub(super) struct Population {
    seed: u64,
    /// Signers, hubs first.
    signers: Vec<Signer>,
    hubs: u64,
    sends_per_round: u64,
    /// Indexes of strangers that every block adds.
    strangers_per_block: u64,
}

impl Population {
    pub(super) fn new(seed: u64, sends_per_round: u64, txs_per_block: u64) -> Self {
        let hubs = sends_per_round / 4 / HUB_SENDS;
        let all = hubs + sends_per_round - hubs * HUB_SENDS;
        Self {
            seed,
            signers: (0..all)
                .map(|index| Signer::new(seed, "signer", &[index]))
                .collect(),
            hubs,
            sends_per_round,
            // Airdrops and batches need more than one new account per transaction.
            strangers_per_block: txs_per_block * 2 + 8,
        }
    }

    /// All signers.
    pub(super) fn signers(&self) -> &[Signer] {
        &self.signers
    }

    /// Returns signer and nonce of ordinary transaction number `tx` of the chain.
    ///
    /// The transactions form rounds. In each round every signer sends once and every hub
    /// [`HUB_SENDS`] times, in a different order per round.
    pub(super) fn sender(&self, tx: u64) -> (Signer, u64) {
        let (round, position) = (tx / self.sends_per_round, tx % self.sends_per_round);
        // position = slot * factor + shift, modulo a power of two. The factor is odd.
        let order = draw::hash(self.seed, "round", &[round]);
        let half = |at: usize| u64::from_be_bytes(order[at..at + 8].try_into().expect("8 bytes"));
        let (factor, shift, mask) = (half(0) | 1, half(8), self.sends_per_round - 1);
        let slot = position.wrapping_sub(shift).wrapping_mul(inverse(factor)) & mask;

        let hub_slots = self.hubs * HUB_SENDS;
        if slot >= hub_slots {
            return (self.signer(self.hubs + slot - hub_slots), round);
        }
        let hub = slot / HUB_SENDS;
        let position_of = |slot: u64| slot.wrapping_mul(factor).wrapping_add(shift) & mask;
        let earlier = (hub * HUB_SENDS..(hub + 1) * HUB_SENDS)
            .filter(|&other| position_of(other) < position)
            .count() as u64;
        (self.signer(hub), round * HUB_SENDS + earlier)
    }

    fn signer(&self, index: u64) -> Signer {
        self.signers[usize::try_from(index).expect("few signers")]
    }

    /// Returns a hub, for example the hot wallet of an exchange.
    pub(super) fn hub(&self, draw: &mut Draw) -> Address {
        let rank = draw.rank(self.hubs);
        self.signer(rank).address
    }

    /// Returns a hub by its number, the busiest first.
    pub(super) fn exchange(&self, number: u32) -> Address {
        self.signer(u64::from(number) % self.hubs.max(1)).address
    }

    /// Returns the deposit address of a customer of `hub`.
    pub(super) fn deposit_address(&self, hub: Address, draw: &mut Draw) -> Address {
        let customer = draw.rank(50_000);
        let hub = u64::from_be_bytes(hub[..8].try_into().expect("8 bytes"));
        draw::address(self.seed, "deposit", &[hub, customer])
    }

    /// Returns a hub, signer or stranger that probably occurred before `block`, older
    /// ones with higher probability.
    pub(super) fn holder(&self, block: u64, draw: &mut Draw) -> Address {
        match draw.weighted(&[25, 20, 55]) {
            0 => self.hub(draw),
            1 => draw.pick(&self.signers).address,
            _ => {
                let known = STRANGERS_AT_GENESIS + block * self.strangers_per_block;
                self.stranger(draw.rank(known))
            }
        }
    }

    /// Returns an address that is new in `block`, or almost always new.
    pub(super) fn newcomer(&self, block: u64, draw: &mut Draw) -> Address {
        let first = STRANGERS_AT_GENESIS + block * self.strangers_per_block;
        self.stranger(first + draw.below(self.strangers_per_block))
    }

    /// Returns the receiver of an ordinary transfer, which is new in three of ten cases.
    pub(super) fn receiver(&self, block: u64, draw: &mut Draw) -> Address {
        if draw.permille(300) {
            self.newcomer(block, draw)
        } else {
            self.holder(block, draw)
        }
    }

    fn stranger(&self, index: u64) -> Address {
        draw::address(self.seed, "stranger", &[index])
    }
}

/// Returns the multiplicative inverse of an odd number modulo 2^64 by Newton's iteration.
/// Every step doubles the number of correct low bits; `odd` itself has 3.
fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn nonces_count_up_for_every_signer() {
        let population = Population::new(3, 256, 8);
        let mut next: BTreeMap<Address, u64> = BTreeMap::new();
        for tx in 0..256 * 5 {
            let (signer, nonce) = population.sender(tx);
            let expected = next.entry(signer.address).or_default();
            assert_eq!(nonce, *expected, "transaction {tx}");
            *expected += 1;
        }
        assert_eq!(next.len(), population.signers().len());
        let hub = population.signers()[0].address;
        assert_eq!(next[&hub], 5 * HUB_SENDS);
    }

    #[test]
    fn signatures_recover_to_their_signer() {
        let signer = Signer::new(1, "test", &[]);
        for what in ["a", "b", "c", "d"] {
            let hash = draw::hash(1, what, &[]);
            let recovered = signer.sign(hash).recover_address_from_prehash(&hash);
            assert_eq!(recovered.ok(), Some(signer.address));
        }
    }

    #[test]
    fn inverses() {
        for odd in [1, 3, 5, 0x1234_5679, u64::MAX] {
            assert_eq!(inverse(odd).wrapping_mul(odd), 1);
        }
    }
}
