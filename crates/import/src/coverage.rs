//! The blocks that files cover completely.
//!
//! Files of transfers do not show which blocks without rows they cover. Tools state it in file
//! names, txgraph in the metadata of its tables, and a table of blocks by its rows. Otherwise
//! the user states it; if the user does not either, the blocks between the first and the last row
//! are taken, and the answer says so.

use crate::{Error, Role, Table, file::ImportedFile};
use serde::{Deserialize, de::IgnoredAny};
use std::{collections::BTreeMap, fs, path::PathBuf};
use txgraph_base::number;
use txgraph_transfers::{BlockRange, BlockRanges, ChainInfo, DecodeCounts, Kind, WrappedNative};

/// Options of `transfers` that select no transfers, or only blocks, which the metadata states.
const WHOLE: [&str; 8] = [
    "allow-partial",
    "blocks",
    "columns",
    "labels",
    "since",
    "until",
    "with-internal",
    "wrapped-native",
];

/// The coverage of a set of files.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// The blocks that are complete.
    pub(crate) blocks: BlockRanges,
    /// Restrictions of the results, in words.
    pub(crate) caveats: Vec<String>,
}

/// The metadata that txgraph writes next to CSV and JSONL files, and into Parquet files.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// The chain.
    pub(crate) chain: Option<ChainInfo>,
    #[serde(default)]
    command: String,
    #[serde(default)]
    limits: Vec<IgnoredAny>,
    /// The options of the query.
    #[serde(default)]
    question: BTreeMap<String, serde_json::Value>,
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
    /// Reads what the file states, or `FILE.meta.json`, if it exists.
    pub(crate) fn of(file: &ImportedFile) -> Result<Option<Self>, Error> {
        // Other files of txgraph have other metadata there.
        if let Some(stated) = file
            .stated()
            .and_then(|text| serde_json::from_str(text).ok())
        {
            return Ok(Some(stated));
        }
        let mut name = file.path.as_os_str().to_owned();
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

    /// The restrictions of a file, and what the file lacks of its range.
    pub(crate) fn caveats(&self, file: &ImportedFile) -> Vec<String> {
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
                file.path.display(),
                self.command
            ));
        }
        let stated = self.scan.counts.as_ref().map(|counts| counts.transfers);
        if is_whole
            && let Some(stated) = stated
            && file.rows() != stated
        {
            caveats.push(format!(
                "{} has {}, but its metadata states {}",
                file.path.display(),
                number(file.rows(), "row", "rows"),
                number(stated, "transfer", "transfers")
            ));
        }
        caveats
    }
}

impl Coverage {
    /// Determines the blocks that all tables cover. `covers` are the blocks that the user
    /// states.
    pub(crate) fn of(
        files: &[(&ImportedFile, Option<&Metadata>)],
        covers: Option<&BlockRanges>,
    ) -> Result<Self, Error> {
        if let Some(covers) = covers {
            return Ok(Self {
                blocks: covers.clone(),
                caveats: Vec::new(),
            });
        }
        let stated = blocks_of_headers(files)?;
        // Blocks by table; `None` where a file does not state its own.
        let mut tables: BTreeMap<Table, Vec<BlockRange>> = BTreeMap::new();
        let mut observed: Option<BlockRange> = None;
        let mut undeclared: Vec<Table> = Vec::new();
        for (file, metadata) in files
            .iter()
            .filter(|(file, _)| file.table() != Table::Blocks)
        {
            let blocks = tables.entry(file.table()).or_default();
            match (file.facts.blocks, metadata) {
                (Some(named), _) => {
                    check_rows(file, named)?;
                    blocks.push(named);
                }
                (None, Some(metadata)) => blocks.extend(metadata.scan.covered.iter()),
                (None, None) => {
                    undeclared.push(file.table());
                    observed = join(observed, file.span());
                }
            }
        }
        let mut caveats = Vec::new();
        for table in undeclared {
            let blocks = tables.entry(table).or_default();
            match &stated {
                Some(stated) => blocks.extend(stated.iter()),
                None => blocks.extend(observed),
            }
        }
        if let (None, Some(observed)) = (&stated, observed) {
            caveats.push(format!(
                "the files do not state which blocks they cover; {observed} are those between \
                 their first and last row"
            ));
        }
        let mut tables = tables.into_values().map(BlockRanges::new);
        let first = tables.next().or(stated).unwrap_or_default();
        let blocks = tables.fold(first.clone(), |all, blocks| all.intersect(&blocks));
        if blocks != first {
            caveats.push(format!("only {blocks} are in all tables"));
        }
        Ok(Self { blocks, caveats })
    }
}

fn join(one: Option<BlockRange>, other: Option<BlockRange>) -> Option<BlockRange> {
    let ranges = one.into_iter().chain(other);
    ranges.reduce(|one, other| {
        BlockRange::from_to(one.first.min(other.first), one.last.max(other.last))
    })
}

/// Refuses rows outside of the blocks in the name of their file.
fn check_rows(file: &ImportedFile, named: BlockRange) -> Result<(), Error> {
    match file.span() {
        Some(span) if named.intersect(&span) != Some(span) => Err(Error::damaged(
            &file.path,
            format_args!("its name states blocks {named}, but it has rows of {span}"),
        )),
        _ => Ok(()),
    }
}

/// The blocks in tables of blocks. `None` without such a table.
fn blocks_of_headers(
    files: &[(&ImportedFile, Option<&Metadata>)],
) -> Result<Option<BlockRanges>, Error> {
    let mut ranges: Option<Vec<BlockRange>> = None;
    for (file, _) in files
        .iter()
        .filter(|(file, _)| file.table() == Table::Blocks)
    {
        let ranges = ranges.get_or_insert_default();
        for piece in &file.pieces {
            file.read(piece, &mut |row| {
                let block = file.checked(row, Role::Block, row.cell(Role::Block).u64())?;
                match ranges.last_mut() {
                    Some(range) if range.last.checked_add(1) == Some(block) => range.last = block,
                    _ => ranges.push(BlockRange::one(block)),
                }
                Ok(())
            })?;
        }
    }
    Ok(ranges.map(BlockRanges::new))
}
