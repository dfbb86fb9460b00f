//! Divides what one address gave among several others that got another token for it.

use super::{Movement, Sides, Swap};
use crate::{AmountSum, widen};
use alloy_primitives::{Address, U256, Uint};
use std::collections::{BTreeMap, BTreeSet};

type Token = Option<Address>;

/// The swaps of the only address that only gives, one for each address that only gets. Each of them has
/// the whole amount that was given; the result has the part for each, in proportion to what it got.
///
/// The result is empty unless the transfers show that everything that they got was paid for by what this
/// address gave, and at one price.
pub(super) fn divide(
    mut swaps: Vec<Swap>,
    sides: &BTreeMap<Address, Sides>,
    movements: &[Movement],
) -> Vec<Swap> {
    let is_shown = swaps.first().is_some_and(|one| {
        swaps.iter().all(|it| it.got_token == one.got_token)
            && pays_for_all(one.given_token, sides)
            && has_one_price(&swaps, one.got_token, sides, movements)
    });
    if !is_shown {
        return Vec::new();
    }
    give_parts(&mut swaps);
    // An amount that is too small to be divided.
    if swaps.iter().any(|it| it.given.is_zero()) {
        return Vec::new();
    }
    swaps
}

/// Whether everything that traders give was paid for by one token, which none of them gives: each trader
/// gives one token for one other, and none of these tokens leads back to itself. A user who swaps with the
/// same pools gives what the others get, so that it is not known whose price a third party was paid from.
fn pays_for_all(first: Token, sides: &BTreeMap<Address, Sides>) -> bool {
    // By token: how many traders give it that were not reached, and what is given for it.
    let mut givers = BTreeMap::<Token, u64>::new();
    let mut given_for = BTreeMap::<Token, Vec<Token>>::new();
    for Sides { given, got } in sides.values().filter(|of| of.is_trader()) {
        let ([(given, _)], [(got, _)]) = (&**given, &**got) else {
            return false;
        };
        *givers.entry(*given).or_default() += 1;
        given_for.entry(*got).or_default().push(*given);
    }
    if givers.contains_key(&first) {
        return false;
    }
    let mut paid = vec![first];
    while let Some(token) = paid.pop() {
        for given in given_for.remove(&token).unwrap_or_default() {
            let left = givers.entry(given).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                givers.remove(&given);
                paid.push(given);
            }
        }
    }
    givers.is_empty()
}

/// Whether all units of what was got have the same price: they come from one address, or were mixed in one.
fn has_one_price(
    swaps: &[Swap],
    got: Token,
    sides: &BTreeMap<Address, Sides>,
    movements: &[Movement],
) -> bool {
    let gives = |of: &&Sides| of.given.iter().any(|(token, _)| *token == got);
    let receivers: BTreeSet<_> = swaps.iter().map(|it| it.to).collect();
    let delivered = movements.iter();
    let delivered = delivered.filter(|it| it.token == got && receivers.contains(&it.to));
    let senders: BTreeSet<_> = delivered.map(|it| it.from).collect();
    senders.len() == 1 || sides.values().filter(gives).count() == 1
}

