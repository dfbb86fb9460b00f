//! Cases by hand: transfers and requests, with expected vertices, edges and limits as text.

use crate::search_both;
use txgraph_graph::{Expansion, LimitHit, SearchRequest, TransferGraph, testing};
use txgraph_labels::Label;
use txgraph_transfers::Direction::{self, Both, Out};

/// Changes a request.
type Change<'a> = &'a dyn Fn(&mut SearchRequest);

const UNCHANGED: Change<'_> = &|_| {};

/// Formats a graph: vertices as name and hop (with a mark if not expanded), edges as ends and
/// hop.
fn show(graph: &TransferGraph) -> String {
    let name = |id| testing::name(graph.graph.node_weight(id).expect("a vertex").address);
    let vertices = graph.graph.node_indices().map(|id| {
        let vertex = &graph.graph[id];
        let mark = match vertex.expansion {
            Expansion::Expanded => "",
            Expansion::LastHop => ".",
            Expansion::Hub => "*",
            Expansion::StopList => "!",
            Expansion::ZeroAddress => "0",
            Expansion::Limit => "|",
            Expansion::Swap => "~",
        };
        format!("{}{}{mark}", name(id), vertex.hop)
    });
    let edges = graph.graph.raw_edges().iter().map(|edge| {
        format!(
            "{}>{}:{}",
            name(edge.source()),
            name(edge.target()),
            edge.weight.hop
        )
    });
    let both: Vec<_> = vertices.chain(["/".to_owned()]).chain(edges).collect();
    both.join(" ")
}

/// Searches from these roots.
fn ask(
    transfers: &str,
    roots: &str,
    hops: Option<u32>,
    direction: Direction,
    change: Change<'_>,
) -> TransferGraph {
    let source = testing::MemorySource::new(testing::transfers(transfers));
    let roots = roots.split_whitespace().map(testing::address).collect();
    let mut request = SearchRequest::new(roots, source.available.clone());
    (request.hops, request.direction) = (hops, direction);
    change(&mut request);
    search_both(&source, &request)
}

/// Answers a case, `transfers | roots | hops direction | graph`, and compares the graph.
fn answer(case: &str, change: Change<'_>) -> TransferGraph {
    let parts: Vec<_> = case.split(" | ").collect();
    let [transfers, roots, walk, expected] = parts[..] else {
        panic!("{case}")
    };
    let (hops, direction) = walk.split_once(' ').unwrap();
    let hops = (hops != "all").then(|| hops.parse().unwrap());
    let graph = ask(transfers, roots, hops, direction.parse().unwrap(), change);
    assert_eq!(show(&graph), expected, "{case}");
    graph
}

fn check(cases: &[&str]) {
    for case in cases {
        assert_eq!(answer(case, UNCHANGED).limits, [], "{case}");
    }
}

fn limited(transfers: &str, change: Change<'_>, expected: &str, limits: &[LimitHit]) {
    let graph = ask(transfers, "a", None, Out, change);
    assert_eq!(show(&graph), expected, "{transfers}");
    assert_eq!(graph.limits, limits, "{transfers}");
}

#[test]
fn hops_are_expansions() {
    check(&[
        "a>b>c>d>e | a | 0 out | a0. /",
        "a>b>c>d>e | a | 1 out | a0 b1. / a>b:1",
        "a>b>c>d>e | a | 2 out | a0 b1 c2. / a>b:1 b>c:2",
        "a>b>c>d>e | a | all out | a0 b1 c2 d3 e4 / a>b:1 b>c:2 c>d:3 d>e:4",
        "a>b>c>d>e | a | 9 out | a0 b1 c2 d3 e4 / a>b:1 b>c:2 c>d:3 d>e:4",
        "a>b>c>d>e | z | all both | z0 /",
    ]);
}

#[test]
fn directions_are_followed() {
    check(&[
        "a>b>c>d | c | all in | c0 b1 a2 / a>b:2 b>c:1",
        "a>b>c>d | c | 1 in | c0 b1. / b>c:1",
        "a>b>c>d | c | 1 both | c0 b1. d1. / b>c:1 c>d:1",
        "a>b>c>d | c | all both | c0 b1 d1 a2 / a>b:2 b>c:1 c>d:1",
        "b>a c>a b>d | a | 1 out | a0 /",
    ]);
}

