//! `logs`: events by contract and topics.

use super::{
    query::Query,
    reply::{PageRows, Reply},
};
use crate::{
    ask::Ask,
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
    let topics = Topics::of(query)?;
    let filter = LogFilter {
        addresses: query.optional_address("address")?.into_iter().collect(),
        topics: topics.all_of(),
    };
    let Some((first, last)) = query.blocks(ask, ["fromblock", "toblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NONE));
    };
    let blocks = Ask::range(first, last)?;
    let mut rows = PageRows::new(page);
    ask.source.logs(blocks, &filter, |log| {
        match topics.match_log(log.log.topics()) {
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

/// Wanted topics, and how each is joined with those before it.
#[derive(Debug, Default)]
struct Topics {
    wanted: [Option<B256>; 4],
    /// Whether a topic or those before it suffice.
    or: [bool; 4],
}

impl Topics {
    fn of(query: &Query) -> Answer<Self> {
        let mut topics = Self::default();
        for at in 0..4 {
            let name = format!("topic{at}");
            topics.wanted[at] = match query.get(&name) {
                None => None,
                Some(text) => match text.parse() {
                    Ok(topic) if text.len() == 66 => Some(topic),
                    _ => return Err(Fault::Params(format!("Error! Invalid {name} format"))),
                },
            };
            for before in 0..at {
                let name = format!("topic{before}_{at}_opr");
                topics.or[at] |= match query.get(&name).map(str::to_ascii_lowercase).as_deref() {
                    None | Some("and") => false,
                    Some("or") => true,
                    Some(_) => return Err(Fault::Params(format!("Error! Invalid {name}"))),
                };
            }
        }
        Ok(topics)
    }

    /// The topics that every wanted log has.
    fn all_of(&self) -> [Vec<B256>; 4] {
        match self.or.contains(&true) {
            true => Default::default(),
            false => self.wanted.map(|topic| topic.into_iter().collect()),
        }
    }

    /// Whether a log is wanted.
    fn match_log(&self, topics: &[B256]) -> bool {
        let mut matches = None;
        for (at, wanted) in self.wanted.iter().enumerate() {
            let Some(wanted) = wanted else { continue };
            let has = topics.get(at) == Some(wanted);
            matches = Some(match matches {
                None => has,
                Some(before) if self.or[at] => before || has,
                Some(before) => before && has,
            });
        }
        matches.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_joined_by_operators() {
        let [a, b] = [1, 2].map(B256::repeat_byte);
        let both = format!("topic0={a}&topic1={b}");
        let parse = |text: &str| Topics::of(&Query::parse(text, b"")).unwrap();
        let and = parse(&format!("{both}&topic0_1_opr=and"));
        assert!(and.match_log(&[a, b]) && !and.match_log(&[a, a]));
        assert_eq!(and.all_of()[1], [b]);
        let or = parse(&format!("{both}&topic0_1_opr=OR"));
        assert!(or.match_log(&[a]) && or.match_log(&[b, b]) && !or.match_log(&[b, a]));
        assert!(or.all_of().iter().all(Vec::is_empty));
        assert!(parse("").match_log(&[]));
        assert!(Topics::of(&Query::parse("topic0=0x12", b"")).is_err());
    }
}
