//! Descriptions of questions, for the metadata of their answers: by what they mean, and not as they
//! were written, so that a program, the command line and a cluster have the same.

use super::{Analyze, Measure, SearchOptions, Transfers};
use crate::{Hops, Selection};
use alloy_primitives::{Address, keccak256};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use txgraph_analysis::PairOrder;
use txgraph_transfers::{Direction, TokenFilter, WrappedNative};

/// Addresses of one option that are listed.
const LISTED_MAX: usize = 100;

/// A question by name and options, in the words of [`text`](crate::text).
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "export"),
    expect(dead_code, reason = "goes into files only")
)]
pub(crate) struct Description {
    pub(crate) command: &'static str,
    pub(crate) options: Map<String, Value>,
}

impl Description {
    pub(crate) fn transfers(question: &Transfers<'_>) -> Self {
        let mut options = selection(&question.selection);
        if let Some(touching) = &question.touching {
            options.insert("address".into(), addresses(touching.addresses.iter()));
            if touching.direction != Direction::Both {
                options.insert("direction".into(), json!(touching.direction));
            }
        }
        if !question.transactions.is_empty() {
            let places = question.transactions.iter();
            let places = places.map(|(block, index)| format!("{block}:{index}"));
            options.insert("tx".into(), places.collect());
        }
        Self::new("transfers", options)
    }

    pub(crate) fn search(options: &SearchOptions) -> Self {
        Self::new("graph", search(options))
    }

    pub(crate) fn analyze(question: &Analyze<'_>) -> Self {
        let mut options = match question.search.roots.is_empty() {
            true => selection(&question.search.selection),
            false => search(&question.search),
        };
        options.insert("measure".into(), json!(question.measure.as_str()));
        if let Some(top) = question.top {
            options.insert("top".into(), json!(top));
        }
        if question.measure == Measure::Pairs && question.order != PairOrder::Amount {
            options.insert("order".into(), json!(question.order));
        }
        if question.measure == Measure::Trace {
            options.insert("method".into(), json!(question.method.as_str()));
        }
        Self::new("analyze", options)
    }

    fn new(command: &'static str, mut options: Map<String, Value>) -> Self {
        options.sort_keys();
        Self { command, options }
    }
}

#[cfg(feature = "export")]
impl Description {
    /// The metadata of an answer: the question, the chain, and what was read.
    pub(crate) fn metadata(
        &self,
        chain: &txgraph_transfers::ChainInfo,
        blocks: &txgraph_transfers::BlockRanges,
        scan: &txgraph_transfers::ScanReport,
    ) -> txgraph_export::Metadata {
        let question = Value::Object(self.options.clone());
        let mut metadata = txgraph_export::Metadata::new(self.command, question);
        metadata.chain = Some(chain.clone());
        metadata.requested = blocks.clone();
        metadata.scan = scan.clone();
        metadata
    }
}

/// Addresses in ascending order. Of many, as in a list of names, the number and the Keccak-256 of
/// all of them.
fn addresses<'a>(addresses: impl Iterator<Item = &'a Address>) -> Value {
    let all: BTreeSet<Address> = addresses.copied().collect();
    if all.len() <= LISTED_MAX {
        return all.iter().map(|address| format!("{address:#x}")).collect();
    }
    let bytes: Vec<u8> = all.iter().flat_map(|address| address.0.0).collect();
    json!({ "addresses": all.len(), "keccak256": keccak256(bytes) })
}

fn selection(selection: &Selection) -> Map<String, Value> {
    let mut options = Map::new();
    let mut set = |key: &str, value: Value| drop(options.insert(key.to_owned(), value));
    let Selection {
        blocks,
        tokens,
        min_value,
        amounts,
        standards,
        kinds,
        wrapped_native,
        internal,
        allow_partial,
    } = selection;
    if !blocks.is_empty() {
        set("blocks", blocks.iter().map(ToString::to_string).collect());
    }
    if let TokenFilter::Only { tokens, native } = tokens {
        let mut words: Vec<_> = tokens.iter().map(|token| format!("{token:#x}")).collect();
        words.sort();
        words.extend(native.then(|| "native".to_owned()));
        set("token", words.into());
    }
    if !min_value.is_zero() {
        set("min-value", json!(min_value.to_string()));
    }
    if !amounts.min_values().is_empty() {
        let word = |token: &Option<Address>| match token {
            Some(token) => format!("{token:#x}"),
            None => "native".to_owned(),
        };
        let pairs = amounts.min_values().iter();
        let pairs = pairs.map(|(token, least)| (word(token), json!(least.to_string())));
        set("min-values", pairs.collect::<Map<_, _>>().into());
    }
    if !amounts.token_ids().is_empty() {
        let ids = amounts.token_ids().iter().map(ToString::to_string);
        set("token-id", ids.collect());
    }
    if !standards.is_empty() {
        set(
            "standard",
            standards.iter().map(|word| word.as_str()).collect(),
        );
    }
    if !kinds.is_empty() {
        set("kind", kinds.iter().map(|word| word.as_str()).collect());
    }
    match wrapped_native {
        WrappedNative::Auto => {}
        WrappedNative::Any => set("wrapped-native", json!(["any"])),
        WrappedNative::None => set("wrapped-native", json!(["none"])),
        WrappedNative::Only(contracts) => set("wrapped-native", addresses(contracts.iter())),
    }
    for (key, flag) in [
        ("with-internal", internal),
        ("allow-partial", allow_partial),
    ] {
        if *flag {
            set(key, json!(true));
        }
    }
    options
}

fn search(search: &SearchOptions) -> Map<String, Value> {
    let mut options = selection(&search.selection);
    let mut set = |key: &str, value: Value| drop(options.insert(key.to_owned(), value));
    let roots = search.roots.iter().map(|root| format!("{root:#x}"));
    set("root", roots.collect());
    match search.hops {
        Hops::Number(1) => {}
        Hops::Number(number) => set("hops", json!(number)),
        Hops::All => set("hops", json!("all")),
    }
    if search.direction != Direction::Out {
        set("direction", json!(search.direction));
    }
    for (key, limit) in [
        ("max-degree", search.max_degree.map(u64::from)),
        ("top", search.top.map(u64::from)),
        ("max-vertices", search.max_vertices),
        ("max-edges", search.max_edges),
    ] {
        if let Some(limit) = limit {
            set(key, json!(limit));
        }
    }
    if !search.stop_at.is_empty() {
        set("stop-at", addresses(search.stop_at.iter()));
    }
    for (key, flag) in [
        ("time-respecting", search.time_respecting),
        ("expand-zero", search.expand_zero),
    ] {
        if flag {
            set(key, json!(true));
        }
    }
    options
}
