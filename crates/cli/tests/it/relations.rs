//! `txgraph path`, compared with walks over all transfers.

use crate::{
    address::transfers,
    harness::{CHAIN, PEEL, Row, Sample},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The answer. Of its metadata, the number of transfers that were read is left out: with an index, these
/// are fewer.
pub(crate) fn as_json(sample: &Sample, line: &str) -> Value {
    let mut answer = sample.json(&format!("{line} --json -q"));
    let counts = answer.pointer_mut("/metadata/scan/counts").unwrap();
    counts.as_object_mut().unwrap().remove("transfers");
    answer
}

/// Whether a transfer is later than another one, and of the same token.
fn goes_on(all: &[Row], before: usize, after: usize) -> bool {
    let mut names = ["token_address", "token_id"].iter();
    before < after && names.all(|name| all[before][*name] == all[after][*name])
}

/// Whether two transfers are of one transaction.
fn is_together(all: &[Row], before: usize, after: usize) -> bool {
    let mut names = ["block_number", "transaction_hash"].iter();
    names.all(|name| all[before][*name] == all[after][*name])
}

/// The hops of the shortest route with one token, and the place of the earliest arrival: found from
/// transfer to transfer.
fn of_one_token<'a>(
    all: &'a [Row],
    from: &str,
    to: &str,
    hops: usize,
) -> (Option<usize>, Option<usize>) {
    let zero = format!("0x{}", "0".repeat(40));
    let key = |from, row: &'a Row| [from, &*row["token_address"], &*row["token_id"]];
    // By sender and token.
    let mut leaving: BTreeMap<[&str; 3], Vec<usize>> = BTreeMap::new();
    for (place, row) in all.iter().enumerate() {
        if row["from_address"] != row["to_address"] && row["value"] != "0" {
            let key = key(&row["from_address"], row);
            leaving.entry(key).or_default().push(place);
        }
    }
    let first = leaving.iter().filter(|(key, _)| key[0] == from);
    let mut level: BTreeSet<usize> = first.flat_map(|(_, places)| places).copied().collect();
    let (mut seen, mut shortest, mut earliest) = (BTreeSet::new(), None, None);
    for hop in 1..=hops {
        // What leaves after the first arrival leaves after one of them.
        let mut arrived = BTreeMap::new();
        for place in level {
            if !seen.insert(place) {
                continue;
            }
            let at = all[place]["to_address"].as_str();
            if at == to {
                shortest.get_or_insert(hop);
                earliest = Some(earliest.unwrap_or(usize::MAX).min(place + 1));
            } else if at != zero {
                arrived.entry(key(at, &all[place])).or_insert(place);
            }
        }
        let after = arrived.iter().flat_map(|(key, first)| {
            let leaving = leaving.get(key).into_iter().flatten();
            leaving.filter(move |place| *place > first)
        });
        level = after.copied().collect();
    }
    (shortest, earliest)
}

/// Hops and place of the first arrival with each number of hops, as far as it is earlier than
/// those with fewer.
fn arrivals(all: &[Row], from: &str, to: &str, hops: usize) -> Vec<(usize, usize)> {
    let zero = format!("0x{}", "0".repeat(40));
    let rows = all.iter();
    let ends: Vec<_> = rows
        .map(|row| ["from_address", "to_address"].map(|name| &row[name]))
        .collect();
    // The first arrivals with exactly this number of hops.
    let mut at = BTreeMap::from([(from.to_owned(), 0)]);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for hop in 1..=hops {
        let mut next: BTreeMap<String, usize> = BTreeMap::new();
        for (place, [sender, receiver]) in ends.iter().copied().enumerate() {
            let is_through = *sender != zero || sender == from;
            if is_through && at.get(sender).is_some_and(|arrived| *arrived <= place) {
                next.entry(receiver.clone()).or_insert(place + 1);
            }
        }
        if let Some(place) = next.remove(to)
            && found.last().is_none_or(|(_, known)| place < *known)
        {
            found.push((hop, place));
        }
        at = next;
    }
    found
}

