//! Planted scenarios: sequences of transfers among strangers, with known answers.
//!
//! A scenario fills a window of [`WINDOW`] blocks. Each of the first 16 windows has one,
//! later every sixteenth. Its roles are addresses that occur nowhere else, so the result
//! of a search of its token from one of them is known exactly. Only native coin comes
//! from outside, to pay for gas.

mod exchanges;

use super::{
    config::Profile,
    contracts::{Token, TokenKind},
    intent::Intent,
    signers::Signer,
    world::World,
};
use alloy_primitives::{Address, TxKind, U256};
use txgraph_transfers::Direction;

/// Blocks of one scenario.
pub(super) const WINDOW: u64 = 16;

/// A role of a scenario.
pub(super) type Role = u32;
/// The zero address.
pub(super) const NO_ROLE: Role = u32::MAX;
/// An address that resembles role 1 of a poisoning at both ends.
const LOOKALIKE: Role = 1_000;
/// The first exchange: a hub of the population, which has no role in any scenario.
const EXCHANGE: Role = 2_000;

/// The asset that a step moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moves {
    /// The token of the scenario.
    Token(U256),
    /// An item of the scenario's collection.
    Item,
    /// Native coin, as the value of the transaction.
    Ether(U256),
    /// Nothing: another contract logs that the token moved.
    Spoofed(U256),
    /// Coin for gas, from outside.
    Gas,
    /// An approval of the token for the receiver of the step.
    Approval(U256),
    /// The token, to this many roles from the receiver of the step on, in one transaction.
    Airdrop(U256, u32),
    /// The token, which a contract takes: four parts for the receiver, and one for another.
    SplitByOwner(U256),
    /// The same through the contract.
    SplitByContract(U256),
    /// The token, which a contract takes, and as much of another token in return.
    Trade(U256),
}

/// One transaction of a scenario.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Block, counted from the first of the window.
    pub(super) offset: u64,
    /// Role of the signer; `None` for an ordinary signer.
    pub(super) by: Role,
    pub(super) from: Role,
    pub(super) to: Role,
    pub(super) moves: Moves,
}

/// A search with its answer.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) root: Role,
    pub(super) direction: Direction,
    pub(super) hops: Option<u32>,
    pub(super) time_respecting: bool,
    /// Reached roles, without the root.
    pub(super) reached: Vec<Role>,
}

/// The kind of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asset {
    Token(Token),
    Collection { address: Address, item: U256 },
    Native,
}

impl Asset {
    pub(super) fn address(&self) -> Option<Address> {
        match self {
            Self::Token(token) => Some(token.address),
            Self::Collection { address, .. } => Some(*address),
            Self::Native => None,
        }
    }
}

/// A complete scenario.
#[derive(Debug)]
pub(super) struct Scenario {
    /// Number among all scenarios of the chain, from 0.
    pub(super) number: u64,
    pub(super) first_block: u64,
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) asset: Asset,
    /// Named groups of roles.
    pub(super) roles: Vec<(&'static str, Vec<Role>)>,
    /// Steps in chronological order. Steps of one block are consecutive in it.
    pub(super) steps: Vec<Step>,
    pub(super) searches: Vec<Search>,
}

/// Returns number and first block of the scenario that `block` belongs to.
pub(super) fn at(block: u64) -> Option<(u64, u64)> {
    let window = block.checked_sub(1)? / WINDOW;
    let first_block = 1 + window * WINDOW;
    if window < 16 {
        Some((window, first_block))
    } else {
        window
            .is_multiple_of(16)
            .then_some((15 + window / 16, first_block))
    }
}

