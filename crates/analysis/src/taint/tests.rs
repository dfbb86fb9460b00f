//! Taint against a twin that moves single units.

use super::*;
use crate::{MeasureResult, oracle};
use proptest::prelude::*;
use std::collections::BTreeMap;
use txgraph_graph::testing;

/// The balance of every account before the first block.
const OPENING: u32 = 3;

fn run(method: TaintMethod, transfers: &[Transfer], roots: &[&str], opening: Option<u32>) -> Taint {
    let mut ends = BTreeMap::from([(Address::ZERO, TaintEnd::Burnt)]);
    ends.insert(testing::address("f"), TaintEnd::Hub);
    for root in roots {
        ends.insert(testing::address(root), TaintEnd::Returned);
    }
    let end = |address: &Address| ends.get(address).copied();
    let tracker = TaintTracker::new(method, end, |_, _| opening.map(U256::from));
    follow(tracker, transfers)
}

/// Follows all transfers.
pub(super) fn follow(mut tracker: TaintTracker<'_>, transfers: &[Transfer]) -> Taint {
    for transfer in transfers {
        tracker.add(transfer);
    }
    tracker.finish()
}

/// `from>to:amount/source` for every row, and `address:amount end` for every end.
pub(super) fn shown(taint: &Taint) -> (Vec<String>, Vec<String>) {
    let name = testing::name;
    let row = |row: &TaintRow| {
        let (from, to) = (row.transfer.from_address, row.transfer.to_address);
        let (from, to) = (name(from), name(to));
        format!("{from}>{to}:{}/{} {}", row.amount, row.source + 1, row.hop)
    };
    let end = |end: &TaintSink| format!("{}:{} {}", name(end.address), end.amount, end.end);
    let rows = taint.rows.iter().map(row).collect();
    (rows, taint.ends.iter().map(end).collect())
}

fn check(method: TaintMethod, text: &str, rows: &[&str], ends: &[&str]) {
    let (found_rows, found_ends) = shown(&run(method, &testing::transfers(text), &["r"], Some(0)));
    assert_eq!(found_rows, rows, "{method} {text}");
    assert_eq!(found_ends, ends, "{method} {text}");
}

/// An account has 10 of its own, gets 5 tainted ones and 10 others, and sends 12.
const MIXED: &str = "x>a:10 r>a:5 x>a:10 a>b:12";

#[test]
fn the_rules_differ_in_what_leaves_first() {
    use TaintMethod::{Fifo, Haircut, Lifo, Poison};
    let source = "r>a:5/1 1";
    let (rows, ends) = ([source, "a>b:2/1 2"], ["a:3 held", "b:2 held"]);
    // By a haircut, 12 of 25: 2.4 of the 5.
    for method in [Fifo, Lifo, Haircut] {
        check(method, MIXED, &rows, &ends);
    }
    check(
        Poison,
        MIXED,
        &[source, "a>b:12/1 2"],
        &["b:12 held", "a:5 held"],
    );
    let text = "x>a:10 r>a:5 a>b:12";
    check(Fifo, text, &rows, &ends);
    check(Lifo, text, &[source, "a>b:5/1 2"], &["b:5 held"]);
    check(
        Haircut,
        text,
        &[source, "a>b:4/1 2"],
        &["b:4 held", "a:1 held"],
    );
}

#[test]
fn ends_have_reasons() {
    check(
        TaintMethod::Fifo,
        "r>a:9 a>f:2 a>0:3 a>r:1 f>b:2",
        &["r>a:9/1 1", "a>f:2/1 2", "a>0:3/1 2", "a>r:1/1 2"],
        &["0:3 burnt", "a:3 held", "f:2 hub", "r:1 returned"],
    );
}

#[test]
fn tokens_are_kept_apart() {
    check(
        TaintMethod::Fifo,
        "r>a:9@T a>b:4@U a>b:4@T",
        &["r>a:9/1 1", "a>b:4/1 2"],
        &["a:5 held", "b:4 held"],
    );
}

