//! Why the branches of a search end, and at which addresses.

use crate::{Expansion, TransferGraph, Vertex};
use alloy_primitives::{Address, map::AddressHashMap};
use serde::{Deserialize, Serialize};
use txgraph_base::string_enum;
use txgraph_transfers::Direction;

/// Addresses that the summary of a reason names.
const NAMED_MAX: usize = 20;

string_enum! {
    /// Why a branch ends at a vertex.
    pub enum EndReason: "reason" {
        /// A root without a transfer in the graph.
        SilentRoot = "silent_root",
        /// A contract without a further transfer. It can pass coins on without a log.
        Contract = "contract",
        /// No further transfer that matches, within the blocks.
        NoTransfers = "no_transfers",
        /// It is at the last hop, and was not followed.
        LastHop = "last_hop",
        /// It has too many counterparties, and was not followed.
        Hub = "hub",
        /// It is in the stop list, and was not followed.
        StopList = "stop_list",
        /// It is the zero address, where tokens are minted and burned.
        ZeroAddress = "zero_address",
        /// A limit of the graph was reached.
        Limit = "limit",
    }
}

impl EndReason {
    /// It in words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SilentRoot => "no transfer that matches",
            Self::Contract => "a contract without a further transfer",
            Self::NoTransfers => "no further transfer that matches",
            Self::LastHop => "last hop",
            Self::Hub => "hub",
            Self::StopList => "stop list",
            Self::ZeroAddress => "mint and burn",
            Self::Limit => "limit reached",
        }
    }

    /// The recommended next query.
    pub const fn next_step(self) -> &'static str {
        match self {
            Self::SilentRoot => "check the address, or ask for other blocks or tokens",
            Self::Contract => {
                "ask for transfers inside transactions: contracts pass coins on without a log"
            }
            Self::NoTransfers => "ask for further blocks or other tokens",
            Self::LastHop => "ask for more hops",
            Self::Hub => "allow more counterparties, or start at the hub",
            Self::StopList => "take the address out of the stop list",
            Self::ZeroAddress => "tokens are minted and burned here",
            Self::Limit => "raise the limit, or ask for less",
        }
    }
}

/// The addresses that are contracts, as far as that was looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contracts {
    known: AddressHashMap<bool>,
}

/// Addresses, and whether each is a contract.
impl FromIterator<(Address, bool)> for Contracts {
    fn from_iter<I: IntoIterator<Item = (Address, bool)>>(known: I) -> Self {
        Self {
            known: known.into_iter().collect(),
        }
    }
}

impl Contracts {
    /// Whether an address is a contract; `None` if it was not looked up.
    pub fn get(&self, address: Address) -> Option<bool> {
        self.known.get(&address).copied()
    }

    /// The number of addresses that were looked up.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nothing was looked up.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// Addresses that were not looked up in a state, because there are too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unchecked {
    /// Roots.
    pub roots: u64,
    /// Addresses at which branches end.
    pub ends: u64,
}

impl Unchecked {
    /// Whether all were looked up.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The branches that end for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchEnd {
    /// The reason.
    pub reason: EndReason,
    /// The number of addresses.
    pub addresses: u64,
    /// How many of them are contracts; `None` if that is not known of every one.
    pub contracts: Option<u64>,
    /// The first of the addresses, in the order of vertices.
    pub first: Vec<Address>,
    /// The recommended next query.
    pub next: String,
}

impl TransferGraph {
    /// Why the branch ends at a vertex; `None` if it goes on.
    pub fn end_reason(&self, vertex: &Vertex, is_contract: Option<bool>) -> Option<EndReason> {
        let leads_nowhere = match self.direction {
            Direction::Out => vertex.out_degree == 0,
            Direction::In => vertex.in_degree == 0,
            // Every vertex has the transfer that led to it.
            Direction::Both => false,
        };
        match vertex.expansion {
            // Nothing was searched.
            _ if self.hops == Some(0) => Some(EndReason::LastHop),
            _ if vertex.hop == 0 && vertex.blocks.is_none() => Some(EndReason::SilentRoot),
            Expansion::Expanded if !leads_nowhere => None,
            // The branch goes on at who gets what is swapped.
            Expansion::Swap => None,
            Expansion::Expanded if is_contract == Some(true) => Some(EndReason::Contract),
            Expansion::Expanded => Some(EndReason::NoTransfers),
            Expansion::LastHop => Some(EndReason::LastHop),
            Expansion::Hub => Some(EndReason::Hub),
            Expansion::StopList => Some(EndReason::StopList),
            Expansion::ZeroAddress => Some(EndReason::ZeroAddress),
            Expansion::Limit => Some(EndReason::Limit),
        }
    }

