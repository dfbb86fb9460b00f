//! Words for formats and outputs.

use super::Output;
use crate::{Advice, Error, Result, outputs::format_of};
#[cfg(feature = "replay")]
use crate::{ReplayOutput, text::shortened};
use std::{
    fmt::Display,
    path::{Path, PathBuf},
    str::FromStr,
};
#[cfg(feature = "replay")]
use txgraph_export::TableFormat;
use txgraph_export::Target;

/// Reads several outputs with their formats: the given one, else by extension.
pub(super) fn targets<F: Copy + FromStr<Err: Display>>(
    output: &Output,
    default: F,
    from_extension: impl Fn(&Path) -> Option<F>,
    known: impl Fn() -> String,
) -> Result<Vec<(F, Target)>> {
    let given: Option<F> = match &output.format {
        Some(word) => {
            Some((word.parse()).map_err(|error: F::Err| Error::usage(error.to_string()))?)
        }
        None => None,
    };
    if output.output.is_empty() {
        return Ok(vec![(given.unwrap_or(default), Target::Stdout)]);
    }
    if given.is_some() && output.output.len() > 1 {
        return Err(one_format());
    }
    let targets = output.output.iter().map(|path| {
        let target = Target::from(PathBuf::from(path));
        let format = match given {
            Some(format) => format,
            None => format_of(&target, default, &from_extension, &known)?,
        };
        Ok((format, target))
    });
    targets.collect()
}

/// Reads the outputs of a replay.
///
/// # Errors
///
/// If a format is unknown, or one is given for several outputs.
#[cfg(feature = "replay")]
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
    Error::usage("a format applies to a single output").advise(Advice::FormatByExtension)
}

/// Reads the format of a replay: the given one, else by extension. `None` stands for the format
/// that the content has by default.
#[cfg(feature = "replay")]
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
