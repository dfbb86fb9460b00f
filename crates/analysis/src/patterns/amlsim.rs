//! The shapes of laundering that AMLSim plants, among other transfers, and how many of them the rules find.
//!
//! Each shape of <https://github.com/IBM/AMLSim> is a list of groups: each account of a group pays every
//! account of the next one.

use super::{Pattern, PatternFinder};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{SearchError, testing};
use txgraph_transfers::{Position, Transfer};

/// Each shape with its groups, and the rules that describe it.
const SHAPES: [(&str, &[u64], &[Pattern]); 7] = [
    ("fan-in", &[8, 1], &[Pattern::FanIn]),
    ("fan-out", &[1, 8], &[Pattern::FanOut]),
    ("cycle", &[1, 1, 1, 1, 1], &[Pattern::RoundTrip]),
    ("bipartite", &[4, 4], &[Pattern::FanIn, Pattern::FanOut]),
    ("stack", &[4, 4, 4], &[Pattern::FanIn, Pattern::FanOut]),
    ("scatter-gather", &[1, 6, 1], &[Pattern::ScatterGather]),
    (
        "gather-scatter",
        &[6, 1, 6],
        &[Pattern::FanIn, Pattern::FanOut, Pattern::Mixer],
    ),
];

/// How often each shape is planted.
const PLANTED: usize = 20;

/// Other accounts, which also pay the accounts of shapes and are paid by them, and their transfers.
const OTHERS: u64 = 2_000;
const OTHER_TRANSFERS: u64 = 20_000;

const BLOCKS: u64 = 100_000;

/// The time from the first transfer of a shape to its last one, in blocks.
const PERIOD: u64 = 3_000;

/// The amounts and times of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// Each account pays equal amounts: 98 % of what it got, after it got it.
    PassedOn,
    /// Random amounts, each account after it was paid.
    RandomAmounts,
    /// Random amounts at random times.
    Random,
}

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn amount(&mut self) -> u64 {
        1_000_000 + self.below(1_000_000_000)
    }
}

/// The address of an account. No two look alike.
fn address(account: u64) -> Address {
    let mut bytes = [0; 20];
    for (half, seed) in bytes.chunks_mut(10).zip([account, !account]) {
        let number = Random(seed).below(u64::MAX);
        half[..8].copy_from_slice(&number.to_be_bytes());
    }
    Address::from(bytes)
}

/// A transfer before it has a place in its block: block, shape that it is planted for, ends, amount.
type Payment = (u64, Option<usize>, [u64; 2], u64);

/// The payments of a shape, whose accounts begin with `first`.
fn planted(
    (shape, groups): (usize, &[u64]),
    first: u64,
    setting: Setting,
    random: &mut Random,
) -> Vec<Payment> {
    let start = 1 + random.below(BLOCKS - PERIOD);
    let mut amount = random.amount();
    let mut payments = Vec::new();
    let mut account = first;
    let groups = groups.iter().map(|size| {
        account += size;
        account - size..account
    });
    let mut groups: Vec<_> = groups.collect();
    if groups.iter().all(|group| group.end - group.start == 1) {
        groups.push(groups[0].clone());
    }
    let step = PERIOD / groups.len() as u64;
    for (layer, pair) in (0..).zip(groups.windows(2)) {
        for (from, to) in pair[0]
            .clone()
            .flat_map(|from| pair[1].clone().map(move |to| (from, to)))
        {
            let block = match setting {
                Setting::Random => start + random.below(PERIOD),
                _ => start + layer * step + random.below(step),
            };
            let value = match setting {
                Setting::PassedOn => amount,
                _ => random.amount(),
            };
            payments.push((block, Some(shape), [from, to], value));
        }
        let [senders, receivers] = [0, 1].map(|side| pair[side].end - pair[side].start);
        let next = groups.get(usize::try_from(layer).unwrap() + 2);
        let next = next.map_or(receivers, |group| group.end - group.start);
        amount = amount * senders * 98 / 100 / next;
    }
    payments
}

