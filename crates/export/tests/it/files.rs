//! Files appear whole or not at all.

use crate::tiny::{metadata, options, options_merged, tiny, tiny_transfers, write};
use std::fs;
use txgraph_export::{
    DocumentFormat, Error, GraphFormat, TableFormat, Target, Threads, TransferTableOptions,
    TransferWriter,
};

/// The formats that can be written here.
fn graph_formats() -> impl Iterator<Item = GraphFormat> {
    let has_graphviz = crate::drawing::has_graphviz();
    let formats = GraphFormat::ALL.iter().copied();
    formats.filter(move |format| has_graphviz || !format.needs_graphviz())
}

#[test]
fn dropped_writer_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for format in TableFormat::ALL {
        let target = Target::File(folder.path().join("t"));
        let options = TransferTableOptions {
            group_rows: 2,
            // One of them encodes columns.
            threads: Threads::new(2).unwrap(),
            ..TransferTableOptions::new(1)
        };
        let mut writer = TransferWriter::new(*format, &options, &target, false).unwrap();
        writer.write(&tiny_transfers()).unwrap();
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "the unfinished file"
        );
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn existing_files_are_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let graph = tiny();
    for format in graph_formats() {
        let path = folder.path().join(format!("graph.{format}"));
        fs::write(&path, "mine").unwrap();
        let target = Target::File(path.clone());
        let write = |overwrite| write(&graph, format, &options(), &target, overwrite);
        let error = write(false).unwrap_err();
        assert!(
            matches!(&error, Error::Exists { path: named } if *named == path),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("another name"));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        let first = write(true).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(
            first.rows,
            Some(match format {
                GraphFormat::Document(
                    DocumentFormat::Dot
                    | DocumentFormat::Svg
                    | DocumentFormat::Png
                    | DocumentFormat::Html,
                ) => txgraph_graph::testing::merged(&graph).len() as u64,
                _ => graph.graph.edge_count() as u64,
            })
        );
        assert_eq!(write(true).unwrap(), first);
        assert!(
            fs::read(&path).unwrap() == bytes,
            "{format}: the same query, the same bytes"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_format_reports_a_full_disk() {
    let graph = tiny();
    let target = Target::File("/dev/full".into());
    for format in graph_formats() {
        let result = write(&graph, format, &options(), &target, false);
        assert!(
            matches!(result, Err(Error::NoSpace { .. })),
            "{format}: {result:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_writer_reports_a_disk_that_fills_up() {
    let target = Target::File("/dev/full".into());
    let transfers: Vec<_> = (0..2_000).flat_map(|_| tiny_transfers()).collect();
    for format in TableFormat::ALL {
        for threads in [1, 2] {
            let options = TransferTableOptions {
                group_rows: 2_000,
                threads: Threads::new(threads).unwrap(),
                ..TransferTableOptions::new(1)
            };
            let mut writer = TransferWriter::new(*format, &options, &target, false).unwrap();
            let written = transfers
                .chunks(100)
                .try_for_each(|transfers| writer.write(transfers));
            let result = written.and_then(|()| writer.finish(&metadata(&tiny())).map(|_| ()));
            assert!(
                matches!(result, Err(Error::NoSpace { .. })),
                "{format}, {threads} threads: {result:?}"
            );
        }
    }
}

#[test]
fn every_format_writes_an_empty_graph() {
    let folder = tempfile::tempdir().unwrap();
    let graph = txgraph_graph::testing::graph(Vec::new());
    for format in graph_formats() {
        for merge in [false, true] {
            let target = Target::File(folder.path().join(format!("{merge}.{format}")));
            let written = write(&graph, format, &options_merged(merge), &target, false);
            assert_eq!(written.unwrap().rows, Some(0), "{format}");
        }
    }
}

#[test]
fn missing_folder_fails_on_open() {
    let target = Target::File("no/such/folder/t.parquet".into());
    for format in TableFormat::ALL {
        let options = TransferTableOptions::new(1);
        let error = TransferWriter::new(*format, &options, &target, false)
            .err()
            .unwrap();
        assert!(matches!(error, Error::NoFolder { .. }), "{error}");
    }
}

#[test]
fn dash_is_standard_output() {
    assert_eq!("-".parse(), Ok(Target::Stdout));
    assert_eq!("./-".parse(), Ok(Target::File("./-".into())));
}