#[test]
fn unknown_balances_and_excess_are_counted() {
    let transfers = testing::transfers("a>x:4 r>a:5 a>b:9");
    let run = |method, transfers: &[Transfer], roots: &[&str], opening| {
        let mut taint = self::run(method, transfers, roots, opening);
        taint.compare(|_, _| Some(U256::from(9)));
        taint
    };
    let known = run(TaintMethod::Fifo, &transfers, &["r"], Some(8));
    assert_eq!((known.unexplained, known.unknown_balances), (0, 0));
    assert_eq!(shown(&known).1, ["b:5 held"]);
    let unknown = run(TaintMethod::Fifo, &transfers, &["r"], None);
    // a and b.
    assert_eq!((unknown.unexplained, unknown.unknown_balances), (1, 2));
    let title = |taint: &Taint| taint.tables()[0].title.clone();
    assert_eq!(title(&known), "Where the tokens are (fifo)");
    assert_eq!(
        title(&unknown),
        "Where the tokens are (fifo); balances that are not known: 2; transfers of more than is known \
         to have been there: 1"
    );
    let poison = run(TaintMethod::Poison, &transfers, &["r"], Some(8));
    assert!(title(&poison).contains("upper bounds"));
    assert_eq!(shown(&unknown).1, ["b:5 held"]);
}

#[test]
fn what_an_address_does_not_have_left_unseen() {
    let transfers = testing::transfers("r>a:9 a>b:4 a>f:2");
    let balances = BTreeMap::from([(testing::address("a"), 1)]);
    let balance = |address: Address, _| balances.get(&address).copied().map(U256::from);
    let mut taint = run(TaintMethod::Fifo, &transfers, &["r"], Some(0));
    assert_eq!(taint.uncompared, 2);
    taint.compare(balance);
    assert_eq!(
        shown(&taint).1,
        ["b:4 held", "a:2 left_unseen", "f:2 hub", "a:1 held"]
    );
    // The balance of b is not known.
    assert_eq!(taint.uncompared, 1);
    assert!(
        taint.tables()[0]
            .title
            .ends_with("not compared with a balance: 1")
    );
    let all: AmountSum = taint.ends.iter().map(|end| end.amount).sum();
    assert_eq!(all, AmountSum::from(9));
    let mut poison = run(TaintMethod::Poison, &transfers, &["r"], Some(0));
    assert_eq!(shown(&poison).1, ["a:9 held", "b:4 held", "f:2 hub"]);
    poison.compare(balance);
    assert_eq!(shown(&poison).1, ["b:4 held", "f:2 hub", "a:1 held"]);
    assert_eq!(poison.uncompared, 1);
}

/// A unit of a token: source and hop.
type Unit = Option<(usize, u32)>;

/// The twin: every account is a list of units.
#[derive(Default)]
struct Twin {
    /// Units of accounts that got tainted ones.
    units: BTreeMap<(Address, Token), Vec<Unit>>,
    /// The numbers of units that accounts received and sent.
    moved: BTreeMap<(Address, Token), (usize, usize)>,
    rows: Vec<(usize, usize, u32, usize)>,
    sources: usize,
}

impl Twin {
    fn add(
        &mut self,
        at: usize,
        transfer: &Transfer,
        method: TaintMethod,
        stops: &[Address],
        root: Address,
    ) {
        let (from, to) = (transfer.from_address, transfer.to_address);
        let value: usize = transfer.value.to();
        if from == to || value == 0 {
            return;
        }
        let token = (
            transfer.token_address,
            transfer.token_standard,
            transfer.token_id,
        );
        let mut leaving: Vec<Unit> = Vec::new();
        if from == root {
            leaving = vec![Some((self.sources, 0)); value];
            self.sources += 1;
        } else if !stops.contains(&from)
            && let Some(units) = self.units.get_mut(&(from, token))
        {
            let count = value.min(units.len());
            leaving = match method {
                TaintMethod::Fifo => units.drain(..count).collect(),
                TaintMethod::Lifo => units.split_off(units.len() - count),
                _ => haircut(units, count),
            };
        }
        leaving.retain(Option::is_some);
        leaving.sort_unstable();
        for parts in leaving.chunk_by(|a, b| a == b) {
            let (source, hop) = parts[0].unwrap();
            self.rows.push((at, source, hop + 1, parts.len()));
        }
        let arrives = !leaving.is_empty();
        if arrives && to != root && !stops.contains(&to) {
            let (received, sent) = self.moved.get(&(to, token)).copied().unwrap_or_default();
            let before = (OPENING as usize + received).saturating_sub(sent);
            let units = || vec![None; before];
            self.units.entry((to, token)).or_insert_with(units);
        }
        if let Some(units) = self.units.get_mut(&(to, token)) {
            let rest = value - leaving.len();
            units.extend(
                leaving
                    .iter()
                    .map(|unit| unit.map(|(source, hop)| (source, hop + 1))),
            );
            units.extend(std::iter::repeat_n(None, rest));
        }
        self.moved.entry((to, token)).or_default().0 += value;
        self.moved.entry((from, token)).or_default().1 += value;
    }
}

