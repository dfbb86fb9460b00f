//! Fees on the OP stack, compared with the balances of the fee vaults of real blocks.

use crate::support::{answer, ask, everything, open_with, range};
use alloy_primitives::{Address, B256, U256, address, hex};
use tempfile::TempDir;
use txgraph_chaingen::{BlockSample, BlockWriter, ExecutedBlock, Layout, op_block};
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_testkit::{
    edit,
    op::{self, BalancedBlock},
    or_skip, says,
};
use txgraph_transfers::{Kind, ScanRequest, Transfer, TransferSource};

const BASE_FEE_VAULT: Address = address!("4200000000000000000000000000000000000019");
const SEQUENCER_FEE_VAULT: Address = address!("4200000000000000000000000000000000000011");
const L1_FEE_VAULT: Address = address!("420000000000000000000000000000000000001a");
const OPERATOR_FEE_VAULT: Address = address!("420000000000000000000000000000000000001b");

/// A directory of OP Mainnet with one block after the first.
fn directory(first: ExecutedBlock, block: ExecutedBlock, layout: Layout) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let named = (first.header.number, first.header.hash_slow());
    BlockWriter::create_from(folder.path(), layout.into(), 0, vec![first, block]).unwrap();
    edit::rename_block(folder.path(), named, op::OP_MAINNET_GENESIS);
    folder
}

fn recorded(block: &BalancedBlock) -> (ExecutedBlock, ExecutedBlock) {
    (
        op_block(&block.parent).unwrap(),
        op_block(&block.block).unwrap(),
    )
}

fn fees(number: u64) -> ScanRequest {
    let mut request = everything(range(number, number));
    request.filter.internal = true;
    request.filter.kinds = Kind::FEES.to_vec();
    request
}

fn found(folder: &TempDir, number: u64) -> Vec<Transfer> {
    let source = open_with(folder.path(), ScanOptions::default());
    let (transfers, report) = answer(&source, &fees(number));
    assert_eq!(report.counts.transfers, transfers.len() as u64);
    assert!(transfers.is_sorted_by_key(Transfer::position));
    assert!(transfers.iter().all(|it| it.transaction_hash.is_some()));
    transfers
}

fn sum(transfers: &[Transfer], kind: Kind, to: Address) -> U256 {
    let of_kind = transfers.iter().filter(|it| it.kind == kind);
    of_kind
        .inspect(|it| assert_eq!(it.to_address, to))
        .map(|it| it.value)
        .sum()
}

/// The amount that an account received in a block.
fn received(block: &BalancedBlock, account: Address) -> U256 {
    let (before, after) = block.balances[&account];
    after - before
}

/// The gas of a transaction that was the only one of its sender, from what the sender lost.
fn gas_of(block: &BalancedBlock, index: usize, fees: &[Transfer]) -> Option<u64> {
    let transactions = block.block["transactions"].as_array().unwrap();
    let number =
        |value: &serde_json::Value| -> U256 { serde_json::from_value(value.clone()).unwrap() };
    let this = &transactions[index];
    let same = transactions.iter().filter(|it| it["from"] == this["from"]);
    if same.count() > 1 {
        return None;
    }
    let sender: Address = serde_json::from_value(this["from"].clone()).unwrap();
    let (before, after) = block.balances[&sender];
    let mut l1 = fees.iter().filter(|it| {
        it.kind == Kind::L1Fee && it.transaction_index == u32::try_from(index).unwrap()
    });
    let paid = before.checked_sub(after)?.checked_sub(l1.next()?.value)?;
    let base_fee = number(&block.block["baseFeePerGas"]);
    let price = match this.get("maxFeePerGas") {
        Some(most) => number(most).min(base_fee + number(&this["maxPriorityFeePerGas"])),
        None => number(&this["gasPrice"]),
    };
    let limits = U256::from(21_000)..=number(&this["gas"]);
    // A transaction that fails moves no value.
    let unmoved = [number(&this["value"]), U256::ZERO].into_iter();
    let candidates = unmoved.filter_map(|value| {
        let (gas, rest) = paid.checked_sub(value)?.div_rem(price);
        (rest.is_zero() && limits.contains(&gas)).then(|| gas.to())
    });
    let mut candidates: Vec<u64> = candidates.collect();
    candidates.dedup();
    (candidates.len() == 1).then(|| candidates[0])
}

