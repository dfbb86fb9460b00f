//! Words for formats and outputs.

use crate::{AnalysisFormat, AnalysisOutput, Error, Hint, Result, grammar::list, outputs::Format};
use crate::{ReplayOutput, grammar::shortened};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::{fmt::Display, path::PathBuf, str::FromStr};
use txgraph_export::TableFormat;
use txgraph_export::Target;

/// Where a result is written, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Output {
    /// Files, or `-` for stdout; empty: stdout.
    #[serde(deserialize_with = "list")]
    pub output: Vec<String>,
    /// Format; absent: by the extension of the file.
    pub format: Option<String>,
    /// Replace files that exist.
    pub overwrite: bool,
}

impl Output {
    /// Reads several outputs with their formats: the given one, else by extension.
    pub(super) fn targets<F: Copy + Format + FromStr<Err: Display>>(
        &self,
    ) -> Result<Vec<(F, Target)>> {
        let given = self.format.as_ref().map(|word| word.parse::<F>());
        let given = given.transpose();
        let given = given.map_err(|error| Error::usage(error.to_string()))?;
        if given.is_some() && self.output.len() > 1 {
            return Err(one_format());
        }
        if self.output.is_empty() {
            return Ok(vec![(given.unwrap_or(F::ON_STDOUT), Target::Stdout)]);
        }
        let targets = self.output.iter().map(|path| {
            let target = Target::from(PathBuf::from(path));
            let format = given.map_or_else(|| F::of(&target), Ok)?;
            Ok((format, target))
        });
        targets.collect()
    }

    /// Reads the outputs of a result that consists of tables. `table`: the one in data files;
    /// absent: the main one.
    ///
    /// # Errors
    ///
    /// If a format is unknown, or does not fit its output.
    pub fn tables(&self, table: Option<&str>) -> Result<Vec<AnalysisOutput>> {
        let targets = self.targets()?;
        let is_file = |target: &Target| target.path().is_some();
        if (targets.iter()).any(|(format, at)| *format == AnalysisFormat::Tables && is_file(at)) {
            return Err(Error::usage("human-readable tables go to standard output")
                .hint("name a file like cycles.csv or cycles.json, or redirect the output"));
        }
        let outputs = targets.into_iter().map(|(format, target)| AnalysisOutput {
            target,
            format,
            table: table.map(str::to_owned),
            overwrite: self.overwrite,
        });
        Ok(outputs.collect())
    }
}

/// Reads the outputs of a replay.
///
/// # Errors
///
/// If a format is unknown, or one is given for several outputs.
pub fn replay_outputs(output: &Output, is_trace: bool) -> Result<Vec<ReplayOutput>> {
    if output.format.is_some() && output.output.len() > 1 {
        return Err(one_format());
    }
    let mut targets: Vec<_> = (output.output.iter())
        .map(|path| Target::from(PathBuf::from(path)))
        .collect();
    if targets.is_empty() {
        targets.push(Target::Stdout);
    }
    let outputs = targets.into_iter().map(|target| {
        Ok(ReplayOutput {
            format: replay_format(output.format.as_deref(), &target, is_trace)?,
            target,
            overwrite: output.overwrite,
        })
    });
    outputs.collect()
}

fn one_format() -> Error {
    Error::usage("a format applies to a single output").with_hint(Hint::FormatByExtension)
}

/// Reads the format of a replay: the given one, else by extension. `None` stands for the format
/// that the content has by default.
fn replay_format(
    given: Option<&str>,
    target: &Target,
    is_trace: bool,
) -> Result<Option<TableFormat>> {
    let extension = target.path().and_then(Path::extension);
    let word = given.or_else(|| extension.and_then(|extension| extension.to_str()));
    match word {
        None => Ok(None),
        Some("txt") if is_trace => Ok(None),
        Some("json") if is_trace => Ok(Some(TableFormat::Jsonl)),
        Some(word) => match shortened(word).parse::<TableFormat>() {
            Ok(format) => Ok(Some(format)),
            Err(error) => Err(Error::usage(error.to_string())),
        },
    }
}
