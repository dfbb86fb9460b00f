//! The events that grant approvals, and the calls that ask what is left of them.
//!
//! [EIP-20](https://eips.ethereum.org/EIPS/eip-20), [EIP-721](https://eips.ethereum.org/EIPS/eip-721),
//! [EIP-1155](https://eips.ethereum.org/EIPS/eip-1155), and Uniswap's
//! [Permit2](https://github.com/Uniswap/permit2/blob/main/src/interfaces/IAllowanceTransfer.sol).

use crate::LogFilter;
use alloy_primitives::{Address, B256, Log, U256, address, keccak256};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use txgraph_base::string_enum;
use txgraph_transfers::{TokenFilter, TokenStandard, TransferFilter};

/// Permit2 has the same address on every chain.
const PERMIT2: Address = address!("0x000000000022d473030f116ddee9f6b43ac78ba3");

string_enum! {
    /// The kind of an approval.
    pub enum ApprovalKind: "approval" {
        /// An amount of an ERC-20 token.
        Allowance = "allowance",
        /// An amount of an ERC-20 token, with an expiration, through Permit2.
        Permit2 = "permit2",
        /// One item of an ERC-721 token.
        Item = "item",
        /// All items of an ERC-721 or ERC-1155 token.
        Operator = "operator",
    }
}

impl ApprovalKind {
    /// Whether an amount is no limit in practice: from 2^255 on, of Permit2 from 2^159 on, and all
    /// items.
    pub fn is_unlimited(self, amount: U256) -> bool {
        match self {
            Self::Allowance => amount.bit_len() > 255,
            Self::Permit2 => amount.bit_len() > 159,
            Self::Item => false,
            Self::Operator => !amount.is_zero(),
        }
    }
}

/// An approval as an event states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GrantedApproval {
    /// The kind.
    pub kind: ApprovalKind,
    /// The token.
    #[serde(rename = "token_address")]
    pub token: Address,
    /// The id, of a single item.
    #[serde(serialize_with = "as_text")]
    pub token_id: Option<U256>,
    /// Whose tokens may be taken.
    pub owner: Address,
    /// Who may take them.
    pub spender: Address,
    /// How much, in the smallest unit; of an operator or an item 1. Zero: the approval was revoked.
    #[serde(serialize_with = "as_text")]
    pub amount: Option<U256>,
}

fn as_text<S: Serializer>(number: &Option<U256>, serializer: S) -> Result<S::Ok, S::Error> {
    number
        .map(|number| number.to_string())
        .serialize(serializer)
}

/// Reads the approvals from logs.
pub(in crate::query::replay) fn granted_by<'a>(
    logs: impl IntoIterator<Item = &'a Log>,
) -> Vec<GrantedApproval> {
    let approvals = logs.into_iter().filter_map(|log| {
        let it = granted(log)?;
        let word = log.data.data.first_chunk::<32>();
        let word = word.map(|word| U256::from_be_bytes(*word));
        Some(GrantedApproval {
            kind: it.kind,
            token: it.token,
            token_id: it.token_id,
            owner: it.owner,
            spender: it.spender,
            amount: match it.kind {
                ApprovalKind::Item => Some(U256::from(u8::from(!it.spender.is_zero()))),
                _ => word,
            },
        })
    });
    approvals.collect()
}

/// An approval that was granted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Granted {
    pub(super) token: Address,
    pub(super) kind: ApprovalKind,
    pub(super) spender: Address,
    pub(super) owner: Address,
    pub(super) token_id: Option<U256>,
}

/// Block, time, and hash of the transaction of an event.
pub(super) type Place = (u64, u64, B256);

/// `Approval` of ERC-20 and ERC-721.
const APPROVAL: &str = "Approval(address,address,uint256)";
const APPROVAL_FOR_ALL: &str = "ApprovalForAll(address,address,bool)";
/// `Approval` and `Permit` of Permit2.
const PERMIT2_EVENTS: [&str; 2] = [
    "Approval(address,address,address,uint160,uint48)",
    "Permit(address,address,address,uint160,uint48,uint48)",
];

fn topic(signature: &str) -> B256 {
    keccak256(signature)
}

/// The logs of approvals by an owner, or to a spender, of some tokens, or of all if there are none.
pub(super) fn filters(
    address: Address,
    is_spender: bool,
    tokens: &BTreeSet<Address>,
) -> Vec<LogFilter> {
    let own = vec![address.into_word()];
    let of_tokens = vec![topic(APPROVAL), topic(APPROVAL_FOR_ALL)];
    let of_permit2 = PERMIT2_EVENTS.map(topic).to_vec();
    let (owner, spender) = match is_spender {
        false => (own, vec![]),
        true => (vec![], own),
    };
    vec![
        LogFilter {
            addresses: tokens.iter().copied().collect(),
            topics: [of_tokens, owner.clone(), spender.clone(), vec![]],
        },
        LogFilter {
            addresses: vec![PERMIT2],
            topics: [
                of_permit2,
                owner,
                tokens.iter().map(|token| token.into_word()).collect(),
                spender,
            ],
        },
    ]
}

