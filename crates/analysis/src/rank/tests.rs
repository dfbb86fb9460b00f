use super::*;
use crate::oracle::some_transfers;
use proptest::prelude::*;
use std::{collections::BTreeSet, convert::Infallible};
use txgraph_graph::{SearchRequest, VertexId, search, testing, testing::MemorySource};
use txgraph_transfers::{Direction, Transfer};

fn graph(transfers: &[Transfer], roots: &[&str], hops: u32) -> TransferGraph {
    let source = MemorySource::new(transfers.to_vec());
    let roots = roots.iter().map(|root| testing::address(root)).collect();
    let mut request = SearchRequest::new(roots, source.available.clone());
    request.direction = Direction::Both;
    request.hops = Some(hops);
    search(&source, &request).unwrap()
}

fn ranked(graph: &TransferGraph, swaps: &Nettings, settings: RankSettings) -> Ranking {
    let proceed = || Ok::<_, Infallible>(());
    match rank(graph, &TokenFilter::All, swaps, settings, None, proceed) {
        Ok(ranking) => ranking,
        Err(never) => match never {},
    }
}

fn scores(ranking: &Ranking) -> BTreeMap<String, f64> {
    let ranks = ranking.ranks.iter();
    ranks
        .map(|it| (testing::name(it.address), it.score))
        .collect()
}

/// Rounded to four digits, the highest first.
fn shown(ranking: &Ranking) -> Vec<String> {
    let ranks = ranking.ranks.iter();
    ranks
        .map(|it| format!("{} {:.4}", testing::name(it.address), it.score))
        .collect()
}

const FINE: RankSettings = RankSettings {
    alpha: 0.15,
    beta: 0.8,
    epsilon: 1e-6,
};

