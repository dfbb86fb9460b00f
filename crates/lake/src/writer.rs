//! Writes the files of a partition into a new folder, which gets its name when all of them are
//! on disk.

use crate::{
    checksummed_file::{BLOCK_BYTES, Summed},
    error::{Error, Result},
    manifest::{FileInfo, hex},
    names::{CHECKSUMS, UNFINISHED, partition_folder},
    schema::{ROW_GROUP_ROWS, Table},
    store::Store,
};
use alloy_primitives::B256;
use arrow_array::{ArrayRef, RecordBatch};
use parquet::{arrow::ArrowWriter, errors::ParquetError, file::metadata::KeyValue};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};
use txgraph_stored::folder::{step, sync_folder};
use txgraph_transfers::{BlockRange, ChainInfo};

/// The content of the file with the checksums of blocks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Checksums {
    /// The bytes that each checksum covers.
    pub(crate) block_bytes: u64,
    pub(crate) files: Vec<FileChecksums>,
}

/// The CRC-32 of each block of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FileChecksums {
    pub(crate) name: String,
    pub(crate) crc32: Vec<u32>,
}

/// Where partitions are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The lake.
    pub(crate) store: &'a Store,
    /// The folder in which they are written before they are published.
    pub(crate) staging: &'a Path,
    pub(crate) chain: &'a ChainInfo,
    pub(crate) generation: u64,
}

/// A partition that is being written. Dropped before it is finished, it leaves nothing.
pub(crate) struct PartitionWriter<'a> {
    store: &'a Store,
    path: PathBuf,
    name: String,
    metadata: Vec<KeyValue>,
    files: Vec<FileInfo>,
    checksums: Vec<FileChecksums>,
    is_finished: bool,
}

/// A partition that was written.
pub(crate) struct FinishedPartition {
    pub(crate) folder: String,
    pub(crate) files: Vec<FileInfo>,
    pub(crate) checksums_crc32: String,
}

impl<'a> PartitionWriter<'a> {
    pub(crate) fn create(blocks: BlockRange, last_hash: B256, target: &Target<'a>) -> Result<Self> {
        let Target {
            store,
            staging,
            chain,
            generation,
        } = *target;
        let path = staging.join(format!("{UNFINISHED}{:010}", blocks.first));
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
        fs::create_dir(&path).map_err(|error| Error::io("create", &path, error))?;
        let pair = |key: &str, value: String| KeyValue::new(format!("txgraph.{key}"), value);
        Ok(Self {
            store,
            path,
            name: partition_folder(blocks, last_hash, generation),
            metadata: vec![
                pair("chain_id", chain.chain_id.to_string()),
                pair("genesis_hash", chain.genesis_hash.to_string()),
                pair("first_block", blocks.first.to_string()),
                pair("last_block", blocks.last.to_string()),
                pair("last_hash", last_hash.to_string()),
            ],
            files: Vec::new(),
            checksums: Vec::new(),
            is_finished: false,
        })
    }

    /// Writes a table as one file.
    pub(crate) fn table(&mut self, table: Table, columns: Vec<ArrayRef>) -> Result<()> {
        let path = self.path.join(table.as_str());
        let failed = |error: ParquetError| match error {
            ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
                Ok(error) => Error::io("write", &path, *error),
                Err(error) => Error::io("write", &path, std::io::Error::other(error)),
            },
            error => Error::io("write", &path, std::io::Error::other(error)),
        };
        step("create", &path);
        let file = File::create_new(&path).map_err(|error| Error::io("create", &path, error))?;
        let schema = table.schema();
        let batch = RecordBatch::try_new(schema.clone(), columns)
            .map_err(|error| Error::io("write", &path, std::io::Error::other(error)))?;
        let buffered = Summed::new(BufWriter::with_capacity(1 << 20, file));
        let mut writer =
            ArrowWriter::try_new(buffered, schema, Some(table.properties())).map_err(failed)?;
        // The writer copies what it buffers, so it gets a row group at a time.
        for first in (0..batch.num_rows()).step_by(ROW_GROUP_ROWS) {
            let rows = ROW_GROUP_ROWS.min(batch.num_rows() - first);
            writer.write(&batch.slice(first, rows)).map_err(failed)?;
        }
        for pair in &self.metadata {
            writer.append_key_value_metadata(pair.clone());
        }
        let (buffered, sums) = writer.into_inner().map_err(failed)?.finish();
        step("sync", &path);
        let written = buffered.into_inner().map_err(|error| error.into_error());
        written
            .and_then(|file| file.sync_all())
            .map_err(|error| Error::io("write", &path, error))?;
        self.files.push(FileInfo {
            name: table.as_str().to_owned(),
            bytes: sums.bytes,
            rows: batch.num_rows() as u64,
            crc32: hex(sums.crc32),
        });
        self.checksums.push(FileChecksums {
            name: table.as_str().to_owned(),
            crc32: sums.checksums,
        });
        Ok(())
    }

    /// Writes the checksums and gives the folder its name.
    pub(crate) fn finish(mut self) -> Result<FinishedPartition> {
        let path = self.path.join(CHECKSUMS);
        let checksums = Checksums {
            block_bytes: BLOCK_BYTES,
            files: std::mem::take(&mut self.checksums),
        };
        let json = serde_json::to_vec(&checksums)
            .map_err(|error| Error::io("write", &path, error.into()))?;
        let write = || {
            step("create", &path);
            let mut file = File::create_new(&path)?;
            file.write_all(&json)?;
            file.sync_all()
        };
        write().map_err(|error| Error::io("write", &path, error))?;
        sync_folder(&self.path)?;
        self.store.publish(&self.path, &self.name)?;
        self.is_finished = true;
        self.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(FinishedPartition {
            folder: self.name.clone(),
            files: std::mem::take(&mut self.files),
            checksums_crc32: hex(crc32fast::hash(&json)),
        })
    }
}

impl Drop for PartitionWriter<'_> {
    fn drop(&mut self) {
        if !self.is_finished
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::debug!(path = %self.path.display(), %error, "an unfinished partition is left");
        }
    }
}