#[test]
fn several_roots_are_all_hop_0() {
    check(&[
        "a>b>c>d c>b | c a c | 1 out | a0 c0 b1. d1. / a>b:1 c>d:1 c>b:1",
        "a>b>c | a b | all out | a0 b0 c1 / a>b:1 b>c:1",
    ]);
}

#[test]
fn edges_to_known_vertices_and_parallel_ones_stay() {
    check(&[
        "a>b a>b b>a b>b a>a | a | 1 out | a0 b1. / a>b:1 a>b:1 a>a:1",
        "a>b a>b b>a b>b a>a | a | 2 out | a0 b1 / a>b:1 a>b:1 b>a:2 b>b:2 a>a:1",
        "a>b b>a b>b | a | 2 both | a0 b1 / a>b:1 b>a:1 b>b:2",
        // No transfers between two vertices of the last hop, which are not expanded.
        "a>b a>c b>c | a | 1 both | a0 b1. c1. / a>b:1 a>c:1",
    ]);
}

#[test]
fn order_of_transfers_matters_only_with_time() {
    check(&["c>d b>c a>b | a | all out | a0 b1 c2 d3 / c>d:3 b>c:2 a>b:1"]);
}

fn timed(cases: &[&str]) {
    for case in cases {
        answer(case, &|request| request.time_respecting = true);
    }
}

#[test]
fn time_is_respected() {
    timed(&[
        "b>c a>b b>d | a | all out | a0 b1 d2 / a>b:1 b>d:2",
        "a>b c>b b>d | d | all in | d0 b1 a2 c2 / a>b:2 c>b:2 b>d:1",
        "b>d a>b | d | all in | d0 b1 / b>d:1",
        "b>d a>b c>b b>d | d | all in | d0 b1 a2 c2 / b>d:1 a>b:2 c>b:2 b>d:1",
        // From a root every transfer can be followed, also a self-transfer.
        "a>a b>b a>b b>b | a | all out | a0 b1 / a>a:1 a>b:1 b>b:2",
        // The order within one block counts too.
        "b>c#5 a>b#5 b>d#5 | a | all out | a0 b1 d2 / a>b:1 b>d:2",
    ]);
}

#[test]
fn longer_paths_can_arrive_earlier() {
    // b is reached in one hop at the end and in two at the start; d only by the latter.
    timed(&[
        "a>c c>b b>d a>b | a | all out | a0 b1 c1 d3 / a>c:1 c>b:2 b>d:3 a>b:1",
        "a>c c>b b>d a>b | a | 2 out | a0 b1 c1 / a>c:1 c>b:2 a>b:1",
        "b>a d>b b>c c>a | a | all in | a0 b1 c1 d3 / b>a:1 d>b:3 b>c:2 c>a:1",
        "b>a d>b b>c c>a | a | 2 in | a0 b1 c1 / b>a:1 b>c:2 c>a:1",
    ]);
}

#[test]
fn expansion_stays_if_the_last_hop_arrives_earlier() {
    timed(&["a>c c>d d>0 z>0 | a z | 3 out | a0 z0 010 c1 d2 / a>c:1 c>d:2 d>0:3 z>0:1"]);
}

#[test]
fn hubs_are_not_expanded() {
    let max = |limit| move |request: &mut SearchRequest| request.max_degree = Some(limit);
    let hit = |limit, vertices| [LimitHit::MaxDegree { limit, vertices }];
    limited("a>b b>c b>d", &max(1), "a0 b1* / a>b:1", &hit(1, 1));
    limited(
        "a>b b>c b>d",
        &max(2),
        "a0 b1 c2 d2 / a>b:1 b>c:2 b>d:2",
        &[],
    );
    // Parallel transfers, the vertex itself and the other direction do not count.
    limited(
        "a>b b>c b>c b>b d>b e>b",
        &max(1),
        "a0 b1 c2 / a>b:1 b>c:2 b>c:2 b>b:2",
        &[],
    );
    // Roots are exempt.
    limited("a>b a>c", &max(1), "a0 b1 c1 / a>b:1 a>c:1", &[]);
    // All transfers count, also those that time excludes.
    let both = |request: &mut SearchRequest| {
        (request.max_degree, request.time_respecting) = (Some(1), true);
    };
    limited("b>c a>b b>d", &both, "a0 b1* / a>b:1", &hit(1, 1));
    // At the last hop the limit has no effect.
    let one_hop = |request: &mut SearchRequest| {
        (request.max_degree, request.hops) = (Some(0), Some(1));
    };
    limited("a>b>c", &one_hop, "a0 b1. / a>b:1", &[]);
}

