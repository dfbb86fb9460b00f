//! The intended contents of a chain: counts, planted scenarios, and searches with their
//! answers.

use super::{
    block::{Body, Counts},
    config::Profile,
    contracts::Token,
    scenarios::{Asset, NO_ROLE, Role, Scenario},
    tip::Tip,
    world::World,
};
use alloy_primitives::{Address, B256, U256};
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_transfers::{Direction, Kind, TokenStandard, Transfer};

/// Scenarios that are listed completely.
const SCENARIOS_LISTED: u64 = 64;

/// The known answers about a chain.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// Hash of block 0.
    pub genesis_hash: B256,
    /// The newest block.
    pub tip: Option<Tip>,
    /// Counts of blocks, transactions and logs.
    pub counts: Counts,
    /// Transfers of each standard and kind.
    pub transfers: Vec<TransferCount>,
    /// Every fungible token with its transfers, including wraps.
    pub tokens: Vec<TokenTruth>,
    /// Completed scenarios, including those that are not listed.
    pub scenarios_planted: u64,
    /// The first 64 completed scenarios; all of them of [`Profile::Exchanges`].
    pub scenarios: Vec<ScenarioTruth>,
    /// Searches in those scenarios.
    pub searches: Vec<SearchTruth>,
    /// Scenarios that have begun but not ended.
    #[serde(skip)]
    begun: BTreeMap<u64, ScenarioTruth>,
    #[serde(skip)]
    by_sort: BTreeMap<(TokenStandard, Kind), u64>,
    #[serde(skip)]
    token_index: BTreeMap<Address, usize>,
}

/// The number of transfers of one standard and kind.
#[derive(Clone, Debug, Serialize)]
pub struct TransferCount {
    /// Standard.
    pub standard: TokenStandard,
    /// Kind.
    pub kind: Kind,
    /// Number of transfers.
    pub count: u64,
}

/// A fungible token of the chain.
#[derive(Clone, Debug, Serialize)]
pub struct TokenTruth {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// Its transfers, including wraps.
    pub transfers: u64,
}

/// A planted scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioTruth {
    /// Kind of the scenario.
    pub scenario: &'static str,
    /// Number among all scenarios of the chain, from 0.
    pub number: u64,
    /// Description in one sentence.
    pub about: &'static str,
    /// Token contract; `null` for the native coin.
    pub token: Option<Address>,
    /// Roles with their addresses.
    pub roles: BTreeMap<&'static str, Vec<Address>>,
    /// The transfers, in order.
    pub edges: Vec<Edge>,
}

/// A transfer of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Edge {
    /// Hash of the transaction.
    pub tx: B256,
    /// Block number.
    pub block: u64,
    /// Index of the transaction in the block.
    pub tx_index: u32,
    /// Index of the log in the block; `null` for native value.
    pub log_index: Option<u32>,
    /// Contract of the log; `null` for the native coin.
    pub token: Option<Address>,
    /// Sender.
    pub from: Address,
    /// Receiver.
    pub to: Address,
    /// Amount, decimal.
    #[serde(serialize_with = "decimal")]
    pub value: U256,
    /// Item of a collection, decimal.
    #[serde(serialize_with = "decimal_or_null")]
    pub token_id: Option<U256>,
}

/// A search with its answer.
#[derive(Clone, Debug, Serialize)]
pub struct SearchTruth {
    /// Kind of its scenario.
    pub scenario: &'static str,
    /// Number of the scenario.
    pub number: u64,
    /// Token contract; `null` for the native coin.
    pub token: Option<Address>,
    /// Root of the search.
    pub root: Address,
    /// Direction.
    pub direction: Direction,
    /// Hops; `null` for no limit.
    pub hops: Option<u32>,
    /// Whether transfers must be in chronological order.
    pub time_respecting: bool,
    /// All reached addresses except the root, sorted.
    pub reached: Vec<Address>,
}

fn decimal<S: serde::Serializer>(number: &U256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn decimal_or_null<S: serde::Serializer>(
    number: &Option<U256>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serializer.collect_str(number),
        None => serializer.serialize_none(),
    }
}

