//! Answers as transfers: our own decoder reads the logs, as it does for every source.

use crate::{
    error::Result,
    node::RpcNode,
    trace::Traced,
    verify,
    wire::{Block, Log, Receipt, Transaction},
};
use txgraph_base::ChainFamily;
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockSummary, BlockTime, DecodeCounts, Decoder, FrameMovement, Kind,
    LogView, ScanRequest, TransactionView, Transfer, TransferFilter, WithdrawalView,
};

/// The parts of a block that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Blocks with transactions; otherwise only some logs.
    pub(crate) blocks: bool,
    pub(crate) receipts: bool,
    pub(crate) traces: bool,
}

impl Parts {
    pub(crate) fn of(request: &ScanRequest, family: ChainFamily, verify: bool) -> Self {
        let filter = &request.filter;
        let values = match family {
            ChainFamily::Ethereum => filter.needs_transactions(),
            ChainFamily::OpStack => filter.needs_op_transactions(),
        };
        let only_withdrawals = filter.kinds == [Kind::Withdrawal];
        let inside = filter.needs_traces() || filter.needs_fees();
        let blocks = values || filter.needs_withdrawals() || inside || verify;
        Self {
            blocks,
            receipts: blocks && (verify || !only_withdrawals),
            traces: filter.needs_traces(),
        }
    }
}

/// Blocks with what was asked about them.
pub(crate) struct Answers {
    pub(crate) blocks: Vec<Block>,
    /// One list for each block, if they were asked.
    pub(crate) receipts: Option<Vec<Vec<Receipt>>>,
    /// One list for each block, if they were asked; empty for blocks that are not traced.
    pub(crate) traces: Option<Vec<Vec<Traced>>>,
}

/// Transfers, with what an index needs of each block.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) counts: DecodeCounts,
    pub(crate) summaries: Vec<BlockSummary>,
    pub(crate) anomalies: Vec<AnomalousLogs>,
}

fn view(log: &Log) -> LogView<'_> {
    LogView {
        address: &log.address,
        topics: &log.topics,
        data: &log.data,
    }
}

/// Decodes some logs of consecutive blocks. Those that are missing are not wanted.
pub(crate) fn decode_logs(
    chain_id: u64,
    request: &ScanRequest,
    blocks: BlockRange,
    logs: &[Log],
) -> (Vec<Transfer>, DecodeCounts) {
    let mut decoder = Decoder::new(chain_id, &request.wrapped_native, &request.filter);
    let mut transfers = Vec::new();
    for of_block in logs.chunk_by(|a, b| a.block_number == b.block_number) {
        let time = of_block[0].time();
        decoder.begin_block(of_block[0].block_number, time.and_then(BlockTime::new));
        let first = transfers.len();
        for of_one in of_block.chunk_by(|a, b| a.transaction_index == b.transaction_index) {
            let own = transfers.len();
            let index = of_one[0].transaction_index;
            decoder.transaction(index, None, of_one.iter().map(view), &mut transfers);
            for transfer in &mut transfers[own..] {
                transfer.transaction_hash = Some(of_one[0].transaction_hash);
            }
        }
        // The decoder counted the logs that it got.
        for transfer in &mut transfers[first..] {
            let log = transfer
                .log_index
                .and_then(|at| of_block.get(usize::try_from(at).ok()?));
            transfer.log_index = log.map(|log| log.log_index);
        }
    }
    let counts = DecodeCounts {
        blocks: blocks.blocks(),
        ..*decoder.counts()
    };
    (transfers, counts)
}

