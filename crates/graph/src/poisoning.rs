//! Signs of address poisoning: an attacker makes an address that looks like a counterparty of
//! the victim, and puts it into the history of the victim with worthless transfers.

use crate::TransferGraph;
use alloy_primitives::Address;
use serde::Serialize;
use std::collections::BTreeMap;
use txgraph_transfers::{Position, TokenStandard, Transfer};

/// Signs of address poisoning in a graph. They are hints, not proofs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Poisoning {
    /// Groups of different addresses with the same first four and last four hex digits. Wallets
    /// show these digits. Groups and addresses ascend.
    pub lookalikes: Vec<Vec<Address>>,
    /// ERC-20 transfers of nothing from one address to another, before the sender sent an amount
    /// of the same token to that receiver in the graph. Most tokens let anyone send nothing in
    /// the name of another address.
    pub zero_value: Vec<ZeroValue>,
}

/// Flagged transfers of nothing from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ZeroValue {
    /// Sender, by the log.
    pub from_address: Address,
    /// Receiver.
    pub to_address: Address,
    /// The number of transfers.
    pub transfers: u64,
}

impl Poisoning {
    /// Looks for signs in a graph. Takes time and memory in proportion to its size.
    pub fn of(graph: &TransferGraph) -> Self {
        Self {
            lookalikes: lookalikes(graph.graph.node_weights().map(|vertex| vertex.address)),
            zero_value: zero_value(graph),
        }
    }
}

/// The part of an address that a wallet shows: the first four and the last four hex digits. Addresses with
/// the same look alike. `None` for precompiled contracts, which are short numbers and look alike by
/// design.
pub fn lookalike_key(address: Address) -> Option<[u8; 4]> {
    let [a, b, .., y, z] = address.into_array();
    ([a, b] != [0, 0]).then_some([a, b, y, z])
}

fn lookalikes(addresses: impl Iterator<Item = Address>) -> Vec<Vec<Address>> {
    let mut all: Vec<([u8; 4], Address)> = addresses
        .filter_map(|address| Some((lookalike_key(address)?, address)))
        .collect();
    all.sort_unstable();
    all.dedup();
    let groups = all.chunk_by(|one, next| one.0 == next.0);
    let groups = groups.filter(|group| group.len() > 1);
    groups
        .map(|group| group.iter().map(|(_, address)| *address).collect())
        .collect()
}

fn zero_value(graph: &TransferGraph) -> Vec<ZeroValue> {
    let key = |transfer: &Transfer| {
        let ends = (transfer.from_address, transfer.to_address);
        (ends, transfer.token_address)
    };
    let transfers = || graph.graph.edge_weights().map(|edge| &edge.transfer);
    // Few transfers are of nothing: their keys first, then the payments with these keys.
    let nothing: Vec<&Transfer> = transfers()
        .filter(|transfer| may_be_spoofed(transfer))
        .collect();
    let mut first_payments: BTreeMap<_, Option<Position>> = BTreeMap::new();
    first_payments.extend(nothing.iter().map(|transfer| (key(transfer), None)));
    if !nothing.is_empty() {
        for transfer in transfers().filter(|transfer| !transfer.value.is_zero()) {
            if let Some(first) = first_payments.get_mut(&key(transfer)) {
                let position = transfer.position();
                *first = Some(first.map_or(position, |first| first.min(position)));
            }
        }
    }
    let mut counts: BTreeMap<(Address, Address), u64> = BTreeMap::new();
    for transfer in nothing {
        let paid = first_payments[&key(transfer)];
        if paid.is_none_or(|paid| transfer.position() < paid) {
            *counts.entry(key(transfer).0).or_default() += 1;
        }
    }
    let pair = |((from_address, to_address), transfers)| ZeroValue {
        from_address,
        to_address,
        transfers,
    };
    counts.into_iter().map(pair).collect()
}

/// Whether a transfer moves nothing between two accounts.
fn may_be_spoofed(transfer: &Transfer) -> bool {
    let (from, to) = (transfer.from_address, transfer.to_address);
    transfer.value.is_zero()
        && transfer.token_standard == TokenStandard::Erc20
        && from != to
        && !from.is_zero()
        && !to.is_zero()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use alloy_primitives::address;

    #[test]
    fn flags_addresses_that_look_alike() {
        let real = address!("abcd000000000000000000000000000000001234");
        let fake = address!("abcd111111111111111111111111111111111234");
        let others = [
            address!("abcd000000000000000000000000000000001235"),
            address!("abce000000000000000000000000000000001234"),
            address!("0000000000000000000000000000000000000001"),
            address!("0000100000000000000000000000000000000001"),
        ];
        let all = [fake, real, real].into_iter().chain(others);
        assert_eq!(lookalikes(all), [vec![real, fake]]);
    }

    #[test]
    fn flags_transfers_of_nothing_before_a_payment() {
        let found =
            |text: &str| Poisoning::of(&testing::graph(testing::transfers(text))).zero_value;
        let expected = |transfers| ZeroValue {
            from_address: testing::address("a"),
            to_address: testing::address("c"),
            transfers,
        };
        let ordinary = "a>b:5 a>b:0 c>a:7 a>a:0 0>a:0 a>0:0 b>d:0@eth";
        assert_eq!(found(ordinary), []);
        assert_eq!(found(&format!("{ordinary} a>c:0 a>c:0")), [expected(2)]);
        // The victim pays the wrong address at last.
        assert_eq!(found("a>c:0 a>c:9 a>c:0"), [expected(1)]);
        // A payment in a counterfeit token explains nothing.
        assert_eq!(found("a>c:9@fake a>c:0"), [expected(1)]);
    }
}