/// Checks that a route is one, and returns its length and the place of its arrival.
fn check(route: &Value, all: &[Row], from: &str, to: &str, any_token: bool) -> (usize, usize) {
    let steps = route.as_array().unwrap();
    let mut before: Option<usize> = None;
    let text = |step: &Value, name: &str| step[name].as_str().unwrap_or_default().to_lowercase();
    let mut place = 0;
    let mut here = from.to_owned();
    for step in steps {
        assert_eq!(text(step, "from_address"), here);
        here = text(step, "to_address");
        let number = |name: &str| {
            step[name]
                .as_u64()
                .map_or(String::new(), |it| it.to_string())
        };
        let expected = [
            ("block_number", number("block_number")),
            ("from_address", text(step, "from_address")),
            ("to_address", here.clone()),
            ("transaction_hash", text(step, "transaction_hash")),
            ("log_index", number("log_index")),
            ("value", text(step, "value")),
        ];
        let is_step = |row: &Row| expected.iter().all(|(name, value)| row[*name] == *value);
        let found = all.iter().position(is_step).unwrap();
        assert!(before.is_none_or(|before| match any_token {
            true => before < found,
            false => goes_on(all, before, found) || is_together(all, before, found),
        }));
        before = Some(found);
        place = found + 1;
    }
    assert_eq!(here, to);
    (steps.len(), place)
}

#[test]
fn routes_are_those_of_all_transfers() {
    for sample in Sample::full() {
        let all = transfers(&sample);
        let edges = sample.fixture.truth["scenarios"]["peel-chain-token"]["edges"].clone();
        let end = |edge: &Value, name: &str| edge[name].as_str().unwrap().to_lowercase();
        let edges = edges.as_array().unwrap();
        let from = end(&edges[0], "from");
        let mut ends: BTreeSet<String> = edges.iter().map(|edge| end(edge, "to")).collect();
        // Some that are not planted, so that there may be no route.
        let others = all.iter().map(|row| row["to_address"].clone());
        ends.extend(others.step_by(all.len() / 5));
        ends.remove(&from);
        sample.ok("index build --index idx -q");
        let mut lengths = BTreeSet::new();
        for to in &ends {
            for hops in [1, 3, 6] {
                let line = format!("path {from} {to} -n {hops} --any-token");
                let found = as_json(&sample, &line);
                let indexed = as_json(&sample, &format!("{line} --index idx"));
                assert_eq!(found, indexed, "{line}");
                let expected = arrivals(&all, &from, to, hops);
                let check = |found: &Value, name: &str, any_token| {
                    let route = Some(&found[name]).filter(|route| !route.is_null());
                    route.map(|route| check(route, &all, &from, to, any_token))
                };
                let shortest = check(&found, "shortest", true);
                assert_eq!(shortest, expected.first().copied(), "{line}");
                let earliest = check(&found, "earliest", true).map(|(_, place)| place);
                assert_eq!(earliest, expected.last().map(|(_, place)| *place), "{line}");
                let line = format!("path {from} {to} -n {hops}");
                let found = as_json(&sample, &line);
                let indexed = as_json(&sample, &format!("{line} --index idx"));
                assert_eq!(found, indexed, "{line}");
                // Swaps add routes, and every route is one of contacts.
                let shortest = check(&found, "shortest", false).map(|(hops, _)| hops);
                let earliest = check(&found, "earliest", false).map(|(_, place)| place);
                let (shortest_of_one, earliest_of_one) = of_one_token(&all, &from, to, hops);
                let or_never = |it: Option<usize>| it.unwrap_or(usize::MAX);
                assert!(or_never(shortest) <= or_never(shortest_of_one), "{line}");
                assert!(or_never(earliest) <= or_never(earliest_of_one), "{line}");
                let contacts = expected.first().map(|(hops, _)| *hops);
                assert!(or_never(shortest) >= or_never(contacts), "{line}");
                lengths.extend(expected.first().map(|(hops, _)| *hops));
            }
        }
        assert!(lengths.len() > 2, "{lengths:?}");
    }
}