    /// The vertices at which branches end, with the reasons.
    pub fn ends<'a>(
        &'a self,
        contracts: &'a Contracts,
    ) -> impl Iterator<Item = (&'a Vertex, EndReason)> + 'a {
        self.graph.node_weights().filter_map(|vertex| {
            let reason = self.end_reason(vertex, contracts.get(vertex.address))?;
            Some((vertex, reason))
        })
    }

    /// The ends of all branches by reason, in the order of [`EndReason`].
    pub fn branch_ends(&self, contracts: &Contracts) -> Vec<BranchEnd> {
        let mut ends: Vec<BranchEnd> = Vec::new();
        for (vertex, reason) in self.ends(contracts) {
            let at = match ends.iter().position(|end| end.reason == reason) {
                Some(at) => at,
                None => {
                    ends.push(BranchEnd {
                        reason,
                        addresses: 0,
                        contracts: Some(0),
                        first: Vec::new(),
                        next: reason.next_step().to_owned(),
                    });
                    ends.len() - 1
                }
            };
            let end = &mut ends[at];
            end.addresses += 1;
            end.contracts = match (end.contracts, contracts.get(vertex.address)) {
                (Some(count), Some(is_contract)) => Some(count + u64::from(is_contract)),
                _ => None,
            };
            if end.first.len() < NAMED_MAX {
                end.first.push(vertex.address);
            }
        }
        ends.sort_unstable_by_key(|end| end.reason);
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        SearchRequest, search,
        testing::{MemorySource, address, transfers},
    };

    fn ends(direction: Direction, hops: Option<u32>, contracts: &Contracts) -> Vec<BranchEnd> {
        let source = MemorySource::new(transfers("a>b:1 b>c:2 b>d:3 e>a:4"));
        let blocks = source.available.clone();
        let roots = vec![address("a"), address("x")];
        let request = SearchRequest {
            direction,
            hops,
            ..SearchRequest::new(roots, blocks)
        };
        search(&source, &request).unwrap().branch_ends(contracts)
    }

    fn names(ends: &[BranchEnd]) -> Vec<(EndReason, Vec<Address>)> {
        ends.iter()
            .map(|end| {
                assert_eq!(end.addresses, end.first.len() as u64);
                (end.reason, end.first.clone())
            })
            .collect()
    }

    #[test]
    fn trails_end_without_transfers_and_at_the_last_hop() {
        let unknown = Contracts::default();
        let silent = (EndReason::SilentRoot, vec![address("x")]);
        let mut nowhere = vec![address("c"), address("d")];
        nowhere.sort_unstable();
        let all = ends(Direction::Out, None, &unknown);
        assert_eq!(
            names(&all),
            [silent.clone(), (EndReason::NoTransfers, nowhere)]
        );
        assert_eq!(all[0].contracts, None);
        assert_eq!(
            names(&ends(Direction::Out, Some(1), &unknown)),
            [silent.clone(), (EndReason::LastHop, vec![address("b")])]
        );
        assert_eq!(
            names(&ends(Direction::Out, Some(0), &unknown)),
            [(EndReason::LastHop, vec![address("a"), address("x")])]
        );
        assert_eq!(
            names(&ends(Direction::In, None, &unknown)),
            [silent, (EndReason::NoTransfers, vec![address("e")])]
        );
    }

    /// The largest counterparty of `b` had its transfer before the tokens arrived.
    #[test]
    fn transfers_that_are_left_out_are_a_limit() {
        let source = MemorySource::new(transfers("b>c:5 a>b:1 b>d:1"));
        let request = SearchRequest {
            hops: None,
            time_respecting: true,
            top: Some(1),
            ..SearchRequest::new(vec![address("a")], source.available.clone())
        };
        let graph = search(&source, &request).unwrap();
        let ends = graph.branch_ends(&Contracts::default());
        assert_eq!(names(&ends), [(EndReason::Limit, vec![address("b")])]);
        let nothing = SearchRequest {
            top: Some(0),
            ..request
        };
        let error = search(&source, &nothing).unwrap_err().to_string();
        assert!(error.contains("at least the largest"), "{error}");
    }

    #[test]
    fn contracts_are_an_end_of_their_own() {
        let known = ["a", "b", "c", "d", "x"].map(|name| (address(name), name == "c"));
        let contracts: Contracts = known.into_iter().collect();
        let all = ends(Direction::Out, None, &contracts);
        assert_eq!(
            names(&all),
            [
                (EndReason::SilentRoot, vec![address("x")]),
                (EndReason::Contract, vec![address("c")]),
                (EndReason::NoTransfers, vec![address("d")]),
            ]
        );
        let counts: Vec<_> = all.iter().map(|end| end.contracts).collect();
        assert_eq!(counts, [Some(0), Some(1), Some(0)]);
        // The root `e` of the other direction was not looked up.
        let before = ends(Direction::In, None, &contracts);
        assert_eq!(before[1].contracts, None);
    }
}
