//! Times our precompiled contracts of BN254 beside revm's.

use super::{
    bench_cases::OurFrame,
    measure::{Answer, Subject, times},
    table::duration,
};
use crate::report::Results;
use alloy_primitives::{Address, Bytes};
use anyhow::{Context, Result, ensure};
use ark_bn254::{Fr, G1Affine, G2Affine};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{BigInteger, PrimeField};
use revm::precompile::{Precompile, Precompiles};
use serde_json::json;
use std::fmt::Write;
use txgraph_evm::Message;
use txgraph_revm_peer::flat::FlatState;

/// Inputs of each row, so that branches cannot be learned. More than the points that our cache
/// keeps.
const INPUTS: u64 = 128;

const GAS: u64 = 10_000_000;

/// Options of timings of programs.
#[derive(clap::Args)]
pub(crate) struct Timing {
    /// Counted rounds.
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// Milliseconds of a round.
    #[arg(long, default_value_t = 100)]
    pub(super) ms: u64,
    #[command(flatten)]
    pub(super) results: Results,
}

/// Times addition, multiplication and pairing: ours as calls, revm's as functions. All answers
/// are compared before anything is timed.
pub(crate) fn run(options: &Timing) -> Result<()> {
    let setup = &options.results.setup;
    let mut text = format!(
        "# Our precompiled contracts compared with revm's\n\n{setup}\n\n\
         | contract | own | revm | revm ÷ own | medians |\n| --- | ---: | ---: | ---: | ---: |\n"
    );
    let mut raw = Vec::new();
    for (name, contract, inputs) in rows() {
        let (mut own, mut peer) = (own(contract, &inputs), Peer::new(contract, &inputs)?);
        for _ in &inputs {
            let (own, peer) = (own.answer(), peer.answer());
            ensure!(own == peer, "{name}: own {own:?}, revm {peer:?}");
            ensure!(own.success, "{name}: the input is not valid");
        }
        let mut subjects: [Box<dyn Subject>; 2] = [Box::new(own), Box::new(peer)];
        let times = times(&mut subjects, options.rounds, options.ms)?;
        let (own, peer) = (&times[0], &times[1]);
        writeln!(
            text,
            "| {name} | {} | {} | {:.2} | {:.2} |",
            duration(own.min_ns),
            duration(peer.min_ns),
            peer.min_ns / own.min_ns,
            peer.median_ns / own.median_ns
        )?;
        raw.push(json!({ "name": name, "own": own, "revm": peer }));
    }
    let raw = json!({ "setup": setup, "rows": raw });
    let raw = serde_json::to_string_pretty(&raw)? + "\n";
    options.results.publish("precompiles.md", &text)?;
    options.results.write("precompiles.json", &raw)
}

/// Names of rows, contracts and inputs.
fn rows() -> Vec<(&'static str, u8, Vec<Bytes>)> {
    let inputs = |input: &dyn Fn(u64) -> Vec<u8>| (1..=INPUTS).map(|n| input(n).into()).collect();
    let add = |n| [g1(n), g1(n + 1)].concat();
    let multiply = |n: u64| [g1(n), number(scalar(n))].concat();
    let short = |n: u64| [g1(n), number(Fr::from(u64::MAX - n))].concat();
    // Pairs whose points of the second group have these scalars.
    let pairing = |n: u64, second: &[u64]| -> Vec<u8> {
        (second.iter().zip(n..))
            .flat_map(|(second, n)| [g1(n), g2(*second)].concat())
            .collect()
    };
    vec![
        ("addition", 6, inputs(&add)),
        ("multiplication", 7, inputs(&multiply)),
        ("multiplication by 64 bits", 7, inputs(&short)),
        ("2 pairs, known points", 8, inputs(&|n| pairing(n, &[1, 2]))),
        (
            "2 pairs, new points",
            8,
            inputs(&|n| pairing(n, &[n, n + INPUTS])),
        ),
        (
            "4 pairs, known points",
            8,
            inputs(&|n| pairing(n, &[1, 2, 3, 4])),
        ),
        (
            "4 pairs, one new point",
            8,
            inputs(&|n| pairing(n, &[1, 2, 3, n + 3])),
        ),
    ]
}

/// A scalar of full length.
fn scalar(n: u64) -> Fr {
    -Fr::from(n) * Fr::from(u64::MAX) * Fr::from(u64::MAX - n)
}

fn number(n: impl PrimeField) -> Vec<u8> {
    n.into_bigint().to_bytes_be()
}

/// A multiple of the generator, encoded.
fn g1(n: u64) -> Vec<u8> {
    let point = (G1Affine::generator() * scalar(n)).into_affine();
    [point.x, point.y].map(number).concat()
}

/// A multiple of the second group's generator, encoded.
fn g2(n: u64) -> Vec<u8> {
    let G2Affine { x, y, .. } = (G2Affine::generator() * scalar(n)).into_affine();
    [x.c1, x.c0, y.c1, y.c0].map(number).concat()
}

fn address(contract: u8) -> Address {
    Address::left_padding_from(&[contract])
}

/// Calls of our contract, without a transaction.
fn own(contract: u8, inputs: &[Bytes]) -> OurFrame {
    let message = |input: &Bytes| Message {
        to: Some(address(contract)),
        input: input.clone(),
        gas_limit: GAS,
        ..Message::default()
    };
    let messages = inputs.iter().map(message).collect();
    OurFrame::of_messages("own", FlatState::default(), messages)
}

/// The function of revm's contract.
struct Peer {
    precompile: &'static Precompile,
    inputs: Vec<Bytes>,
    next: usize,
}

impl Peer {
    fn new(contract: u8, inputs: &[Bytes]) -> Result<Self> {
        let precompile = Precompiles::cancun().get(&address(contract));
        Ok(Self {
            precompile: precompile.context("revm lacks a precompiled contract")?,
            inputs: inputs.to_vec(),
            next: 0,
        })
    }
}

impl Subject for Peer {
    fn name(&self) -> &'static str {
        "revm"
    }

    fn answer(&mut self) -> Answer {
        let input = &self.inputs[self.next];
        self.next = (self.next + 1) % self.inputs.len();
        let output = (self.precompile.execute(input, GAS, 0)).expect("only halts are errors");
        Answer {
            success: output.is_success(),
            gas_used: output.gas_used,
            output: output.bytes,
        }
    }
}
