//! The search through swaps, by hand and against its definition over all transfers.

use crate::content;
use alloy_primitives::{Address, U256};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{
    Expansion, Swap, SwapCounts, TransferGraph, netting, search,
    testing::{self, MemorySource, address, name},
};
use txgraph_graph::{LimitHit, SearchError, SearchRequest};
use txgraph_transfers::{Direction, Position, TokenFilter, Transfer};

fn request(all: &[Transfer]) -> SearchRequest {
    let source = MemorySource::new(all.to_vec());
    SearchRequest {
        hops: None,
        through_swaps: true,
        ..SearchRequest::new(vec![address("a")], source.available)
    }
}

fn ask(all: &[Transfer], request: &SearchRequest, memory: u64) -> TransferGraph {
    let request = SearchRequest {
        memory_bytes_max: memory,
        ..request.clone()
    };
    search(&MemorySource::new(all.to_vec()), &request).expect("a graph")
}

/// The edges with their hops, and the vertices that are not expanded.
fn text(graph: &TransferGraph) -> String {
    let edges = graph.graph.edge_weights().map(|edge| {
        let it = &edge.transfer;
        let (from, to) = (name(it.from_address), name(it.to_address));
        format!("{from}{to}{}", edge.hop)
    });
    let ends = graph.graph.node_weights();
    let ends = ends.filter(|it| it.expansion != Expansion::Expanded);
    let ends = ends.map(|it| format!("{}:{}", name(it.address), it.expansion.as_str()));
    edges.chain(ends).collect::<Vec<_>>().join(" ")
}

fn found(transactions: &str, change: impl FnOnce(&mut SearchRequest)) -> String {
    let all = testing::transactions(transactions);
    let mut request = request(&all);
    request.filter.tokens = TokenFilter::only([address("T")]);
    change(&mut request);
    text(&ask(&all, &request, u64::MAX))
}

#[test]
fn a_trail_goes_through_a_swap_and_not_through_its_pool() {
    // b sells T by a router and two pools, which do much else.
    let swap = "a>b@T | b>r:1@T q>r:3@U r>p:1@T p>q:2@W r>b:3@U | r>x@T p>y@T q>z@U b>c@U b>d@W";
    let carried = "ab1 br2 qr2 rp2 pq2 rb2 bc3";
    assert_eq!(
        found(swap, |_| {}),
        format!("{carried} p:swap q:swap r:swap")
    );
    assert_eq!(
        found(swap, |it| it.hops = Some(2)),
        "ab1 br2 qr2 rp2 pq2 rb2 b:last_hop p:swap q:swap r:swap"
    );
    // Without swaps, everything that the router and the pools send of the token.
    assert_eq!(
        found(swap, |it| it.through_swaps = false),
        "ab1 br2 rp3 rx3 py4"
    );
    // The stop list and hubs hold for who gets it.
    let stop = |it: &mut SearchRequest| it.stop_at = [address("b")].into();
    assert_eq!(found(swap, stop), "ab1 b:stop_list");
    // A root is exempt, also for another token.
    let swap = "a>p:1@T p>a:2@U | a>b@U a>c@W a>d@U b>e@U";
    let hubs = |it: &mut SearchRequest| it.max_degree = Some(1);
    assert_eq!(found(swap, hubs), "ap1 pa1 ab2 ad2 be3 p:swap");
}

#[test]
fn a_swap_can_be_a_mint_or_go_to_another_address() {
    let wrap = "a>W:5@eth 0>a:5@W | a>c:5@W";
    let all = testing::transactions(wrap);
    let mut asked = request(&all);
    asked.filter.tokens = TokenFilter::native();
    let graph = ask(&all, &asked, 0);
    assert_eq!(text(&graph), "aW1 0a1 ac2 0:swap W:swap");
    assert_eq!(
        graph.swaps,
        SwapCounts {
            followed: 1,
            unresolved: 0
        }
    );
    assert_eq!(
        found("a>r:1@T r>p:1@T p>b:2@U | b>c@U b>d@T", |_| {}),
        "ar1 rp1 pb1 bc2 p:swap r:swap"
    );
}

#[test]
fn a_swap_that_is_not_clear_is_followed_to_the_receivers() {
    // Two tokens are got for one.
    let all = testing::transactions("a>p:1@T p>a:2@U p>a:3@W | p>c@T a>d@U");
    let mut asked = request(&all);
    asked.filter.tokens = TokenFilter::only([address("T")]);
    let graph = ask(&all, &asked, u64::MAX);
    assert_eq!(text(&graph), "ap1 pc2");
    assert_eq!(
        graph.swaps,
        SwapCounts {
            followed: 0,
            unresolved: 1
        }
    );
    // Each token goes on for itself.
    assert_eq!(found("a>b@T | b>c@T b>d@U", |_| {}), "ab1 bc2");
    // In time, if that is asked.
    let early = "b>c@T a>b@T | b>p@T p>b:2@U | b>d@U | b>e@T";
    assert_eq!(found(early, |_| {}), "bc2 ab1 bp2 pb2 bd3 be2 p:swap");
    assert_eq!(
        found(early, |it| it.time_respecting = true),
        "ab1 bp2 pb2 bd3 be2 p:swap"
    );
}

