//! The swaps of a whole chain, against the events of its pools.

use crate::executed;
use std::collections::BTreeMap;
use txgraph::{Address, Netting, Swap, U256, netting};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// `Swap` of the second version of Uniswap: amounts in and out of both tokens.
const V2: &str = "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822";
/// `Swap` of the third: the changes of both balances of the pool.
const V3: &str = "0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67";

/// The amounts that each event of a pool states: what came in and what went out.
fn events(fixture: &Fixture) -> BTreeMap<(u64, u32), Vec<[U256; 2]>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for line in fixture.lines("receipts") {
        let block = line["block"].as_u64().unwrap();
        for (index, receipt) in (0..).zip(line["receipts"].as_array().unwrap()) {
            for log in receipt["logs"].as_array().unwrap() {
                let data = log["data"].as_str().unwrap().trim_start_matches("0x");
                let word = |at: usize| {
                    let word = &data[64 * at..64 * (at + 1)];
                    U256::from_str_radix(word, 16).unwrap()
                };
                let leg = match log["topics"][0].as_str() {
                    Some(V2) => [word(0).max(word(1)), word(2).max(word(3))],
                    // A negative change is a large number.
                    Some(V3) => [word(0).min(word(1)), word(0).max(word(1)).wrapping_neg()],
                    _ => continue,
                };
                all.entry((block, index)).or_default().push(leg);
            }
        }
    }
    all
}

#[test]
fn swaps_are_those_that_pools_report() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let folder = fixture.unpack();
    let source = executed(folder.path(), "dev-v2");
    let contract = |name: &str| -> Address {
        let text = fixture.truth["contracts"][name].as_str().unwrap();
        text.parse().unwrap()
    };
    let (weth, toll) = (contract("weth"), contract("fee"));
    let transfers = source.transfers().internal().collect().unwrap();
    let nettings: BTreeMap<_, Netting> = transfers
        .chunk_by(|a, b| a.transaction() == b.transaction())
        .map(|all| (all[0].transaction(), netting(all)))
        .collect();
    let events = events(&fixture);
    let (mut whole, mut divided) = (0, 0);
    for (place, legs) in &events {
        let found = &nettings[place];
        let ([first, _], [_, last]) = (legs[0], legs[legs.len() - 1]);
        // From what went into the first pool to what came out of the last. One token takes a fee of 2 %
        // from its receiver. If that is not who gave, the fee is got by its collector for a part.
        let is_it = |swaps: &&[Swap]| {
            let sum = |amount: fn(&Swap) -> U256| swaps.iter().map(amount).sum::<U256>();
            let fee = last / U256::from(50);
            let got = [last, last - fee, last - fee - U256::ONE];
            let is_whole = swaps[0].got_token != Some(toll) || swaps.len() > 1;
            sum(|it| it.given) == first
                && got[..if is_whole { 1 } else { 3 }].contains(&sum(|it| it.got))
        };
        let swaps = found.by_giver().find(is_it);
        let swaps = swaps.unwrap_or_else(|| panic!("{place:?} {legs:?} {found:?}"));
        match swaps {
            [_] => whole += 1,
            several => {
                divided += 1;
                assert_eq!((several.len(), several[0].got_token), (2, Some(toll)));
                let one_in_50 =
                    |it: &Swap| it.got >= last / U256::from(50) && it.got <= last / U256::from(49);
                assert!(several.iter().any(one_in_50), "{several:?}");
            }
        }
    }
    assert_eq!((whole, divided), (1131, 15));
    // Everywhere else, coins were wrapped and unwrapped.
    for (place, found) in &nettings {
        for swap in &found.swaps {
            let mut tokens = [swap.given_token, swap.got_token];
            tokens.sort_unstable();
            let is_wrap = tokens == [None, Some(weth)];
            assert!(is_wrap || events.contains_key(place), "{place:?} {swap:?}");
        }
    }
}
