//! Address poisoning: worthless transfers bring an address into the history of a victim that
//! looks like one of its counterparties, and whether the victim paid to it.
//!
//! The kinds of worthless transfers come from "Blockchain Address Poisoning" (arXiv 2501.16681).

use super::{
    finding::{Found, Pattern, counted},
    history::History,
};
use alloy_primitives::{Address, U256, map::HashMap};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, lookalike_key, widen};

/// A payment of less than this share of the copied one is worthless.
const TINY_PERCENT: u64 = 1;

pub(super) fn rule() -> String {
    format!(
        "two counterparties of an address with the same first and last four hex digits: it paid \
         the one first, and then the other appeared by a transfer of nothing, of less than \
         {TINY_PERCENT} % of what was paid, or of a token that was not paid. The amount is what \
         the victim then paid to the other in a token that it had paid to the one"
    )
}

/// The numbers of the transfers of one address with others that look alike, in order.
type Contacts = BTreeMap<u32, Vec<u32>>;

pub(super) fn find(history: &History) -> Vec<Found> {
    let alike = alike(history);
    if alike.is_empty() {
        return Vec::new();
    }
    // By number of the victim and the key of the other address.
    let mut contacts: BTreeMap<(u32, [u8; 4]), Contacts> = BTreeMap::new();
    for (number, movement) in (0u32..).zip(history.movements()) {
        let [from, to] = [movement.from, movement.to].map(|it| history.address_and_asset(it).0);
        for (victim, other) in [(from, to), (to, from)] {
            if victim != other
                && let Some(key) = alike.get(&other)
            {
                let contacts = contacts.entry((victim, *key)).or_default();
                contacts.entry(other).or_default().push(number);
            }
        }
    }
    let mut all = Vec::new();
    for ((victim, _), contacts) in &contacts {
        for other in contacts.keys() {
            let partners = contacts.keys().filter(|partner| *partner != other);
            let found = partners.filter_map(|partner| {
                let fake = Fake {
                    history,
                    victim: *victim,
                    partner: *partner,
                };
                fake.found(*other, &contacts[partner], &contacts[other])
            });
            all.extend(found);
        }
    }
    all
}

/// The addresses that look like others, by number, with what they have in common.
fn alike(history: &History) -> HashMap<u32, [u8; 4]> {
    let addresses = (0u32..).zip(history.all_addresses());
    let mut keys: Vec<([u8; 4], u32)> = addresses
        .filter_map(|(number, address)| Some((lookalike_key(address)?, number)))
        .collect();
    keys.sort_unstable();
    let groups = keys.chunk_by(|a, b| a.0 == b.0).filter(|it| it.len() > 1);
    groups
        .flatten()
        .map(|(key, number)| (*number, *key))
        .collect()
}

/// A victim and a counterparty that another address looks like.
struct Fake<'a> {
    history: &'a History,
    victim: u32,
    partner: u32,
}

impl Fake<'_> {
    /// Whether the victim is the sender.
    fn sends(&self, number: u32) -> bool {
        let movement = self.history.get(number);
        self.history.address_and_asset(movement.from).0 == self.victim
    }

    fn asset(&self, number: u32) -> u32 {
        self.history
            .address_and_asset(self.history.get(number).from)
            .1
    }

    fn value(&self, number: u32) -> U256 {
        self.history.get(number).value
    }

    /// The poisoning by an address, from the transfers with the partner and with the address.
    fn found(&self, other: u32, paid: &[u32], contacts: &[u32]) -> Option<Found> {
        let is_payment = |number: &&u32| self.sends(**number) && !self.value(**number).is_zero();
        let payments: Vec<u32> = paid.iter().filter(is_payment).copied().collect();
        let first = *payments.first()?;
        if contacts.first()? < &first {
            return None;
        }
        let mut payments = payments.into_iter().peekable();
        // By token: the largest payment so far.
        let mut largest: BTreeMap<u32, U256> = BTreeMap::new();
        let mut evidence = Vec::new();
        let mut kinds: BTreeSet<&str> = BTreeSet::new();
        // By token, in the order of the payments.
        let mut lost: Vec<(u32, AmountSum)> = Vec::new();
        let mut poison = 0usize;
        let mut fooled = 0usize;
        for number in contacts {
            let (value, asset) = (widen(self.value(*number)), self.asset(*number));
            while let Some(payment) = payments.next_if(|it| it < number) {
                let most = largest.entry(self.asset(payment)).or_default();
                *most = self.value(payment).max(*most);
            }
            let kind = match largest.get(&asset).copied() {
                _ if value.is_zero() => "nothing",
                None => "another token",
                Some(_) if self.sends(*number) => {
                    // Without poison before it, this is a counterparty like another.
                    if poison == 0 {
                        return None;
                    }
                    fooled += 1;
                    match lost.iter_mut().find(|(token, _)| *token == asset) {
                        Some((_, sum)) => *sum += value,
                        None => lost.push((asset, value)),
                    }
                    evidence.push((*number, "paid"));
                    continue;
                }
                Some(most) => {
                    let hundredfold = value * AmountSum::from(100);
                    if hundredfold >= widen(most) * AmountSum::from(TINY_PERCENT) {
                        continue;
                    }
                    "tiny amounts"
                }
            };
            poison += 1;
            kinds.insert(kind);
            evidence.push((*number, "poison"));
        }
        if poison == 0 {
            return None;
        }
        evidence.push((first, "copied"));
        let (asset, amount) =
            (lost.first().copied()).unwrap_or((self.asset(first), AmountSum::ZERO));
        let partner: Address = self.history.addresses.value(self.partner);
        let kinds: Vec<&str> = kinds.into_iter().collect();
        let mut note = format!(
            "looks like {partner}; {} of {}",
            counted(poison, "transfers"),
            kinds.join(", ")
        );
        note += &match fooled {
            0 => "; the victim did not pay to it".to_owned(),
            _ => format!("; the victim paid to it: {}", counted(fooled, "transfers")),
        };
        if lost.len() > 1 {
            note += &format!("; in {} tokens", lost.len());
        }
        Some(Found {
            pattern: Pattern::Poisoning,
            address: self.victim,
            other: Some(other),
            asset,
            amount,
            note,
            evidence,
        })
    }
}
