//! Nets the transfers of one transaction: which balances change, and which addresses swap one token
//! for another.
//!
//! A router receives and passes on the same amounts, so its balances do not change. A pool gives one
//! token and gets another, as the address does that swaps with it. So the net changes say who
//! swapped, whatever contracts the tokens went through. Where they allow more than one attribution,
//! there is no swap in the result, but the address is [unresolved](Netting::unresolved).
//!
//! Who gives can let another address get the other token. That is a swap if one address only gives,
//! one only gets, and all others do both or neither. If several only get the same token, and the transfers
//! show that one address paid for all of it, each of them gets it for a part of what was given.
//!
//! A token that is minted or burned counts as given or got by its own contract. So a deposit in a
//! vault, or a wrap of the native coin, is a swap with the contract of the shares. It is no swap of that
//! contract: shares that it takes back are no longer there, and what it pays for them it held.

use crate::{AmountSum, widen};
use alloy_primitives::{Address, U256};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::Transfer;

mod division;

/// The change of one balance by a transaction, without its fee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetChange {
    /// The owner of the balance.
    pub address: Address,
    /// The contract; `None`: the native coin.
    pub token: Option<Address>,
    /// The id of an ERC-721 or ERC-1155 token.
    pub token_id: Option<U256>,
    /// Whether the balance grew.
    pub is_gain: bool,
    /// By how much, in the smallest unit.
    pub amount: U256,
}

/// The balances that transfers change, by address, token and id. The zero address, which mints come
/// from, is left out.
pub fn net_changes(transfers: &[Transfer]) -> Vec<NetChange> {
    let moves = transfers.iter().map(|it| {
        let token = (it.token_address, it.token_id);
        (it.from_address, it.to_address, token, it.value)
    });
    let changed = sums(moves)
        .into_iter()
        .filter(|((address, _), [sent, received])| sent != received && !address.is_zero());
    changed
        .map(
            |((address, (token, token_id)), [sent, received])| NetChange {
                address,
                token,
                token_id,
                is_gain: received > sent,
                amount: received.abs_diff(sent).saturating_to(),
            },
        )
        .collect()
}

/// The amounts that each address sent and received, by token.
fn sums<K: Ord + Copy>(
    moves: impl Iterator<Item = (Address, Address, K, U256)>,
) -> BTreeMap<(Address, K), [AmountSum; 2]> {
    let mut sums = BTreeMap::<_, [AmountSum; 2]>::new();
    for (from, to, token, value) in moves {
        sums.entry((from, token)).or_default()[0] += widen(value);
        sums.entry((to, token)).or_default()[1] += widen(value);
    }
    sums
}

/// A swap inside a transaction. Tokens are contracts of ERC-20 tokens, or `None`: the native coin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Swap {
    /// Who gave.
    pub address: Address,
    /// Who got; mostly the same address.
    #[serde(rename = "to_address")]
    pub to: Address,
    /// The token that was given.
    #[serde(rename = "given_token_address")]
    pub given_token: Option<Address>,
    /// How much was given: without what came back, and what `paid` got. Of several swaps of one address,
    /// each has its part.
    #[serde(serialize_with = "decimal")]
    pub given: U256,
    /// How much was sent for it, with what came back. Several swaps of one address have the same sum.
    #[serde(skip)]
    pub sent: U256,
    /// Addresses that `address` sent some of the token and that gave nothing: payments beside the swap,
    /// such as a fee of the token.
    #[serde(skip)]
    pub paid: Vec<Address>,
    /// The token that was got.
    #[serde(rename = "got_token_address")]
    pub got_token: Option<Address>,
    /// How much was got.
    #[serde(serialize_with = "decimal")]
    pub got: U256,
}

fn decimal<S: Serializer>(amount: &U256, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(amount)
}

/// The swaps of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netting {
    /// The swaps. A pool that is swapped with has one, too: it gave what others got. An address has
    /// several only if it paid for what several others got, of one token; these follow each other.
    pub swaps: Vec<Swap>,
    /// Addresses that gave tokens and got others, of which the transfers do not say what was given for
    /// what: several tokens were given or got, or others were paid with them on the way. Then addresses
    /// that only gave them a token.
    pub unresolved: Vec<Address>,
    /// Addresses that only got tokens, one of which was given by an address of which the transfers do not
    /// say what for.
    pub unresolved_receivers: Vec<Address>,
}