impl Scenario {
    /// Returns the scenario of `block`, if it has one.
    pub(super) fn of(world: &World, block: u64) -> Option<Self> {
        let (number, first_block) = at(block)?;
        let mut scenario = Self {
            number,
            first_block,
            name: "",
            about: "",
            asset: Asset::Token(world.contracts.tokens[usize::from(number % 20 >= 10)]),
            roles: Vec::new(),
            steps: Vec::new(),
            searches: Vec::new(),
        };
        if world.config.profile == Profile::Exchanges {
            scenario.asset = Asset::Token(world.contracts.tokens[usize::from(number % 26 >= 13)]);
            scenario.with_exchanges(world);
            scenario.hand_out_gas();
            return Some(scenario);
        }
        // Later scenarios of a kind are longer.
        let size = 4 + u32::try_from(number / 10 % 5).expect("small");
        match number % 10 {
            0 => scenario.peel_chain(size),
            1 => scenario.wash_cycle(size),
            2 => scenario.deposit_sweep(size),
            3 => scenario.fan_in_fan_out(size),
            4 => scenario.mixer(size),
            5 => scenario.poisoning(),
            6 => scenario.time_disorder(),
            7 => scenario.hub(size),
            8 => scenario.peel_chain_ether(size),
            _ => scenario.item_trail(world, size),
        }
        scenario.hand_out_gas();
        Some(scenario)
    }

    /// Returns the steps of one block, with their numbers.
    pub(super) fn steps_at(&self, block: u64) -> impl Iterator<Item = (u32, &Step)> {
        (0..)
            .zip(&self.steps)
            .filter(move |(_, s)| self.first_block + s.offset == block)
    }

    /// Returns the last block with a step.
    pub(super) fn last_block(&self) -> u64 {
        self.first_block + self.steps.last().map_or(0, |step| step.offset)
    }

    /// Returns the address of a role.
    pub(super) fn address(&self, world: &World, role: Role) -> Address {
        match role {
            NO_ROLE => Address::ZERO,
            LOOKALIKE => {
                let mut address = self.address(world, LOOKALIKE + 1);
                let partner = self.address(world, 1);
                address[..3].copy_from_slice(&partner[..3]);
                address[17..].copy_from_slice(&partner[17..]);
                address
            }
            EXCHANGE.. => world.population.exchange(role - EXCHANGE),
            _ => self.signer(world, role).address,
        }
    }

    fn signer(&self, world: &World, role: Role) -> Signer {
        Signer::new(world.config.seed, "role", &[self.number, u64::from(role)])
    }

    /// Returns step number `at` as a transaction. `outsider` signs steps without a role.
    pub(super) fn intent(&self, world: &World, at: u32, outsider: Option<(Signer, u64)>) -> Intent {
        let index = usize::try_from(at).expect("few steps");
        let step = self.steps[index];
        let (signer, nonce) = outsider.unwrap_or_else(|| {
            let earlier = self.steps[..index]
                .iter()
                .filter(|s| s.by == step.by)
                .count();
            (self.signer(world, step.by), earlier as u64)
        });
        let (from, to) = (self.address(world, step.from), self.address(world, step.to));
        let mut intent = Intent::payment(signer, nonce, to, U256::ZERO);
        let transfer = |intent: Intent, contract: Address, last: U256| {
            let arguments = [from.into_word(), to.into_word(), last.into()];
            let function = "transferFrom(address,address,uint256)";
            intent.call(contract, function, &arguments, 61_000)
        };
        match (step.moves, self.asset) {
            (Moves::Gas, _) => intent.value = U256::from(10).pow(U256::from(18)),
            (Moves::Ether(value), _) => intent.value = value,
            (Moves::Token(value), Asset::Token(token)) => {
                intent = transfer(intent, token.address, value);
                intent.events.transfer(token, from, to, value);
            }
            (Moves::Spoofed(value), _) => {
                intent = transfer(intent, world.contracts.spoof, value);
                intent.to = TxKind::Call(world.contracts.spoof);
                intent
                    .events
                    .erc20(world.contracts.spoof, from, to, value, 2);
            }
            (Moves::Item, Asset::Collection { address, item }) => {
                intent = transfer(intent, address, item);
                intent.events.erc721(address, from, to, item);
            }
            (_, Asset::Token(_)) => intent = self.exchange_intent(world, &step, intent),
            (moves, asset) => unreachable!("{moves:?} in a scenario about {asset:?}"),
        }
        intent.step = Some((self.number, at));
        intent
    }

