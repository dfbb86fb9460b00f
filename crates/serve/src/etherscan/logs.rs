//! `logs`: events by contract and topics.

use super::{
    query::Query,
    reply::{PageRows, Reply},
};
use crate::{
    ask::{Ask, parse_hash},
    fault::{Answer, Fault},
    json::{address, data, log_bytes, quantity},
};
use alloy_primitives::B256;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use txgraph::{LogFilter, NodeLog};

/// Rows of a page, if the query names no number.
const ROWS: u64 = 1000;

pub(super) fn logs(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    const NONE: &str = "No records found";
    let page = query.page(ROWS)?;
    let wanted = Wanted::of(query)?;
    let filter = LogFilter {
        addresses: query.optional_address("address")?.into_iter().collect(),
        topics: wanted.of_all(),
    };
    let Some((first, last)) = query.blocks(ask, ["fromblock", "toblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NONE));
    };
    let blocks = Ask::range(first, last)?;
    let mut rows = PageRows::new(page);
    ask.source.logs(blocks, &filter, |log| {
        match wanted.matches(log.log.topics()) {
            true => rows.add(ask, log_bytes(&log), || Ok(row(&log))),
            false => Ok(ControlFlow::Continue(())),
        }
    })?;
    Ok(Reply::Rows(rows.finish()?, NONE))
}

fn row(it: &NodeLog) -> Value {
    json!({
        "address": address(it.log.address),
        "topics": it.log.topics().iter().map(data).collect::<Vec<_>>(),
        "data": data(&it.log.data.data),
        "blockNumber": quantity(it.block),
        "blockHash": data(it.block_hash),
        "timeStamp": quantity(it.timestamp),
        "gasPrice": quantity(it.gas_price),
        "gasUsed": quantity(it.gas_used),
        "logIndex": quantity(it.log_index),
        "transactionHash": data(it.transaction_hash),
        "transactionIndex": quantity(it.transaction_index),
    })
}

/// The topics that a log must have.
#[derive(Debug)]
enum Wanted {
    /// This one at this place.
    Topic(usize, B256),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// The places of topics that are joined by `or`, the lower one first.
type Or = [(usize, usize)];

impl Wanted {
    fn of(query: &Query) -> Answer<Self> {
        let mut topics = Vec::new();
        let mut or = Vec::new();
        for at in 0..4 {
            let name = format!("topic{at}");
            if let Some(text) = query.get(&name) {
                let wrong = || Fault::Params(format!("Error! Invalid {name} format"));
                topics.push((at, parse_hash(text).ok_or_else(wrong)?));
            }
            for before in 0..at {
                let name = format!("topic{before}_{at}_opr");
                let is_or = match query.get(&name).map(str::to_ascii_lowercase).as_deref() {
                    None | Some("and") => false,
                    Some("or") => true,
                    Some(_) => return Err(Fault::Params(format!("Error! Invalid {name}"))),
                };
                if is_or {
                    or.push((before, at));
                }
            }
        }
        Self::joined(&topics, &or).ok_or_else(|| {
            Fault::Params(
                "Error! The operators between the topics contradict each other".to_owned(),
            )
        })
    }

    /// Groups topics by their operators: all groups between which there is only `and`, or any of the
    /// groups between which there is only `or`. `None` if there are no such groups.
    fn joined(topics: &[(usize, B256)], or: &Or) -> Option<Self> {
        if let [(at, topic)] = topics {
            return Some(Self::Topic(*at, *topic));
        }
        for is_or in [true, false] {
            let groups = groups(topics, |a, b| or.contains(&(a.min(b), a.max(b))) == is_or);
            if groups.len() != 1 {
                let groups = groups.iter().map(|it| Self::joined(it, or));
                let groups = groups.collect::<Option<_>>()?;
                return Some(match is_or {
                    true => Self::All(groups),
                    false => Self::Any(groups),
                });
            }
        }
        None
    }

    /// The topics that every wanted log has.
    fn of_all(&self) -> [Vec<B256>; 4] {
        let parts = match self {
            Self::All(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut all: [Vec<B256>; 4] = Default::default();
        for part in parts {
            if let Self::Topic(at, topic) = part {
                all[*at].push(*topic);
            }
        }
        all
    }

    /// Whether a log is wanted.
    fn matches(&self, topics: &[B256]) -> bool {
        match self {
            Self::Topic(at, topic) => topics.get(*at) == Some(topic),
            Self::All(parts) => parts.iter().all(|part| part.matches(topics)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(topics)),
        }
    }
}

/// Topics in groups. No topics of two groups are joined.
fn groups(
    topics: &[(usize, B256)],
    joined: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<(usize, B256)>> {
    let mut groups: Vec<Vec<_>> = Vec::new();
    for topic in topics {
        let (mut own, others): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.iter().any(|(at, _)| joined(*at, topic.0)));
        own.push(vec![*topic]);
        groups = others;
        groups.push(own.concat());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Wanted {
        Wanted::of(&Query::parse(text, b"")).unwrap()
    }

    #[test]
    fn topics_are_joined_by_operators() {
        let [a, b, c] = [1, 2, 3].map(B256::repeat_byte);
        let both = format!("topic0={a}&topic1={b}");
        let and = parse(&format!("{both}&topic0_1_opr=and"));
        assert!(and.matches(&[a, b]) && !and.matches(&[a, a]));
        assert_eq!(and.of_all()[1], [b]);
        let or = parse(&format!("{both}&topic0_1_opr=OR"));
        assert!(or.matches(&[a]) && or.matches(&[b, b]) && !or.matches(&[b, a]));
        assert!(or.of_all().iter().all(Vec::is_empty));
        assert!(parse("").matches(&[]));
        assert!(Wanted::of(&Query::parse("topic0=0x12", b"")).is_err());
        // The first, and one of the others.
        let mixed = parse(&format!("{both}&topic2={c}&topic1_2_opr=or"));
        assert!(mixed.matches(&[a, b]) && mixed.matches(&[a, a, c]));
        assert!(!mixed.matches(&[b, b, c]) && !mixed.matches(&[a, a]));
        assert_eq!(mixed.of_all()[0], [a]);
    }

    /// All operators between two to four topics. The twin: a log is wanted if it has all topics of a
    /// largest set of which each two are joined by `and`.
    #[test]
    fn operators_are_those_of_a_naive_twin() {
        let topic = B256::repeat_byte(1);
        for places in 1_usize..16 {
            let given: Vec<usize> = (0..4).filter(|at| places >> at & 1 == 1).collect();
            let pairs = |set: usize| {
                let within = move |at: &usize| set >> at & 1 == 1;
                let firsts = (0..4).filter(within);
                firsts.flat_map(move |a| (a + 1..4).filter(within).map(move |b| (a, b)))
            };
            let all: Vec<_> = pairs(places).collect();
            for operators in 0_usize..1 << all.len() {
                let is_or = |pair: &(usize, usize)| {
                    let at = all.iter().position(|it| it == pair).unwrap();
                    operators >> at & 1 == 1
                };
                let mut query: String = given
                    .iter()
                    .map(|at| format!("topic{at}={topic}&"))
                    .collect();
                for pair in all.iter().filter(|pair| is_or(pair)) {
                    query += &format!("topic{}_{}_opr=or&", pair.0, pair.1);
                }
                let parsed = Wanted::of(&Query::parse(&query, b""));
                // Four topics in a row, each joined with the next one only.
                let mut degrees = given.clone();
                for degree in &mut degrees {
                    let at = *degree;
                    let own = all.iter().filter(|(a, b)| at == *a || at == *b);
                    *degree = own.filter(|pair| is_or(pair)).count();
                }
                degrees.sort_unstable();
                assert_eq!(parsed.is_err(), degrees == [1, 1, 2, 2], "{query}");
                let Ok(parsed) = parsed else { continue };
                let sets = (1..16).filter(|set| set & !places == 0);
                let cliques = sets.filter(|set| pairs(*set).all(|pair| !is_or(&pair)));
                let cliques: Vec<usize> = cliques.collect();
                let is_largest = |set: &&usize| {
                    let mut others = cliques.iter();
                    !others.any(|other| other != *set && other & **set == **set)
                };
                for has in 0..16 {
                    let mut largest = cliques.iter().filter(is_largest);
                    let expected = largest.any(|set| has & set == *set);
                    let log = [0, 1, 2, 3].map(|at| match has >> at & 1 {
                        1 => topic,
                        _ => B256::ZERO,
                    });
                    assert_eq!(parsed.matches(&log), expected, "{query} {has:b}");
                    let sure = (parsed.of_all().iter().zip(&log))
                        .all(|(wanted, topic)| wanted.iter().all(|it| it == topic));
                    assert!(sure || !expected, "{query} {has:b}");
                }
            }
        }
    }
}