/// 71 transactions of seven blocks: their L1 fees add up to what `L1FeeVault` received. 63 of
/// them are the only ones of a sender that received nothing: what it paid beyond the L1 fee is a
/// whole number of gas.
#[test]
fn l1_fees_of_op_mainnet_blocks_are_what_the_vault_received() {
    let blocks = or_skip!(op::balanced_blocks());
    let (mut all, mut exact) = (0, 0);
    for block in &blocks {
        let (first, real) = recorded(block);
        let number = real.header.number;
        let folder = directory(first, real, Layout::V2);
        let fees = found(&folder, number);
        let l1 = sum(&fees, Kind::L1Fee, L1_FEE_VAULT);
        assert_eq!(l1, received(block, L1_FEE_VAULT), "block {number}");
        assert_eq!(
            sum(&fees, Kind::OperatorFee, OPERATOR_FEE_VAULT),
            U256::ZERO
        );
        let paying: Vec<_> = fees.iter().filter(|it| it.kind == Kind::L1Fee).collect();
        all += paying.len();
        let single =
            |it: &&&Transfer| gas_of(block, it.transaction_index as usize, &fees).is_some();
        exact += paying.iter().filter(single).count();
    }
    assert_eq!((all, exact), (71, 63));
}

/// Blocks in which the gas of every transaction follows from the balances: all vaults receive
/// what their real balances show.
#[test]
fn fees_of_op_mainnet_blocks_are_what_all_vaults_received() {
    let blocks = or_skip!(op::balanced_blocks());
    let mut complete = Vec::new();
    for (block, layout) in blocks
        .iter()
        .zip([Layout::V1, Layout::V2].into_iter().cycle())
    {
        let (first, mut real) = recorded(block);
        let number = real.header.number;
        let invented = found(&directory(first.clone(), real.clone(), layout), number);
        let count = real.op_transactions.len();
        let deposits = real
            .op_transactions
            .iter()
            .take_while(|it| it.tx_type() == 0x7e)
            .count();
        let gas = (deposits..count).map(|index| gas_of(block, index, &invented));
        let Some(gas) = gas.collect::<Option<Vec<u64>>>() else {
            continue;
        };
        let of_deposits = real.header.gas_used - gas.iter().sum::<u64>();
        let mut cumulative = of_deposits;
        for (index, transaction) in real.op_transactions.iter_mut().enumerate() {
            if index >= deposits {
                cumulative += gas[index - deposits];
            }
            // The deposits are first. Only the gas of the others matters.
            transaction.receipt.as_receipt_mut().cumulative_gas_used = cumulative;
        }
        let fees = found(&directory(first, real, layout), number);
        for (kind, vault) in [
            (Kind::Fee, BASE_FEE_VAULT),
            (Kind::Priority, SEQUENCER_FEE_VAULT),
            (Kind::L1Fee, L1_FEE_VAULT),
        ] {
            assert_eq!(
                sum(&fees, kind, vault),
                received(block, vault),
                "{number} {kind}"
            );
        }
        complete.push(number);
    }
    assert_eq!(complete, [107_728_767, 109_279_675, 109_279_677]);
}

/// Calldata of Jovian: scalars 1,000 and 1,000, prices 1,000 and 1,000, operator fee of 2,000,000
/// and 5.
fn jovian() -> Vec<u8> {
    let word = |value: u64| U256::from(value).to_be_bytes::<32>();
    [
        &hex!("3db6be2b")[..],
        &1_000u32.to_be_bytes(),
        &1_000u32.to_be_bytes(),
        &[0; 24],
        &word(1_000),
        &word(1_000),
        &[0; 64],
        &2_000_000u32.to_be_bytes(),
        &5u64.to_be_bytes(),
        &[1, 0x90],
    ]
    .concat()
}

/// The second block of a sample of OP Mainnet after Jovian, without refunds, with these attributes.
fn sample(attributes: Vec<u8>) -> (ExecutedBlock, ExecutedBlock) {
    let mut blocks = BlockSample::op(10, 105_235_070, 2).blocks;
    let (mut second, first) = (blocks.pop().unwrap(), blocks.pop().unwrap());
    let transactions = &mut second.op_transactions;
    transactions.pop();
    transactions[0].set_deposit_input(attributes.into());
    second.header.gas_used -= 46_218;
    (first, second)
}

fn number_of(block: &ExecutedBlock) -> u64 {
    block.header.number
}

fn open(folder: &TempDir) -> NodeSource {
    open_with(folder.path(), ScanOptions::default())
}

