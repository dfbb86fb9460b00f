//! Queries for measures, as they are written.

use super::{output::Output, search::SearchArgs};
use crate::{
    AnalysisFormat, AnalysisOutput, Error, Hops, Measure, PreparedAnalysis, Result, Source,
    grammar::list,
};
use serde::{Deserialize, Serialize};
use txgraph_analysis::{PairOrder, TaintMethod};

/// Query: a measure of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct AnalyzeQuery {
    /// The measure.
    pub measure: Measure,
    /// The search for the graph. Without roots: all transfers that match the selection.
    #[serde(flatten)]
    pub search: SearchArgs,
    /// The number of rows of a ranking; absent: 20 in human-readable tables, all in data files.
    pub limit: Option<usize>,
    /// Order of pairs; absent: by amount.
    pub order: Option<PairOrder>,
    /// Which tokens of an account leave first, for taint; absent: those that arrived first.
    pub method: Option<TaintMethod>,
    /// For taint: whether tokens are followed into those that they are swapped for.
    pub through_swaps: bool,
    /// Which of the measure's tables; absent: all in human-readable tables, the main one in data files.
    pub table: Option<String>,
    /// Files with symbols and decimals of tokens.
    #[serde(deserialize_with = "list")]
    pub token_list: Vec<String>,
    /// Where the result is written.
    #[serde(flatten)]
    pub output: Output,
}

impl AnalyzeQuery {
    /// Reads the text, and prepares the query and its outputs.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or an output cannot be written.
    pub fn on<'s>(
        &self,
        source: &'s Source,
    ) -> Result<(PreparedAnalysis<'s>, Vec<AnalysisOutput>)> {
        let outputs = self.output.tables(self.table.as_deref())?;
        source.check_outputs(&outputs, self.output.overwrite)?;
        if let Some(name) = &self.table
            && !self.measure.table_ids().contains(&name.as_str())
        {
            return Err(self.measure.no_table(name));
        }
        let list = source.token_list(&self.token_list)?;
        let mut options = self.search.read(source, list.as_ref())?;
        let is_taint = self.measure == Measure::Taint;
        if is_taint && self.search.hops.is_none() {
            options.hops = Hops::All;
        }
        if let Some(method) = self.method
            && !is_taint
        {
            return Err(Error::usage(format!(
                "`{}` has no method `{method}`: only `taint` has one",
                self.measure.as_str()
            )));
        }
        if self.through_swaps && !is_taint {
            return Err(Error::usage(format!(
                "`{}` follows no swaps: only `taint` does",
                self.measure.as_str()
            )));
        }
        let mut question = source
            .analyze(self.measure)
            .options(options)
            .order(self.order.unwrap_or_default())
            .method(self.method.unwrap_or_default())
            .through_swaps(self.through_swaps);
        question.limit = self.limit;
        question.brief = (outputs.iter()).all(|output| output.format == AnalysisFormat::Tables);
        Ok((question.prepare()?, outputs))
    }
}
