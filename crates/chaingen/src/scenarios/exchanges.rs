//! Scenarios of a chain on which exchanges join everything ([`Profile::Exchanges`]).
//!
//! An account that spends tokens of a scenario got them from an exchange, and most that end up
//! with some bring a part to one. So all scenarios are in one part of the graph, with the traffic around
//! them. There are shapes that the other chains do not have, and honest ones that look alike.
//!
//! [`Profile::Exchanges`]: crate::Profile::Exchanges

use super::{Asset, EXCHANGE, Moves, Role, Scenario, Step, WINDOW, World};
use crate::draw::Draw;
use alloy_primitives::U256;
use std::collections::BTreeMap;

/// Kinds of scenarios, which follow each other.
const KINDS: u64 = 13;

/// Exchanges that scenarios use.
const EXCHANGES: u64 = 8;

/// The contract of a scenario, a key that calls it, and two accounts that are paid, or a pool.
const CONTRACT: Role = 500;
const KEY: Role = 501;
const LARGE: Role = 502;
const SMALL: Role = 503;

impl Scenario {
    /// Adds the steps of scenario `number`.
    pub(super) fn with_exchanges(&mut self, world: &World) {
        let number = self.number;
        // Later scenarios of a kind are longer.
        let size = 4 + u32::try_from(number / KINDS % 5).expect("small");
        match number % KINDS {
            0 => self.peel_chain(size),
            1 => self.wash_cycle(size),
            2 => self.deposit_sweep(size),
            3 => self.fan_in_fan_out(size),
            4 => self.mixer(size),
            5 => self.poisoning(),
            6 => self.scatter_gather(size),
            7 => self.airdrop(8 + size),
            8 => self.drainer(size, number / KINDS % 3),
            9 => self.peel_chain_ether(size),
            10 => self.relayed_trades(size),
            11 => self.time_disorder(),
            _ => self.hub(size),
        }
        // Their answers would need the exchanges.
        self.searches.clear();
        if matches!(self.asset, Asset::Token(_)) {
            self.join(world.config.seed);
        }
    }

    /// An owner lets a spender take all of its tokens.
    fn approve(&mut self, owner: Role, spender: Role) {
        let offset = 1 + u64::from(owner % 3);
        let unlimited = Moves::Approval(U256::MAX);
        self.step(offset, owner, [owner, spender], unlimited);
    }

    fn scatter_gather(&mut self, size: u32) {
        self.is(
            "scatter-gather",
            "One account pays another through several between them",
        );
        for n in 0..size {
            let value = 700_000_000 + 10_000_000 * u64::from(n);
            self.send(1 + u64::from(n % 4), 0, 100 + n, value);
            self.send(
                7 + u64::from(n % 5),
                100 + n,
                200,
                value - value / 50 * u64::from(n % 3),
            );
        }
        self.roles = vec![
            ("source", vec![0]),
            ("between", (100..100 + size).collect()),
            ("sink", vec![200]),
        ];
    }

    fn airdrop(&mut self, receivers: u32) {
        self.is("airdrop", "One transaction pays many receivers");
        let moves = Moves::Airdrop(U256::from(25_000_000), receivers);
        self.step(5, 0, [0, 100], moves);
        self.roles = vec![
            ("source", vec![0]),
            ("receivers", (100..100 + receivers).collect()),
        ];
    }

    /// Victims approve a contract or a key, which takes their tokens later. The loot is split where
    /// it is taken, or by the contract, or not at all.
    fn drainer(&mut self, victims: u32, variant: u64) {
        self.is(
            "drainer",
            "Victims approve a spender, which takes their tokens and splits them 80 to 20",
        );
        let spender = if variant == 2 { KEY } else { CONTRACT };
        for victim in 0..victims {
            self.approve(victim, spender);
            let value = 40_000_000 + 1_234_560 * u64::from(victim);
            let offset = 6 + u64::from(victim % 5);
            let ends = [victim, LARGE];
            match variant {
                0 => self.step(offset, KEY, ends, Moves::SplitByOwner(U256::from(value))),
                1 => self.step(offset, KEY, ends, Moves::SplitByContract(U256::from(value))),
                _ => self.step(offset, KEY, ends, Moves::Token(U256::from(value))),
            }
        }
        self.roles = vec![
            ("spender", vec![spender]),
            ("victims", (0..victims).collect()),
            ("wallets", vec![LARGE, SMALL]),
        ];
    }

    /// Honest trades that someone else signs and pays for: the contract takes what the owner
    /// approved, and the owner gets another amount for it.
    fn relayed_trades(&mut self, owners: u32) {
        self.is(
            "relayed-trades",
            "Owners approve a contract; a relayer calls it, and they get tokens for tokens",
        );
        for owner in 0..owners {
            self.approve(owner, CONTRACT);
            let value = 60_000_000 + 2_345_670 * u64::from(owner);
            let offset = 6 + u64::from(owner % 5);
            self.step(offset, KEY, [owner, LARGE], Moves::Trade(U256::from(value)));
        }
        self.roles = vec![
            ("contract", vec![CONTRACT]),
            ("pool", vec![LARGE]),
            ("owners", (0..owners).collect()),
        ];
    }