/// Takes shares of all kinds of units, by largest remainder.
fn haircut(units: &mut Vec<Unit>, count: usize) -> Vec<Unit> {
    let total = units.len();
    // Tainted units first, in order, then the others.
    units.sort_unstable_by_key(|unit| (unit.is_none(), *unit));
    let kinds: Vec<(Unit, usize)> = units
        .chunk_by(|a, b| a == b)
        .map(|same| (same[0], same.len()))
        .collect();
    let mut taken: Vec<usize> = kinds
        .iter()
        .map(|(_, n)| n * count / total.max(1))
        .collect();
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(kinds[*at].1 * count % total.max(1)));
    let missing = count - taken.iter().sum::<usize>();
    for at in order.into_iter().take(missing) {
        taken[at] += 1;
    }
    let mut leaving = Vec::new();
    units.clear();
    for ((unit, n), taken) in kinds.into_iter().zip(taken) {
        leaving.extend(std::iter::repeat_n(unit, taken));
        units.extend(std::iter::repeat_n(unit, n - taken));
    }
    leaving
}

/// The methods whose amounts add up.
pub(super) fn exact_methods() -> impl Strategy<Value = TaintMethod> {
    prop::sample::select(&[TaintMethod::Fifo, TaintMethod::Lifo, TaintMethod::Haircut])
}

/// Few addresses and small amounts, so that much is tainted.
fn small_transfers() -> impl Strategy<Value = Vec<Transfer>> {
    let address = || prop::sample::select(vec!["0", "a", "b", "c", "d", "f"]);
    let one = (
        address(),
        address(),
        0u64..9,
        prop::sample::select(vec!["T", "eth"]),
    );
    proptest::collection::vec(one, 0..60).prop_map(|all| {
        let all = (0u64..).zip(all);
        all.map(|(block, (from, to, value, token))| {
            let ends = [from, to].map(testing::address);
            testing::transfer((block, 0), token, ends[0], ends[1], U256::from(value))
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn traces_equal_those_of_single_units(
        transfers in small_transfers(),
        method in exact_methods(),
    ) {
        let taint = run(method, &transfers, &["a"], Some(OPENING));
        let mut twin = Twin::default();
        let stops = [Address::ZERO, testing::address("f")];
        for (at, transfer) in transfers.iter().enumerate() {
            twin.add(at, transfer, method, &stops, testing::address("a"));
        }
        let rows: Vec<_> = taint.rows.iter().map(|row| {
            let at = usize::try_from(row.transfer.block_number).unwrap();
            (at, row.source, row.hop, row.amount.to::<usize>())
        }).collect();
        prop_assert_eq!(rows, twin.rows);
        for ((address, token), units) in &twin.units {
            let held = units.iter().flatten().count();
            let found = taint.ends.iter().find(|end| {
                (end.address, (end.token_address, end.token_standard, end.token_id))
                    == (*address, *token)
            });
            prop_assert_eq!(found.map_or(0, |end| end.amount.to::<usize>()), held);
        }
    }

}

proptest! {
    /// Also for the largest amounts, which overflow.
    #[test]
    fn nothing_is_lost(
        transfers in oracle::some_transfers(),
        method in exact_methods(),
    ) {
        let taint = run(method, &transfers, &["a", "b"], None);
        let sources: AmountSum = taint.sources.iter().map(|source| widen(source.value)).sum();
        let ends: AmountSum = taint.ends.iter().map(|end| end.amount).sum();
        prop_assert_eq!(sources, ends);
        let ledger = taint.tables().remove(2);
        prop_assert_eq!(ledger.rows.len(), taint.rows.len());
    }

    /// Poison is an upper bound of every other rule.
    #[test]
    fn poison_contains_the_others(
        transfers in small_transfers(),
        method in exact_methods(),
    ) {
        let poison = run(TaintMethod::Poison, &transfers, &["a"], Some(OPENING));
        let poisoned: BTreeMap<_, _> = poison.rows.iter()
            .map(|row| (row.transfer.position(), row.amount))
            .collect();
        for row in run(method, &transfers, &["a"], Some(OPENING)).rows {
            let whole = poisoned.get(&row.transfer.position());
            prop_assert!(whole.is_some_and(|whole| *whole >= row.amount));
        }
    }
}
