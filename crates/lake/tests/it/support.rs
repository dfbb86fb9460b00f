//! Opening nodes and lakes.

#[path = "../../../stored/tests/it/support.rs"]
mod shared;

use serde_json::Value;
pub(crate) use shared::{Sample, chain, node, options, sample, until, work};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use txgraph_lake::{Lake, LakeSource, PartitionInfo};
use txgraph_testkit::fixtures::files_below;
pub(crate) use txgraph_testkit::queries::{ask, assert_same, everything, range, seen};

pub(crate) fn open(folder: &Path) -> Lake {
    Lake::open(folder).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn source(lake: &Lake) -> LakeSource<'_> {
    LakeSource::new(lake, work())
}

/// All files of the lake in a folder, without the lock.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_below(folder);
    files.retain(|path| !path.ends_with("LOCK"));
    files
}

pub(crate) fn file_path(lake: &Lake, partition: &PartitionInfo, name: &str) -> PathBuf {
    lake.path()
        .join("partitions")
        .join(&partition.folder)
        .join(name)
}

/// The content of all Parquet files, by the first block of the partition and the name.
pub(crate) fn content(lake: &Lake) -> BTreeMap<(u64, String), Vec<u8>> {
    let mut content = BTreeMap::new();
    for partition in lake.partitions() {
        for file in &partition.files {
            let bytes = fs::read(file_path(lake, partition, &file.name)).unwrap();
            content.insert((partition.blocks.first, file.name.clone()), bytes);
        }
    }
    content
}

/// Checks that a folder has the files of its manifest, and no others.
pub(crate) fn assert_tidy(folder: &Path) {
    let lake = open(folder);
    let mut expected = vec![folder.join("manifest.json")];
    for partition in lake.partitions() {
        let names = partition.files.iter().map(|file| file.name.as_str());
        for name in names.chain(["checksums.json"]) {
            expected.push(file_path(&lake, partition, name));
        }
    }
    expected.sort();
    assert_eq!(files(folder), expected);
}

/// Gives the files of a lake the checksums and lengths that they have now, as anyone could who
/// makes a lake to harm.
pub(crate) fn reseal(folder: &Path) {
    let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let crc32 = |bytes: &[u8]| format!("{:08x}", crc32fast::hash(bytes));
    let manifest = folder.join("manifest.json");
    let mut json = read(&manifest);
    for partition in json["lake"]["partitions"].as_array_mut().unwrap() {
        let place = folder
            .join("partitions")
            .join(partition["folder"].as_str().unwrap());
        let mut sums = read(&place.join("checksums.json"));
        for file in sums["files"].as_array_mut().unwrap() {
            let bytes = fs::read(place.join(file["name"].as_str().unwrap())).unwrap();
            file["crc32"] = bytes.chunks(1 << 14).map(crc32fast::hash).collect();
        }
        let text = sums.to_string();
        fs::write(place.join("checksums.json"), &text).unwrap();
        partition["checksums_crc32"] = crc32(text.as_bytes()).into();
        for file in partition["files"].as_array_mut().unwrap() {
            let bytes = fs::read(place.join(file["name"].as_str().unwrap())).unwrap();
            file["bytes"] = bytes.len().into();
            file["crc32"] = crc32(&bytes).into();
        }
    }
    json["crc32"] = crc32(json["lake"].to_string().as_bytes()).into();
    fs::write(manifest, json.to_string()).unwrap();
}
