//! Queries for measures, as they are written.

use super::{output::Output, search::SearchArgs};
use crate::{
    AnalysisFormat, AnalysisOutput, Error, Measure, PreparedAnalysis, Result, SearchOptions,
    Source, grammar::list,
};
use serde::{Deserialize, Serialize};
use txgraph_analysis::{PairOrder, RankSettings, TaintMethod, VolumeBy};

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
    /// Order of pairs and of rows of the volume; absent: by amount, and as in the chain.
    pub order: Option<PairOrder>,
    /// Which transfers the volume sums together; absent: by day.
    pub by: Option<VolumeBy>,
    /// Which tokens of an account leave first, for taint; absent: those that arrived first.
    pub method: Option<TaintMethod>,
    /// For taint and rank: whether tokens are followed into those that they are swapped for.
    pub through_swaps: bool,
    /// For rank: the share of what arrives at an address that is its score; absent: 0.15.
    pub alpha: Option<f64>,
    /// For rank: the share of the rest that goes forward; absent: 0.8.
    pub beta: Option<f64>,
    /// For rank: how much is too little to be divided; absent: 0.001.
    pub epsilon: Option<f64>,
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
        source.check_outputs(&outputs)?;
        if let Some(name) = &self.table
            && !self.measure.table_ids().contains(&name.as_str())
        {
            return Err(self.measure.no_table(name));
        }
        let list = source.token_list(&self.token_list)?;
        let mut options = self.search.read(source, list.as_ref())?;
        let mut defaults = SearchOptions::default();
        self.measure.set_defaults(&mut defaults);
        if self.search.hops.is_none() {
            options.hops = defaults.hops;
        }
        if self.search.direction.is_none() {
            options.direction = defaults.direction;
        }
        let is_taint = self.measure == Measure::Taint;
        let is_rank = self.measure == Measure::Rank;
        if let Some(method) = self.method
            && !is_taint
        {
            return Err(Error::usage(format!(
                "`{}` has no method `{method}`: only `taint` has one",
                self.measure.as_str()
            )));
        }
        if self.through_swaps && !is_taint && !is_rank {
            return Err(Error::usage(format!(
                "`{}` follows no swaps: only `taint` and `rank` do",
                self.measure.as_str()
            )));
        }
        let has_order = match self.measure {
            Measure::Volume => self.order != Some(PairOrder::Address),
            measure => measure == Measure::Pairs || self.order.is_none(),
        };
        if !has_order {
            return Err(Error::usage(format!(
                "`{}` has no such order: `pairs` has all, `volume` has `amount` and `count`",
                self.measure.as_str()
            )));
        }
        if self.by.is_some() && self.measure != Measure::Volume {
            return Err(Error::usage(format!(
                "`{}` has no periods: only `volume` has",
                self.measure.as_str()
            )));
        }
        let shares = [self.alpha, self.beta, self.epsilon];
        if shares.iter().any(Option::is_some) && !is_rank {
            return Err(Error::usage(format!(
                "`{}` takes no alpha, beta or epsilon: only `rank` does",
                self.measure.as_str()
            )));
        }
        let usual = RankSettings::default();
        let rank = RankSettings {
            alpha: self.alpha.unwrap_or(usual.alpha),
            beta: self.beta.unwrap_or(usual.beta),
            epsilon: self.epsilon.unwrap_or(usual.epsilon),
        };
        let mut query = source
            .analyze(self.measure)
            .options(options)
            .by(self.by.unwrap_or_default())
            .method(self.method.unwrap_or_default())
            .through_swaps(self.through_swaps)
            .rank(rank);
        query.order = self.order;
        query.limit = self.limit;
        query.brief = (outputs.iter()).all(|output| output.format == AnalysisFormat::Tables);
        Ok((query.prepare()?, outputs))
    }
}
