//! A set of files with tables of one chain.

use crate::{
    Columns, Dialect, Error, Family, Role, Table, coverage::Coverage, file::ImportedFile,
    gaps::Tables, metadata::Metadata, plan,
};
use alloy_primitives::B256;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_base::{ChainFamily, KnownChain, number};
use txgraph_transfers::{BlockRanges, ChainInfo};

/// The deepest folder below the named one. ethereum-etl has two levels.
const FOLDERS_MAX: usize = 8;

/// How files are read.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The tools whose tables are expected.
    pub family: Family,
    /// Columns by name, for files that fit no dialect.
    pub columns: Option<Columns>,
    /// The blocks that the files cover completely, if they do not state it themselves.
    pub covers: Option<BlockRanges>,
    /// The chain ID, if the files do not contain it.
    pub chain_id: Option<u64>,
    /// The bytes of memory for rows of files that are not sorted, for each thread that reads.
    pub memory_per_thread: u64,
}

/// The default of [`ImportOptions::memory_per_thread`].
const MEMORY_PER_THREAD: u64 = 256 << 20;

impl ImportOptions {
    /// Options for the tables of a tool.
    pub const fn new(family: Family) -> Self {
        Self {
            family,
            columns: None,
            covers: None,
            chain_id: None,
            memory_per_thread: MEMORY_PER_THREAD,
        }
    }
}

/// Files with tables of one chain.
#[derive(Debug)]
pub struct ImportedFiles {
    pub(crate) family: Family,
    pub(crate) files: Vec<ImportedFile>,
    /// For each file, what txgraph stated if it wrote the file.
    pub(crate) metadata: Vec<Option<Metadata>>,
    /// For each file, whether its rows are read.
    pub(crate) used: Vec<bool>,
    pub(crate) chain: ChainInfo,
    pub(crate) available: BlockRanges,
    pub(crate) tables: Tables,
    /// The rows of a chunk of files that are not sorted.
    pub(crate) rows_max: u64,
    caveats: Vec<String>,
    notes: Vec<String>,
}

