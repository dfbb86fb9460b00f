//! For `fuzz/`: reads of bytes that anyone may have written.

use crate::{manifest::Manifest, writer::Checksums};
use std::path::Path;

/// Reads a manifest. Returns the number of its partitions.
pub fn manifest(bytes: &[u8]) -> Option<usize> {
    let manifest = Manifest::parse(bytes, Path::new("manifest.json")).ok()?;
    let unsettled = manifest.unsettled();
    assert!(unsettled.end <= manifest.partitions.len());
    Some(manifest.partitions.len())
}

/// Reads the body of a manifest, to which a right checksum is added.
pub fn manifest_body(json: &[u8]) -> Option<usize> {
    let lake: serde_json::Value = serde_json::from_slice(json).ok()?;
    let crc32 = crate::manifest::hex(crc32fast::hash(lake.to_string().as_bytes()));
    let whole = serde_json::json!({
        "format": "txgraph-lake",
        "version": 1,
        "crc32": crc32,
        "lake": lake,
    });
    manifest(whole.to_string().as_bytes())
}

/// Reads a file of checksums. Returns the number of files in it.
pub fn checksums(bytes: &[u8]) -> Option<usize> {
    let checksums: Checksums = serde_json::from_slice(bytes).ok()?;
    Some(checksums.files.len())
}
