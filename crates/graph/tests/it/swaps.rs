//! The search through swaps, by hand and against its definition over all transfers.

mod twin;

use crate::{content, search_within};
use alloy_primitives::U256;
use proptest::prelude::*;
use twin::{Twin, answer};
use txgraph_graph::{
    Expansion, LimitHit, SearchError, SearchRequest, SwapCounts, TransferGraph, search,
    testing::{self, MemorySource, address, name},
};
use txgraph_transfers::{Direction, TokenFilter, Transfer};

fn request(all: &[Transfer]) -> SearchRequest {
    let source = MemorySource::new(all.to_vec());
    SearchRequest {
        hops: None,
        through_swaps: true,
        ..SearchRequest::new(vec![address("a")], source.available)
    }
}

fn ask(all: &[Transfer], request: &SearchRequest, memory: u64) -> TransferGraph {
    search_within(&MemorySource::new(all.to_vec()), request, memory).expect("a graph")
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

/// The request backward from an address that gets a token.
fn back(transactions: &str, root: &str, token: &str) -> String {
    let all = testing::transactions(transactions);
    let mut asked = request(&all);
    asked.roots = vec![address(root)];
    asked.direction = Direction::In;
    asked.time_respecting = true;
    asked.filter.tokens = TokenFilter::only([address(token)]);
    let graph = ask(&all, &asked, u64::MAX);
    let counts = graph.swaps;
    format!("{} {}/{}", text(&graph), counts.followed, counts.unresolved)
}

#[test]
fn a_trail_goes_back_through_a_swap_and_not_through_its_pool() {
    // The trail of the search forward, from its other end.
    let swap = "a>b@T | b>r:1@T q>r:3@U r>p:1@T p>q:2@W r>b:3@U | r>x@T p>y@T q>z@U b>c@U b>d@W";
    let carried = "ab3 br2 qr2 rp2 pq2 rb2 bc1";
    assert_eq!(
        back(swap, "c", "U"),
        format!("{carried} p:swap q:swap r:swap 1/0")
    );
    // What others pay the pool and the router, and what arrives later, is not where it came from.
    let other = "x>p@T | z>a@T | a>p:1@T p>a:2@U x>q@T | w>a@T x>p@U | a>b:2@U";
    assert_eq!(back(other, "b", "U"), "za3 ap2 pa2 ab1 p:swap 1/0");
    let paid_to_another = "x>a@T | a>r:1@T r>p:1@T p>b:7@U | b>c@U";
    assert_eq!(
        back(paid_to_another, "c", "U"),
        "xa3 ar2 rp2 pb2 bc1 p:swap r:swap 1/0"
    );
    let wrap = "x>a@W | a>0:5@W W>a:5@eth | a>b:5@eth";
    let all = testing::transactions(wrap);
    let mut asked = request(&all);
    (asked.roots, asked.direction) = (vec![address("b")], Direction::In);
    asked.filter.tokens = TokenFilter::native();
    assert_eq!(text(&ask(&all, &asked, 0)), "xa3 a02 Wa2 ab1 0:swap W:swap");
}

#[test]
fn what_a_payment_returns_came_from_who_paid() {
    // Two of nine come back over the router, which others use as well.
    let swap = "y>r:9@T | x>a:9@T | a>r:9@T r>p:7@T r>a:2@T p>a:5@U | a>b:5@U";
    assert_eq!(
        back(swap, "b", "U"),
        "xa3 ar2 rp2 pa2 ab1 p:swap r:swap 1/0"
    );
    // Another address pays a part in the transaction, over an address that is not paid.
    let funded = "c>x:4@T x>a:4@T a>p:5@T p>a:7@U | a>b:7@U";
    assert_eq!(back(funded, "b", "U"), "cx4 xa3 ap2 pa2 ab1 p:swap 1/0");
}

#[test]
fn a_swap_that_is_not_clear_is_followed_back_to_the_senders() {
    let both = "c>p@U | a>p:1@T a>p:2@W p>a:3@U | a>b@U";
    assert_eq!(back(both, "b", "U"), "cp3 pa2 ab1 0/1");
    // Not for transfers to oneself and of nothing.
    assert_eq!(
        back("a>b:1@T b>b@U c>b:0@U a>p@W p>a@V", "b", "U"),
        "bb1 cb1 0/0"
    );
    // It counts where someone only gets something, too.
    let paid = "c>p@U | a>p:5@T p>b:7@U p>c:1@V";
    assert_eq!(back(paid, "b", "U"), "cp2 pb1 0/1");
}

#[test]
fn a_swap_for_several_is_followed_to_each_and_back_from_each() {
    // A router pays the buyer and who collects its fee.
    let swap = "x>a@T | a>r:9@T r>p:9@T p>r:9@U r>b:8@U r>c:1@U | b>d@U c>e@U p>y@U r>z@T";
    let mut all = found(swap, |it| it.roots = vec![address("x")]);
    assert_eq!(all, "xa1 ar2 rp2 pr2 rb2 rc2 bd3 ce3 p:swap r:swap");
    // The limits hold for each of them.
    all = found(swap, |it| it.stop_at = [address("c")].into());
    assert_eq!(all, "ar1 rp1 pr1 rb1 rc1 bd2 c:stop_list p:swap r:swap");
    assert_eq!(
        back(swap, "e", "U"),
        "xa3 ar2 rp2 pr2 rc2 ce1 p:swap r:swap 1/0"
    );
    assert_eq!(
        back(swap, "d", "U"),
        "xa3 ar2 rp2 pr2 rb2 bd1 p:swap r:swap 1/0"
    );
}

#[test]
fn both_directions_each_have_their_rule() {
    // `a` sells, and gets what it sold from `x`; the buyer of what it got gets something else from `y`.
    let swap = "x>a@T | a>p:1@T p>a:2@U | a>b@U y>p@T p>z@U | y>b@U y>b@T";
    let both = |it: &mut SearchRequest| it.direction = Direction::Both;
    assert_eq!(found(swap, both), "xa1 ap1 pa1 ab2 yb3 p:swap");
}

#[test]
fn swaps_are_followed_among_all_transfers() {
    let refused = |change: fn(&mut SearchRequest)| {
        let all = testing::transactions("a>b");
        let mut request = request(&all);
        change(&mut request);
        let error = search(&MemorySource::new(all), &request).unwrap_err();
        assert!(matches!(error, SearchError::Request(_)), "{error}");
    };
    refused(|it| it.filter.min_value = U256::from(1));
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
        proptest::option::weighted(0.3, user()),
        proptest::option::weighted(0.2, transfer()),
    )
        .prop_map(|(from, to, (give, get), is_routed, fee, more)| {
            let legs = match is_routed {
                true => format!("{from}>r:2@{give} p>r:3@{get} r>p:2@{give} r>{to}:3@{get}"),
                false => format!("p>{to}:3@{get} {from}>p:2@{give}"),
            };
            let fee = fee.map(|who| match is_routed {
                true => format!("p>r:1@{get} r>{who}:1@{get}"),
                false => format!("p>{who}:1@{get}"),
            });
            format!(
                "{legs} {} {}",
                fee.unwrap_or_default(),
                more.unwrap_or_default()
            )
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

fn directions() -> impl Strategy<Value = Direction> {
    proptest::sample::select(vec![Direction::Out, Direction::In, Direction::Both])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_search_through_swaps_agrees_with_its_definition(
        all in trades(),
        walk in (proptest::option::of(0u32..5), any::<bool>(), any::<bool>()),
        limits in (proptest::option::weighted(0.3, 1u32..4), proptest::option::weighted(0.3, Just("b"))),
        tokens in proptest::sample::select(vec!["T", "eth", ""]),
        (second_root, direction) in (any::<bool>(), directions()),
        memory in 300u64..3_000,
    ) {
        let mut asked = request(&all);
        (asked.hops, asked.time_respecting, asked.expand_zero) = walk;
        asked.direction = direction;
        asked.time_respecting &= direction != Direction::Both;
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
        direction in directions(),
    ) {
        let mut asked = request(&all);
        asked.direction = direction;
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
