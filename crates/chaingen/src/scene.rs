//! A transaction while it is generated.

use super::{contracts::Token, draw::Draw, intent::Intent, signers::Signer, world::World};
use alloy_primitives::{Address, U256};

/// One transaction during its generation: sender, block, and random choices.
pub(super) struct Scene<'a> {
    pub(super) world: &'a World,
    pub(super) block: u64,
    pub(super) signer: Signer,
    pub(super) nonce: u64,
    pub(super) draw: &'a mut Draw,
}

/// log2 of about 100 tokens.
pub(super) fn log2_of_hundred(token: Token) -> u64 {
    7 + u64::from(token.decimals) * 332 / 100
}

impl Scene<'_> {
    /// A payment of zero to the zero address, from which other transactions are derived.
    pub(super) fn blank(&self) -> Intent {
        Intent::payment(self.signer, self.nonce, Address::ZERO, U256::ZERO)
    }

    pub(super) fn holder(&mut self) -> Address {
        self.world.population.holder(self.block, self.draw)
    }

    pub(super) fn receiver(&mut self) -> Address {
        self.world.population.receiver(self.block, self.draw)
    }

    pub(super) fn newcomer(&mut self) -> Address {
        self.world.population.newcomer(self.block, self.draw)
    }

    pub(super) fn amount_of(&mut self, token: Token) -> U256 {
        if self.draw.permille(20) {
            return U256::ZERO;
        }
        self.draw.amount(log2_of_hundred(token))
    }

    /// About one coin, in wei.
    pub(super) fn wei(&mut self) -> U256 {
        self.draw.amount(60)
    }
}
