//! Tables that are written byte by byte.

use crate::{
    block::TRAILER_BYTES,
    cache::Blocks,
    checksum,
    edit::FileMeta,
    error::Result,
    fuzzing,
    table::{Table, TableCursor},
};
use std::{path::Path, sync::Arc};

/// How a table is written.
#[derive(Clone, Copy)]
struct Style {
    version: u32,
    compression: u8,
    /// Index keys without sequence numbers.
    user_keys: bool,
}

const fn style(version: u32, compression: u8, user_keys: bool) -> Style {
    Style {
        version,
        compression,
        user_keys,
    }
}

const STYLES: [Style; 4] = [
    style(6, 0, true),
    style(6, 4, true),
    style(6, 4, false),
    style(7, 7, true),
];
const BASE: u32 = 0x1234_5678;

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A block whose entries share nothing, or the first byte with the one before.
fn block(entries: &[(Vec<u8>, Vec<u8>)], shared: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut restarts = Vec::new();
    for (at, (key, value)) in entries.iter().enumerate() {
        let common = usize::from(shared && at % 3 != 0 && key[0] == entries[at - 1].0[0]);
        if at % 3 == 0 || !shared {
            restarts.extend((out.len() as u32).to_le_bytes());
        }
        varint(common as u64, &mut out);
        varint((key.len() - common) as u64, &mut out);
        varint(value.len() as u64, &mut out);
        out.extend_from_slice(&key[common..]);
        out.extend_from_slice(value);
    }
    if restarts.is_empty() {
        restarts = vec![0; 4];
    }
    let count = (restarts.len() / 4) as u32;
    [out, restarts, count.to_le_bytes().to_vec()].concat()
}

fn compress(style: Style, block: &[u8]) -> Vec<u8> {
    if style.compression == 0 {
        return block.to_vec();
    }
    let mut out = Vec::new();
    varint(block.len() as u64, &mut out);
    out.extend(match style.compression {
        4 => lz4_flex::block::compress(block),
        _ => zstd::bulk::compress(block, 3).unwrap(),
    });
    out
}

fn append(file: &mut Vec<u8>, compression: u8, block: &[u8]) -> (u64, u64) {
    let place = (file.len() as u64, block.len() as u64);
    let mut checked = block.to_vec();
    checked.push(compression);
    let sum = checksum::xxh3(&checked).wrapping_add(checksum::context(BASE, place.0));
    file.extend(checked);
    file.extend(sum.to_le_bytes());
    place
}

fn handle(place: (u64, u64)) -> Vec<u8> {
    let mut out = Vec::new();
    varint(place.0, &mut out);
    varint(place.1, &mut out);
    out
}

fn internal(key: &str, sequence: u64, kind: u8) -> Vec<u8> {
    [
        key.as_bytes(),
        &(sequence << 8 | u64::from(kind)).to_le_bytes(),
    ]
    .concat()
}

/// A table with rows a0 to a6 and b0 to b6 in two blocks.
fn table(style: Style, extra: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut places = Vec::new();
    for letter in ["a", "b"] {
        let row = |n: u64| {
            (
                internal(&format!("{letter}{n}"), n + 1, 1),
                vec![b'v'; 20 * n as usize],
            )
        };
        let rows: Vec<_> = (0..7).map(row).collect();
        let bytes = compress(style, &block(&rows, true));
        places.push(append(&mut file, style.compression, &bytes));
    }
    let key = |key: &str| match style.user_keys {
        true => key.as_bytes().to_vec(),
        false => internal(key, 1, 1),
    };
    let mut index = Vec::new();
    for (key, place) in [key("a9"), key("c")].iter().zip(places) {
        index.extend([0, key.len() as u8]);
        index.extend(key);
        index.extend(handle(place));
    }
    index.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    let index = append(&mut file, 0, &index);
    let deleted = [(internal("a2", 9, 15), b"a4".to_vec())];
    let deleted = append(&mut file, 0, &block(&deleted, false));
    let mut properties = vec![
        ("rocksdb.block.based.table.index.type", vec![0; 4]),
        ("rocksdb.comparator", b"leveldb.BytewiseComparator".to_vec()),
        (
            "rocksdb.index.key.is.user.key",
            vec![u8::from(style.user_keys)],
        ),
        ("rocksdb.index.value.is.delta.encoded", vec![1]),
    ];
    properties.extend(extra.iter().cloned());
    properties.sort();
    let properties: Vec<_> = properties
        .iter()
        .map(|(k, v)| (k.as_bytes().to_vec(), v.clone()))
        .collect();
    let properties = append(&mut file, 0, &block(&properties, false));
    let meta = [
        (b"rocksdb.index".to_vec(), handle(index)),
        (b"rocksdb.properties".to_vec(), handle(properties)),
        (b"rocksdb.range_del".to_vec(), handle(deleted)),
    ];
    let meta = append(&mut file, 0, &block(&meta, false));
    let mut footer = vec![4, 0x3e, 0, 0x7a, 0, 0, 0, 0, 0];
    footer.extend(BASE.to_le_bytes());
    footer.extend((meta.1 as u32).to_le_bytes());
    footer.resize(41, 0);
    footer.extend(style.version.to_le_bytes());
    footer.extend(0x88e2_41b7_85f4_cff7_u64.to_le_bytes());
    let sum = checksum::xxh3(&footer);
    let sum = sum.wrapping_add(checksum::context(BASE, file.len() as u64));
    footer[5..9].copy_from_slice(&sum.to_le_bytes());
    file.extend(footer);
    file
}