impl RpcNode {
    /// Decodes whole blocks.
    pub(crate) fn decode(&self, request: &ScanRequest, answers: &Answers) -> Result<Decoded> {
        let filter = &request.filter;
        let mut decoder = Decoder::new(self.chain.chain_id, &request.wrapped_native, filter)
            .recording_anomalies();
        let mut decoded = Decoded::default();
        for (at, block) in answers.blocks.iter().enumerate() {
            let receipts = answers.receipts.as_ref().map(|all| all[at].as_slice());
            if let (true, Some(receipts)) = (self.options.verify, receipts) {
                verify::receipts_root(&self.client, block, receipts)?;
            }
            let header = &block.header;
            let before = *decoder.counts();
            decoder.begin_block(header.number, BlockTime::new(header.timestamp));
            let out = &mut decoded.transfers;
            for (index, transaction) in block.transactions.iter().enumerate() {
                let first = out.len();
                let number = u32::try_from(index).unwrap_or(u32::MAX);
                match receipts.map(|receipts| &receipts[index]) {
                    Some(receipt) => {
                        let view_of = self.payment(request, block, index, transaction, receipt)?;
                        let logs = receipt.logs.iter().map(view);
                        decoder.transaction(number, view_of.as_ref(), logs, out);
                    }
                    None => decoder.transaction(number, None, std::iter::empty(), out),
                }
                let receipt = receipts.map(|receipts| &receipts[index]);
                let traced = answers.traces.as_ref().and_then(|all| all[at].get(index));
                let movements = self.movements(filter, block, index, receipt, traced)?;
                let movements = movements
                    .iter()
                    .map(|it| (it.from, it.to, it.value, it.kind));
                decoder.movements(number, movements, first, out);
                for transfer in &mut out[first..] {
                    transfer.transaction_hash = Some(transaction.hash);
                }
            }
            let withdrawals = block.withdrawals.iter().flatten();
            let withdrawals = withdrawals.map(|withdrawal| WithdrawalView {
                address: withdrawal.address,
                amount_gwei: withdrawal.amount,
            });
            decoder.withdrawals(withdrawals, out);
            decoded.summaries.push(BlockSummary {
                number: header.number,
                timestamp: header.timestamp,
                counts: decoder.counts().since(&before),
            });
            let anomalies = decoder.take_anomalies().into_iter();
            decoded
                .anomalies
                .extend(anomalies.map(|(emitter, counts)| AnomalousLogs {
                    block: header.number,
                    emitter,
                    counts,
                }));
        }
        decoded.counts = *decoder.counts();
        Ok(decoded)
    }

    /// The value of a transaction.
    fn payment(
        &self,
        request: &ScanRequest,
        block: &Block,
        index: usize,
        transaction: &Transaction,
        receipt: &Receipt,
    ) -> Result<Option<TransactionView>> {
        let Transaction {
            from,
            to,
            value,
            gas,
            mint,
            ..
        } = *transaction;
        let wanted = request.filter.needs_op_transactions();
        if !wanted || (value.is_zero() && mint.is_none_or(|mint| mint.is_zero())) {
            return Ok(None);
        }
        let number = block.header.number;
        let success = match (self.success(number, receipt)?, receipt.logs.is_empty()) {
            (Some(success), _) => success,
            // Before Byzantium, a transaction that failed used all its gas and had no log.
            (None, false) => true,
            (None, true) if receipt.gas_used < gas => true,
            (None, true) => {
                return Err(self.client.unknown(format!(
                    "block {number}: the receipt of transaction {index} does not contain whether it \
                     succeeded (before Byzantium), and its gas does not show it; ask without the \
                     values of transactions, or for later blocks"
                )));
            }
        };
        let to = match to {
            Some(to) => to,
            None => self.created(number, transaction, receipt)?,
        };
        Ok(Some(TransactionView {
            from,
            to,
            value,
            mint: mint.unwrap_or_default(),
            success,
        }))
    }

    /// The movements of a transaction without a log, except for its value: first those inside of
    /// it, then fees.
    fn movements(
        &self,
        filter: &TransferFilter,
        block: &Block,
        index: usize,
        receipt: Option<&Receipt>,
        traced: Option<&Traced>,
    ) -> Result<Vec<FrameMovement>> {
        let is_cancun = block.is_cancun();
        let mut movements = Vec::new();
        for moved in traced.into_iter().flat_map(|it| it.movements(is_cancun)) {
            if moved.is_doubtful {
                return Err(self.client.unknown(format!(
                    "block {}: the trace of transaction {index} does not show whether the \
                     destruction of a contract moved anything, because it repeats the transfer \
                     before it; servers built on revm before version 43 add such transfers. Ask \
                     another server, or without transfers inside of transactions",
                    block.header.number
                )));
            }
            movements.push(moved);
        }
        if filter.needs_fees() {
            movements.extend(self.fees(block, &block.transactions[index], receipt)?);
        }
        Ok(movements)
    }
}