#[test]
fn fees_of_a_block_after_jovian_go_to_four_vaults() {
    let (first, second) = sample(jovian());
    let number = number_of(&second);
    for layout in [Layout::V1, Layout::V2] {
        let folder = directory(first.clone(), second.clone(), layout);
        let fees = found(&folder, number);
        let rows: Vec<_> = fees
            .iter()
            .map(|it| {
                (
                    it.transaction_index,
                    it.sub_index,
                    it.kind,
                    it.value.to::<u64>(),
                )
            })
            .collect();
        // Two payments of 46,218 gas at 8 wei; the base fee is 7. Both envelopes are so short that
        // the minimum of 100 bytes at 17 wei applies.
        let of = |index| {
            [
                (index, 1, Kind::Fee, 46_218 * 7),
                (index, 2, Kind::Priority, 46_218),
                (index, 3, Kind::L1Fee, 1_700),
                (index, 4, Kind::OperatorFee, 46_218 * 2_000_000 * 100 + 5),
            ]
        };
        let mut expected = [of(5), of(6)].concat();
        // The sample has no beneficiary.
        let source = open(&folder);
        assert_eq!(fees[0].to_address, BASE_FEE_VAULT);
        assert_eq!(fees[1].to_address, Address::ZERO);
        assert_eq!(fees[3].to_address, OPERATOR_FEE_VAULT);
        assert_eq!(rows, expected);
        // Values and logs are between them, in order.
        let mut request = fees_and(number, &[Kind::Value, Kind::Transfer, Kind::L1Fee]);
        let (all, _) = answer(&source, &request);
        let order: Vec<_> = all[all.len() - 4..]
            .iter()
            .map(|it| (it.transaction_index, it.sub_index, it.kind))
            .collect();
        assert_eq!(
            order,
            [
                (5, 3, Kind::L1Fee),
                (5, 0, Kind::Transfer),
                (6, 0, Kind::Value),
                (6, 3, Kind::L1Fee)
            ]
        );
        // By amount and address.
        request = fees_and(number, &Kind::FEES);
        request.filter.min_value = U256::from(46_219);
        expected.retain(|row| row.3 >= 46_219);
        assert_eq!(answer(&source, &request).0.len(), expected.len());
        // Fees are returned only if they are named.
        request = everything(range(number, number));
        request.filter.internal = true;
        request.filter.kinds = vec![Kind::Value];
        assert!(
            answer(&source, &request)
                .0
                .iter()
                .all(|it| !it.kind.is_fee())
        );
    }
}

fn fees_and(number: u64, kinds: &[Kind]) -> ScanRequest {
    let mut request = fees(number);
    request.filter.kinds = kinds.to_vec();
    request
}

#[test]
fn fees_that_cannot_be_computed_are_refused() {
    let refusal = |blocks: (ExecutedBlock, ExecutedBlock)| {
        let number = number_of(&blocks.1);
        let folder = directory(blocks.0, blocks.1, Layout::V2);
        ask(&open(&folder), &fees(number)).unwrap_err().to_string()
    };
    // The selector of no layout.
    let text = refusal(sample(vec![1; 40]));
    let expected = "block 105235071 is inconsistent: fees cannot be computed: the L1 attributes have \
                    the selector 0x01010101 and 40 bytes, but Jovian applies at time 1900470142 and \
                    expects the layout of Jovian";
    says(&text, expected);
    // The first transaction is another deposit.
    let (first, mut second) = sample(jovian());
    second.op_transactions[0] = second.op_transactions[1].clone();
    let text = refusal((first, second));
    says(&text, "not the deposit with the L1 attributes");
    // Refunds change what was paid.
    let (first, mut second) = sample(jovian());
    let whole = BlockSample::op(10, 105_235_070, 2).blocks.pop().unwrap();
    let refunds = whole.op_transactions.last().unwrap().clone();
    second.op_transactions.push(refunds);
    second.header.gas_used = whole.header.gas_used;
    let text = refusal((first, second));
    says(
        &text,
        "fees of transaction 7 cannot be computed: the block contains refunds",
    );
}

/// Nothing is read of a chain whose forks are not known: the request is refused first.
#[test]
fn fees_of_unknown_op_chains_are_refused() {
    // A chain of its own, and one with the ID of OP Mainnet and another first block.
    for chain_id in [901, 10] {
        let folder = tempfile::tempdir().unwrap();
        let sample = BlockSample::op(chain_id, 50, 2);
        sample.write(folder.path(), Layout::V2.into()).unwrap();
        let source = open(&folder);
        let genesis: B256 = sample.blocks[0].header.hash_slow();
        for kind in Kind::FEES {
            let request = fees_and(51, &[kind]);
            let expected = format!(
                "the fees of chain {chain_id} (genesis {genesis}) cannot be computed: it is not \
                 among the chains of the OP stack"
            );
            let text = ask(&source, &request).unwrap_err().to_string();
            assert!(text.starts_with(&expected), "{text}");
            let text = source.check_available(&request).unwrap_err().to_string();
            assert!(text.starts_with(&expected), "{text}");
        }
        // Internal transfers need a replay.
        let request = fees_and(51, &[Kind::Fee, Kind::Internal]);
        let text = ask(&source, &request).unwrap_err().to_string();
        says(&text, "have to be replayed");
    }
}