impl Truth {
    /// Creates the truth about a genesis block.
    pub(super) fn new(world: &World) -> Self {
        let tokens = &world.contracts.tokens;
        Self {
            genesis_hash: B256::ZERO,
            tip: None,
            counts: Counts {
                blocks: 1,
                ..Counts::default()
            },
            transfers: Vec::new(),
            tokens: tokens
                .iter()
                .map(|&token| TokenTruth {
                    token,
                    transfers: 0,
                })
                .collect(),
            scenarios_planted: 0,
            scenarios: Vec::new(),
            searches: Vec::new(),
            begun: BTreeMap::new(),
            by_sort: BTreeMap::new(),
            token_index: tokens.iter().map(|token| token.address).zip(0..).collect(),
        }
    }

    /// Adds the next block.
    pub(super) fn add(&mut self, world: &World, body: &Body) {
        self.counts.add(&body.counts);
        for transfer in &body.transfers {
            *self
                .by_sort
                .entry((transfer.token_standard, transfer.kind))
                .or_default() += 1;
            let token = transfer
                .token_address
                .and_then(|token| self.token_index.get(&token));
            if let Some(&index) = token {
                self.tokens[index].transfers += 1;
            }
        }
        let Some(scenario) = &body.scenario else {
            return;
        };
        let lists_all = world.config.profile == Profile::Exchanges;
        if lists_all || scenario.number < SCENARIOS_LISTED {
            self.begun
                .entry(scenario.number)
                .or_insert_with(|| ScenarioTruth::begin(world, scenario))
                .add(scenario, body);
        }
        if scenario.last_block() == body.number {
            self.scenarios_planted += 1;
            if let Some(scenario_truth) = self.begun.remove(&scenario.number) {
                self.scenarios.push(scenario_truth);
                self.searches.extend(searches(world, scenario));
            }
        }
    }

    /// Completes the truth at a tip.
    pub(super) fn at(mut self, tip: Tip, genesis_hash: B256) -> Self {
        self.tip = Some(tip);
        self.genesis_hash = genesis_hash;
        let count = |(&(standard, kind), &count): (&_, &u64)| TransferCount {
            standard,
            kind,
            count,
        };
        self.transfers = self.by_sort.iter().map(count).collect();
        self
    }
}

impl ScenarioTruth {
    fn begin(world: &World, scenario: &Scenario) -> Self {
        let address = |&role: &Role| scenario.address(world, role);
        Self {
            scenario: scenario.name,
            number: scenario.number,
            about: scenario.about,
            token: scenario.asset.address(),
            roles: scenario
                .roles
                .iter()
                .map(|(name, roles)| (*name, roles.iter().map(address).collect()))
                .collect(),
            edges: Vec::new(),
        }
    }

    /// Adds the edges of a block, without payments for gas.
    fn add(&mut self, scenario: &Scenario, body: &Body) {
        for (index, done) in (0..).zip(&body.transactions) {
            let Some((_, at)) = done.step else { continue };
            let step = &scenario.steps[usize::try_from(at).expect("few steps")];
            if step.by == NO_ROLE {
                continue;
            }
            let of_step = |transfer: &&Transfer| transfer.transaction_index == index;
            self.edges
                .extend(body.transfers.iter().filter(of_step).map(|transfer| Edge {
                    tx: transfer.transaction_hash.unwrap_or_default(),
                    block: transfer.block_number,
                    tx_index: transfer.transaction_index,
                    log_index: transfer.log_index,
                    token: transfer.token_address,
                    from: transfer.from_address,
                    to: transfer.to_address,
                    value: transfer.value,
                    token_id: transfer.token_id,
                }));
        }
    }
}

fn searches<'a>(
    world: &'a World,
    scenario: &'a Scenario,
) -> impl Iterator<Item = SearchTruth> + 'a {
    // A search of an item follows its collection, because the roles own no other items of
    // it.
    debug_assert!(!matches!(scenario.asset, Asset::Token(token) if token.decimals != 6));
    scenario.searches.iter().map(|search| {
        let mut reached: Vec<Address> = search
            .reached
            .iter()
            .map(|&role| scenario.address(world, role))
            .collect();
        reached.sort_unstable();
        SearchTruth {
            scenario: scenario.name,
            number: scenario.number,
            token: scenario.asset.address(),
            root: scenario.address(world, search.root),
            direction: search.direction,
            hops: search.hops,
            time_respecting: search.time_respecting,
            reached,
        }
    })
}
