//! Executes random blocks of Amsterdam on our interpreter and in geth behind
//! `scripts/compare-geth`, and prints the first difference.

use crate::console::say;
use alloy_primitives::{Address, B256, Bytes, U64, U256, address, keccak256};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::{
    io::{BufRead, BufReader, BufWriter, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use txgraph_block::{BlockRules, BlockSteps, Deposits, GenesisAccounts, Receipts, state_root};
use txgraph_evm::{BlobSchedule, Error, Evm, Fork, Outcome, Transaction};
use txgraph_evm_tools::{
    block_run::BlockRun,
    engine::{changed, in_order},
};
use txgraph_revm_peer::{
    block_case::{BlockCase, block_case, key_of},
    case::CHAIN_ID,
};

/// The deposit contract of mainnet.
const DEPOSITS: Address = address!("00000000219ab540356cbb839cbe05303d7705fa");

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program around geth.
    program: String,
    /// The number of blocks.
    #[arg(long, default_value_t = 1_000)]
    cases: u64,
    /// The seed of the first block.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Compare nothing: print the blocks that geth makes as packed blockchain tests.
    #[arg(long)]
    record: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let seeds = options.seed..options.seed + options.cases;
    let mut peer = Peer::start(&options.program, options.record)?;
    if options.record {
        return print_tests(&mut peer, seeds);
    }
    let mut evm = Evm::new(Fork::Amsterdam, CHAIN_ID);
    let mut counts = Counts::default();
    for seed in seeds {
        let case = block_case(seed, &peer.system);
        peer.send(&to_json(&case)?)?;
        let own = execute(&mut evm, &case)?;
        // Received before the next block is sent: neither process waits for room in a pipe.
        let theirs = peer.receive()?;
        if let Some(what) = difference("", &own, &theirs) {
            bail!("seed {seed}: {what}\nown  {own}\ngeth {theirs}");
        }
        counts.add(&own);
    }
    say(counts);
    Ok(())
}

/// Prints the blocks of `seeds` as lines of a packed file of tests.
fn print_tests(peer: &mut Peer, seeds: std::ops::Range<u64>) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout());
    for seed in seeds {
        let case = block_case(seed, &peer.system);
        peer.send(&to_json(&case)?)?;
        let test = peer.receive()?["test"].take();
        if !test.is_null() {
            let line = json!(["amsterdam-geth.json", format!("seed {seed}"), test]);
            writeln!(out, "{line}")?;
        }
    }
    Ok(out.flush()?)
}

/// Counts of the comparison.
#[derive(Default)]
struct Counts {
    blocks: usize,
    faults: usize,
    transactions: usize,
    invalid: usize,
    failed: usize,
    with_state_gas: usize,
    with_refund: usize,
}

impl Counts {
    fn add(&mut self, block: &Value) {
        self.blocks += 1;
        self.faults += usize::from(block["fault"] == true);
        for it in block["transactions"].as_array().into_iter().flatten() {
            self.transactions += 1;
            self.invalid += usize::from(it["invalid"] == true);
            self.failed += usize::from(it["invalid"] == false && it["success"] == false);
            self.with_state_gas += usize::from(it["invalid"] == false && it["state"] != "0x0");
            self.with_refund += usize::from(it["invalid"] == false && it["refund"] != "0x0");
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} blocks ({} invalid) with {} transactions are equal: {} invalid, {} failed, {} with \
             state gas, {} with a refund",
            self.blocks,
            self.faults,
            self.transactions,
            self.invalid,
            self.failed,
            self.with_state_gas,
            self.with_refund
        )
    }
}

/// The first difference. The key `why` is only for readers.
fn difference(path: &str, own: &Value, theirs: &Value) -> Option<String> {
    match (own, theirs) {
        (Value::Object(own), Value::Object(theirs)) => (own.iter())
            .filter(|(key, _)| *key != "why")
            .find_map(|(key, own)| {
                let theirs = theirs.get(key).unwrap_or(&Value::Null);
                difference(&format!("{path}.{key}"), own, theirs)
            }),
        (Value::Array(own), Value::Array(theirs)) if own.len() == theirs.len() => {
            let mut pairs = own.iter().zip(theirs).enumerate();
            pairs.find_map(|(at, (own, theirs))| difference(&format!("{path}[{at}]"), own, theirs))
        }
        _ => (own != theirs).then(|| format!("{path}: own {own}, geth {theirs}")),
    }
}

/// The other process. It ends when its input ends.
struct Peer {
    _child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    system: Vec<(Address, Bytes)>,
}