impl ImportedFiles {
    /// Opens a file, or all files of a directory. Files of tables that are not read are left
    /// out of a directory.
    ///
    /// # Errors
    ///
    /// If there is nothing to read, a file is damaged or has the name of a table but not its
    /// columns, or files contradict each other.
    pub fn open(path: &Path, options: &ImportOptions) -> Result<Self, Error> {
        let mut found = Vec::new();
        let metadata = fs::metadata(path).map_err(|error| Error::io(path, error))?;
        match metadata.is_dir() {
            true => list(path, FOLDERS_MAX, &mut found)?,
            false => found.push(path.to_path_buf()),
        }
        let mut files = Vec::new();
        let (mut skipped, mut headless) = (Vec::new(), Vec::new());
        let mut unknown = None;
        // The name of a table means nothing if the columns are chosen.
        let is_named =
            |file: &Path| options.columns.is_none() && has_name_of_table(file, options.family);
        for file in found {
            match ImportedFile::open(&file, options.family, options.columns.as_ref()) {
                Ok(Some(file)) => files.push(file),
                Ok(None) if is_named(&file) => {
                    return Err(Error::path(
                        &file,
                        "its name belongs to a table, but files with this extension are not read; \
                         convert it to .parquet, .csv or .jsonl (also .gz or .zst), or move it away",
                    ));
                }
                Ok(None) => skipped.push(file),
                Err(error @ Error::UnknownColumns { .. }) if !is_named(&file) => {
                    let has_header = matches!(
                        error,
                        Error::UnknownColumns {
                            has_header: true,
                            ..
                        }
                    );
                    match has_header {
                        true => skipped.push(file),
                        false => headless.push(file),
                    }
                    unknown = unknown.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        if files.iter().all(|file| file.table() == Table::Blocks) {
            let empty = "no file with transfers; files with the extensions .parquet, .csv, .tsv, \
                         .json and .jsonl are read (also .gz or .zst, except Parquet)";
            return Err(unknown.unwrap_or_else(|| Error::path(path, empty)));
        }
        let mut found = Self::new(path, files, &skipped, options)?;
        if !headless.is_empty() {
            found.caveats.push(format!(
                "the first row of {} has no names of columns, so nothing of it was read",
                names(&headless)
            ));
        }
        Ok(found)
    }

    fn new(
        path: &Path,
        files: Vec<ImportedFile>,
        skipped: &[PathBuf],
        options: &ImportOptions,
    ) -> Result<Self, Error> {
        let metadata: Vec<_> = (files.iter())
            .map(|file| Metadata::of(file.stated(), &file.path))
            .collect::<Result<_, _>>()?;
        let chain = chain(path, &files, &metadata, options)?;
        let mut caveats: Vec<_> = files.iter().filter_map(|file| file.doubt.clone()).collect();
        for (file, metadata) in files.iter().zip(&metadata) {
            let metadata = metadata.iter();
            caveats.extend(metadata.flat_map(|it| it.caveats(&file.path, file.rows())));
        }
        let used = use_of_tables(&files, &mut caveats);
        let read: Vec<_> = files
            .iter()
            .zip(metadata.iter().map(Option::as_ref))
            .zip(&used)
            .filter(|(_, used)| **used)
            .map(|(file, _)| file)
            .collect();
        let has_values = |file: &ImportedFile| {
            matches!(
                file.table(),
                Table::Transactions | Table::Traces | Table::NativeTransfers
            )
        };
        if is_op_stack(chain.chain_id) && read.iter().any(|(file, _)| has_values(file)) {
            caveats.push("the tables do not have what deposits mint".to_owned());
        }
        let coverage = Coverage::of(&read, options.covers.as_ref())?;
        caveats.extend(coverage.caveats);
        let mut notes = notes(&files, &used);
        if !skipped.is_empty() {
            notes.push(format!("nothing of {}", names(skipped)));
        }
        let tables = Tables::of(read.iter().map(|(file, _)| *file));
        Ok(Self {
            family: options.family,
            tables,
            rows_max: plan::unsorted_rows(options.memory_per_thread),
            files,
            metadata,
            used,
            chain,
            available: coverage.blocks,
            caveats,
            notes,
        })
    }

    /// One line for each kind of table that was found, and for what is not read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Restrictions of every result from these files.
    pub fn caveats(&self) -> &[String] {
        &self.caveats
    }

    /// The paths of the files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// The files that are read, with their numbers.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, &ImportedFile)> {
        let files = self.files.iter().enumerate().zip(&self.used);
        files.filter(|(_, used)| **used).map(|(file, _)| file)
    }
}

/// Whether a file has the name of a table, so that its rows would be missed: `logs.csv`,
/// `logs_00000000_00099999.csv`, `ethereum__logs__0_to_999.parquet`.
fn has_name_of_table(path: &Path, family: Family) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
    let mut dialects = Dialect::all().iter();
    dialects.any(|dialect| {
        let allowed = family == Family::Csv || dialect.family == family;
        allowed && stem.split("__").any(|part| part == dialect.table_name())
    })
}

/// Paths in a sentence.
fn names(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// Whether a chain is a known one of the OP stack.
pub(crate) fn is_op_stack(chain_id: u64) -> bool {
    let is_op = |it: &KnownChain| it.id == chain_id && it.family == ChainFamily::OpStack;
    KnownChain::ALL.iter().any(is_op)
}

/// Lists the files of a folder and its subfolders, sorted. Hidden ones are left out: cryo keeps
/// reports in `.cryo`. So is the metadata that txgraph writes next to a file.
fn list(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let io = |error| Error::io(folder, error);
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(io)?.collect();
    let mut paths: Vec<_> = entries
        .map_err(io)?
        .iter()
        .map(fs::DirEntry::path)
        .collect();
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if name.starts_with('.') || name.ends_with(".meta.json") {
            continue;
        }
        if path.is_file() {
            found.push(path);
        } else if !path.is_dir() {
            // A pipe, for example, has no end.
        } else if depth > 0 {
            list(&path, depth - 1, found)?;
        } else {
            let reason = "too many folders in each other; name a folder further inside";
            return Err(Error::path(&path, reason));
        }
    }
    Ok(())
}

/// The chain, on which all files and the options must agree.
fn chain(
    path: &Path,
    files: &[ImportedFile],
    metadata: &[Option<Metadata>],
    options: &ImportOptions,
) -> Result<ChainInfo, Error> {
    let mut known = options.chain_id.map(|id| (id, "is configured".to_owned()));
    let mut stated: Option<&ChainInfo> = None;
    for (file, metadata) in files.iter().zip(metadata) {
        let info = metadata
            .as_ref()
            .and_then(|metadata| metadata.chain.as_ref());
        stated = stated.or(info);
        let ids = [file.chain_id()?, info.map(|info| info.chain_id)];
        for found in ids.into_iter().flatten() {
            match &known {
                Some((expected, _)) if *expected == found => {}
                Some((expected, from)) => {
                    let reason = format!("chain id {found}, but {expected} {from}");
                    return Err(Error::path(&file.path, reason));
                }
                None => known = Some((found, format!("in {}", file.path.display()))),
            }
        }
    }
    let Some((chain_id, _)) = known else {
        return Err(Error::ChainIdUnknown {
            path: path.to_path_buf(),
        });
    };
    if let Some(stated) = stated {
        return Ok(stated.clone());
    }
    let mut chains = KnownChain::ALL.iter().filter(|chain| chain.id == chain_id);
    let first = chains.next();
    // Several development chains share one ID; then the hash is not known.
    let hash = first
        .and_then(|chain| chain.genesis_hash)
        .filter(|_| chains.next().is_none());
    Ok(ChainInfo {
        chain_id,
        genesis_hash: hash.unwrap_or(B256::ZERO),
        name: first.and_then(|chain| chain.name).map(str::to_owned),
    })
}

/// Decides which files are read: logs instead of rows that were decoded from logs, and traces
/// instead of their summary.
fn use_of_tables(files: &[ImportedFile], caveats: &mut Vec<String>) -> Vec<bool> {
    let has = |table: Table| files.iter().any(|file| file.table() == table);
    let (logs, traces) = (has(Table::Logs), has(Table::Traces));
    if has(Table::NativeTransfers) && !traces {
        caveats.push(
            "native_transfers of cryo does not distinguish failed and delegated calls, and \
             destructions; its traces do"
                .to_owned(),
        );
    }
    let is_alone = |file: &&ImportedFile| {
        matches!(
            file.table(),
            Table::Erc20
                | Table::Erc721
                | Table::Trades
                | Table::AnyTransfers
                | Table::Transfers
                | Table::Chosen
        ) && !file.has(Role::Transaction)
            && !file.has(Role::TransactionIndex)
    };
    if files.iter().any(|file| is_alone(&file)) {
        caveats.push(
            "rows have no transaction: each counts as one of its own, so swaps and sums by transaction are \
             not known"
                .to_owned(),
        );
    }
    let unknown =
        |file: &&ImportedFile| file.table() == Table::Transactions && !file.has(Role::Status);
    let has_outcomes = traces || has(Table::NativeTransfers) || has(Table::Receipts);
    if files.iter().any(|file| unknown(&file)) && !has_outcomes {
        caveats.push(
            "the transactions have no status, so the values of transactions are left out"
                .to_owned(),
        );
    }
    let unlogged = |file: &&ImportedFile| {
        matches!(file.table(), Table::Trades | Table::Chosen) && !file.has(Role::Log)
    };
    if files.iter().any(|file| unlogged(&file)) {
        caveats.push(
            "rows have no log index: equal rows look like rows that were exported twice".to_owned(),
        );
    }
    let used = |file: &ImportedFile| match file.table() {
        Table::Erc20 | Table::Erc721 => !logs,
        Table::NativeTransfers => !traces,
        _ => true,
    };
    files.iter().map(used).collect()
}

/// Describes the tables of each dialect.
fn notes(files: &[ImportedFile], used: &[bool]) -> Vec<String> {
    let mut dialects: BTreeMap<&str, (u64, u64, bool)> = BTreeMap::new();
    for (file, used) in files.iter().zip(used) {
        let (count, rows, is_used) = dialects.entry(file.dialect.name).or_default();
        *count += 1;
        *rows += file.rows();
        *is_used = *used;
    }
    let lines = dialects.into_iter().map(|(name, (count, rows, used))| {
        let why = match used {
            true => "",
            false => "; not read, because the logs or traces themselves are there",
        };
        let (files, rows) = (number(count, "file", "files"), number(rows, "row", "rows"));
        format!("{name}: {files}, {rows}{why}")
    });
    lines.collect()
}
