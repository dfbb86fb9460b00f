//! Descriptions of questions, for the metadata of their answers: by what they mean, and not as they
//! were written, so that a program, the command line and a cluster have the same.

use super::{Analyze, Measure, SearchOptions, Transfers};
use crate::{
    Result,
    options::{Options, addresses, given},
};
use serde_json::json;
use txgraph_analysis::PairOrder;
use txgraph_transfers::Direction;

/// A question by name and options, in the words of [`text`](crate::text).
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "export"),
    expect(dead_code, reason = "goes into files only")
)]
pub(crate) struct Description {
    pub(crate) command: &'static str,
    pub(crate) options: Options,
}

impl Description {
    pub(crate) fn transfers(question: &Transfers<'_>) -> Result<Self> {
        let mut options = given(&question.selection)?;
        if let Some(touching) = &question.touching {
            options.insert("address".into(), addresses(&touching.addresses));
            if touching.direction != Direction::Both {
                options.insert("direction".into(), json!(touching.direction));
            }
        }
        if !question.transactions.is_empty() {
            let places = question.transactions.iter();
            let places = places.map(|(block, index)| format!("{block}:{index}"));
            options.insert("tx".into(), places.collect());
        }
        Ok(Self::new("transfers", options))
    }

    pub(crate) fn search(options: &SearchOptions) -> Result<Self> {
        Ok(Self::new("graph", given(options)?))
    }

    pub(crate) fn analyze(question: &Analyze<'_>) -> Result<Self> {
        let mut options = given(&question.search)?;
        options.insert("measure".into(), json!(question.measure));
        if let Some(top) = question.top {
            options.insert("top".into(), json!(top));
        }
        if question.measure == Measure::Pairs && question.order != PairOrder::Amount {
            options.insert("order".into(), json!(question.order));
        }
        if question.measure == Measure::Trace {
            options.insert("method".into(), json!(question.method));
        }
        Ok(Self::new("analyze", options))
    }

    fn new(command: &'static str, mut options: Options) -> Self {
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
        let question = self.options.clone().into();
        let mut metadata = txgraph_export::Metadata::new(self.command, question);
        metadata.chain = Some(chain.clone());
        metadata.requested = blocks.clone();
        metadata.scan = scan.clone();
        metadata
    }
}
