//! `txgraph-evm-precompiles`: times our precompiled contracts of BN254 beside those of revm.

use alloy_primitives::{Address, Bytes};
use anyhow::{Context, Result, bail, ensure};
use ark_bn254::{Fr, G1Affine, G2Affine};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{BigInteger, PrimeField};
use revm::precompile::{Precompile, Precompiles};
use serde_json::json;
use std::{fmt::Write, fs, path::PathBuf};
use txgraph_evm::{Block, Evm, Message, State};
use txgraph_evm_bench::{
    measure::{Answer, Subject, interleaved},
    subjects::{FORK, block},
    table::duration,
};
use txgraph_evm_tools::call::Call;
use txgraph_revm_peer::flat::FlatState;

const USAGE: &str = "\
usage: txgraph-evm-precompiles [--rounds N] [--ms N] [--out FOLDER] [--setup TEXT]

Times addition, multiplication and pairing on BN254: ours as calls, revm's as functions. All
answers are compared before anything is timed.
";

/// Inputs of each row, so that branches cannot be learned. More than the points that our cache
/// keeps.
const INPUTS: u64 = 128;

const GAS: u64 = 10_000_000;

fn main() -> Result<()> {
    let (mut rounds, mut round_ms, mut out, mut setup) = (5, 100, None, String::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args
            .next()
            .with_context(|| format!("{arg} needs a value\n{USAGE}"))?;
        match arg.as_str() {
            "--rounds" => rounds = value.parse().context("--rounds")?,
            "--ms" => round_ms = value.parse().context("--ms")?,
            "--out" => out = Some(PathBuf::from(value)),
            "--setup" => setup = value,
            _ => bail!("{USAGE}"),
        }
    }
    let mut text = format!(
        "# Our precompiled contracts compared with revm's\n\n{setup}\n\n\
         | contract | own | revm | revm ÷ own | medians |\n| --- | ---: | ---: | ---: | ---: |\n"
    );
    let mut raw = Vec::new();
    for (name, contract, inputs) in rows() {
        let (mut own, mut peer) = (Own::new(contract, &inputs), Peer::new(contract, &inputs)?);
        for _ in &inputs {
            let (own, peer) = (own.answer(), peer.answer());
            ensure!(own == peer, "{name}: own {own:?}, revm {peer:?}");
            ensure!(own.success, "{name}: the input is not valid");
        }
        let mut subjects: [Box<dyn Subject>; 2] = [Box::new(own), Box::new(peer)];
        let times = interleaved(&mut subjects, rounds, round_ms);
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
    if let Some(out) = &out {
        fs::create_dir_all(out)?;
        fs::write(out.join("precompiles.md"), &text)?;
        let raw = json!({ "setup": setup, "rows": raw });
        let raw = serde_json::to_string_pretty(&raw)? + "\n";
        fs::write(out.join("precompiles.json"), raw)?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
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

/// A multiple of the generator of the second group, encoded.
fn g2(n: u64) -> Vec<u8> {
    let G2Affine { x, y, .. } = (G2Affine::generator() * scalar(n)).into_affine();
    [x.c1, x.c0, y.c1, y.c0].map(number).concat()
}

fn address(contract: u8) -> Address {
    Address::left_padding_from(&[contract])
}

/// Calls of our contract, without a transaction.
struct Own {
    evm: Evm,
    state: State<FlatState>,
    block: Block,
    messages: Vec<Message>,
    next: usize,
}

impl Own {
    fn new(contract: u8, inputs: &[Bytes]) -> Self {
        let message = |input: &Bytes| Message {
            to: Some(address(contract)),
            input: input.clone(),
            gas_limit: GAS,
            ..Message::default()
        };
        Self {
            evm: Evm::new(FORK, 1),
            state: State::new(FlatState::new(&Call::default().state)),
            block: block(),
            messages: inputs.iter().map(message).collect(),
            next: 0,
        }
    }

    fn outcome(&mut self) -> txgraph_evm::Outcome {
        self.state.clear();
        let message = &self.messages[self.next];
        self.next = (self.next + 1) % self.messages.len();
        (self.evm.call(&mut self.state, &self.block, message)).expect("the state is in memory")
    }
}

impl Subject for Own {
    fn name(&self) -> &'static str {
        "own"
    }

    fn answer(&mut self) -> Answer {
        self.outcome().into()
    }

    fn run(&mut self) -> u64 {
        self.outcome().gas_used
    }
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
            output: output.bytes.to_vec(),
        }
    }

    fn run(&mut self) -> u64 {
        self.answer().gas_used
    }
}
