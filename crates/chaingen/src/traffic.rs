//! Ordinary transactions, which make up most of a chain.
//!
//! The mix follows mainnet. Of ten transactions, three are plain payments, three are
//! single token transfers, and two are swaps with 3 to 8 logs. The rest is approvals,
//! failures, NFTs, wraps, airdrops with hundreds of logs, creations and anomalies.

use super::{
    anomalies,
    config::Profile,
    contracts::{Token, TokenKind},
    events::word,
    intent::{Effect, Intent},
    scene::{Scene, log2_of_hundred},
};
use alloy_primitives::{Address, B256, TxKind, U256};

/// Gas of a transaction at most (EIP-7825 allows 2^24).
pub(super) const TX_GAS_MAX: u64 = 15_000_000;
/// Gas of each transfer of an airdrop.
const AIRDROP_GAS: u64 = 9_000;

/// Weights of the kinds of transactions, out of 1050.
fn weights(profile: Profile) -> [u64; 10] {
    // payment, token, approval, swap, nft, airdrop, failure, wrap, creation, oddity
    match profile {
        Profile::Mainnet => [300, 300, 80, 265, 30, 4, 40, 20, 5, 6],
        Profile::Tokens => [50, 900, 10, 50, 10, 2, 10, 10, 2, 6],
        Profile::Exchanges => [300, 304, 80, 265, 30, 0, 40, 20, 5, 6],
        Profile::Odd => [100, 150, 20, 50, 50, 5, 30, 50, 5, 590],
    }
}

/// Generates an ordinary transaction that may use `gas_left` at most.
pub(super) fn ordinary(scene: &mut Scene<'_>, gas_left: u64) -> Intent {
    match scene.draw.weighted(&weights(scene.world.config.profile)) {
        0 => scene.payment(),
        1 => scene.token(),
        2 => scene.approval(),
        3 => scene.swap(),
        4 => scene.nft(),
        5 => scene.airdrop(gas_left),
        6 => scene.failure(),
        7 => scene.wrap(),
        8 => scene.creation(),
        _ => anomalies::anomalous(scene),
    }
}