/// Several routes begin with the one of before, are in order, and are the same with an index.
#[test]
fn several_routes_are_listed() {
    let mut counts = BTreeSet::new();
    for sample in Sample::full() {
        let all = transfers(&sample);
        sample.ok("index build --index idx -q");
        let senders: BTreeSet<_> = all.iter().map(|row| &row["from_address"]).collect();
        for to in all.iter().rev().step_by(all.len() / 12) {
            let (from, to) = (senders.first().unwrap(), &to["to_address"]);
            if from.as_str() == to || to.trim_matches(['0', 'x']).is_empty() {
                continue;
            }
            let line = format!("path {from} {to} -n 4 --any-token");
            let one = as_json(&sample, &line);
            let found = as_json(&sample, &format!("{line} -k 5"));
            let indexed = format!("{line} -k 5 --index idx");
            assert_eq!(found, as_json(&sample, &indexed), "{indexed}");
            let listed = |name: &str| {
                let routes = found["routes"][name].as_array().unwrap().iter();
                let routes: Vec<_> = routes.map(|it| it["transfers"].clone()).collect();
                assert_eq!(routes.first().unwrap_or(&Value::Null), &one[name]);
                assert_eq!(&found[name], &one[name]);
                let texts: BTreeSet<_> = routes.iter().map(ToString::to_string).collect();
                assert_eq!(texts.len(), routes.len());
                let ranks = routes.iter();
                let ranks = ranks.map(|route| check(route, &all, from, to, true));
                ranks.collect::<Vec<_>>()
            };
            let (shortest, mut earliest) = (listed("shortest"), listed("earliest"));
            assert!(shortest.is_sorted(), "{shortest:?}");
            assert!(earliest.is_sorted_by_key(|(length, place)| (*place, *length)));
            let cut = found["routes_left_out"].as_str();
            assert_eq!(cut.is_some(), cut == Some("there are more than 5 routes"));
            if cut.is_none() {
                // All routes, in either order.
                earliest.sort_unstable();
                assert_eq!(earliest, shortest);
                assert!(shortest.len() <= 5);
            }
            assert!(one["routes_left_out"].is_null());
            counts.insert(shortest.len());
        }
    }
    assert!(counts.len() > 2, "{counts:?}");
}

#[test]
fn routes_are_shown_to_people() {
    let sample = Sample::small();
    let found = sample.ok(&format!("path {PEEL}"));
    assert!(
        found.stdout.starts_with("Shortest and earliest route, "),
        "{found:?}"
    );
    found.prints("USD6");
    let back: Vec<_> = PEEL.split_whitespace().rev().collect();
    let none = sample.ok(&format!("path {}", back.join(" ")));
    assert!(none.stdout.starts_with("no route from 0x5149"), "{none:?}");
    found.prints("note: at most ");
    for unsearched in ["--with-internal", "--any-token", "the other direction"] {
        none.prints(unsearched);
    }
    sample.fails(&format!("path {} {}", back[0], back[0]), 2, "from ");
    let busy = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529 \
                0x8de63d32c77ec42df0c62faf7cfbd783f1e94014";
    let several = sample.ok(&format!("path {busy} -k 2"));
    for place in 1..=2 {
        let title = format!("Shortest ({place}) and earliest ({place}) route, 1 transfer\n");
        several.prints(&title);
    }
    several.prints("note: there are more than 2 routes");
    sample.fails(
        &format!("path {PEEL} -k 101"),
        2,
        "a search finds 1 to 100 routes",
    );
    sample.fails(
        &format!("path {PEEL} -n 0"),
        2,
        "a path needs at least one transfer",
    );
}

