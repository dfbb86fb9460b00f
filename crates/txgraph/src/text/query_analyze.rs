//! Questions for measures, as they are written.

use super::{AnalyzeQuery, output::targets};
use crate::{
    AnalysisFormat, AnalysisOutput, Error, Hops, Measure, PreparedAnalysis, Result, Source,
};
use std::path::Path;
use txgraph_export::Target;

impl AnalyzeQuery {
    /// Reads the text, and prepares the question and its outputs.
    ///
    /// # Errors
    ///
    /// If the text is wrong, or an output cannot be written.
    pub fn on<'s>(
        &self,
        source: &'s Source,
    ) -> Result<(PreparedAnalysis<'s>, Vec<AnalysisOutput>)> {
        let outputs = self.outputs()?;
        source.check_outputs(&outputs, self.output.overwrite)?;
        if let Some(name) = &self.table
            && !self.measure.table_ids().contains(&name.as_str())
        {
            return Err(self.measure.no_table(name));
        }
        let list = source.token_list(&self.token_list)?;
        let mut options = self.search.read(source, list.as_ref())?;
        let traces = self.measure == Measure::Trace;
        if traces && self.search.hops.is_none() {
            options.hops = Hops::All;
        }
        if let Some(method) = self.method
            && !traces
        {
            return Err(Error::usage(format!(
                "`{}` has no method `{method}`: only `trace` has one",
                self.measure.as_str()
            )));
        }
        let mut question = source
            .analyze(self.measure)
            .options(options)
            .order(self.order.unwrap_or_default())
            .method(self.method.unwrap_or_default());
        question.top = self.top;
        question.brief = (outputs.iter()).all(|output| output.format == AnalysisFormat::Tables);
        Ok((question.prepare()?, outputs))
    }

    fn outputs(&self) -> Result<Vec<AnalysisOutput>> {
        let by_name = |path: &Path| {
            let extension = path.extension()?.to_str()?;
            let format = extension.parse().ok();
            format.filter(|format| *format != AnalysisFormat::Tables)
        };
        let known = || "json, csv, jsonl, parquet, ipc".to_owned();
        let targets = targets(&self.output, AnalysisFormat::Tables, by_name, known)?;
        let is_file = |target: &Target| target.path().is_some();
        if (targets.iter()).any(|(format, at)| *format == AnalysisFormat::Tables && is_file(at)) {
            return Err(Error::usage("tables for people go to standard output")
                .hint("name a file like loops.csv or loops.json, or redirect the output"));
        }
        let outputs = targets.into_iter().map(|(format, target)| AnalysisOutput {
            target,
            format,
            table: self.table.clone(),
            overwrite: self.output.overwrite,
        });
        Ok(outputs.collect())
    }
}
