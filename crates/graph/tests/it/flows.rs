//! The largest amounts between two addresses: by hand, and against petgraph.

use crate::paths::from_a;
use alloy_primitives::{Address, U256};
use proptest::prelude::*;
use std::collections::BTreeMap;
use txgraph_graph::{
    Asset, Flow,
    testing::{self, MemorySource, address, maximum_flow},
    transfer_flows, widen,
};
use txgraph_transfers::Transfer;

fn flows(transfers: &[Transfer], to: &str, in_time: bool) -> Vec<Flow> {
    let source = MemorySource::new(transfers.to_vec());
    let request = from_a(&source, None, in_time);
    let found = transfer_flows(&source, &request, address(to)).unwrap();
    found.flows
}

/// The amounts by token, and the ends of the transfers in the cut.
fn text(transfers: &str, to: &str, in_time: bool) -> String {
    let flows = flows(&testing::transfers(transfers), to, in_time);
    let flow = |flow: &Flow| {
        let ends = |it: &Transfer| {
            let ends = [it.from_address, it.to_address].map(testing::name);
            ends.concat()
        };
        let cut: Vec<_> = flow.cut.iter().map(ends).collect();
        format!("{} by {}", flow.amount, cut.join(" "))
    };
    flows.iter().map(flow).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_narrowest_transfers_bound_the_amount() {
    // All routes count together.
    assert_eq!(text("a>b:5 a>c:7 b>d:9 c>d:4", "d", true), "9 by ab cd");
    assert_eq!(text("a>d:2 a>b:5 b>c:3 c>d:8", "d", true), "5 by ad bc");
    // Tokens that left cannot leave again, and others arrive later.
    assert_eq!(text("a>b:5 b>c:3 a>b:4 b>c:9", "c", true), "9 by ab ab");
    assert_eq!(text("a>b:5 b>c:3 a>b:4 b>c:2", "c", true), "5 by bc bc");
    assert_eq!(text("b>c:9 a>b:5", "c", true), "");
    assert_eq!(text("b>c:9 a>b:5", "c", false), "5 by ab");
    // Round trips add nothing.
    assert_eq!(text("a>b:5 b>a:5 a>b:5 b>c:20", "c", true), "10 by ab ab");
    assert_eq!(text("a>b:5 b>c:5 c>b:5 b>c:5", "c", true), "5 by ab");
}

#[test]
fn tokens_are_apart_and_nothing_passes_the_zero_address() {
    assert_eq!(text("a>b:5 b>c:4@U", "c", true), "");
    assert_eq!(
        text("a>b:5 a>b:3@U b>c:4@U b>c:2", "c", true),
        "2 by bc, 3 by ab"
    );
    assert_eq!(text("a>0:5 0>c:4", "c", true), "");
    let largest = U256::MAX.to_string();
    let both = format!("a>b:{largest} a>b:{largest} b>c:{largest} b>c:{largest}");
    let flow = &flows(&testing::transfers(&both), "c", true)[0];
    assert_eq!(flow.amount, widen(U256::MAX) + widen(U256::MAX));
}

fn some_transfers() -> impl Strategy<Value = Vec<Transfer>> {
    let one = (0usize..7, 0usize..7, 0u64..20, any::<bool>());
    proptest::collection::vec(one, 1..40).prop_map(|all| {
        let names = ["a", "b", "c", "d", "e", "f", "0"].map(address);
        let all = (100..).zip(all).map(|(block, (from, to, value, other))| {
            let token = if other { "U" } else { testing::TOKEN };
            let value = U256::from(value);
            testing::transfer((block, 0), token, names[from], names[to], value)
        });
        all.collect()
    })
}

proptest! {
    #[test]
    fn amounts_are_maximum_flows(transfers in some_transfers(), in_time: bool) {
        let to = address("f");
        let found = flows(&transfers, "f", in_time);
        let mut by_token: BTreeMap<Asset, Vec<&Transfer>> = BTreeMap::new();
        for it in transfers.iter().filter(|it| it.from_address != it.to_address) {
            by_token.entry(Asset::of(it)).or_default().push(it);
        }
        let wanted = by_token.iter().map(|(asset, all)| (*asset, maximum_flow(all, address("a"), to, in_time)));
        let wanted: Vec<_> = wanted.filter(|(_, amount)| *amount > 0).collect();
        let amounts: Vec<_> = found.iter().map(|it| (it.asset, it.amount.to::<u128>())).collect();
        prop_assert_eq!(amounts, wanted);
        for flow in &found {
            let cut: u64 = flow.cut.iter().map(|it| it.value.to::<u64>()).sum();
            prop_assert_eq!(cut, flow.amount.to::<u64>());
            // Without the cut, nothing can have gone.
            let rest = transfers.iter().filter(|it| !flow.cut.contains(it));
            let rest: Vec<_> = rest.cloned().collect();
            let left = flows(&rest, "f", in_time);
            prop_assert!(left.iter().all(|it| it.asset != flow.asset));
            // The parts can have happened.
            let mut has: BTreeMap<Address, i64> = BTreeMap::new();
            for (it, part) in &flow.parts {
                prop_assert!(*part <= it.value);
                let part = part.to::<u64>() as i64;
                *has.entry(it.from_address).or_default() -= part;
                *has.entry(it.to_address).or_default() += part;
                let sender = has[&it.from_address];
                prop_assert!(!in_time || sender >= 0 || it.from_address == address("a"));
            }
            let amount = flow.amount.to::<u64>() as i64;
            has.retain(|_, left| *left != 0);
            prop_assert_eq!(has, BTreeMap::from([(address("a"), -amount), (to, amount)]));
        }
    }
}
