//! Files for tests, and queries to them.

use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use txgraph_import::{Family, ImportOptions, ImportedFiles};
use txgraph_stored::{StoredBlocks, StoredSource};
use txgraph_testkit::{fixtures, queries::ask};
use txgraph_transfers::{
    BlockRange, BlockRanges, ScanReport, ScanRequest, SourceError, Transfer, TransferFilter,
};
use txgraph_work::{Threads, WorkContext};

pub(crate) const TOKEN: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
pub(crate) const A: &str = "0x00000000000000000000000000000000000000aa";
pub(crate) const B: &str = "0x00000000000000000000000000000000000000bb";

/// Files in a temporary folder.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn one(name: &str, text: impl AsRef<[u8]>) -> Self {
        let files = Self::new();
        files.add(name, text);
        files
    }

    pub(crate) fn add(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn open(&self, family: Family) -> Result<ImportedFiles, txgraph_import::Error> {
        ImportedFiles::open(self.path(), &mainnet(family))
    }

    /// All transfers of all blocks.
    pub(crate) fn all(&self, family: Family) -> Vec<Transfer> {
        read(self.open(family).unwrap()).0
    }

    /// The error of a query for all transfers, or of opening the files.
    pub(crate) fn refused(&self, family: Family) -> String {
        match self.open(family) {
            Err(error) => error.to_string(),
            Ok(files) => try_read(files, |_| {}).unwrap_err().to_string(),
        }
    }
}

pub(crate) fn mainnet(family: Family) -> ImportOptions {
    ImportOptions {
        chain_id: Some(1),
        ..ImportOptions::new(family)
    }
}

pub(crate) fn read(files: ImportedFiles) -> (Vec<Transfer>, ScanReport) {
    try_read(files, |_| {}).unwrap()
}

/// Asks for all transfers, after a change of the request.
pub(crate) fn try_read(
    files: ImportedFiles,
    change: impl FnOnce(&mut ScanRequest),
) -> Result<(Vec<Transfer>, ScanReport), SourceError> {
    let mut request = ScanRequest {
        blocks: files.available(),
        filter: TransferFilter::with_internal(files.has_internal()),
        with_times: true,
        with_hashes: true,
        ..ScanRequest::default()
    };
    change(&mut request);
    let work = WorkContext {
        threads: Threads::one(),
        ..WorkContext::default()
    };
    ask(&StoredSource::new(files, work), &request)
}

/// Whether a report has a caveat with this text.
pub(crate) fn warns(report: &ScanReport, text: &str) -> bool {
    report.caveats.iter().any(|it| it.contains(text))
}

pub(crate) fn blocks(first: u64, last: u64) -> BlockRanges {
    BlockRange { first, last }.into()
}

/// Unpacks an archive of fixtures.
pub(crate) fn unpacked(name: &str) -> Option<TempDir> {
    Some(fixtures::extract(&fixtures::require_root()?.join(name)))
}
