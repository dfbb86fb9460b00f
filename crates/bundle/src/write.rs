//! Writes bundles.

use crate::{
    BundledBlock, BundledChain, Error, FlatState, Result,
    file::{File, FileAccount},
};
use alloy_primitives::{KECCAK256_EMPTY, U256};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The level of compression.
const ZSTD_LEVEL: i32 = 9;

/// Writes bundles into a directory.
#[derive(Clone, Debug)]
pub struct BundleWriter {
    directory: PathBuf,
    overwrite: bool,
}

impl BundleWriter {
    /// Creates the directory if it does not exist.
    ///
    /// # Errors
    ///
    /// The directory cannot be created.
    pub fn new(directory: &Path, overwrite: bool) -> Result<Self> {
        fs::create_dir_all(directory).map_err(|source| Error::io(directory, source))?;
        Ok(Self {
            directory: directory.to_path_buf(),
            overwrite,
        })
    }

    /// Writes the bundle of a block with the state that it reads, and returns the path of the
    /// file: the number of the block, with the extension `json.zst`. The file gets its name when
    /// it is complete.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or exists and is not to be replaced.
    pub fn write(
        &self,
        chain: &BundledChain,
        block: &BundledBlock,
        state: &FlatState,
    ) -> Result<PathBuf> {
        let path = (self.directory).join(format!("{}.json.zst", block.header.number));
        let failed = |source| Error::io(&path, source);
        if !self.overwrite && path.exists() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let json = to_json(chain, block, state).map_err(|error| failed(error.into()))?;
        let bytes = compressed(&json).map_err(failed)?;
        let part = path.with_extension("part");
        let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            // If it cannot be removed either, the first error matters.
            let _ = fs::remove_file(&part);
        }
        written.map_err(failed)?;
        Ok(path)
    }
}

/// A frame with a checksum: nothing else proves flat state.
fn compressed(json: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(json)?;
    encoder.finish()
}

/// Returns the JSON of a bundle with flat state.
///
/// # Errors
///
/// None are known: every value has a form in JSON.
pub fn to_json(
    chain: &BundledChain,
    block: &BundledBlock,
    state: &FlatState,
) -> serde_json::Result<Vec<u8>> {
    let pre = state.accounts.iter().map(|(address, account)| {
        let account = account.as_ref().map(|it| FileAccount {
            nonce: U256::from(it.account.nonce),
            balance: it.account.balance,
            code_hash: Some(it.account.code_hash).filter(|hash| *hash != KECCAK256_EMPTY),
            storage: it.storage.clone(),
            has_storage: it.has_storage,
        });
        (*address, account)
    });
    let hashes = state.block_hashes.iter();
    let mut file = File::new(chain.id, block.encode().into());
    file.genesis_hash = chain.genesis_hash;
    file.number = Some(block.header.number);
    file.hash = Some(block.hash);
    file.rules = chain.rules.as_ref().map(Into::into);
    file.block_hashes = hashes
        .map(|(number, hash)| (number.to_string(), *hash))
        .collect();
    file.codes = state.codes.values().cloned().collect();
    file.pre = Some(pre.collect());
    let mut json = serde_json::to_vec(&file)?;
    json.push(b'\n');
    Ok(json)
}