    /// Adds withdrawals from exchanges before the first step, of what each role lacks and some more,
    /// and deposits after the last one, of a part of what is left.
    fn join(&mut self, seed: u64) {
        let mut lacks: BTreeMap<Role, i128> = BTreeMap::new();
        let mut has: BTreeMap<Role, i128> = BTreeMap::new();
        let mut steps = self.steps.clone();
        steps.sort_by_key(|step| step.offset);
        for step in &steps {
            for (from, to, value) in step.moves.amounts(step.from, step.to) {
                let left = has.entry(from).or_default();
                *left -= value;
                let lack = lacks.entry(from).or_default();
                *lack = (*lack).max(-*left);
                *has.entry(to).or_default() += value;
            }
        }
        // Neither a contract nor a pool withdraws or deposits.
        let pool = (self.name == "relayed-trades").then_some(LARGE);
        let is_account =
            |role: &Role| ![super::NO_ROLE, CONTRACT].contains(role) && Some(*role) != pool;
        let mut withdrawn: BTreeMap<Role, i128> = BTreeMap::new();
        for (role, lack) in lacks.into_iter().filter(|it| it.1 > 0 && is_account(&it.0)) {
            let mut draw = Draw::new(seed, "withdrawal", &[self.number, u64::from(role)]);
            // A round amount, or one that is as odd as prices make it.
            let more = i128::from(draw.between(0, 40)) * lack / 100 + i128::from(draw.below(9_973));
            withdrawn.insert(role, lack + more);
            let moves = Moves::Token(U256::from((lack + more).unsigned_abs()));
            self.step(0, super::NO_ROLE, [exchange(&mut draw), role], moves);
        }
        for (role, left) in has.into_iter().filter(|it| is_account(&it.0)) {
            let left = left + withdrawn.get(&role).copied().unwrap_or_default();
            let mut draw = Draw::new(seed, "deposit back", &[self.number, u64::from(role)]);
            let part = left * i128::from(draw.between(40, 100)) / 100;
            if part > 0 && draw.permille(700) {
                let ends = [role, exchange(&mut draw)];
                let moves = Moves::Token(U256::from(part.unsigned_abs()));
                self.step(WINDOW - 1, super::NO_ROLE, ends, moves);
            }
        }
    }
}

fn exchange(draw: &mut Draw) -> Role {
    EXCHANGE + u32::try_from(draw.rank(EXCHANGES)).expect("few exchanges")
}

impl Moves {
    /// The amounts of the scenario's token that a step moves.
    fn amounts(self, from: Role, to: Role) -> Vec<(Role, Role, i128)> {
        let amount = |value: U256| i128::try_from(value.to::<u128>()).expect("small amounts");
        match self {
            Self::Token(value) | Self::Trade(value) => vec![(from, to, amount(value))],
            Self::Airdrop(value, receivers) => (to..to + receivers)
                .map(|receiver| (from, receiver, amount(value)))
                .collect(),
            Self::SplitByOwner(value) | Self::SplitByContract(value) => {
                let small = amount(value) / 5;
                vec![(from, to, amount(value) - small), (from, SMALL, small)]
            }
            Self::Item | Self::Ether(_) | Self::Spoofed(_) | Self::Gas | Self::Approval(_) => {
                Vec::new()
            }
        }
    }
}

/// The events of the steps that only these scenarios have, and the contract that is called.
impl Scenario {
    /// Adds to a transaction what it moves, if it is one of these.
    pub(super) fn exchange_intent(
        &self,
        world: &World,
        step: &Step,
        intent: crate::intent::Intent,
    ) -> crate::intent::Intent {
        let Asset::Token(token) = self.asset else {
            unreachable!("{:?} in a scenario about {:?}", step.moves, self.asset)
        };
        let address = |role: Role| self.address(world, role);
        let (from, to, contract) = (address(step.from), address(step.to), address(CONTRACT));
        let word = |value: U256| value.into();
        match step.moves {
            Moves::Approval(value) => {
                let arguments = [to.into_word(), word(value)];
                let function = "approve(address,uint256)";
                let mut intent = intent.call(token.address, function, &arguments, 46_000);
                intent.events.approval(token.address, from, to, value);
                intent
            }
            Moves::Airdrop(value, receivers) => {
                let gas = 60_000 + 9_000 * u64::from(receivers);
                let function = "disperse(address,uint256,address[])";
                let arguments = [token.address.into_word(), word(value)];
                let called = world.contracts.disperser;
                let mut intent = intent.call(called, function, &arguments, gas);
                for receiver in step.to..step.to + receivers {
                    let to = address(receiver);
                    intent.events.transfer(token, from, to, value);
                }
                intent
            }
            Moves::SplitByOwner(value) | Moves::SplitByContract(value) => {
                let function = "claim(address,uint256)";
                let arguments = [from.into_word(), word(value)];
                let mut intent = intent.call(contract, function, &arguments, 120_000);
                let small = value / U256::from(5);
                let through = matches!(step.moves, Moves::SplitByContract(_));
                let payer = if through { contract } else { from };
                let events = &mut intent.events;
                if through {
                    events.transfer(token, from, contract, value);
                }
                events.transfer(token, payer, to, value - small);
                events.transfer(token, payer, address(SMALL), small);
                intent
            }
            Moves::Trade(value) => {
                let other = world.contracts.tokens[2];
                let function = "settle(address,uint256)";
                let arguments = [from.into_word(), word(value)];
                let mut intent = intent.call(contract, function, &arguments, 160_000);
                let events = &mut intent.events;
                events.transfer(token, from, contract, value);
                events.transfer(token, contract, to, value);
                events.transfer(other, to, from, value);
                intent
            }
            moves => unreachable!("{moves:?} is a step of other scenarios, too"),
        }
    }
}
