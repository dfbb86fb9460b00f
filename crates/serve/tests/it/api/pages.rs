//! Pages of transfers from both ends of a long chain.

use super::{get, rows};
use crate::harness::Served;
use serde_json::Value;
use txgraph_testkit::{fixtures, or_skip};

/// Blocks are read from the last one back in windows, each four times as large as the one before.
const FIRST_WINDOW: u64 = 256;

#[test]
fn pages_of_both_orders_are_parts_of_the_whole_list() {
    let fixture = or_skip!(fixtures::fixture("long-v2"));
    let served = Served::new(&fixture);
    let mut oldest = Vec::new();
    loop {
        let offset = oldest.len();
        let page = get(&served, &format!("transfers?limit=10000&offset={offset}"));
        oldest.extend(rows(&page, "transfers").clone());
        if page["more"] == false {
            break;
        }
    }
    let newest: Vec<Value> = oldest.iter().rev().cloned().collect();
    for (order, all) in [("oldest", &oldest), ("newest", &newest)] {
        for offset in (0..=all.len()).step_by(2999) {
            let end = (offset + 2999).min(all.len());
            let query = format!("transfers?order={order}&limit=2999&offset={offset}");
            let page = get(&served, &query);
            assert_eq!(rows(&page, "transfers"), &all[offset..end], "{query}");
            assert_eq!(page["more"], end < all.len(), "{query}");
        }
    }
    // Pages that end with a window.
    let (mut window, mut first) = (FIRST_WINDOW, fixture.tip().unwrap() + 1);
    let mut borders = 0;
    while window < first {
        first -= window;
        window *= 4;
        let is_in = |it: &&Value| it["block"].as_u64().unwrap() >= first;
        let count = newest.iter().take_while(is_in).count();
        for limit in count.saturating_sub(1).max(1)..=count + 1 {
            let page = get(&served, &format!("transfers?order=newest&limit={limit}"));
            assert_eq!(rows(&page, "transfers"), &newest[..limit], "{limit}");
            assert_eq!(page["more"], limit < newest.len());
        }
        borders += 1;
    }
    assert!(borders > 1, "{borders}");
}