impl Netting {
    /// The swaps of each address that has any.
    pub fn by_giver(&self) -> impl Iterator<Item = &[Swap]> {
        self.swaps.chunk_by(|one, next| one.address == next.address)
    }
}

/// A transfer of an ERC-20 token or the native coin.
struct Movement {
    from: Address,
    to: Address,
    token: Option<Address>,
    value: U256,
}

/// The tokens that an address gave and got, net.
#[derive(Default)]
struct Sides {
    given: Vec<(Option<Address>, AmountSum)>,
    got: Vec<(Option<Address>, AmountSum)>,
}

impl Sides {
    fn is_trader(&self) -> bool {
        !self.given.is_empty() && !self.got.is_empty()
    }

    fn has(&self, token: Option<Address>) -> bool {
        self.given
            .iter()
            .chain(&self.got)
            .any(|(it, _)| *it == token)
    }
}

/// Finds the swaps among all transfers of one transaction. NFTs do not count: what is paid for one
/// belongs to the seller.
pub fn netting(transfers: &[Transfer]) -> Netting {
    let movements = movements(transfers);
    let sides = sides(&movements);
    let gave = |address: &Address, token: Option<Address>| {
        let of = sides.get(address);
        of.is_some_and(|of| of.given.iter().any(|(given, _)| *given == token))
    };
    let got = |address: &Address, token: Option<Address>| {
        let of = sides.get(address);
        of.is_some_and(|of| of.got.iter().any(|(got, _)| *got == token))
    };
    let is_trader = |address: &Address| sides.get(address).is_some_and(Sides::is_trader);
    // By address and token: what others were paid with on the way, and what was paid in.
    let mut sends = BTreeMap::<_, AmountSum>::new();
    let (mut pays, mut is_paid) = (BTreeSet::new(), BTreeSet::new());
    let mut payments = BTreeMap::<_, BTreeMap<Address, AmountSum>>::new();
    let mut is_funded = BTreeSet::new();
    for Movement {
        from,
        to,
        token,
        value,
    } in &movements
    {
        *sends.entry((*from, *token)).or_default() += widen(*value);
        if gave(from, *token) {
            is_funded.insert((*to, *token));
        }
        // Someone who only gets was paid: by the sender, or by anyone, if it was passed on.
        if got(to, *token) && !is_trader(to) {
            match gave(from, *token) {
                true => {
                    let paid = payments.entry((*from, *token)).or_default();
                    *paid.entry(*to).or_default() += widen(*value);
                }
                false => {
                    pays.insert(*token);
                }
            }
        }
        if gave(from, *token) && !is_trader(from) {
            is_paid.insert((got(to, *token).then_some(*to), *token));
        }
    }
    let swap = |address: Address, to: Address| -> Option<Swap> {
        let ([(given_token, given)], [(got_token, got)]) =
            (&*sides.get(&address)?.given, &*sides.get(&to)?.got)
        else {
            return None;
        };
        let is_clear = given_token != got_token
            && !is_funded.contains(&(address, *given_token))
            && !sends.contains_key(&(to, *got_token))
            && !sends.contains_key(&(address, *got_token));
        let sent = sends.get(&(address, *given_token))?;
        let paid = payments.get(&(address, *given_token));
        let paid: Vec<_> = paid.into_iter().flatten().collect();
        let paid_sum: AmountSum = paid.iter().map(|(_, value)| **value).sum();
        (is_clear && paid_sum < *given).then_some(Swap {
            address,
            to,
            given_token: *given_token,
            given: narrow(*given - paid_sum)?,
            sent: narrow(*sent - paid_sum)?,
            paid: paid.into_iter().map(|(address, _)| *address).collect(),
            got_token: *got_token,
            got: narrow(*got)?,
        })
    };
    let mut found = Netting::default();
    let (mut givers, mut takers) = (Vec::new(), Vec::new());
    for (address, sides) in &sides {
        if !sides.is_trader() {
            let one_sided = if sides.got.is_empty() {
                &mut givers
            } else {
                &mut takers
            };
            one_sided.push(*address);
            continue;
        }
        // A contract mints or burns its own token for someone, whose swap it is.
        if sides.has(Some(*address)) {
            continue;
        }
        let swap = swap(*address, *address).filter(|swap| {
            let payees = [None, Some(*address)];
            let is_paid = payees
                .iter()
                .any(|to| is_paid.contains(&(*to, swap.got_token)));
            !is_paid && !pays.contains(&swap.given_token)
        });
        match swap {
            Some(swap) => found.swaps.push(swap),
            None => found.unresolved.push(*address),
        }
    }
    if let [giver] = &*givers {
        let is_paid = |taker: &Address| {
            let of = payments.get(&(*giver, sides[giver].given[0].0));
            of.is_some_and(|paid| paid.contains_key(taker)) && sides[taker].got.len() == 1
        };
        takers.retain(|taker| !is_paid(taker));
        let swaps = takers.iter().map(|taker| swap(*giver, *taker));
        let swaps: Vec<_> = swaps.collect::<Option<_>>().unwrap_or_default();
        found.swaps.extend(match swaps.len() {
            0 | 1 => swaps,
            _ => division::divide(swaps, &sides, &movements),
        });
    }
    let traders = found.unresolved.iter();
    let (mut unclear_got, mut unclear_given) = (BTreeSet::new(), BTreeSet::new());
    for sides in traders.map(|trader| &sides[trader]) {
        unclear_got.extend(sides.got.iter().map(|(token, _)| *token));
        unclear_given.extend(sides.given.iter().map(|(token, _)| *token));
    }
    givers.retain(|giver| {
        let is_resolved = found.swaps.iter().any(|swap| swap.address == *giver);
        let mut gave = sides[giver].given.iter();
        !is_resolved && gave.any(|(token, _)| unclear_got.contains(token))
    });
    takers.retain(|taker| {
        let is_resolved = found.swaps.iter().any(|swap| swap.to == *taker);
        let mut got = sides[taker].got.iter();
        !is_resolved && got.any(|(token, _)| unclear_given.contains(token))
    });
    found.unresolved_receivers = takers;
    found.unresolved.extend(givers);
    found
}