#[test]
fn swaps_are_followed_outwards_among_all_transfers() {
    let refused = |change: fn(&mut SearchRequest)| {
        let all = testing::transactions("a>b");
        let mut request = request(&all);
        change(&mut request);
        let error = search(&MemorySource::new(all), &request).unwrap_err();
        assert!(matches!(error, SearchError::Request(_)), "{error}");
    };
    refused(|it| it.direction = Direction::In);
    refused(|it| it.filter.min_value = U256::from(1));
}

type Token = (Option<Address>, Option<U256>);

fn token(it: &Transfer) -> Token {
    (it.token_address, it.token_id)
}

/// The definition.
struct Twin<'a> {
    all: &'a [Transfer],
    request: &'a SearchRequest,
}

/// Where a trail is: an address, what it holds there (`None`: what is asked of a root), and since when.
type State = (Address, Option<Token>, Option<Position>);

impl Twin<'_> {
    fn of(&self, place: (u64, u32)) -> Vec<&Transfer> {
        let all = self.all.iter();
        all.filter(|it| it.transaction() == place).collect()
    }

    fn swaps(&self, it: &Transfer) -> (Vec<Swap>, bool) {
        let all: Vec<_> = self.of(it.transaction()).into_iter().cloned().collect();
        let found = netting(&all);
        let is_unresolved = found.unresolved.contains(&it.from_address);
        let mut swaps = found.swaps;
        let (from, to) = parties(it);
        swaps.retain(|swap| {
            (swap.address, swap.given_token) == (from, it.token_address)
                && from != to
                && !swap.paid.contains(&to)
                && !it.value.is_zero()
        });
        (swaps, is_unresolved)
    }

    /// The transfers that carry a swap from one that pays for it, and those that deliver.
    fn legs(&self, payment: &Transfer, swap: &Swap) -> (Vec<&Transfer>, Vec<&Transfer>) {
        let mut all = self.of(payment.transaction());
        all.retain(|it| parties(it).0 != parties(it).1 && !it.value.is_zero());
        let got = all
            .iter()
            .copied()
            .filter(|it| (parties(it).1, it.token_address) == (swap.to, swap.got_token));
        let got: Vec<_> = got.collect();
        let ends = [swap.address, swap.to];
        all.retain(|it| !ends.contains(&parties(it).0) && !ends.contains(&parties(it).1));
        let mut forth = BTreeSet::new();
        let mut back = BTreeSet::new();
        for _ in 0..=all.len() {
            for it in &all {
                let (from, to) = parties(it);
                let follows = |other: &&&Transfer| parties(other).1 == from;
                let known = |other: &&&Transfer| forth.contains(&other.position());
                if parties(payment).1 == from || all.iter().filter(follows).any(|it| known(&it)) {
                    forth.insert(it.position());
                }
                let leads = |other: &&&Transfer| parties(other).0 == to;
                let known = |other: &&&Transfer| back.contains(&other.position());
                if got.iter().any(|it| parties(it).0 == to)
                    || all.iter().filter(leads).any(|it| known(&it))
                {
                    back.insert(it.position());
                }
            }
        }
        all.retain(|it| forth.contains(&it.position()) && back.contains(&it.position()));
        (all, got)
    }

    fn is_hub(&self, address: Address) -> bool {
        let sent = self.all.iter().filter(|it| it.from_address == address);
        let others: BTreeSet<_> = sent
            .map(|it| it.to_address)
            .filter(|to| *to != address)
            .collect();
        self.request
            .max_degree
            .is_some_and(|max| others.len() > max as usize)
    }

    /// Why nothing is followed from an address that is reached after this many hops.
    fn why_not(&self, address: Address, hop: u32) -> Option<Expansion> {
        let request = self.request;
        match () {
            () if request.hops == Some(hop) => Some(Expansion::LastHop),
            () if request.roots.contains(&address) => None,
            () if request.stop_at.contains(&address) => Some(Expansion::StopList),
            () if address.is_zero() && !request.expand_zero => Some(Expansion::ZeroAddress),
            () => self.is_hub(address).then_some(Expansion::Hub),
        }
    }

    fn holds(&self, state: &State, it: &Transfer) -> bool {
        let held = match state.1 {
            None => self
                .request
                .filter
                .tokens
                .matches(it.token_address.as_ref()),
            Some(held) => held == token(it),
        };
        let is_later = state.2.is_none_or(|since| since < it.position());
        it.from_address == state.0 && held && (is_later || !self.request.time_respecting)
    }

    /// An address that a transfer arrives at.
    fn arrived(&self, it: &Transfer) -> State {
        let asked = self
            .request
            .filter
            .tokens
            .matches(it.token_address.as_ref());
        match asked && self.request.roots.contains(&it.to_address) {
            true => (it.to_address, None, None),
            false => (it.to_address, Some(token(it)), Some(it.position())),
        }
    }

    fn answer(&self) -> Answer {
        let mut answer = Answer::default();
        let mut reached = BTreeMap::<State, u32>::new();
        let mut level: Vec<State> = self
            .request
            .roots
            .iter()
            .map(|it| (*it, None, None))
            .collect();
        let mut carriers = BTreeMap::new();
        let (mut followed, mut unresolved) = (BTreeSet::new(), BTreeSet::new());
        let mut hop = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for state in level {
                if reached.contains_key(&state) {
                    continue;
                }
                reached.insert(state, hop);
                // Of an address that was expanded before, what arrived sooner is followed.
                if self.why_not(state.0, hop).is_some() {
                    continue;
                }
                for it in self.all.iter().filter(|it| self.holds(&state, it)) {
                    answer.edges.entry(it.position()).or_insert(hop + 1);
                    let (swaps, is_unresolved) = self.swaps(it);
                    if is_unresolved {
                        unresolved.insert((it.transaction(), it.from_address));
                    }
                    if swaps.is_empty() {
                        next.push(self.arrived(it));
                    }
                    for swap in swaps {
                        followed.insert((it.transaction(), swap.address));
                        let (carried, got) = self.legs(it, &swap);
                        for leg in carried.iter().chain(&got) {
                            answer.edges.entry(leg.position()).or_insert(hop + 1);
                        }
                        let ends = carried
                            .iter()
                            .flat_map(|it| [it.from_address, it.to_address]);
                        let ends = ends.chain(got.iter().map(|it| it.from_address));
                        for end in ends.chain([it.to_address]) {
                            carriers.entry(end).or_insert(hop + 1);
                        }
                        next.extend(got.into_iter().map(|it| self.arrived(it)));
                    }
                }
            }
            level = next;
            hop += 1;
        }
        let mut held = BTreeMap::<(Address, Option<Token>), u32>::new();
        for ((address, token, _), hop) in reached {
            let first = held.entry((address, token)).or_insert(hop);
            *first = hop.min(*first);
        }
        let mut vertices = BTreeMap::<Address, (u32, Vec<Expansion>)>::new();
        for ((address, _), hop) in held {
            let vertex = vertices.entry(address).or_insert((hop, Vec::new()));
            vertex.0 = hop.min(vertex.0);
            vertex
                .1
                .push(self.why_not(address, hop).unwrap_or(Expansion::Expanded));
        }
        for (address, hop) in carriers {
            let vertex = vertices.entry(address).or_insert((hop, Vec::new()));
            vertex.0 = hop.min(vertex.0);
        }
        let reason = |all: &[Expansion]| {
            let first = [Expansion::Hub, Expansion::StopList, Expansion::ZeroAddress];
            let then = [Expansion::LastHop, Expansion::Expanded];
            let mut ranked = first.into_iter().chain(then);
            ranked
                .find(|it| all.contains(it))
                .unwrap_or(Expansion::Swap)
        };
        answer.vertices = vertices
            .into_iter()
            .map(|(address, (hop, all))| (address, (hop, reason(&all))))
            .collect();
        answer.swaps = SwapCounts {
            followed: followed.len() as u64,
            unresolved: unresolved.len() as u64,
        };
        answer
    }
}