/// Divides what was given. The sum of the first parts is rounded down, so all parts add up to the whole.
fn give_parts(swaps: &mut [Swap]) {
    type Wide = Uint<576, 9>;
    let all: AmountSum = swaps.iter().map(|it| widen(it.got)).sum();
    let all = Wide::from_limbs_slice(all.as_limbs());
    let (mut got, mut given) = (AmountSum::ZERO, U256::ZERO);
    for swap in swaps {
        got += widen(swap.got);
        let product: Wide = swap.given.widening_mul(got);
        let until: U256 = (product / all).saturating_to();
        swap.given = until - given;
        given = until;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Netting, net_changes, netting, testing};
    use alloy_primitives::{Address, U256};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use txgraph_transfers::Transfer;

    /// The tokens that an address lost and gained, with amounts.
    type Changes = [BTreeMap<Option<Address>, U256>; 2];

    /// The amounts that receivers got, and the one that was given for all of them, by the definition.
    fn twin(transfers: &[Transfer]) -> Option<(U256, Vec<(Address, U256)>)> {
        let mut changes = BTreeMap::<Address, Changes>::new();
        for it in net_changes(transfers) {
            let of = changes.entry(it.address).or_default();
            of[usize::from(it.is_gain)].insert(it.token, it.amount);
        }
        let is_moved = |it: &&Transfer| it.from_address != it.to_address && !it.value.is_zero();
        let moved: Vec<_> = transfers.iter().filter(is_moved).collect();
        let with = |loses: bool, gains: bool| {
            let all = changes.iter();
            let all = all.filter(|(_, [lost, gained])| {
                (!lost.is_empty(), !gained.is_empty()) == (loses, gains)
            });
            all.map(|(address, [lost, gained])| (*address, lost, gained))
                .collect::<Vec<_>>()
        };
        let (givers, mut takers, traders) =
            (with(true, false), with(false, true), with(true, true));
        let [(giver, lost, _)] = givers[..] else {
            return None;
        };
        let (1, Some((first, whole))) = (lost.len(), lost.first_key_value()) else {
            return None;
        };
        // Payments of the giver, which are no swaps.
        let direct = |to: Address| -> U256 {
            let of = moved.iter().filter(|it| {
                (it.from_address, it.to_address, it.token_address) == (giver, to, *first)
            });
            of.map(|it| it.value).sum()
        };
        let paid: U256 = takers
            .iter()
            .filter(|it| it.2.contains_key(first))
            .map(|it| direct(it.0))
            .sum();
        takers.retain(|(taker, _, gained)| gained.keys().ne([first]) || direct(*taker).is_zero());
        // All get one other token, and pass none of it on.
        let (last, _) = takers.first()?.2.first_key_value()?;
        let get_one = takers.iter().all(|it| it.2.keys().eq([last]));
        let ends: BTreeSet<_> = takers.iter().map(|it| it.0).chain([giver]).collect();
        let pass_on = moved
            .iter()
            .any(|it| it.token_address == *last && ends.contains(&it.from_address));
        if takers.len() < 2 || !get_one || last == first || pass_on || paid >= *whole {
            return None;
        }
        // The smallest set of tokens with the first, and with each that is given only for others of the set.
        let mut known = BTreeSet::from([*first]);
        for _ in &traders {
            for (_, lost, _) in &traders {
                for token in lost.keys() {
                    let mut all = traders.iter().filter(|it| it.1.contains_key(token));
                    if all.all(|it| it.2.keys().all(|token| known.contains(token))) {
                        known.insert(*token);
                    }
                }
            }
        }
        let one_each = traders
            .iter()
            .all(|(_, lost, gained)| (lost.len(), gained.len()) == (1, 1));
        let given = traders.iter().flat_map(|it| it.1.keys());
        let mut given = given.map(|token| (token, known.contains(token) && token != first));
        if !one_each || !given.all(|(_, is_known)| is_known) {
            return None;
        }
        let senders: BTreeSet<_> = moved
            .iter()
            .filter(|it| it.token_address == *last && ends.contains(&it.to_address))
            .map(|it| it.from_address)
            .collect();
        let sellers = traders.iter().filter(|it| it.1.contains_key(last)).count();
        if senders.len() > 1 && sellers > 1 {
            return None;
        }
        let got = takers.iter().map(|it| (it.0, it.2[last]));
        Some((*whole - paid, got.collect()))
    }

    /// A sale for several receivers, through pools and a router, and some other transfers, in any order.
    fn sales() -> impl Strategy<Value = Vec<Transfer>> {
        let template = prop::sample::select(vec![
            "a>p:9@T p>b:{}@U p>c:{}@U",
            "a>p:9@T p>q:4@V q>b:{}@U q>c:{}@U",
            "a>x:9@T x>p:5@T x>q:4@T p>x:3@U q>x:{}@U x>b:{}@U x>c:3@U",
            "a>p:5@T a>q:4@T p>b:{}@U q>c:{}@U",
            "a>p:9@T a>d:2@T p>b:{}@U p>c:{}@U p>d:1@U",
            "a>p:9@T p>b:{}@U p>c:{}@V",
        ]);
        let name = || prop::sample::select(vec!["a", "b", "c", "d", "p", "q", "x"]);
        let token = prop::sample::select(vec!["T", "U", "V"]);
        let other = (name(), name(), token, 1u32..4)
            .prop_map(|(from, to, token, value)| format!("{from}>{to}:{value}@{token}"));
        let others = prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec(other, 1..4)];
        let sale = (template, 1u32..8, 1u32..8, others);
        let words = sale.prop_map(|(template, one, other, others)| {
            let sale = template.replacen("{}", &one.to_string(), 1);
            let sale = sale.replacen("{}", &other.to_string(), 1);
            let words = sale.split(' ').map(str::to_owned);
            words.chain(others).collect::<Vec<_>>()
        });
        let words = words.prop_shuffle();
        words.prop_map(|words| testing::transactions(&words.join(" ")))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// There are several swaps of one address exactly where the definition has them. Their parts add up
        /// to what was given, to the unit.
        #[test]
        fn parts_are_in_proportion_and_add_up(transfers in sales()) {
            let found = netting(&transfers);
            let divided: Vec<_> = found.by_giver().filter(|swaps| swaps.len() > 1).collect();
            let Some((whole, expected)) = twin(&transfers) else {
                prop_assert!(divided.is_empty(), "{found:?}");
                return Ok(());
            };
            let all: U256 = expected.iter().map(|it| it.1).sum();
            let mut until = U256::ZERO;
            let ends = expected.iter().map(|it| {
                until += it.1;
                whole * until / all
            });
            let ends: Vec<_> = ends.collect();
            let starts = std::iter::once(U256::ZERO).chain(ends.iter().copied());
            let parts: Vec<_> = ends.iter().zip(starts).map(|(end, start)| end - start).collect();
            if parts.contains(&U256::ZERO) {
                prop_assert!(divided.is_empty(), "{found:?}");
                return Ok(());
            }
            let [swaps] = divided[..] else {
                return Err(TestCaseError::fail(format!("{found:?}")));
            };
            let got: Vec<_> = swaps.iter().map(|it| (it.to, it.got)).collect();
            prop_assert_eq!(got, expected);
            prop_assert!(swaps.iter().map(|it| it.given).eq(parts));
            let sum: U256 = swaps.iter().map(|it| it.given).sum();
            prop_assert_eq!(sum, whole);
        }

        /// Also of the largest amounts.
        #[test]
        fn the_largest_amounts_are_divided(values in prop::collection::vec(1u64.., 2..5)) {
            let text = ["b", "c", "d", "e"].iter().zip(&values);
            let text: Vec<_> = text.map(|(name, _)| format!("p>{name}:1@U")).collect();
            let mut transfers = testing::transactions(&format!("a>p:1@T {}", text.join(" ")));
            transfers[0].value = U256::MAX;
            for (it, value) in transfers[1..].iter_mut().zip(&values) {
                it.value = U256::MAX - U256::from(*value);
            }
            let Netting { swaps, .. } = netting(&transfers);
            // What the pool gave is more than an amount can be, and divided all the same.
            prop_assert_eq!(swaps.len(), values.len());
            let sum = swaps.iter().fold(U256::ZERO, |sum, it| sum + it.given);
            prop_assert_eq!(sum, U256::MAX);
        }
    }
}
