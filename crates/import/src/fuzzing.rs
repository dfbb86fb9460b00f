//! Entry points for the fuzz targets. Not part of the interface.

use crate::{Family, ImportOptions, ImportedFiles};
use std::{fs, path::Path};
use txgraph_stored::StoredBlocks;
use txgraph_transfers::{ScanRequest, TransferFilter};

/// Reads a file with these bytes, if it can be read at all. `extension` chooses the format.
pub fn read(folder: &Path, extension: &str, bytes: &[u8]) {
    let path = folder.join("input").with_extension(extension);
    if fs::write(&path, bytes).is_err() {
        return;
    }
    let mut options = ImportOptions::new(Family::Csv);
    options.chain_id = Some(1);
    let Ok(files) = ImportedFiles::open(&path, &options) else {
        return;
    };
    let request = ScanRequest {
        blocks: files.available(),
        filter: TransferFilter::with_internal(files.has_internal()),
        ..ScanRequest::default()
    };
    let Ok(chunks) = files.chunks(&request.blocks, &request) else {
        return;
    };
    for chunk in chunks {
        let Ok(read) = files.read(&mut Default::default(), chunk, &request) else {
            continue;
        };
        let positions = read.transfers.iter().map(|transfer| transfer.position());
        assert!(positions.is_sorted());
        assert!(
            read.transfers
                .iter()
                .all(|it| chunk.contains(it.block_number))
        );
    }
}
