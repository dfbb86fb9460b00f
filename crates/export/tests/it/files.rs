//! Files appear whole or not at all.

use crate::tiny::{metadata, options, tiny, tiny_transfers};
use std::fs;
use txgraph_export::Threads;
use txgraph_export::{
    DocumentFormat, Error, GraphFormat, GraphOptions, TableFormat, Target, TransferTableOptions,
    TransferWriter, write_graph,
};

fn needs_graphviz(format: GraphFormat) -> bool {
    matches!(
        format,
        GraphFormat::Document(DocumentFormat::Svg | DocumentFormat::Png)
    )
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
    for format in GraphFormat::ALL {
        if needs_graphviz(*format) && !crate::drawing::has_graphviz() {
            continue;
        }
        let path = folder.path().join(format!("graph.{format}"));
        fs::write(&path, "mine").unwrap();
        let target = Target::File(path.clone());
        let write = |overwrite| {
            write_graph(
                &graph,
                *format,
                &options(),
                &metadata(&graph),
                &target,
                overwrite,
            )
        };
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
            match format {
                GraphFormat::Document(
                    DocumentFormat::Dot
                    | DocumentFormat::Svg
                    | DocumentFormat::Png
                    | DocumentFormat::Html,
                ) => txgraph_graph::testing::merged(&graph).len() as u64,
                _ => graph.graph.edge_count() as u64,
            }
        );
        assert_eq!(write(true).unwrap(), first);
        assert!(
            fs::read(&path).unwrap() == bytes,
            "{format}: the same question, the same bytes"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_format_reports_a_full_disk() {
    let graph = tiny();
    let target = Target::File("/dev/full".into());
    for format in GraphFormat::ALL {
        if needs_graphviz(*format) && !crate::drawing::has_graphviz() {
            continue;
        }
        let result = write_graph(
            &graph,
            *format,
            &options(),
            &metadata(&graph),
            &target,
            false,
        );
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
    for format in GraphFormat::ALL {
        if needs_graphviz(*format) && !crate::drawing::has_graphviz() {
            continue;
        }
        for merge in [false, true] {
            let options = GraphOptions { merge, ..options() };
            let target = Target::File(folder.path().join(format!("{merge}.{format}")));
            let metadata = metadata(&graph);
            let written = write_graph(&graph, *format, &options, &metadata, &target, false);
            assert_eq!(written.unwrap().rows, 0, "{format}");
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