/// All transfers in order, and the shapes of those that are planted.
fn chain(setting: Setting) -> (Vec<Transfer>, BTreeMap<Position, usize>) {
    let mut random = Random(1);
    let mut payments: Vec<Payment> = Vec::new();
    let mut accounts = OTHERS;
    for (kind, (_, groups, _)) in SHAPES.iter().enumerate() {
        for number in 0..PLANTED {
            let shape = (kind * PLANTED + number, *groups);
            payments.extend(planted(shape, accounts, setting, &mut random));
            accounts += groups.iter().sum::<u64>();
        }
    }
    for _ in 0..OTHER_TRANSFERS {
        let ends = [random.below(accounts), random.below(OTHERS)];
        let [one, other] = ends;
        let ends = if random.below(2) == 0 {
            [one, other]
        } else {
            [other, one]
        };
        payments.push((1 + random.below(BLOCKS), None, ends, random.amount()));
    }
    payments.sort_unstable();
    let mut shapes = BTreeMap::new();
    let transfers = (0..)
        .zip(payments)
        .map(|(index, (block, shape, ends, value))| {
            let [from, to] = ends.map(address);
            let transfer = testing::transfer((block, index), "T", from, to, U256::from(value));
            shapes.extend(shape.map(|shape| (transfer.position(), shape)));
            transfer
        });
    (transfers.collect(), shapes)
}

/// How many of each shape are found, and how many of all findings have a half of their transfers in one shape.
/// A shape is found if findings of its rules have a half of its transfers.
fn report(setting: Setting) -> Vec<String> {
    let (transfers, shapes) = chain(setting);
    let mut finder = PatternFinder::default();
    finder.add(&transfers).unwrap();
    let found = finder.finish(None, || Ok::<_, SearchError>(())).unwrap();
    let mut seen: BTreeMap<usize, BTreeSet<Position>> = BTreeMap::new();
    let mut right = 0;
    for finding in &found.findings {
        let mut parts: BTreeMap<usize, Vec<Position>> = BTreeMap::new();
        for evidence in &finding.evidence {
            let position = evidence.transfer.position();
            if let Some(shape) = shapes.get(&position) {
                parts.entry(*shape).or_default().push(position);
            }
        }
        let largest = parts.into_iter().max_by_key(|(_, part)| part.len());
        let largest = largest.filter(|(_, part)| part.len() * 2 >= finding.evidence.len());
        right += usize::from(largest.is_some());
        if let Some((shape, part)) = largest
            && SHAPES[shape / PLANTED].2.contains(&finding.pattern)
        {
            seen.entry(shape).or_default().extend(part);
        }
    }
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for shape in shapes.values() {
        *sizes.entry(*shape).or_default() += 1;
    }
    let is_found = |shape: &usize| {
        let seen = seen.get(shape).map_or(0, BTreeSet::len);
        seen * 2 >= sizes[shape]
    };
    let mut rows: Vec<String> = (0..)
        .zip(SHAPES)
        .map(|(kind, (name, ..))| {
            let all = kind * PLANTED..(kind + 1) * PLANTED;
            format!("{name}: {}", all.filter(is_found).count())
        })
        .collect();
    rows.push(format!("right: {right} of {}", found.findings.len()));
    rows
}

/// Amounts that go on are found, and random ones are not: as `docs/patterns.md` states.
#[test]
fn shapes_of_amlsim_are_found_if_amounts_go_on() {
    for (setting, found, findings) in [
        (Setting::PassedOn, PLANTED, 642),
        (Setting::RandomAmounts, 0, 0),
        (Setting::Random, 0, 0),
    ] {
        let mut rows: Vec<_> = (SHAPES.iter())
            .map(|(name, ..)| format!("{name}: {found}"))
            .collect();
        rows.push(format!("right: {findings} of {findings}"));
        assert_eq!(report(setting), rows, "{setting:?}");
    }
}