/// The walk as it is defined, with the mass of every chip in one map, and no sum stored.
fn twin(graph: &TransferGraph, settings: RankSettings) -> BTreeMap<String, f64> {
    // Vertex, token, and the number of a transfer.
    type State = (VertexId, (Option<Address>, &'static str), i64);
    let token = |it: &Transfer| (it.token_address, it.token_standard.as_str());
    let edges: Vec<_> = (0i64..)
        .zip(graph.graph.raw_edges())
        .map(|(at, edge)| {
            let ends = [edge.source(), edge.target()];
            let transfer = &edge.weight.transfer;
            let amount = f64::from(transfer.value);
            (at, ends, token(transfer), amount)
        })
        .filter(|(_, ends, _, amount)| ends[0] != ends[1] && *amount > 0.0)
        .collect();
    let mut scores = BTreeMap::<VertexId, f64>::new();
    let mut masses = BTreeMap::<State, f64>::new();
    let divide = |state: State, mass: f64, sides: &[usize], masses: &mut BTreeMap<State, f64>| {
        let (vertex, token, time) = state;
        for &side in sides {
            let share = mass * [settings.beta, 1.0 - settings.beta][side];
            let usable = edges.iter().filter(|(at, ends, of, _)| {
                ends[side] == vertex && *of == token && [*at > time, *at < time][side]
            });
            let all: f64 = usable.clone().map(|(.., amount)| amount).sum();
            for (at, ends, _, amount) in usable {
                let state = (ends[1 - side], token, *at);
                *masses.entry(state).or_default() += share * amount / all;
            }
            if all == 0.0 {
                *masses.entry(state).or_default() += share;
            }
        }
    };
    let starts: BTreeSet<_> = graph
        .roots
        .iter()
        .flat_map(|root| {
            let moved = edges.iter().filter(move |(_, ends, ..)| {
                let is_sent = settings.beta > 0.0 && ends[0] == *root;
                is_sent || settings.beta < 1.0 && ends[1] == *root
            });
            moved.map(move |(_, _, token, _)| (*root, *token))
        })
        .collect();
    for &(root, token) in &starts {
        let mass = 1.0 / starts.len() as f64;
        *scores.entry(root).or_default() += mass * settings.alpha;
        let rest = mass * (1.0 - settings.alpha);
        divide((root, token, -1), rest, &[0], &mut masses);
        divide((root, token, i64::MAX), rest, &[1], &mut masses);
    }
    while masses.values().sum::<f64>() > 1e-10 {
        for (state, mass) in std::mem::take(&mut masses) {
            let of = scores.entry(state.0).or_default();
            if graph.graph[state.0].expansion != Expansion::Expanded {
                *of += mass;
                continue;
            }
            *of += mass * settings.alpha;
            divide(state, mass * (1.0 - settings.alpha), &[0, 1], &mut masses);
        }
    }
    let name = |vertex: VertexId| testing::name(graph.graph[vertex].address);
    let scores = scores.into_iter().filter(|(_, score)| *score > 0.0);
    scores
        .map(|(vertex, score)| (name(vertex), score))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn ranks_equal_those_of_the_definition(
        transfers in some_transfers(),
        hops in 1u32..5,
        beta in prop::sample::select(vec![0.0, 0.5, 0.8, 1.0]),
        alpha in prop::sample::select(vec![0.15, 0.5]),
        epsilon in prop::sample::select(vec![0.1, 1e-3, 1e-5]),
    ) {
        let graph = graph(&transfers, &["a", "b"], hops);
        let settings = RankSettings { alpha, beta, epsilon };
        let ranking = ranked(&graph, &Nettings::new(), settings);
        let found = scores(&ranking);
        let expected = twin(&graph, settings);
        let sum: f64 = found.values().sum();
        prop_assert!(expected.is_empty() || (sum + ranking.residual - 1.0).abs() < 1e-9);
        for (name, expected) in &expected {
            let found = found.get(name).copied().unwrap_or_default();
            let missing = expected - found;
            prop_assert!(missing > -1e-9, "{name}: {found}, not {expected}");
            prop_assert!(missing < ranking.residual + 1e-9, "{name}: {found}, not {expected}");
        }
        prop_assert!(found.keys().all(|name| expected.contains_key(name)));
    }
}

#[test]
fn mass_goes_on_in_time_and_in_proportion() {
    // What `b` sent to `x` was before it got anything of `r`.
    let transfers = testing::transfers("b>x:9 r>b:30 r>c:10 b>d:20 b>e:10");
    let found = ranked(&graph(&transfers, &["r"], 2), &Nettings::new(), FINE);
    let found = scores(&found);
    let ratio = found["d"] / found["e"];
    assert!((ratio - 2.0).abs() < 1e-3, "{found:?}");
    assert!(!found.contains_key("x"), "{found:?}");
    // A quarter of what goes forward. It stays there.
    assert!((found["c"] - 0.85 * 0.8 / 4.0).abs() < 1e-3, "{found:?}");
}

#[test]
fn tokens_are_not_mixed() {
    let transfers = testing::transfers("r>b:5@T b>c:1@T b>d:1000@U");
    let found = ranked(&graph(&transfers, &["r"], 3), &Nettings::new(), FINE);
    assert!(!scores(&found).contains_key("d"), "{found:?}");
}

#[test]
fn mass_goes_through_a_swap_and_not_into_the_pool() {
    let text = "r>a:10@T | a>p:10@T p>a:30@U | p>z:500@T p>z:500@U | a>b:30@U";
    let transfers = testing::transactions(text);
    let nettings = testing::nettings(&transfers);
    let graph = graph(&transfers, &["r"], 4);
    let plain = ranked(&graph, &Nettings::new(), FINE);
    assert!(scores(&plain).contains_key("z") && !scores(&plain).contains_key("b"));
    let through = ranked(&graph, &nettings, FINE);
    let found = scores(&through);
    assert!(
        !found.contains_key("z") && !found.contains_key("p"),
        "{found:?}"
    );
    assert!(found["b"] > found["a"], "{found:?}");
}

#[test]
fn mass_is_divided_among_those_who_get_what_is_swapped() {
    let transfers = testing::transactions("r>a:20@T | a>p:20@T p>b:15@U p>c:5@U | p>z:500@T");
    let nettings = testing::nettings(&transfers);
    let settings = RankSettings { beta: 1.0, ..FINE };
    let through = ranked(&graph(&transfers, &["r"], 4), &nettings, settings);
    let found = scores(&through);
    assert!((found["b"] / found["c"] - 3.0).abs() < 1e-3, "{found:?}");
    assert!(
        !found.contains_key("p") && !found.contains_key("z"),
        "{found:?}"
    );
}

#[test]
fn a_transfer_is_worth_what_stays_and_what_returns() {
    // Mass of `b` waits: it has nothing to send, and what it could send back goes back to `r`.
    let settings = RankSettings {
        alpha: 0.5,
        beta: 1.0,
        epsilon: 1e-6,
    };
    let found = ranked(
        &graph(&testing::transfers("r>b"), &["r"], 2),
        &Nettings::new(),
        settings,
    );
    assert_eq!(shown(&found), ["r 0.5000", "b 0.5000"]);
}

#[test]
fn settings_have_ranges() {
    let check = |alpha, beta, epsilon| {
        let settings = RankSettings {
            alpha,
            beta,
            epsilon,
        };
        settings.check()
    };
    assert_eq!(RankSettings::default().check(), Ok(()));
    assert!(check(0.0, 0.8, 0.1).unwrap_err().starts_with("alpha is"));
    assert!(check(0.1, 1.1, 0.1).unwrap_err().starts_with("beta is"));
    assert!(check(0.1, f64::NAN, 0.1).is_err());
    assert!(check(0.1, 0.8, 0.0).unwrap_err().starts_with("epsilon is"));
}