impl Peer {
    fn start(program: &str, record: bool) -> Result<Self> {
        let mut child = Command::new(program)
            .args(record.then_some("-record"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let input = BufWriter::new(child.stdin.take().context("no input")?);
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut peer = Self {
            _child: child,
            input,
            output,
            system: Vec::new(),
        };
        let GenesisAccounts(accounts) = serde_json::from_value(peer.receive()?)?;
        let accounts = accounts.into_iter();
        peer.system = accounts.map(|(address, it)| (address, it.code)).collect();
        Ok(peer)
    }

    fn send(&mut self, block: &Value) -> Result<()> {
        serde_json::to_writer(&mut self.input, block)?;
        self.input.write_all(b"\n")?;
        Ok(self.input.flush()?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("geth ended");
        }
        Ok(serde_json::from_str(&line)?)
    }
}

/// Executes a block on our interpreter.
fn execute(evm: &mut Evm, case: &BlockCase) -> Result<Value> {
    let rules = BlockRules {
        fork: Fork::Amsterdam,
        blobs: BlobSchedule::of(Fork::Amsterdam),
        moves_dao: false,
        deposit_contract: DEPOSITS,
    };
    let mut block = case.block.clone();
    let mut run = BlockRun::new(evm, case.state.clone());
    let around = block.clone();
    let steps = BlockSteps {
        rules: &rules,
        block: &around,
        parent_hash: case.parent_hash,
        parent_beacon_block_root: Some(case.beacon_root),
        ommers: Vec::new(),
        withdrawals: case.withdrawals.clone(),
    };
    steps.before(&mut run)?;
    run.end_step();
    let mut deposits = Deposits::new(rules.deposit_contract);
    let mut receipts = Receipts::default();
    let mut transactions = Vec::new();
    for transaction in &case.transactions {
        match run.transaction(&block, transaction) {
            Ok(outcome) => {
                deposits.collect(&outcome.logs);
                receipts.push(transaction, &outcome);
                block.gas_used = receipts.block_gas;
                run.end_step();
                transactions.push(of_outcome(&outcome));
            }
            Err(Error::Invalid(why)) => {
                transactions.push(json!({"invalid": true, "why": why.to_string()}));
            }
            Err(Error::Source(error)) => return Err(error.into()),
        }
    }
    let requests = match steps.after(&mut run, deposits)? {
        Ok(requests) => requests.context("no requests")?,
        Err(why) => {
            return Ok(json!({
                "transactions": transactions, "fault": true, "why": why.to_string(),
            }));
        }
    };
    run.end_step();
    let (state, access_list) = run.finish();
    let after = changed(case.state.clone(), &state.changes());
    Ok(json!({
        "transactions": transactions,
        "fault": false,
        "requests": requests.requests_hash(),
        "accessList": access_list.hash(),
        "gasUsed": U64::from(receipts.block_gas.used()),
        "stateRoot": state_root(&after),
    }))
}

fn of_outcome(outcome: &Outcome) -> Value {
    let mut logs = Vec::new();
    alloy_rlp::encode_list(&outcome.logs, &mut logs);
    json!({
        "invalid": false,
        "success": outcome.is_success(),
        "gasUsed": U64::from(outcome.gas_used),
        "regular": U64::from(outcome.block_gas.regular),
        "state": U64::from(outcome.block_gas.state),
        "refund": U64::from(outcome.gas_refunded),
        "logs": keccak256(logs),
        "output": outcome.output,
        "why": format!("{:?}", outcome.status),
    })
}

/// The block as a line for the other process.
fn to_json(case: &BlockCase) -> Result<Value> {
    let block = &case.block;
    let transactions: Result<Vec<_>> = case.transactions.iter().map(of_transaction).collect();
    let alloc = in_order(&case.state).into_iter().map(|(address, account)| {
        let storage = account.storage.into_iter();
        let storage = storage.map(|(key, value)| (word(key), json!(word(value))));
        let account = json!({
            "balance": account.balance,
            "nonce": U64::from(account.nonce),
            "code": account.code,
            "storage": storage.collect::<Map<_, _>>(),
        });
        (address.to_string(), account)
    });
    let withdrawals = case.withdrawals.iter();
    Ok(json!({
        "alloc": alloc.collect::<Map<_, _>>(),
        "number": U64::from(block.number),
        "timestamp": U64::from(block.timestamp),
        "beneficiary": block.beneficiary,
        "gasLimit": U64::from(block.gas_limit),
        "baseFee": block.base_fee,
        "blobBaseFee": block.blob_base_fee,
        "prevrandao": block.prevrandao,
        "slot": U64::from(block.slot_number),
        "parentHash": case.parent_hash,
        "beaconRoot": case.beacon_root,
        "transactions": transactions?,
        "withdrawals": withdrawals.map(|(address, gwei)| {
            json!({"address": address, "gwei": U64::from(*gwei)})
        }).collect::<Vec<_>>(),
    }))
}

fn word(value: U256) -> String {
    B256::from(value).to_string()
}

fn of_transaction(transaction: &Transaction) -> Result<Value> {
    let access_list = transaction
        .access_list
        .iter()
        .map(|item| json!({"address": item.address, "storageKeys": item.storage_keys}));
    let authorizations = transaction.authorizations.iter().map(|it| {
        let key = match it.authority {
            Some(authority) => key_of(authority).context("an authority without a key")?,
            None => 0,
        };
        Ok(json!({
            "chainId": U64::from(it.chain_id.to::<u64>()),
            "address": it.address,
            "nonce": U64::from(it.nonce),
            "key": U64::from(key),
        }))
    });
    let is_blob = !transaction.blob_hashes.is_empty();
    Ok(json!({
        "from": transaction.caller,
        "to": transaction.to,
        "nonce": U64::from(transaction.nonce),
        "gas": U64::from(transaction.gas_limit),
        "fee": transaction.max_fee_per_gas,
        "tip": transaction.max_priority_fee_per_gas,
        "value": transaction.value,
        "input": transaction.input,
        "accessList": access_list.collect::<Vec<_>>(),
        "blobHashes": is_blob.then_some(&transaction.blob_hashes),
        "blobFee": is_blob.then_some(transaction.max_fee_per_blob_gas),
        "authorizations": authorizations.collect::<Result<Vec<_>>>()?,
    }))
}
