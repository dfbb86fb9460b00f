//! A plain implementation of the reference method: a breadth-first search that scans the whole
//! range once for every visited address. A scan decodes every receipt completely with reth's
//! own codec before it looks at the token. Chunks of 20,000 blocks run in parallel, as in the
//! original. Its double counting at chunk borders and its extra hop are omitted, so that
//! answers can be compared.

use crate::{answer::Answer, console::say, limit, rows::Receipts};
use alloy_consensus::{EthereumReceipt, TxType};
use alloy_primitives::{Address, B256, U256, b256};
use anyhow::Result;
use rayon::prelude::*;
use reth_codecs::Compact;
use std::collections::{BTreeSet, VecDeque};
use txgraph_nodedb::{DataDir, NodeDb};

const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const CHUNK_BLOCKS: u64 = 20_000;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    chain: limit::Range,
    #[arg(long)]
    root: Address,
    #[arg(long)]
    token: Address,
    #[arg(long, default_value_t = 1)]
    hops: u32,
}

struct Transfer {
    block: u64,
    tx: u32,
    log: u32,
    to: Address,
    value: U256,
}

pub(crate) fn run(args: &Options) -> Result<()> {
    let db = NodeDb::open(&DataDir::new(&args.chain.datadir))?;
    let receipts = Receipts::open(&args.chain.datadir)?;

    let mut answer = Answer::default();
    let mut visited = BTreeSet::from([args.root]);
    let mut queue = VecDeque::from([(args.root, 0)]);
    while let Some((address, hop)) = queue.pop_front() {
        if hop == args.hops || (address.is_zero() && hop > 0) {
            continue;
        }
        for transfer in transfers_from(&db, &receipts, args, address)? {
            let Transfer {
                block,
                tx,
                log,
                to,
                value,
            } = transfer;
            answer.add(block, tx, log, address, to, value);
            if visited.insert(to) {
                queue.push_back((to, hop + 1));
            }
        }
    }
    say(answer);
    Ok(())
}

/// Scans the whole range for one address.
fn transfers_from(
    db: &NodeDb,
    receipts: &Receipts,
    args: &Options,
    address: Address,
) -> Result<Vec<Transfer>> {
    let starts: Vec<u64> = (args.chain.from_block..=args.chain.to_block)
        .step_by(usize::try_from(CHUNK_BLOCKS)?)
        .collect();
    let chunks = starts
        .into_par_iter()
        .map(|first| {
            let last = (first + CHUNK_BLOCKS - 1).min(args.chain.to_block);
            chunk_transfers(db, receipts, args.token, address, first, last)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(chunks.into_iter().flatten().collect())
}

fn chunk_transfers(
    db: &NodeDb,
    receipts: &Receipts,
    token: Address,
    address: Address,
    first: u64,
    last: u64,
) -> Result<Vec<Transfer>> {
    let mut found = Vec::new();
    let snapshot = db.snapshot()?;
    for block in first..=last {
        let body = snapshot.body(block)?;
        if body.tx_count == 0 {
            continue;
        }
        let mut log_index = 0;
        for number in body.first_tx..body.first_tx + body.tx_count {
            for log in &receipt(receipts, number)?.logs {
                let topics = log.topics();
                if log.address == token
                    && topics.len() == 3
                    && topics[0] == TRANSFER
                    && log.data.data.len() == 32
                    && Address::from_word(topics[1]) == address
                {
                    found.push(Transfer {
                        block,
                        tx: u32::try_from(number - body.first_tx)?,
                        log: log_index,
                        to: Address::from_word(topics[2]),
                        value: U256::from_be_slice(&log.data.data),
                    });
                }
                log_index += 1;
            }
        }
    }
    Ok(found)
}

/// Reads one receipt by its number like the provider of reth: finds the file, creates a cursor
/// with its own row buffer, takes the row, and decodes all of it.
fn receipt(receipts: &Receipts, number: u64) -> Result<EthereumReceipt<TxType>> {
    let jar = receipts.jar_of(number)?;
    let cursor: Vec<u8> = Vec::with_capacity(jar.row_bytes_max());
    std::hint::black_box(&cursor);
    let row = jar.row(number)?;
    let (receipt, _) = EthereumReceipt::<TxType>::from_compact(row, row.len());
    Ok(receipt)
}