fn open(bytes: &[u8]) -> Result<Table> {
    let meta = FileMeta {
        number: 1,
        size: bytes.len() as u64,
        smallest: internal("a0", 1, 1),
        largest: internal("b6", 7, 1),
    };
    Table::open(Box::new(bytes.to_vec()), Path::new("table"), &meta)
}

#[test]
fn reads_every_format() {
    for style in STYLES {
        let bytes = table(style, &[]);
        let opened = Arc::new(open(&bytes).unwrap());
        assert_eq!(opened.tombstones.sequence(b"a3"), 9);
        assert_eq!(opened.tombstones.sequence(b"a4"), 0);
        let rows = fuzzing::table(&bytes).unwrap();
        let keys: Vec<_> = rows
            .iter()
            .map(|row| String::from_utf8_lossy(&row.0))
            .collect();
        assert_eq!(keys.join(" "), "a0 a1 a2 a3 a4 a5 a6 b0 b1 b2 b3 b4 b5 b6");
        let blocks = Blocks::default();
        for (from, expected) in [
            ("", "a0"),
            ("a3", "a3"),
            ("a31", "a4"),
            ("a7", "b0"),
            ("b6", "b6"),
        ] {
            let cursor = TableCursor::seek(Arc::clone(&opened), from.as_bytes(), &blocks).unwrap();
            let (key, value, packed) = cursor.row().unwrap();
            assert_eq!(key, expected.as_bytes());
            let n = u64::from(key[1] - b'0');
            assert_eq!((value.len() as u64, packed), (20 * n, (n + 1) << 8 | 1));
        }
        let end = TableCursor::seek(opened, b"b7", &blocks).unwrap();
        assert!(end.row().is_none());
    }
}

#[test]
fn a_changed_byte_is_an_error_or_changes_nothing() {
    for style in STYLES {
        let bytes = table(style, &[]);
        let rows = fuzzing::table(&bytes).unwrap();
        let mut errors = 0;
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            match fuzzing::table(&changed) {
                Ok(answer) => assert_eq!(answer, rows, "byte {at} of version {}", style.version),
                Err(_) => errors += 1,
            }
        }
        assert_eq!(errors, bytes.len());
        for len in 0..bytes.len() {
            assert!(fuzzing::table(&bytes[..len]).is_err());
        }
    }
}

#[test]
fn refuses_by_name() {
    let refused = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
    let style = STYLES[3];
    let text = refused(&table(
        style,
        &[("rocksdb.compression", b"Mine;04;".to_vec())],
    ));
    assert!(text.contains("compression by Mine"), "{text}");
    for kept in [&b"LZ4"[..], b"BuiltinV2;04;", b";;"] {
        open(&table(style, &[("rocksdb.compression", kept.to_vec())])).unwrap();
    }
    let version = ("rocksdb.external_sst_file.version", vec![2, 0, 0, 0]);
    assert!(refused(&table(style, &[version])).contains("an ingested file"));
    let mut other = table(style, &[]);
    let at = other.len() - 12;
    other[at] = 9;
    assert!(refused(&other).contains("format version 9"));
    let mut unchecked = table(style, &[]);
    let at = unchecked.len() - 53;
    unchecked[at] = 0;
    assert!(refused(&unchecked).contains("kNoChecksum"));
    let mut block = table(style, &[]);
    block.truncate(TRAILER_BYTES);
    assert!(refused(&block).contains("too short"));
}