/// The transfers that count.
fn movements(transfers: &[Transfer]) -> Vec<Movement> {
    let moving = |it: &Transfer| {
        let (from, to) = parties(it)?;
        Some(Movement {
            from,
            to,
            token: it.token_address,
            value: it.value,
        })
    };
    transfers.iter().filter_map(moving).collect()
}

/// Who gives and who gets, if the transfer counts. A token's own contract takes the place of the zero
/// address.
pub fn parties(it: &Transfer) -> Option<(Address, Address)> {
    let party = |address: Address| match it.token_address {
        Some(token) if address.is_zero() => token,
        _ => address,
    };
    let (from, to) = (party(it.from_address), party(it.to_address));
    let counts = it.token_standard.is_fungible() && from != to && !it.value.is_zero();
    counts.then_some((from, to))
}

/// A sum, if it is an amount: tokens of any contract can state others.
fn narrow(sum: AmountSum) -> Option<U256> {
    U256::checked_from_limbs_slice(sum.as_limbs())
}

/// The net changes of every address that has any.
fn sides(movements: &[Movement]) -> BTreeMap<Address, Sides> {
    let moves = movements
        .iter()
        .map(|it| (it.from, it.to, it.token, it.value));
    let mut sides = BTreeMap::<Address, Sides>::new();
    for ((address, token), [sent, received]) in sums(moves) {
        if sent > received {
            let given = &mut sides.entry(address).or_default().given;
            given.push((token, sent - received));
        } else if received > sent {
            let got = &mut sides.entry(address).or_default().got;
            got.push((token, received - sent));
        }
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    /// `a:5@T>7@U` for every swap, and `?a` for who is unresolved.
    fn found(text: &str) -> Vec<String> {
        let Netting {
            swaps, unresolved, ..
        } = netting(&testing::transactions(text));
        let token = |token: Option<Address>| token.map_or("eth".to_owned(), testing::name);
        let swaps = swaps.iter().map(|it| {
            let name = testing::name(it.address);
            let [given, got] = [it.given_token, it.got_token].map(token);
            let to = if it.to == it.address {
                String::new()
            } else {
                format!("{}:", testing::name(it.to))
            };
            format!("{name}:{}@{given}>{to}{}@{got}", it.given, it.got)
        });
        let unresolved = unresolved.iter();
        let unresolved = unresolved.map(|it| format!("?{}", testing::name(*it)));
        let mut all: Vec<_> = swaps.chain(unresolved).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn routers_and_orders_do_not_matter() {
        let both = ["a:5@T>7@U", "p:7@U>5@T"];
        assert_eq!(found("a>p:5@T p>a:7@U"), both);
        assert_eq!(found("p>a:7@U a>p:5@T"), both);
        assert_eq!(found("a>x:5@T x>p:5@T p>x:7@U x>a:7@U"), both);
        // A part comes back.
        assert_eq!(found("a>x:9@T x>p:5@T x>a:4@T p>a:7@U"), both);
        let [of_a, _] =
            &netting(&testing::transactions("a>x:9@T x>p:5@T x>a:4@T p>a:7@U")).swaps[..]
        else {
            panic!("two swaps");
        };
        assert_eq!((of_a.given, of_a.sent), (U256::from(5), U256::from(9)));
    }

    #[test]
    fn several_pools_are_one_swap() {
        assert_eq!(
            found("a>p:5@T p>q:6@V q>a:7@U"),
            ["a:5@T>7@U", "p:6@V>5@T", "q:7@U>6@V"]
        );
    }

    #[test]
    fn payments_are_no_swaps() {
        assert_eq!(found("a>b:5@T b>c:5@T"), [""; 0]);
        assert_eq!(found("a>b:5@T a>c:5@U"), [""; 0]);
    }

    #[test]
    fn what_cannot_be_attributed_is_unresolved() {
        // Two tokens were given for shares.
        assert_eq!(found("a>p:5@T a>p:6@U p>a:1@S"), ["?a", "?p"]);
        // A part of what was given went to someone else.
        assert_eq!(
            found("a>x:9@T x>p:5@T x>c:4@T p>a:7@U"),
            ["?a", "p:7@U>5@T"]
        );
        // Someone else paid, too.
        assert_eq!(found("a>p:5@T c>a:1@U p>a:7@U"), ["?a", "?c", "p:7@U>5@T"]);
        // Another address paid a part through `a`.
        assert_eq!(found("c>a:4@T a>p:9@T p>a:7@U"), ["?a", "?c", "?p"]);
    }

    #[test]
    fn payments_beside_a_swap_are_apart() {
        let both = ["a:5@T>7@U", "p:7@U>5@T"];
        assert_eq!(found("a>p:5@T a>c:4@T p>a:7@U"), both);
        let netting = netting(&testing::transactions("a>p:5@T a>c:4@T p>a:7@U"));
        assert_eq!(netting.swaps[0].paid, [testing::address("c")]);
        assert_eq!(netting.swaps[0].sent, U256::from(5));
        // Nothing is left that was swapped.
        assert_eq!(found("a>c:3@T a>d:1@T q>p:1@V p>a:7@U"), ["?a", "?p", "?q"]);
    }

    #[test]
    fn others_that_are_paid_apart_do_not_matter() {
        assert_eq!(found("a>p:5@T p>a:7@U c>d:3@T"), ["a:5@T>7@U", "p:7@U>5@T"]);
    }

    #[test]
    fn another_address_can_get_it() {
        assert_eq!(found("a>p:5@T p>b:7@U"), ["?p", "a:5@T>b:7@U"]);
        // Over two pools, and out of the wrapped coin.
        assert_eq!(
            found("a>p:5@T p>x:7@W x>0:7@W W>x:7@eth x>b:7@eth"),
            ["?p", "a:5@T>b:7@eth"]
        );
        // Also with a payment of who gives.
        assert_eq!(found("a>p:5@T a>c:1@T p>b:7@U"), ["?p", "a:5@T>b:7@U"]);
        // Not with others who only give.
        assert_eq!(found("a>p:5@T c>p:5@T p>b:7@U"), ["?a", "?c", "?p"]);
        // Nor if it passed what was got.
        assert_eq!(found("a>p:5@T p>a:7@U a>b:7@U"), ["?a", "?p"]);
    }

    #[test]
    fn several_addresses_can_get_it() {
        // From one pool, in which all units have one price: 50 for 9 is 44 for 8, rounded down.
        assert_eq!(
            found("a>p:50@T p>b:8@U p>c:1@U"),
            ["?p", "a:44@T>b:8@U", "a:6@T>c:1@U"]
        );
        // From two pools, over a router that mixes what they pay.
        assert_eq!(
            found("a>x:50@T x>p:30@T x>q:20@T p>x:6@U q>x:3@U x>b:8@U x>c:1@U"),
            ["?p", "?q", "a:44@T>b:8@U", "a:6@T>c:1@U"]
        );
        // Over two tokens, with a payment of who gives.
        assert_eq!(
            found("a>p:50@T a>d:3@T p>q:5@V q>b:8@U q>c:1@U"),
            ["?p", "?q", "a:44@T>b:8@U", "a:6@T>c:1@U"]
        );
        // A mint.
        assert_eq!(
            found("a>S:5@T 0>b:4@S 0>c:1@S"),
            ["a:1@T>c:1@S", "a:4@T>b:4@S"]
        );
    }

    #[test]
    fn several_addresses_get_it_at_one_price_for_all() {
        let none = |text: &str| {
            let swaps = netting(&testing::transactions(text)).swaps;
            assert!(swaps.iter().all(|it| it.to == it.address), "{text}");
        };
        // They get different tokens.
        none("a>p:5@T p>b:7@U p>c:1@V");
        none("a>p:5@T p>b:7@U p>c:1@U p>c:1@V");
        // What was given arrived over a router, too: it is not known what was swapped.
        none("a>x:5@T x>p:4@T p>b:7@U x>c:1@T");
        // Each is paid by another pool.
        none("a>p:4@T a>q:1@T p>b:1@U q>c:1@U");
        // A pool also gives, or gets, something else.
        none("a>p:5@T p>b:7@U p>c:1@U d>p:1@V p>d:2@W");
        // Another user swaps in the same pool: the fee can be a part of that price.
        none("a>p:5@T d>p:3@T p>d:4@U p>b:6@U p>c:1@U");
        // Two of them only give.
        none("a>p:5@T d>q:5@T p>b:7@U q>c:7@U");
        // It is too small to be divided.
        none("a>p:1@T p>b:7@U p>c:1@U");
    }

    #[test]
    fn what_an_unresolved_address_gave_is_unresolved_where_it_arrives() {
        let receivers = |text: &str| {
            let found = netting(&testing::transactions(text)).unresolved_receivers;
            found.into_iter().map(testing::name).collect::<String>()
        };
        assert_eq!(receivers("a>p:1@T p>b:7@U p>c:1@U"), "bc");
        assert_eq!(receivers("a>p:5@T p>b:7@U p>c:1@U d>e:1@V"), "bc");
        assert_eq!(receivers("a>p:5@T p>x:7@U x>b:7@U p>c:1@V"), "bc");
        // These are swaps and payments.
        assert_eq!(receivers("a>p:5@T p>b:7@U"), "");
        assert_eq!(receivers("a>p:5@T a>c:4@T p>a:7@U"), "");
    }

    #[test]
    fn mints_and_burns_are_with_the_contract_which_swaps_nothing() {
        // A wrap of the native coin, and its end.
        assert_eq!(found("a>W:5@eth 0>a:5@W"), ["a:5@eth>5@W"]);
        assert_eq!(found("a>0:5@W W>a:5@eth"), ["a:5@W>5@eth"]);
        // Shares in two tokens.
        assert_eq!(found("a>S:5@T a>S:5@U 0>a:5@S"), ["?a"]);
    }

    proptest! {
        /// Amounts equal the changes, and no address is resolved twice.
        #[test]
        fn swaps_equal_net_changes(
            moves in proptest::collection::vec((0usize..5, 0usize..5, 0usize..3, 1u32..4), 1..12),
        ) {
            let words = moves.iter().map(|(from, to, token, value)| {
                let name = |at: &usize| ["a", "b", "c", "p", "q"][*at];
                format!("{}>{}:{value}@{}", name(from), name(to), ["T", "U", "eth"][*token])
            });
            let transfers = testing::transactions(&words.collect::<Vec<_>>().join(" "));
            let changes = net_changes(&transfers);
            let change = |address, token, is_gain| {
                let mut all = changes.iter();
                let found = all.find(|it| (it.address, it.token, it.is_gain) == (address, token, is_gain));
                found.map(|it| it.amount)
            };
            let found = netting(&transfers);
            for swaps in found.by_giver() {
                let one = &swaps[0];
                let lost = change(one.address, one.given_token, false).unwrap();
                let given: U256 = swaps.iter().map(|swap| swap.given).sum();
                prop_assert!(lost >= given && (lost == given) == one.paid.is_empty());
                prop_assert!(one.sent >= given);
                prop_assert!(!found.unresolved.contains(&one.address));
                for swap in swaps {
                    prop_assert_eq!(change(swap.to, swap.got_token, true), Some(swap.got));
                    prop_assert_eq!((&swap.paid, swap.sent), (&one.paid, one.sent));
                }
            }
            let senders: BTreeSet<_> = found.by_giver().map(|swaps| swaps[0].address).collect();
            prop_assert_eq!(senders.len(), found.by_giver().count());
        }
    }
}