/// The logs of all approvals of ERC-20 tokens that a filter of transfers wants; `None` if it wants
/// none of them.
pub(super) fn token_approvals(filter: &TransferFilter) -> Option<LogFilter> {
    let standards = &filter.standards;
    if !standards.is_empty() && !standards.contains(&TokenStandard::Erc20) {
        return None;
    }
    let addresses = match &filter.tokens {
        TokenFilter::All => Vec::new(),
        TokenFilter::Only { tokens, .. } if tokens.is_empty() => return None,
        TokenFilter::Only { tokens, .. } => tokens.iter().copied().chain([PERMIT2]).collect(),
    };
    let names = [[topic(APPROVAL)].as_slice(), &PERMIT2_EVENTS.map(topic)].concat();
    Some(LogFilter {
        addresses,
        topics: [names, vec![], vec![], vec![]],
    })
}

/// Reads an approval from a log; `None` if the log has another form. Revocations are approvals, too:
/// the state shows that nothing is left.
pub(super) fn granted(log: &Log) -> Option<Granted> {
    let topics = log.topics();
    let at = |index: usize| topics.get(index).map(|topic| Address::from_word(*topic));
    let name = *topics.first()?;
    let is_permit2 = log.address == PERMIT2 && PERMIT2_EVENTS.map(topic).contains(&name);
    let (kind, token, spender, token_id) = if is_permit2 {
        (ApprovalKind::Permit2, at(2)?, at(3)?, None)
    } else if name == topic(APPROVAL_FOR_ALL) {
        (ApprovalKind::Operator, log.address, at(2)?, None)
    } else if name != topic(APPROVAL) {
        return None;
    } else {
        match topics.get(3) {
            None => (ApprovalKind::Allowance, log.address, at(2)?, None),
            Some(id) => (ApprovalKind::Item, log.address, at(2)?, Some(*id)),
        }
    };
    Some(Granted {
        token,
        kind,
        spender,
        owner: at(1)?,
        token_id: token_id.map(|id| U256::from_be_bytes(id.0)),
    })
}

impl Granted {
    /// The contract that says what is left, and the calldata; of an item, also the call that says who
    /// has it.
    pub(super) fn queries(&self) -> Vec<(Address, Vec<u8>)> {
        let call = |signature: &str, words: &[B256]| {
            let mut input = keccak256(signature)[..4].to_vec();
            words
                .iter()
                .for_each(|word| input.extend_from_slice(word.as_slice()));
            input
        };
        let [owner, spender, token] =
            [self.owner, self.spender, self.token].map(|address| address.into_word());
        match self.kind {
            ApprovalKind::Allowance => vec![(
                self.token,
                call("allowance(address,address)", &[owner, spender]),
            )],
            ApprovalKind::Permit2 => {
                let signature = "allowance(address,address,address)";
                vec![(PERMIT2, call(signature, &[owner, token, spender]))]
            }
            ApprovalKind::Operator => {
                let signature = "isApprovedForAll(address,address)";
                vec![(self.token, call(signature, &[owner, spender]))]
            }
            ApprovalKind::Item => {
                let id = B256::from(self.token_id.unwrap_or_default());
                let calls = ["getApproved(uint256)", "ownerOf(uint256)"];
                let calls = calls.map(|signature| (self.token, call(signature, &[id])));
                calls.into()
            }
        }
    }

