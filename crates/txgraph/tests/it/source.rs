//! Opening sources, and what they refuse.

use crate::{OZA, small};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};
use txgraph::{
    Backend, BuildOptions, Capabilities, Capability, ChainInfo, Config, ErrorKind, IndexChoice,
    Result, RunControl, Source, SourceError, SourceSpec, TransferFilter, TransferSource,
};
use txgraph_testkit::fixtures::Fixture;

#[test]
fn a_plain_path_is_a_data_directory() {
    let fixture = small();
    let path = fixture.path().display().to_string();
    for spec in [path.clone(), format!("reth:{path}")] {
        let source = Source::open(spec.as_str()).unwrap();
        assert_eq!(source.spec(), &SourceSpec::reth(fixture.path()));
        assert_eq!(source.tip().unwrap(), 40);
        assert_eq!(source.chain().unwrap().chain_id, 735_703);
        assert_eq!(source.info().unwrap().tip.number, 40);
        let all: Capabilities = Capability::ALL.iter().copied().collect();
        assert_eq!(source.capabilities(), all);
    }
    let error = Source::open("pond:somewhere").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.message.contains("reth:"), "{error}");
    let error = Source::with_config(&Config::default(), &RunControl::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(Source::builder(path.as_str()).threads(0).open().is_err());
    let other = Source::builder(path.as_str()).chain_id(1).open();
    let error = other.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.message.contains("735703, not 1"), "{error}");
}

#[test]
fn answers_come_from_an_index_too() {
    let fixture = small();
    let folder = tempfile::tempdir().unwrap();
    let index = IndexChoice::At(folder.path().join("index"));
    let plain = Source::open(fixture.path()).unwrap();
    let indexed = Source::builder(fixture.path()).index(index).open().unwrap();
    let options = BuildOptions {
        reorg_buffer: 0,
        ..BuildOptions::default()
    };
    indexed.index().unwrap().build(&options, false).unwrap();
    let state = indexed.index().unwrap().status().unwrap();
    assert_eq!(state.behind_blocks, 0);
    let ask = |source: &Source| source.transfers().token(OZA).collect().unwrap();
    assert_eq!(ask(&indexed), ask(&plain));
    // Not into the data directory.
    let inside = IndexChoice::At(fixture.path().join("index"));
    let source = Source::builder(fixture.path())
        .index(inside)
        .open()
        .unwrap();
    let error = source.index().unwrap().build(&options, false).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
}

/// The blocks of another source, which can list transfers and nothing else.
#[derive(Debug)]
struct TransfersOnly {
    source: Source,
    /// Whether the next query meets a reorganization.
    is_reorganized: AtomicBool,
}

impl Backend for TransfersOnly {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default().with(Capability::Transfers)
    }

    fn chain(&self) -> Result<&ChainInfo> {
        self.source.chain()
    }

    fn tip(&self) -> Result<u64> {
        self.source.tip()
    }

    fn transfers(&self, filter: &TransferFilter) -> Result<Box<dyn TransferSource + Sync + '_>> {
        match self.is_reorganized.swap(false, Ordering::Relaxed) {
            true => Err(SourceError::Reorged { block: 1 }.into()),
            false => self.source.transfer_source(filter),
        }
    }
}

impl TransfersOnly {
    fn open(fixture: &Fixture) -> Self {
        Self {
            source: Source::open(fixture.path()).unwrap(),
            is_reorganized: AtomicBool::new(false),
        }
    }
}

#[test]
fn collecting_starts_again_and_calling_a_function_does_not() {
    let fixture = small();
    let open = || {
        let backend = TransfersOnly::open(&fixture);
        backend.is_reorganized.store(true, Ordering::Relaxed);
        Source::with_backend("test:small", backend)
    };
    assert!(!open().transfers().collect().unwrap().is_empty());
    let source = open();
    let error = source
        .transfers()
        .for_each(|_| Ok(ControlFlow::Continue(())));
    assert_eq!(error.unwrap_err().kind, ErrorKind::Reorged);
}

#[test]
fn settings_and_control_reach_a_backend_of_a_program() {
    let fixture = small();
    let open = |config: &Config, control: &RunControl| {
        let backend = TransfersOnly::open(&fixture);
        Source::with_backend_and("test:small", backend, config, control)
    };
    let control = RunControl::default();
    let source = open(&Config::default(), &control).unwrap();
    assert!(source.search(OZA).run().is_ok());
    control.cancel.cancel();
    let error = source.search(OZA).run().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Interrupted, "{error}");

    let too_many = Config {
        threads: Some(100_000),
        ..Config::default()
    };
    let error = open(&too_many, &RunControl::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage, "{error}");
}

#[test]
fn unsupported_requests_are_refused() {
    let fixture = small();
    let source = Source::with_backend("test:small", TransfersOnly::open(&fixture));
    assert!(!source.transfers().collect().unwrap().is_empty());
    let refused = |result: Result<()>, capability: Capability| {
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported(capability), "{error}");
        assert!(error.message.contains("test:small"), "{error}");
        assert!(error.message.contains("cannot"), "{error}");
    };
    let internal = source.transfers().internal().collect();
    refused(internal.map(drop), Capability::Replay);
    let graph = source.search(OZA).internal().run();
    refused(graph.map(drop), Capability::Replay);
    refused(source.replay().verify().map(drop), Capability::Replay);
    refused(source.call(OZA).run().map(drop), Capability::State);
    refused(source.token(OZA).run().map(drop), Capability::State);
    refused(source.index().map(drop), Capability::Index);
    refused(source.info().map(drop), Capability::Info);
}
