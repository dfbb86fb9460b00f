//! The data of every directory gives the roots, bloom filters, gas and hashes of its headers.

use alloy_consensus::{
    Eip658Value, EthereumReceipt, ReceiptEnvelope, ReceiptWithBloom, TxType, proofs,
};
use alloy_primitives::{B256, Bloom, Log};
use reth_codecs::Compact;
use std::ops::ControlFlow;
use txgraph_nodedb::{
    Block, BlockRange, DataDir, NodeDb, Parts, Receipt, Scratch, SignedTransaction, Snapshot,
    fuzzing::{self, Buffers},
};
use txgraph_testkit::fixtures::{self, Fixture};

#[test]
fn all_directories_have_the_roots_of_their_headers() {
    let mut all = fixtures::full();
    all.extend(fixtures::partial().into_iter().map(|(partial, _)| partial));
    let odd = [
        "odd/filter-v1",
        "odd/filter-v2",
        "odd/import-v2",
        "odd/migrated-v2",
        "odd/pruned-v1",
        "odd/pruned-v2",
    ];
    all.extend(odd.into_iter().filter_map(fixtures::fixture));
    for fixture in all {
        let db = NodeDb::open(&DataDir::new(fixture.path())).unwrap();
        let snapshot = db.snapshot().unwrap();
        headers_chain(&snapshot);
        let whole = BlockRange::up_to(snapshot.tip());
        let gaps = snapshot.gaps(whole, Parts::ALL).unwrap();
        // The blocks between gaps, and the first and last block of each gap.
        let mut next = 0;
        let mut checked = 0;
        for gap in &gaps {
            if next < gap.blocks.first {
                checked += scan(
                    &fixture,
                    &snapshot,
                    BlockRange::from_to(next, gap.blocks.first - 1),
                );
            }
            for block in [gap.blocks.first, gap.blocks.last] {
                let error = scan_result(&snapshot, BlockRange::one(block), &fixture);
                let error = error.expect_err("a gap begins and ends with a missing part");
                assert!(error.is_missing(), "{}: {error}", fixture.name);
            }
            next = gap.blocks.last + 1;
        }
        if next <= snapshot.tip() {
            checked += scan(
                &fixture,
                &snapshot,
                BlockRange::from_to(next, snapshot.tip()),
            );
        }
        assert!(checked > 0, "{}", fixture.name);
    }
}

/// Checks that all headers have their stored hash, and link.
fn headers_chain(snapshot: &Snapshot<'_>) {
    let mut parent = B256::ZERO;
    for number in 0..=snapshot.tip() {
        let header = snapshot.header(number).unwrap();
        assert_eq!(header.parent_hash, parent);
        assert_eq!(header.recompute_hash(), header.hash);
        assert_eq!(snapshot.block_hash(number).unwrap(), header.hash);
        parent = header.hash;
    }
}

fn scan(fixture: &Fixture, snapshot: &Snapshot<'_>, blocks: BlockRange) -> u64 {
    scan_result(snapshot, blocks, fixture).unwrap()
}

fn scan_result(
    snapshot: &Snapshot<'_>,
    blocks: BlockRange,
    fixture: &Fixture,
) -> txgraph_nodedb::Result<u64> {
    // Before Byzantium receipts contain a state root, which reth does not store.
    let byzantium = if fixture.name == "odd/import-v2" {
        9
    } else {
        0
    };
    let mut checked = 0;
    snapshot.for_each_block(blocks, Parts::ALL, &mut Scratch::default(), &mut |block| {
        check(block, byzantium)?;
        checked += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(checked)
}

fn check(block: &mut Block<'_>, byzantium: u64) -> txgraph_nodedb::Result<()> {
    assert_eq!(
        contradiction(block, byzantium)?,
        None,
        "block {}",
        block.number
    );
    block.check_roots()?;
    let number = block.number;
    for index in 0..block.body.tx_count as u32 {
        let signed = block.signed_transaction(index)?;
        assert_eq!(
            block.sender(index)?,
            txgraph_nodedb::fuzzing::sender(&signed).unwrap()
        );
        // Compared with reth's own decoders.
        let (theirs, _) = SignedTransaction::from_compact(block.transaction_bytes(index)?, 0);
        assert_eq!(signed, theirs, "block {number}");
        let row = block.receipt_bytes(index)?.to_vec();
        let (theirs, _) = EthereumReceipt::<TxType>::from_compact(&row, 0);
        let mut buffers = Buffers::default();
        let ours = envelope(&fuzzing::receipt(&row, &mut buffers).unwrap());
        assert_eq!(ours.cumulative_gas_used(), theirs.cumulative_gas_used);
        assert_eq!(ours.is_success(), theirs.success);
        assert_eq!(ours.logs(), theirs.logs);
        assert_eq!(ours.tx_type(), theirs.tx_type);
        assert_eq!(signed.tx_type(), theirs.tx_type);
    }
    Ok(())
}

/// Returns which root of a block is wrong, if any. Receipts are not checked before Byzantium,
/// where they have another form.
pub(crate) fn contradiction(
    block: &mut Block<'_>,
    byzantium: u64,
) -> txgraph_nodedb::Result<Option<&'static str>> {
    let header = block.header()?.clone();
    let mut receipts = Vec::new();
    let mut bloom = Bloom::ZERO;
    while let Some(receipt) = block.next_receipt()? {
        let envelope = envelope(&receipt);
        bloom |= *envelope.logs_bloom();
        receipts.push(envelope);
    }
    if bloom != header.logs_bloom {
        return Ok(Some("bloom"));
    }
    let root = proofs::calculate_receipt_root(&receipts);
    if header.number >= byzantium && root != header.receipts_root {
        return Ok(Some("receipts root"));
    }
    let transactions = (0..block.body.tx_count as u32)
        .map(|index| block.signed_transaction(index))
        .collect::<Result<Vec<_>, _>>()?;
    if proofs::calculate_transaction_root(&transactions) != header.transactions_root {
        return Ok(Some("transactions root"));
    }
    let root = proofs::calculate_withdrawals_root(block.withdrawals());
    if header
        .withdrawals_root
        .is_some_and(|expected| expected != root)
    {
        return Ok(Some("withdrawals root"));
    }
    Ok(None)
}

fn envelope(receipt: &Receipt<'_>) -> ReceiptEnvelope {
    let logs = receipt.logs().map(|log| {
        let topics = log.topics.iter().map(B256::from).collect();
        Log::new_unchecked(*log.address, topics, log.data.to_vec().into())
    });
    let inner = alloy_consensus::Receipt {
        status: Eip658Value::Eip658(receipt.success),
        cumulative_gas_used: receipt.cumulative_gas_used,
        logs: logs.collect(),
    };
    let inner: ReceiptWithBloom<_> = inner.with_bloom();
    match receipt.tx_type {
        0 => ReceiptEnvelope::Legacy(inner),
        1 => ReceiptEnvelope::Eip2930(inner),
        2 => ReceiptEnvelope::Eip1559(inner),
        3 => ReceiptEnvelope::Eip4844(inner),
        4 => ReceiptEnvelope::Eip7702(inner),
        other => panic!("type {other}"),
    }
}
