//! Addresses, tokens and transfers with their names, as JSON.

use super::query::{Found, Query, hex};
use crate::{
    fault::{Answer, Fault},
    json::{address, data},
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use txgraph::{
    Address, AmountSum, Asset, BlockRange, BlockTime, COIN_DECIMALS, Category, ErrorKind, LabelSet,
    TokenList, TokenNames, Transfer, number, printable,
};

/// Tokens that one answer asks for their names.
const TOKENS_MAX: usize = 500;

/// Addresses of one answer that are looked up in the state.
const ADDRESSES_MAX: usize = 20_000;

/// The id of the native coin among tokens.
const NATIVE: &str = "native";

/// The id of a token; `None` is the native coin.
pub(super) fn token_id(token: Option<Address>) -> String {
    token.map_or(NATIVE.to_owned(), hex)
}

/// The label of an address; `null` without one.
pub(super) fn label(query: &Query<'_>, of: Address) -> Value {
    label_of(&query.ask.names.labels.get(of))
}

/// The first label with a name.
pub(super) fn label_of(labels: &LabelSet) -> Value {
    let Some(name) = labels.name() else {
        return Value::Null;
    };
    let text = |text: Option<&str>| {
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| printable(text).into_owned())
    };
    json!({
        "name": printable(name),
        "category": text(labels.category()),
        "kind": labels.kind().map(Category::as_str),
        "source": text(labels.source()),
    })
}

/// The labels of those addresses that have one, by address.
pub(super) fn labels(query: &Query<'_>, of: impl IntoIterator<Item = Address>) -> Value {
    let all: BTreeSet<_> = of.into_iter().collect();
    let mut map = Map::new();
    for of in all {
        let label = label(query, of);
        if !label.is_null() {
            map.insert(hex(of), label);
        }
    }
    map.into()
}

/// The tokens of an answer, by id: symbols and decimals of lists, else what the contracts claim.
pub(super) fn tokens(
    query: &Query<'_>,
    of: impl IntoIterator<Item = Option<Address>>,
    found: &mut Found,
) -> Answer<Value> {
    Ok(listed_tokens(query, of, found)?.1)
}

/// The same, with the list that formats their amounts.
pub(super) fn listed_tokens(
    query: &Query<'_>,
    of: impl IntoIterator<Item = Option<Address>>,
    found: &mut Found,
) -> Answer<(TokenList, Value)> {
    let all: BTreeSet<_> = of.into_iter().collect();
    let source = query.ask.source;
    let chain_id = source.chain()?.chain_id;
    let mut list = query.ask.names.tokens.clone();
    let contracts = all.iter().filter_map(|token| *token).take(TOKENS_MAX);
    let blocks = BlockRange::one(query.ask.tip.number).into();
    let sources = source.name_tokens(&mut list, contracts, &blocks)?;
    if sources.state.is_some_and(|state| state.block.is_none()) {
        found.lacks("tokens that no list has were not asked for their symbols: there is no state");
    }
    if let Some(more @ 1..) = all.len().checked_sub(TOKENS_MAX) {
        let tokens = number(more as u64, "token was", "tokens were");
        found.lacks(format!("{tokens} not asked for their symbols"));
    }
    let mut map = Map::new();
    for token in all {
        let shown = match token {
            None => coin(source.native_symbol()?),
            Some(token) => {
                let known = list.lookup(chain_id, token);
                let symbol = list.symbol(chain_id, token);
                let name = sources.names.get(&token);
                let is_named = symbol.is_some() || name.is_some();
                json!({
                    "address": address(token),
                    "symbol": symbol,
                    "decimals": known.map(|known| known.decimals),
                    "name": name,
                    "is_claim": is_named && list.is_claim(chain_id, token),
                })
            }
        };
        map.insert(token_id(token), shown);
    }
    Ok((list, map.into()))
}

/// The native coin as a token.
fn coin(symbol: &str) -> Value {
    json!({
        "address": null,
        "symbol": symbol,
        "decimals": COIN_DECIMALS,
        "name": null,
        "is_claim": false,
    })
}

