//! The metadata of files that txgraph wrote.

use crate::{Error, format::is_compressed};
use serde::{Deserialize, de::IgnoredAny};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_base::number;
use txgraph_transfers::{BlockRanges, ChainInfo, DecodeCounts, Kind, WrappedNative};

/// Options of `transfers` that select no transfers, or only blocks, which the metadata states.
const WHOLE: [&str; 9] = [
    "allow-partial",
    "blocks",
    "columns",
    "labels",
    "since",
    "token-list",
    "until",
    "with-internal",
    "wrapped-native",
];

/// The metadata that txgraph writes next to CSV and JSONL files, and into Parquet files.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) chain: Option<ChainInfo>,
    #[serde(default)]
    command: String,
    #[serde(default)]
    limits: Vec<IgnoredAny>,
    /// The options of the query.
    #[serde(default)]
    question: BTreeMap<String, serde_json::Value>,
    /// The rows of its file, if it is of text.
    rows: Option<u64>,
    scan: Scan,
}

#[derive(Debug, Deserialize)]
struct Scan {
    covered: BlockRanges,
    #[serde(default)]
    caveats: Vec<String>,
    counts: Option<DecodeCounts>,
}

impl Metadata {
    /// Reads what a file `stated`, or `FILE.meta.json`, if it exists.
    pub(crate) fn of(stated: Option<&str>, path: &Path) -> Result<Option<Self>, Error> {
        // Other files of txgraph have other metadata there.
        match stated.and_then(|text| serde_json::from_str(text).ok()) {
            Some(stated) => Ok(Some(stated)),
            None => Self::beside(path),
        }
    }

    /// The blocks that its file covers.
    pub(crate) const fn covered(&self) -> &BlockRanges {
        &self.scan.covered
    }

    /// Reads `FILE.meta.json`, if it exists. A file that was compressed later has the one of its former name.
    pub(crate) fn beside(path: &Path) -> Result<Option<Self>, Error> {
        match Self::named_after(path)? {
            None if is_compressed(path) => Self::named_after(&path.with_extension("")),
            found => Ok(found),
        }
    }

    fn named_after(path: &Path) -> Result<Option<Self>, Error> {
        let mut name = path.as_os_str().to_owned();
        name.push(".meta.json");
        let path = PathBuf::from(name);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| Error::damaged(&path, error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Whether its file is a table of transfers, even without rows.
    pub(crate) fn is_of_transfers(&self) -> bool {
        matches!(self.command.as_str(), "transfers" | "graph")
    }

    /// Whether the query asked for movements inside of transactions.
    pub(crate) fn has_internal(&self) -> bool {
        self.command.is_empty() || self.question.get("with-internal") == Some(&true.into())
    }

    /// Whether the query asked for fees.
    pub(crate) fn has_fees(&self) -> bool {
        let kinds = self.question.get("kind").and_then(|it| it.as_array());
        let words = kinds.into_iter().flatten().filter_map(|it| it.as_str());
        words.filter_map(|it| it.parse().ok()).any(Kind::is_fee)
    }

    /// Which contracts the query took for wrapped coins.
    pub(crate) fn wrapped_native(&self) -> WrappedNative {
        let Some(choice) = self
            .question
            .get("wrapped-native")
            .and_then(|it| it.as_array())
        else {
            return WrappedNative::Auto;
        };
        let words: Vec<&str> = choice.iter().filter_map(|it| it.as_str()).collect();
        match words[..] {
            ["any"] => WrappedNative::Any,
            ["none"] => WrappedNative::None,
            _ => WrappedNative::Only(words.iter().filter_map(|it| it.parse().ok()).collect()),
        }
    }

    /// The restrictions of a file with this number of rows, and what the file lacks of its range.
    pub(crate) fn caveats(&self, path: &Path, rows: u64) -> Vec<String> {
        let mut caveats = self.scan.caveats.clone();
        let is_whole = self.command == "transfers" && self.limits.is_empty();
        let selecting = self
            .question
            .keys()
            .filter(|name| !WHOLE.contains(&name.as_str()));
        let selecting: Vec<_> = selecting.map(String::as_str).collect();
        if !self.command.is_empty() && (self.command != "transfers" || !selecting.is_empty()) {
            let options = match selecting.is_empty() {
                true => String::new(),
                false => format!(" with {}", selecting.join(", ")),
            };
            caveats.push(format!(
                "{} has only the transfers of one query, `{}`{options}",
                path.display(),
                self.command
            ));
        }
        let transfers = self.scan.counts.as_ref().filter(|_| is_whole);
        let stated = self.rows.or(transfers.map(|counts| counts.transfers));
        if let Some(stated) = stated.filter(|stated| *stated != rows) {
            caveats.push(format!(
                "{} has {}, but its metadata states {}",
                path.display(),
                number(rows, "row", "rows"),
                number(stated, "row", "rows")
            ));
        }
        caveats
    }
}