    fn is(&mut self, name: &'static str, about: &'static str) {
        (self.name, self.about) = (name, about);
        if let Asset::Token(token) = self.asset {
            debug_assert_eq!(
                token.kind,
                TokenKind::Standard,
                "a fee would spoil the amounts"
            );
        }
    }

    fn step(&mut self, offset: u64, by: Role, [from, to]: [Role; 2], moves: Moves) {
        self.steps.push(Step {
            offset,
            by,
            from,
            to,
            moves,
        });
    }

    /// Adds a transfer of `value` of the token from `from` to `to`.
    fn send(&mut self, offset: u64, from: Role, to: Role, value: u64) {
        let moves = Moves::Token(U256::from(value));
        self.step(offset, from, [from, to], moves);
    }

    fn search(&mut self, root: Role, direction: Direction, hops: Option<u32>, reached: Vec<Role>) {
        let time_respecting = false;
        self.searches.push(Search {
            root,
            direction,
            hops,
            time_respecting,
            reached,
        });
    }

    /// Adds a payment for gas before the first step of every signing role.
    fn hand_out_gas(&mut self) {
        self.steps.sort_by_key(|step| step.offset);
        let mut signers: Vec<Role> = self.steps.iter().map(|step| step.by).collect();
        signers.retain(|&role| role != NO_ROLE);
        signers.sort_unstable();
        signers.dedup();
        let gas = signers.into_iter().map(|role| Step {
            offset: 0,
            by: NO_ROLE,
            from: NO_ROLE,
            to: role,
            moves: Moves::Gas,
        });
        self.steps = gas.chain(std::mem::take(&mut self.steps)).collect();
    }

    fn peel_chain(&mut self, hops: u32) {
        self.is(
            "peel-chain",
            "Each keeps the larger part going and peels a little off to a payee",
        );
        let (chain, payees) = self.chain_roles(hops);
        let mut value = 80_000_000_000;
        for hop in 0..hops {
            let peeled = value / (8 + u64::from(hop));
            self.send(1 + u64::from(hop), hop, 100 + hop, peeled);
            value -= peeled;
            self.send(1 + u64::from(hop), hop, hop + 1, value);
        }
        self.chain_searches(hops);
        let inward: Vec<Role> = (0..hops).collect();
        self.search(hops, Direction::In, None, inward);
        self.roles = vec![("chain", chain), ("payees", payees)];
    }

    fn peel_chain_ether(&mut self, hops: u32) {
        self.asset = Asset::Native;
        self.is(
            "peel-chain-ether",
            "The same with native coin; each also had gas money",
        );
        let (chain, payees) = self.chain_roles(hops);
        let ether = |milli: u64| U256::from(milli) * U256::from(10u64.pow(15));
        // The payment for gas is 1000. Everything that is passed on is less than that in
        // total.
        let mut value = 800;
        for hop in 0..hops {
            let peeled = value / 8;
            value -= peeled;
            for (to, milli) in [(100 + hop, peeled), (hop + 1, value)] {
                let moves = Moves::Ether(ether(milli));
                self.step(1 + u64::from(hop), hop, [hop, to], moves);
            }
        }
        self.chain_searches(hops);
        self.roles = vec![("chain", chain), ("payees", payees)];
    }

    fn chain_roles(&self, hops: u32) -> (Vec<Role>, Vec<Role>) {
        ((0..=hops).collect(), (100..100 + hops).collect())
    }

    fn chain_searches(&mut self, hops: u32) {
        for limit in [None, Some(1), Some(3)] {
            let reach = limit.unwrap_or(hops);
            let reached = (1..=reach).chain(100..100 + reach).collect();
            self.search(0, Direction::Out, limit, reached);
        }
    }