#[test]
fn stop_list_and_zero_address_are_not_expanded() {
    let stop = |names: &'static str| {
        move |request: &mut SearchRequest| {
            for name in names.split(' ') {
                let (address, name) = (testing::address(name), format!("label of {name}"));
                request.stop_at.insert(address);
                request.labels.add(address, Label::named(name));
            }
        }
    };
    limited(
        "a>b>c",
        &stop("b x"),
        "a0 b1! / a>b:1",
        &[LimitHit::StopList { vertices: 1 }],
    );
    limited("a>b>c", &stop("a"), "a0 b1 c2 / a>b:1 b>c:2", &[]);
    let graph = ask("a>b>c", "a", None, Out, &stop("a b"));
    let labels: Vec<_> = graph
        .graph
        .node_weights()
        .map(|v| v.labels.name())
        .collect();
    assert_eq!(labels, [Some("label of a"), Some("label of b")]);

    limited(
        "a>0>b",
        UNCHANGED,
        "a0 010 / a>0:1",
        &[LimitHit::ZeroAddress],
    );
    limited(
        "a>0>b",
        &|r| r.expand_zero = true,
        "a0 01 b2 / a>0:1 0>b:2",
        &[],
    );
    check(&["a>0>b | 0 | all out | 00 b1 / 0>b:1"]);
}

#[test]
fn vertices_are_bounded() {
    let max = |limit| move |request: &mut SearchRequest| request.max_vertices = Some(limit);
    let hit = |limit, transfers_left_out| {
        [LimitHit::MaxVertices {
            limit,
            transfers_left_out,
        }]
    };
    // b comes before c because its transfer does. The search continues among a, b, c.
    let text = "a>b a>c a>d b>c c>e a>b d>a";
    let shown = "a0| b1 c1| / a>b:1 a>c:1 b>c:2 a>b:1";
    limited(text, &max(3), shown, &hit(3, 2));
    limited("a>b", &max(2), "a0 b1 / a>b:1", &[]);
    limited("a>a a>b", &max(1), "a0| / a>a:1", &hit(1, 1));
}

#[test]
fn edges_are_bounded() {
    let max = |limit| move |request: &mut SearchRequest| request.max_edges = Some(limit);
    let hit = |limit, transfers_left_out| {
        [LimitHit::MaxEdges {
            limit,
            transfers_left_out,
        }]
    };
    limited(
        "a>b a>c a>d",
        &max(2),
        "a0| b1| c1| / a>b:1 a>c:1",
        &hit(2, 1),
    );
    limited(
        "a>b a>c a>d",
        &max(3),
        "a0 b1 c1 d1 / a>b:1 a>c:1 a>d:1",
        &[],
    );
    limited("a>b", &max(0), "a0| /", &hit(0, 1));
    // The second hop is cut: b, the lowest address, has its transfers, c has one, d none.
    let shown = "a0 b1 c1| d1| e2| f2| / a>d:1 a>c:1 a>b:1 c>f:2 b>e:2";
    limited("a>d a>c a>b d>h c>f c>g b>e", &max(5), shown, &hit(5, 2));
    // With both directions a transfer belongs to both ends.
    let graph = ask("a>b a>c b>c", "a", None, Both, &max(2));
    assert_eq!(show(&graph), "a0 b1| c1| / a>b:1 a>c:1");
    assert_eq!(graph.limits, hit(2, 1));
}