    /// The amount that is left, and until when, by the words that the contract returned to each of the
    /// [queries](Self::queries). No amount: it does not answer.
    pub(super) fn left(&self, answers: &[Option<Vec<U256>>]) -> (Option<U256>, Option<u64>) {
        let Some(Some(words)) = answers.first() else {
            // There is no approval of an item that was burnt.
            let closed = self.kind == ApprovalKind::Item;
            return (closed.then_some(U256::ZERO), None);
        };
        let Some(first) = words.first() else {
            // There is no code any more.
            return (Some(U256::ZERO), None);
        };
        let one = |is: bool| Some(U256::from(u8::from(is)));
        match self.kind {
            ApprovalKind::Allowance => (Some(*first), None),
            ApprovalKind::Permit2 => (
                Some(*first),
                words.get(1).map(|expires| expires.saturating_to()),
            ),
            ApprovalKind::Operator => (one(!first.is_zero()), None),
            ApprovalKind::Item => {
                let [owner, spender] = [self.owner, self.spender]
                    .map(|address| U256::from_be_bytes(address.into_word().0));
                // A later owner can have approved the same spender.
                let has_it = match answers.get(1) {
                    Some(Some(words)) => words.first() == Some(&owner),
                    _ => true,
                };
                (one(*first == spender && !first.is_zero() && has_it), None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Address = Address::repeat_byte(1);
    const SPENDER: Address = Address::repeat_byte(2);
    const TOKEN: Address = Address::repeat_byte(3);

    fn log(address: Address, signature: &str, topics: &[B256]) -> Log {
        let topics = [&[topic(signature)], topics].concat();
        Log::new_unchecked(address, topics, Vec::new().into())
    }

    #[test]
    fn names_are_those_of_the_contracts() {
        let first = |signature: &str| topic(signature).to_string()[..10].to_owned();
        assert_eq!(first(APPROVAL), "0x8c5be1e5");
        assert_eq!(first(APPROVAL_FOR_ALL), "0x17307eab");
        assert_eq!(PERMIT2_EVENTS.map(first), ["0xda9fa7c1", "0xc6a377bf"]);
    }

    #[test]
    fn each_kind_has_its_event_and_its_call() {
        let [owner, spender, token] = [OWNER, SPENDER, TOKEN].map(|it| it.into_word());
        let id = B256::with_last_byte(7);
        let cases = [
            (
                log(TOKEN, APPROVAL, &[owner, spender]),
                ApprovalKind::Allowance,
                "dd62ed3e",
            ),
            (
                log(TOKEN, APPROVAL, &[owner, spender, id]),
                ApprovalKind::Item,
                "081812fc",
            ),
            (
                log(TOKEN, APPROVAL_FOR_ALL, &[owner, spender]),
                ApprovalKind::Operator,
                "e985e9c5",
            ),
            (
                log(PERMIT2, PERMIT2_EVENTS[0], &[owner, token, spender]),
                ApprovalKind::Permit2,
                "927da105",
            ),
            (
                log(PERMIT2, PERMIT2_EVENTS[1], &[owner, token, spender]),
                ApprovalKind::Permit2,
                "927da105",
            ),
        ];
        for (log, kind, selector) in cases {
            let found = granted(&log).unwrap();
            let expected = (kind, TOKEN, OWNER, SPENDER);
            assert_eq!(
                (found.kind, found.token, found.owner, found.spender),
                expected
            );
            let queries = found.queries();
            assert_eq!(
                queries.len(),
                if kind == ApprovalKind::Item { 2 } else { 1 }
            );
            let (to, input) = &queries[0];
            assert_eq!(
                *to,
                if kind == ApprovalKind::Permit2 {
                    PERMIT2
                } else {
                    TOKEN
                }
            );
            assert_eq!(alloy_primitives::hex::encode(&input[..4]), selector);
            assert_eq!(input.len() % 32, 4);
        }
        let other = "Transfer(address,address,uint256)";
        assert_eq!(granted(&log(TOKEN, other, &[owner, spender])), None);
        // Only Permit2 speaks for other tokens.
        let foreign = log(TOKEN, PERMIT2_EVENTS[0], &[owner, token, spender]);
        assert_eq!(granted(&foreign), None);
        // Tokens that do not index the owner.
        assert_eq!(granted(&log(TOKEN, APPROVAL, &[])), None);
    }

    #[test]
    fn words_say_what_is_left() {
        let of = |kind| Granted {
            token: TOKEN,
            kind,
            spender: SPENDER,
            owner: OWNER,
            token_id: None,
        };
        let word = U256::from;
        let spender = U256::from_be_bytes(SPENDER.into_word().0);
        let left = |kind, words: &[U256]| of(kind).left(&[Some(words.to_vec())]);
        use ApprovalKind::{Allowance, Item, Operator, Permit2};
        assert_eq!(left(Allowance, &[word(5)]), (Some(word(5)), None));
        assert_eq!(
            left(Permit2, &[word(5), word(9), word(0)]),
            (Some(word(5)), Some(9))
        );
        assert_eq!(left(Operator, &[word(1)]).0, Some(word(1)));
        assert_eq!(left(Item, &[spender]).0, Some(word(1)));
        assert_eq!(left(Item, &[word(3)]).0, Some(U256::ZERO));
        // No code, and no answer: an item that was burnt, or a token that fails.
        for kind in [Allowance, Permit2, Operator, Item] {
            assert_eq!(left(kind, &[]).0, Some(U256::ZERO));
        }
        assert_eq!(of(Item).left(&[None]).0, Some(U256::ZERO));
        assert_eq!(of(Allowance).left(&[None]).0, None);
        // Another owner has the item, and has approved the same spender.
        let answers = |owner: Address| [spender, U256::from_be_bytes(owner.into_word().0)];
        let left = |owner| of(Item).left(&answers(owner).map(|word| Some(vec![word])));
        assert_eq!(left(OWNER).0, Some(word(1)));
        assert_eq!(left(TOKEN).0, Some(U256::ZERO));
    }
}