    fn wash_cycle(&mut self, size: u32) {
        self.is(
            "wash-cycle",
            "One amount runs in a circle, a little less in each round",
        );
        let size = size - 1;
        let (rounds, mut value) = (3, 5_000_000_000);
        for turn in 0..size * rounds {
            let offset = 1 + u64::from(turn * 13 / (size * rounds));
            self.send(offset, turn % size, (turn + 1) % size, value);
            value -= 1_000_000;
        }
        self.search(0, Direction::Out, None, (1..size).collect());
        self.search(0, Direction::In, Some(1), vec![size - 1]);
        self.roles = vec![("cycle", (0..size).collect())];
    }

    fn deposit_sweep(&mut self, size: u32) {
        self.is(
            "deposit-sweep",
            "Customers pay into addresses of their own; all go to one wallet",
        );
        let wallet = 500;
        for customer in 0..size {
            let value = 1_000_000 * (1 + u64::from(customer));
            self.send(1 + u64::from(customer % 5), customer, 100 + customer, value);
            self.send(8 + u64::from(customer % 3), 100 + customer, wallet, value);
        }
        let (customers, deposits) = (0..size, 100..100 + size);
        self.search(wallet, Direction::In, Some(1), deposits.clone().collect());
        self.search(
            wallet,
            Direction::In,
            None,
            customers.clone().chain(deposits.clone()).collect(),
        );
        self.search(0, Direction::Out, None, vec![100, wallet]);
        self.roles = vec![
            ("hot_wallet", vec![wallet]),
            ("deposit_addresses", deposits.collect()),
            ("customers", customers.collect()),
        ];
    }

    fn fan_in_fan_out(&mut self, size: u32) {
        self.is(
            "fan-in-fan-out",
            "Many senders, one account, many receivers, equal amounts",
        );
        let hub = 500;
        for n in 0..size {
            self.send(1 + u64::from(n % 6), n, hub, 500_000_000);
            self.send(8 + u64::from(n % 6), hub, 100 + n, 500_000_000);
        }
        let (sources, sinks): (Vec<_>, Vec<_>) = ((0..size).collect(), (100..100 + size).collect());
        self.search(hub, Direction::Out, None, sinks.clone());
        self.search(hub, Direction::In, None, sources.clone());
        self.search(
            hub,
            Direction::Both,
            Some(1),
            [sources.clone(), sinks.clone()].concat(),
        );
        self.search(
            0,
            Direction::Out,
            Some(2),
            [vec![hub], sinks.clone()].concat(),
        );
        self.roles = vec![("hub", vec![hub]), ("sources", sources), ("sinks", sinks)];
    }

    fn mixer(&mut self, size: u32) {
        self.is(
            "mixer",
            "Equal deposits into a contract, later as many out, to new addresses",
        );
        let (contract, relayer, amount) = (500, 501, 1_000_000_000);
        for n in 0..size {
            self.send(1 + u64::from(n % 6), n, contract, amount);
            let moves = Moves::Token(U256::from(amount));
            self.step(9 + u64::from(n % 5), relayer, [contract, 100 + n], moves);
        }
        let receivers: Vec<Role> = (100..100 + size).collect();
        self.search(
            0,
            Direction::Out,
            None,
            [vec![contract], receivers.clone()].concat(),
        );
        self.search(0, Direction::Out, Some(1), vec![contract]);
        self.roles = vec![
            ("contract", vec![contract]),
            ("relayer", vec![relayer]),
            ("depositors", (0..size).collect()),
            ("receivers", receivers),
        ];
    }