/// Who gives and who gets.
fn parties(it: &Transfer) -> (Address, Address) {
    let party = |end: Address| match end.is_zero() {
        true => it.token_address.unwrap_or(end),
        false => end,
    };
    (party(it.from_address), party(it.to_address))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    vertices: BTreeMap<Address, (u32, Expansion)>,
    edges: BTreeMap<Position, u32>,
    swaps: SwapCounts,
}

fn answer(graph: &TransferGraph) -> Answer {
    let vertices = graph.graph.node_weights();
    let edges = graph.graph.edge_weights();
    Answer {
        vertices: vertices
            .map(|it| (it.address, (it.hop, it.expansion)))
            .collect(),
        edges: edges.map(|it| (it.transfer.position(), it.hop)).collect(),
        swaps: graph.swaps,
    }
}

/// Transactions of some transfers and of swaps, with and without routers, in some blocks.
fn trades() -> impl Strategy<Value = Vec<Transfer>> {
    let names = ["0", "a", "b", "c", "d", "e", "p", "q", "T", "W"];
    let name = || proptest::sample::select(names.to_vec());
    let user = || proptest::sample::select(vec!["a", "b", "c", "d"]);
    let token = || proptest::sample::select(vec!["T", "U", "eth", "W"]);
    let transfer = || {
        (name(), name(), token(), 0u32..4)
            .prop_map(|(from, to, token, value)| format!("{from}>{to}:{value}@{token}"))
    };
    let few = proptest::collection::vec(transfer(), 1..5).prop_map(|it| it.join(" "));
    let tokens = || (token(), token());
    let pay = (user(), user(), token(), 1u32..4)
        .prop_map(|(from, to, token, value)| format!("{from}>{to}:{value}@{token}"));
    let swap = (
        user(),
        user(),
        tokens(),
        any::<bool>(),
        proptest::option::weighted(0.2, transfer()),
    )
        .prop_map(|(from, to, (give, get), is_routed, more)| {
            let legs = match is_routed {
                true => format!("{from}>r:2@{give} p>r:3@{get} r>p:2@{give} r>{to}:3@{get}"),
                false => format!("p>{to}:3@{get} {from}>p:2@{give}"),
            };
            format!("{legs} {}", more.unwrap_or_default())
        });
    let wrap = user().prop_map(|user| format!("{user}>W:2@eth 0>{user}:2@W"));
    let one = prop_oneof![2 => few, 3 => pay, 4 => swap, 1 => wrap];
    let blocks = proptest::collection::vec(0u64..3, 12);
    (proptest::collection::vec(one, 1..12), blocks).prop_map(|(all, steps)| {
        let mut all = testing::transactions(&all.join(" | "));
        for it in &mut all {
            let before = &steps[..it.transaction_index as usize];
            it.block_number += before.iter().sum::<u64>();
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_search_through_swaps_agrees_with_its_definition(
        all in trades(),
        walk in (proptest::option::of(0u32..5), any::<bool>(), any::<bool>()),
        limits in (proptest::option::weighted(0.3, 1u32..4), proptest::option::weighted(0.3, Just("b"))),
        tokens in proptest::sample::select(vec!["T", "eth", ""]),
        second_root: bool,
        memory in 300u64..3_000,
    ) {
        let mut asked = request(&all);
        (asked.hops, asked.time_respecting, asked.expand_zero) = walk;
        asked.max_degree = limits.0;
        asked.stop_at = limits.1.map(address).into_iter().collect();
        asked.roots.extend(second_root.then(|| address("c")));
        asked.filter.tokens = match tokens {
            "" => TokenFilter::All,
            "eth" => TokenFilter::native(),
            token => TokenFilter::only([address(token)]),
        };
        let graph = ask(&all, &asked, u64::MAX);
        let twin = Twin { all: &all, request: &asked };
        prop_assert_eq!(answer(&graph), twin.answer());
        // The same with a scan per hop, and a change of plan halfway.
        prop_assert_eq!(content(&ask(&all, &asked, 0)), content(&graph));
        prop_assert_eq!(content(&ask(&all, &asked, memory)), content(&graph));
        for edge in graph.graph.raw_edges() {
            let transfer = &edge.weight.transfer;
            prop_assert!(all.contains(transfer));
            prop_assert_eq!(graph.graph[edge.source()].address, transfer.from_address);
            prop_assert_eq!(graph.graph[edge.target()].address, transfer.to_address);
        }
    }

    #[test]
    fn a_search_through_swaps_says_which_limit_ended_it(
        all in trades(),
        max_vertices in proptest::option::of(1u64..8),
        max_edges in proptest::option::of(0u64..8),
        top in proptest::option::of(1u32..3),
    ) {
        let mut asked = request(&all);
        let whole = answer(&ask(&all, &asked, u64::MAX));
        (asked.max_vertices, asked.max_edges, asked.top) = (max_vertices, max_edges, top);
        let graph = ask(&all, &asked, u64::MAX);
        let found = answer(&graph);
        prop_assert!(found.edges.keys().all(|it| whole.edges.contains_key(it)));
        prop_assert!(found.vertices.keys().all(|it| whole.vertices.contains_key(it)));
        prop_assert!(max_vertices.is_none_or(|max| found.vertices.len() as u64 <= max));
        prop_assert!(max_edges.is_none_or(|max| found.edges.len() as u64 <= max));
        let is_cut = |hit: &LimitHit| !matches!(hit, LimitHit::ZeroAddress);
        prop_assert!(found.edges.len() == whole.edges.len() || graph.limits.iter().any(is_cut));
        prop_assert_eq!(content(&ask(&all, &asked, 0)), content(&graph));
    }
}