impl Scene<'_> {
    fn payment(&mut self) -> Intent {
        let to = match self.draw.weighted(&[96, 2, 2]) {
            0 => self.receiver(),
            1 => self.signer.address,
            _ => self.world.population.hub(self.draw),
        };
        let value = if self.draw.permille(20) {
            U256::ZERO
        } else {
            self.wei()
        };
        Intent {
            to: TxKind::Call(to),
            value,
            ..self.blank()
        }
    }

    fn token(&mut self) -> Intent {
        let world = self.world;
        let token = world.contracts.token(self.draw);
        let own = self.signer.address;
        let value = self.amount_of(token);
        let (from, to) = match self.draw.weighted(&[64, 15, 10, 6, 2, 2, 1]) {
            0 => (own, self.receiver()),
            1 => (self.holder(), self.receiver()),
            2 => {
                let hub = world.population.hub(self.draw);
                (own, world.population.deposit_address(hub, self.draw))
            }
            3 => {
                let hub = world.population.hub(self.draw);
                (world.population.deposit_address(hub, self.draw), hub)
            }
            4 if token.kind != TokenKind::Wrapped => (Address::ZERO, self.receiver()),
            5 if token.kind != TokenKind::Wrapped => (own, Address::ZERO),
            _ => (own, own),
        };
        let gas = 35_000 + self.draw.below(30_000);
        let blank = self.blank();
        let mut intent = if from == own {
            blank.call(
                token.address,
                "transfer(address,uint256)",
                &[word(to), value.into()],
                gas,
            )
        } else {
            let arguments = [word(from), word(to), value.into()];
            blank.call(
                token.address,
                "transferFrom(address,address,uint256)",
                &arguments,
                gas,
            )
        };
        intent.events.transfer(token, from, to, value);
        intent
    }

    fn approval(&mut self) -> Intent {
        let token = self.world.contracts.token(self.draw);
        let spender = self.world.contracts.router;
        let value = if self.draw.permille(700) {
            U256::MAX
        } else {
            self.amount_of(token)
        };
        let arguments = [word(spender), value.into()];
        let mut intent = self.blank().call(
            token.address,
            "approve(address,uint256)",
            &arguments,
            46_000,
        );
        let owner = self.signer.address;
        intent.events.approval(token.address, owner, spender, value);
        intent
    }

    /// Generates a trade through one or two pools, of tokens or native coin.
    fn swap(&mut self) -> Intent {
        let world = self.world;
        let (own, router) = (self.signer.address, world.contracts.router);
        let wrapped = world.contracts.wrapped();
        let (first, last) = (
            world.contracts.token(self.draw),
            world.contracts.token(self.draw),
        );
        // Native coin goes in, comes out, or neither.
        let way = self.draw.weighted(&[35, 35, 30]);
        let path: Vec<Token> = match way {
            0 => vec![wrapped, last],
            1 => vec![first, wrapped],
            _ if self.draw.permille(500) => vec![first, wrapped, last],
            _ => vec![first, last],
        };
        let mut intent = self.blank().call(
            router,
            "swap(address[],uint256)",
            &path
                .iter()
                .map(|token| word(token.address))
                .collect::<Vec<_>>(),
            90_000 + self.draw.below(150_000),
        );
        let mut value = self.draw.amount(log2_of_hundred(path[0]));
        let mut holder = own;
        if way == 0 {
            value = self.wei();
            intent.value = value;
            intent.effects.push(Effect::Moves {
                from: router,
                to: wrapped.address,
                value,
            });
            intent.events.wrap(wrapped.address, router, value);
            holder = router;
        }
        let mut pool = world.contracts.pool(path[0], path[1]);
        intent.events.transfer(path[0], holder, pool, value);
        for hop in 1..path.len() {
            let out = self.draw.amount(log2_of_hundred(path[hop]));
            let next = path
                .get(hop + 1)
                .map(|token| world.contracts.pool(path[hop], *token));
            let to = next.unwrap_or(if way == 1 { router } else { own });
            intent.events.transfer(path[hop], pool, to, out);
            intent.events.trade(pool, router, to, (value, out));
            (value, pool) = (out, next.unwrap_or(pool));
        }
        if way == 1 {
            intent.events.unwrap(wrapped.address, router, value);
            intent.effects.push(Effect::Moves {
                from: wrapped.address,
                to: own,
                value,
            });
        }
        intent
    }

    fn nft(&mut self) -> Intent {
        let world = self.world;
        let own = self.signer.address;
        let id = U256::from(self.draw.rank(10_000));
        let (from, to) = match self.draw.weighted(&[50, 25, 20, 5]) {
            0 => (self.holder(), own),
            1 => (own, self.receiver()),
            2 => (Address::ZERO, own),
            _ => (own, Address::ZERO),
        };
        let arguments = [word(from), word(to), id.into()];
        let function = "safeTransferFrom(address,address,uint256)";
        let blank = self.blank();
        match self.draw.weighted(&[60, 25, 15]) {
            0 => {
                let nft = self.draw.pick(&world.contracts.nfts);
                let mut intent = blank.call(nft, function, &arguments, 85_000);
                intent.events.approval(nft, from, Address::ZERO, id);
                intent.events.erc721(nft, from, to, id);
                if to == own && !from.is_zero() {
                    // A purchase: the contract pays the seller.
                    intent.value = self.wei();
                    let value = intent.value;
                    intent.effects.push(Effect::Moves {
                        from: nft,
                        to: from,
                        value,
                    });
                }
                intent
            }
            1 => {
                let token = self.draw.pick(&world.contracts.multi_tokens);
                let mut intent = blank.call(token, function, &arguments, 60_000);
                let item = (id, U256::from(self.draw.between(1, 500)));
                intent.events.single(token, [own, from, to], item, true);
                intent
            }
            _ => {
                let token = self.draw.pick(&world.contracts.multi_tokens);
                let mut intent = blank.call(token, function, &arguments, 140_000);
                let count = self.draw.between(2, 6);
                let items: Vec<_> = (0..count)
                    .map(|more| (id + U256::from(more), U256::from(self.draw.between(1, 500))))
                    .collect();
                intent.events.batch(token, [own, from, to], &items);
                intent
            }
        }
    }

    /// Sends the same amount to many addresses, most of them new.
    fn airdrop(&mut self, gas_left: u64) -> Intent {
        let world = self.world;
        let room = gas_left.min(TX_GAS_MAX).saturating_sub(60_000) / AIRDROP_GAS;
        let span = self.draw.rank(451);
        let count = self.draw.between(50, 50 + span).min(room);
        let token = world.contracts.token(self.draw);
        let value = self.draw.amount(log2_of_hundred(token).saturating_sub(4));
        let gas = 60_000 + count * AIRDROP_GAS;
        let arguments = [word(token.address), value.into(), U256::from(count).into()];
        let function = "disperse(address,uint256,address[])";
        let mut intent = self
            .blank()
            .call(world.contracts.disperser, function, &arguments, gas);
        for _ in 0..count {
            let to = if self.draw.permille(800) {
                self.newcomer()
            } else {
                self.holder()
            };
            intent
                .events
                .transfer(token, self.signer.address, to, value);
        }
        intent
    }

    /// Generates a failed transaction: no logs, no value moved.
    fn failure(&mut self) -> Intent {
        let token = self.world.contracts.token(self.draw);
        let (to, value) = (self.receiver(), self.amount_of(token));
        let gas = 24_000 + self.draw.below(180_000);
        let arguments = [word(to), value.into()];
        let mut intent =
            self.blank()
                .call(token.address, "transfer(address,uint256)", &arguments, gas);
        if self.draw.permille(300) {
            intent.value = self.wei();
        }
        intent.success = false;
        intent
    }

    fn wrap(&mut self) -> Intent {
        let wrapped = self.world.contracts.wrapped().address;
        let (own, value) = (self.signer.address, self.wei());
        if self.draw.permille(550) {
            let mut intent = self.blank().call(wrapped, "deposit()", &[], 45_000);
            intent.value = value;
            intent.events.wrap(wrapped, own, value);
            intent
        } else {
            let mut intent =
                self.blank()
                    .call(wrapped, "withdraw(uint256)", &[value.into()], 36_000);
            intent.events.unwrap(wrapped, own, value);
            intent.effects.push(Effect::Moves {
                from: wrapped,
                to: own,
                value,
            });
            intent
        }
    }

    /// Creates a contract, sometimes with value, sometimes a token that is minted at
    /// once.
    fn creation(&mut self) -> Intent {
        let created = self.signer.address.create(self.nonce);
        let mut intent = self.blank();
        intent.to = TxKind::Create;
        intent.input = self.world.init_code.clone();
        intent.gas_used = 120_000 + self.draw.below(200_000);
        if self.draw.permille(200) {
            intent.value = self.wei();
        }
        if self.draw.permille(400) {
            let value = self.draw.amount(80);
            let owner = self.signer.address;
            intent.events.erc20(created, Address::ZERO, owner, value, 2);
        }
        let code_hash: B256 = self.world.contract_code_hash;
        intent.effects.push(Effect::Code {
            account: created,
            nonce: 1,
            code_hash,
        });
        intent
    }
}