/// The limits of a search are part of the result, also where notes are hidden.
#[test]
fn no_route_is_stated_with_what_was_not_searched() {
    let sample = Sample::small();
    let cut = sample.ok(&format!("path {PEEL} --max-degree 0 -q"));
    assert!(cut.stdout.starts_with("no route"), "{cut:?}");
    cut.prints("not searched: 1 hub");
    let json = as_json(&sample, &format!("path {PEEL} --max-degree 0"));
    let lines: Vec<_> = cut.stdout.lines().skip(1).collect();
    let stated = json["not_searched"].as_array().unwrap().iter();
    let stated = stated.map(|line| format!("  not searched: {}", line.as_str().unwrap()));
    assert_eq!(stated.collect::<Vec<_>>(), lines);

    let of_one = sample.ok(&format!("path {PEEL} --max-degree 0 -t native -q"));
    of_one.prints("not searched: other tokens, and swaps for them (leave --token out)");

    let metadata = &json["metadata"];
    assert_eq!(metadata["command"], "path");
    assert_eq!(metadata["limits"][0]["kind"], "max_degree");
    let (from, to) = PEEL.split_once(' ').unwrap();
    let query = &metadata["question"];
    assert_eq!(
        (&query["root"][0], &query["hops"]),
        (&json!(from), &json!(6))
    );
    assert_eq!(query["to"], to.trim());
    assert_eq!(metadata["scan"]["counts"]["blocks"], 41);
}

/// The balance of a token that an address gains in a transaction.
fn net(all: &[Row], step: &Value, address: &Value, token: &Value) -> i128 {
    let is_text =
        |text: &str, value: &Value| text.eq_ignore_ascii_case(value.as_str().unwrap_or_default());
    let rows = all.iter().filter(|row| {
        is_text(&row["transaction_hash"], &step["transaction_hash"])
            && is_text(&row["token_address"], token)
            && row["token_id"].is_empty()
    });
    rows.map(|row| {
        let value: i128 = row["value"].parse().unwrap();
        let is_end = |name: &str| i128::from(is_text(&row[name], address));
        value * (is_end("to_address") - is_end("from_address"))
    })
    .sum()
}

fn whole(value: &Value) -> i128 {
    value.as_str().unwrap().parse().unwrap()
}

/// Checks the legs of a route by hand. Returns whether there are long ones, swaps, and tokens that change
/// without one.
fn check_legs(all: &[Row], found: &Value) -> Option<(bool, bool, bool)> {
    let route = found["shortest"].as_array()?;
    let (mut end, mut long, mut swaps, mut apart) = (0, 0, 0, 0);
    let legs = found["legs"]["shortest"].as_array().unwrap();
    for (number, leg) in legs.iter().enumerate() {
        let place = |name: &str| usize::try_from(leg[name].as_u64().unwrap()).unwrap();
        let (first, last) = (place("first_transfer") - 1, place("last_transfer"));
        let steps = &route[first..last];
        assert!(
            steps
                .iter()
                .all(|it| it["token_address"] == leg["token_address"])
        );
        long += usize::from(steps.len() > 1);
        let swap = &leg["swap"];
        match swap.is_null() {
            true => {
                assert_eq!(first, end, "{found}");
                apart += usize::from(end > 0);
            }
            false => {
                swaps += 1;
                let change =
                    |end: &str, token: &str| net(all, &route[first], &swap[end], &swap[token]);
                assert!(
                    change("address", "given_token_address") <= -whole(&swap["given"]),
                    "{found}"
                );
                assert_eq!(
                    change("to_address", "got_token_address"),
                    whole(&swap["got"]),
                    "{found}"
                );
                assert_eq!(swap["got_token_address"], leg["token_address"]);
                assert_eq!(swap["given_token_address"], route[end - 1]["token_address"]);
            }
        }
        let is_given = legs
            .get(number + 1)
            .is_some_and(|next| !next["swap"].is_null());
        if swap.is_null() && !is_given {
            let amounts = steps.iter().map(|step| whole(&step["value"]));
            assert_eq!(whole(&leg["at_most"]), amounts.min().unwrap(), "{found}");
        }
        end = last;
    }
    assert_eq!(end, route.len());
    let remarks = found["remarks"]["shortest"].as_array().unwrap();
    for (text, count) in [
        ("at most", long),
        ("are a swap", swaps),
        ("nothing shows that the amount went on", apart),
    ] {
        let said = remarks
            .iter()
            .filter(|it| it.as_str().unwrap().contains(text));
        assert_eq!(said.count(), count, "{found}");
    }
    Some((long > 0, swaps > 0, apart > 0))
}