    fn poisoning(&mut self) {
        self.is(
            "address-poisoning",
            "After a payment an attacker lays a trail to a look-alike: a transfer of nothing, one \
             of a counterfeit, a little dust; the victim then pays the wrong address",
        );
        let (victim, partner, attacker, amount) = (0, 1, 2, 7_500_000_000);
        self.send(2, victim, partner, amount);
        for (from, to, moves) in [
            (victim, LOOKALIKE, Moves::Token(U256::ZERO)),
            (victim, LOOKALIKE, Moves::Spoofed(U256::from(amount))),
            (LOOKALIKE, victim, Moves::Token(U256::from(10))),
        ] {
            self.step(3, attacker, [from, to], moves);
        }
        self.send(9, victim, LOOKALIKE, amount);
        self.search(victim, Direction::Out, Some(1), vec![partner, LOOKALIKE]);
        self.search(LOOKALIKE, Direction::In, None, vec![victim]);
        self.roles = vec![
            ("victim", vec![victim]),
            ("partner", vec![partner]),
            ("lookalike", vec![LOOKALIKE]),
            ("attacker", vec![attacker]),
        ];
    }

    fn time_disorder(&mut self) {
        self.is(
            "time-disorder",
            "x-a-b is a path although a had paid b before x paid a; u-v-w is in order; m paid t \
             in the block of s-m but before it",
        );
        let [x, a, b, u, v, w, s, m, t] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        for (offset, from, to) in [
            (2, a, b),
            (5, x, a),
            (3, u, v),
            (6, v, w),
            (8, m, t),
            (8, s, m),
        ] {
            self.send(offset, from, to, 300_000_000);
        }
        for (root, any_time, in_time) in [
            (x, vec![a, b], vec![a]),
            (u, vec![v, w], vec![v, w]),
            (s, vec![m, t], vec![m]),
        ] {
            self.search(root, Direction::Out, None, any_time);
            self.search(root, Direction::Out, None, in_time);
            self.searches
                .last_mut()
                .expect("just added")
                .time_respecting = true;
        }
        self.roles = ["x", "a", "b", "u", "v", "w", "s", "m", "t"]
            .into_iter()
            .zip([x, a, b, u, v, w, s, m, t].map(|role| vec![role]))
            .collect();
    }

    fn hub(&mut self, size: u32) {
        self.is(
            "hub",
            "One account with many counterparties and parallel transfers to each",
        );
        let (hub, many) = (500, 2 * size);
        for n in 0..many {
            self.send(1 + u64::from(n % 14), n, hub, 1_000 + u64::from(n));
            self.send(1 + u64::from((n + 5) % 14), hub, 100 + n, 2_000);
            self.send(1 + u64::from((n + 9) % 14), hub, 100 + n, 3_000);
        }
        let (senders, receivers): (Vec<_>, Vec<_>) =
            ((0..many).collect(), (100..100 + many).collect());
        self.search(hub, Direction::Out, Some(1), receivers.clone());
        self.search(hub, Direction::In, Some(1), senders.clone());
        self.roles = vec![
            ("hub", vec![hub]),
            ("senders", senders),
            ("receivers", receivers),
        ];
    }

    fn item_trail(&mut self, world: &World, owners: u32) {
        let item = U256::from(1_000_000 + self.number);
        self.asset = Asset::Collection {
            address: world.contracts.nfts[0],
            item,
        };
        self.is(
            "nft-trail",
            "One piece is minted, passes through its owners and is burnt",
        );
        let trail = [NO_ROLE]
            .into_iter()
            .chain(0..owners)
            .chain([NO_ROLE])
            .collect::<Vec<_>>();
        for (hop, pair) in (0..).zip(trail.windows(2)) {
            let by = if hop == 0 { pair[1] } else { pair[0] };
            self.step(1 + hop, by, [pair[0], pair[1]], Moves::Item);
        }
        let all = (1..owners).chain([NO_ROLE]).collect();
        self.search(0, Direction::Out, None, all);
        self.search(owners - 1, Direction::In, Some(1), vec![owners - 2]);
        self.roles = vec![("owners", (0..owners).collect())];
    }
}
