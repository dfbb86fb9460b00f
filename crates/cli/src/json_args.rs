//! The output of a result that is one JSON document for programs, and a text for people.

use crate::{
    args::OutputArgs,
    document::DocumentFile,
    output::{Terminal, print_data},
};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use txgraph::{Error, ProtectedPaths, Result, pretty_json};

/// Where a result goes, and how.
#[derive(Args, Debug)]
pub(crate) struct JsonArgs {
    #[command(flatten)]
    files: OutputArgs,

    /// Print JSON
    ///
    /// Files of -o have the same document, and names that end in .json.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) struct JsonOutputs {
    files: Vec<DocumentFile>,
    is_printed: bool,
    json: bool,
}

impl JsonArgs {
    /// Opens the files, before anything is read.
    pub(crate) fn open(&self, protected: &ProtectedPaths) -> Result<JsonOutputs> {
        let all = self.files.output.iter();
        let (stdout, files): (Vec<_>, Vec<_>) = all.partition(|path| *path == Path::new("-"));
        let files = files.into_iter().map(|path| {
            if path.extension().is_none_or(|word| word != "json") {
                let message = format!("{}: this result is a JSON document", path.display());
                return Err(Error::usage(message).hint("name a file .json"));
            }
            DocumentFile::create(path, self.files.overwrite, protected)
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        Ok(JsonOutputs {
            is_printed: files.is_empty() || !stdout.is_empty() || self.json,
            json: self.json,
            files,
        })
    }
}

impl JsonOutputs {
    /// Writes the document to the files, and prints it if that was asked for. Returns whether a text for
    /// people is to be printed.
    pub(crate) fn write<T: Serialize>(
        self,
        document: impl FnOnce() -> Result<T>,
        terminal: &Terminal,
    ) -> Result<bool> {
        if self.json || !self.files.is_empty() {
            let text = pretty_json(&document()?)?;
            for file in self.files {
                file.write(&text, terminal)?;
            }
            if self.json {
                print_data(&text)?;
            }
        }
        Ok(self.is_printed && !self.json)
    }
}