/// A route between two tokens is not the way of one amount.
#[test]
fn routes_say_what_can_have_flowed() {
    let mut remarked = BTreeSet::new();
    for sample in Sample::full() {
        let all = transfers(&sample);
        let senders: BTreeSet<_> = all.iter().map(|row| &row["from_address"]).collect();
        for to in all.iter().rev().step_by(all.len() / 12) {
            let (from, to) = (senders.first().unwrap(), &to["to_address"]);
            if from.as_str() == to || to.trim_matches(['0', 'x']).is_empty() {
                continue;
            }
            for option in ["", "--any-token"] {
                let found = as_json(&sample, &format!("path {from} {to} {option}"));
                let Some(remarks) = check_legs(&all, &found) else {
                    continue;
                };
                assert!(!remarks.2 || !option.is_empty(), "{found}");
                remarked.extend([remarks]);
            }
        }
    }
    assert!(remarked.len() > 1, "{remarked:?}");
}

/// Most pairs of addresses have nothing in common. A route between two of them has only legs of one token, in
/// the order of time, and swaps that happened between its legs.
#[test]
fn routes_between_any_addresses_are_flows_that_can_have_happened() {
    let sample = Sample::full().last().unwrap();
    let all = transfers(&sample);
    let ends = all
        .iter()
        .flat_map(|row| [&row["from_address"], &row["to_address"]]);
    let ends: BTreeSet<&String> = ends
        .filter(|it| !it.trim_matches(['0', 'x']).is_empty())
        .collect();
    let ends: Vec<&String> = ends.into_iter().collect();
    let pick = |number: usize| ends[number * 7919 % ends.len()];
    sample.ok("index build --index idx -q");
    let mut routes = 0;
    for (from, to) in (0..60).map(|number| (pick(2 * number), pick(2 * number + 1))) {
        let found = as_json(&sample, &format!("path {from} {to} --index idx"));
        let Some((.., is_unexplained)) = check_legs(&all, &found) else {
            continue;
        };
        assert!(!is_unexplained, "{found}");
        for name in ["shortest", "earliest"] {
            check(&found[name], &all, from, to, false);
        }
        routes += 1;
    }
    assert!(routes > 0);
}

/// A contract can log transfers of every address. Contracts, such as pools, sign nothing.
#[test]
fn transfers_that_their_senders_did_not_sign_are_remarked() {
    for sample in Sample::full() {
        let Some(planted) = sample.fixture.truth["scenarios"].get("address-poisoning") else {
            continue;
        };
        let role = |name: &str| planted[name].as_str().unwrap();
        let path = format!("path {} {}", role("victim"), role("lookalike"));
        let remark = format!(
            "transfer 1 was signed by {}, not by its sender",
            role("attacker")
        );
        let printed = sample.ok(&path).stdout.to_lowercase();
        assert!(printed.contains(&remark), "{printed}");
        let found = as_json(&sample, &path);
        let remarks = found["remarks"]["shortest"].to_string().to_lowercase();
        assert!(remarks.contains(&remark), "{found}");
        // The victim then paid to it.
        let paid = sample.ok(&format!("{path} -t {}", role("token")));
        paid.prints("Shortest and earliest route, 1 transfer");
        assert!(!paid.stdout.contains("was signed by"), "{paid:?}");
    }
}

/// A planted sum is sold over two pools to another account, and from there for coins.
#[test]
fn a_route_goes_through_swaps() {
    for (sample, planted, [source, middle, end]) in Sample::layered() {
        let path = format!("path {source} {end}");
        let line = format!("{path} --with-internal {CHAIN}");
        let found = as_json(&sample, &line);
        let legs = found["legs"]["shortest"].as_array().unwrap();
        let swaps: Vec<_> = legs.iter().map(|leg| &leg["swap"]).collect();
        assert!(swaps[0].is_null() && swaps.len() == 3, "{found}");
        for (swap, edge) in swaps[1..].iter().zip(planted["edges"].as_array().unwrap()) {
            assert_eq!(swap["given"], edge["value"], "{found}");
            assert_eq!(swap["address"], edge["from"], "{found}");
        }
        assert!(
            !found["remarks"].to_string().contains("was signed by"),
            "{found}"
        );
        assert_eq!(swaps[1]["to_address"], middle);
        assert_eq!(swaps[2]["to_address"], end);
        // Coins are paid without a log.
        assert!(as_json(&sample, &path)["shortest"].is_null());
    }
}

