//! The transfers of a block range, streamed.

use super::{Node, formats, metadata, restarting};
use crate::{Error, Query, Result, TransfersQuery, lists, outputs::Outputs};
use std::ops::ControlFlow;
use txgraph_export::{TableFormat, Target, TransferTableOptions, TransferWriter, Written};
use txgraph_transfers::{Batch, Direction, ScanReport, ScanRequest, Touching};

/// What came of a `transfers` question.
#[derive(Clone, Debug)]
pub struct TransfersAnswer {
    /// What was read.
    pub scan: ScanReport,
    /// What was written.
    pub written: Written,
}

impl TransfersQuery {
    /// What the source is asked.
    pub fn request(&self, node: &Node) -> Result<ScanRequest> {
        let checksum = self.selection.checksum();
        let mut filter = self.selection.filter()?;
        if !self.address.is_empty() {
            let addresses = lists::addresses(&self.address, checksum)?;
            if addresses.is_empty() {
                return Err(Error::usage("the list of addresses is empty"));
            }
            filter.touching = Some(Touching {
                addresses: addresses.into_iter().collect(),
                direction: self.direction.unwrap_or(Direction::Both),
            });
        } else if self.direction.is_some() {
            return Err(Error::usage("a direction needs an address to be seen from")
                .hint("add --address, or leave --direction out"));
        }
        Ok(ScanRequest {
            blocks: node.blocks(&self.selection)?,
            filter,
            wrapped_native: self.selection.wrapped()?,
            with_times: true,
            with_hashes: true,
            allow_partial: self.selection.allow_partial,
        })
    }

    /// Where the answer goes, and in which format.
    pub fn target(&self, node: &Node) -> Result<(TableFormat, Target)> {
        let known = || {
            TableFormat::ALL
                .iter()
                .map(|format| format.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut outputs = formats(
            &self.output,
            &mut Outputs::new(&node.protected, self.output.overwrite),
            TableFormat::Csv,
            TableFormat::from_extension,
            Some,
            known,
        )?;
        match (outputs.pop(), outputs.pop()) {
            (Some(output), None) => Ok(output),
            _ => Err(Error::usage("transfers go to one output")),
        }
    }
}

/// Hands the transfers of `request` to `sink`, in total order, as they are read.
/// `sink` may break to stop.
pub fn transfers(
    node: &Node,
    request: &ScanRequest,
    sink: &mut dyn FnMut(Batch) -> Result<ControlFlow<()>>,
) -> Result<ScanReport> {
    let mut failed = None;
    let report = node
        .answering(&request.filter)?
        .scan(request, &mut |batch| match sink(batch) {
            Ok(flow) => flow,
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
    match failed {
        Some(error) => Err(error),
        None => Ok(report?),
    }
}

/// Asks `query` (as `request`, see [`TransfersQuery::request`]) and writes the answer.
///
/// When the chain is reorganised meanwhile a file is begun again; what went to
/// stdout cannot be taken back, so there it is an error.
pub fn write_transfers(
    node: &Node,
    query: &TransfersQuery,
    request: &ScanRequest,
) -> Result<TransfersAnswer> {
    let (format, target) = query.target(node)?;
    let mut options = TransferTableOptions::new(node.chain()?.chain_id);
    options.threads = node.config.threads;
    query.columns.apply(&mut options)?;
    let overwrite = query.output.overwrite;
    let mut streamed = false;
    restarting(|| {
        let mut writer = TransferWriter::new(format, &options, &target, overwrite)?;
        let scan = transfers(node, request, &mut |batch| {
            streamed |= target == Target::Stdout && !batch.transfers.is_empty();
            writer.write(&batch.transfers)?;
            Ok(ControlFlow::Continue(()))
        });
        let scan = match scan {
            Err(error) if streamed && error.kind == crate::ErrorKind::Reorged => {
                return Err(Error::new(crate::ErrorKind::Failed, error.message).hint(
                    "what was printed is void; ask again, or write to a file (-o), which is \
                     begun again by itself",
                ));
            }
            scan => scan?,
        };
        let about = metadata(
            &Query::Transfers(query.clone()),
            node.chain()?,
            &request.blocks,
            &scan,
        );
        let written = writer.finish(&about)?;
        Ok(TransfersAnswer { scan, written })
    })
}