/// The names that a contract gives itself; `None` if it does not answer as a token, or there is no state.
pub(super) fn token_names(query: &Query<'_>, token: Address) -> Answer<Option<TokenNames>> {
    match query.ask.source.token(token).run() {
        Ok(names) => Ok(names
            .into_values()
            .next()
            .filter(|names| *names != TokenNames::default())),
        Err(error) if error.kind == ErrorKind::Interrupted => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// Which addresses are contracts, as far as the state shows.
pub(super) struct Contracts(Option<BTreeMap<Address, bool>>);

impl Contracts {
    /// Looks addresses up.
    pub(super) fn read(
        query: &Query<'_>,
        of: impl IntoIterator<Item = Address>,
        found: &mut Found,
    ) -> Answer<Self> {
        let all: BTreeSet<_> = of.into_iter().collect();
        let asked: Vec<_> = all.iter().copied().take(ADDRESSES_MAX).collect();
        let contracts = match query.ask.source.contracts_among(&asked, None) {
            Ok(contracts) => contracts,
            Err(error) if matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Reorged) => {
                return Err(error.into());
            }
            Err(error) => {
                found.lacks(format!(
                    "which are contracts is not known: {}",
                    error.message
                ));
                return Ok(Self(None));
            }
        };
        let Some(contracts) = contracts else {
            found.lacks("which are contracts is not known: there is no state");
            return Ok(Self(None));
        };
        let contracts: BTreeSet<_> = contracts.into_iter().collect();
        let known = asked.into_iter().map(|it| (it, contracts.contains(&it)));
        Ok(Self(Some(known.collect())))
    }

    /// Whether an address is a contract; `None` if that is not known.
    pub(super) fn get(&self, address: Address) -> Option<bool> {
        self.0.as_ref()?.get(&address).copied()
    }
}

fn time(time: Option<BlockTime>) -> Value {
    time.map(BlockTime::seconds).into()
}

/// Where a transfer is.
pub(super) fn position(it: &Transfer) -> Value {
    json!({
        "block": it.block_number,
        "time": time(it.block_timestamp),
        "transaction": it.transaction_hash.map(data),
        "index": it.transaction_index,
    })
}

/// A transfer.
pub(super) fn transfer(it: &Transfer) -> Value {
    json!({
        "block": it.block_number,
        "time": time(it.block_timestamp),
        "transaction": it.transaction_hash.map(data),
        "index": it.transaction_index,
        "log_index": it.log_index,
        "kind": it.kind.as_str(),
        "standard": it.token_standard.as_str(),
        "from": address(it.from_address),
        "to": address(it.to_address),
        "token": token_id(it.token_address),
        "amount": it.value.to_string(),
        "id": it.token_id.map(|id| id.to_string()),
    })
}

/// Transfers, counted as rows of the answer.
pub(super) fn transfers(query: &Query<'_>, all: &[Transfer]) -> Answer<Value> {
    let rows = all.iter().map(|it| {
        query.ask.count(500)?;
        Ok(transfer(it))
    });
    rows.collect::<Answer<Vec<_>>>().map(Value::from)
}

/// All transfers of an asset from one address to another.
pub(super) struct Edge<'a> {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) asset: Asset,
    pub(super) count: u64,
    pub(super) sum: AmountSum,
    pub(super) first: &'a Transfer,
    pub(super) last: &'a Transfer,
}

impl Edge<'_> {
    /// The edge with the names of its ends.
    pub(super) fn value(&self, query: &Query<'_>, contracts: &Contracts) -> Answer<Value> {
        query.ask.count(1_000)?;
        Ok(json!({
            "from": address(self.from),
            "to": address(self.to),
            "token": token_id(self.asset.token_address),
            "kind": self.asset.token_standard.as_str(),
            "count": self.count,
            "amount": self.sum.to_string(),
            "first": position(self.first),
            "last": position(self.last),
            "from_label": label(query, self.from),
            "to_label": label(query, self.to),
            "from_contract": contracts.get(self.from),
            "to_contract": contracts.get(self.to),
        }))
    }
}

/// A part of an answer, or nothing with a note that it is not known. Fails if the request has to end.
pub(super) fn unless_ended<T>(done: Answer<T>, what: &str, found: &mut Found) -> Answer<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Fault::Late) => Err(Fault::Late),
        Err(Fault::Source(error)) if error.kind == ErrorKind::Reorged => Err(Fault::Source(error)),
        Err(fault) => {
            found.lacks(format!("{what} is not known: {}", fault.message()));
            Ok(None)
        }
    }
}