/// The graph of that sum has the transfers of its two swaps, and nothing else of the pools.
#[test]
fn a_graph_goes_through_swaps() {
    for (sample, planted, [source, middle, end]) in Sample::layered() {
        let chain = format!("--with-internal {CHAIN}");
        let token = planted["token"].as_str().unwrap();
        let line = format!("graph -r {source} -t {token} -n all {chain} --max-degree 30 -f json");
        let plain = sample.ok(&line);
        plain.says("--through-swaps");
        assert!(!plain.stdout.contains(&end));
        let answer = sample.ok(&format!("{line} --through-swaps"));
        answer.says("2 swaps were followed into what was got");
        let graph = answer.json();
        let edges = graph["edges"].as_array().unwrap();
        let position = |it: &Value| {
            let names = [
                "block_number",
                "transaction_index",
                "log_index",
                "sub_index",
            ];
            names.map(|name| it[name].as_u64())
        };
        let positions: BTreeSet<_> = edges.iter().map(position).collect();
        // A route has the same transfers, but for those beside it.
        let route = as_json(&sample, &format!("path {source} {end} {chain}"));
        for transfer in route["shortest"].as_array().unwrap() {
            assert!(positions.contains(&position(transfer)), "{transfer}");
        }
        let swaps = planted["edges"].as_array().unwrap();
        for edge in edges {
            let is_of = |swap: &Value| swap["tx"] == edge["transaction_hash"];
            assert!(swaps.iter().any(is_of), "{edge}");
        }
        for vertex in graph["vertices"].as_array().unwrap() {
            let address = vertex["id"].as_str().unwrap();
            let trail = [&source, &middle, &end]
                .iter()
                .position(|it| *it == address);
            match trail {
                Some(hop) => {
                    assert_eq!(vertex["hop"], hop, "{vertex}");
                    assert_eq!(vertex["expansion"], "expanded", "{vertex}");
                }
                None => assert_eq!(vertex["expansion"], "swap", "{vertex}"),
            }
        }
        // From an index the same.
        sample.ok(&format!("index build --index idx -q {chain}"));
        let indexed = sample.ok(&format!("{line} --through-swaps --index idx"));
        let indexed = indexed.json();
        assert_eq!(
            (&indexed["vertices"], &indexed["edges"]),
            (&graph["vertices"], &graph["edges"])
        );
        // Each swap is a hop.
        let near = sample.ok(&format!("{line} --through-swaps").replace("-n all", "-n 1"));
        near.says("1 swap was followed");
        // Back from the other end, the trail has the same transfers.
        let back = format!("graph -r {end} -t native -n 2 -d in {chain} --through-swaps -f json");
        let answer = sample.ok(&back);
        answer.says("2 swaps were followed back into what was given");
        let found = |stdout: &str| -> BTreeSet<_> {
            let graph: Value = serde_json::from_str(stdout).unwrap();
            graph["edges"]
                .as_array()
                .unwrap()
                .iter()
                .map(position)
                .collect()
        };
        assert_eq!(found(&answer.stdout), positions);
        let both = sample.ok(&back.replace("-d in", "-d both"));
        both.says("2 swaps were followed");
        assert!(found(&both.stdout).is_superset(&positions));
        // Without transfers inside transactions, the answer says that it may be partial.
        let partial = line.replace("--with-internal ", "");
        let partial = sample.ok(&format!("{partial} --through-swaps"));
        partial.says("swaps for coins, which are paid without a log, are not followed");
        assert!(partial.stdout.contains("are not followed"), "no caveat");
        let line = format!("graph -r {source} -t {token} --through-swaps");
        sample.fails(&format!("{line} --min-value 5"), 2, "no smallest amount");
    }
}
