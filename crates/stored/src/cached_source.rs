//! Blocks whose scan costs the same for any number of addresses, read once for all frontiers of a
//! search.

use std::{fmt, ops::ControlFlow};
use txgraph_transfers::{
    Batch, BlockRanges, ScanReport, ScanRequest, Sink, SourceError, Transfer, TransferSource,
    Wrapper,
};

/// The maximum number of transfers kept in memory: about 60 MiB. Beyond, the blocks are
/// scanned again for each frontier.
const TRANSFERS_MAX: usize = 1 << 18;

/// Transfers of a few blocks, all that match one request, to be filtered by addresses.
pub struct CachedSource<S> {
    source: S,
    parts: Vec<CachedPart>,
}

impl<S> fmt::Debug for CachedSource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedSource").finish_non_exhaustive()
    }
}

/// Blocks that were scanned together.
struct CachedPart {
    /// As they were asked for.
    blocks: BlockRanges,
    report: ScanReport,
    /// `None` if there are too many.
    transfers: Option<Vec<Transfer>>,
}

impl<S: TransferSource> CachedSource<S> {
    /// Keeps transfers of `source`.
    pub const fn new(source: S) -> Self {
        Self {
            source,
            parts: Vec::new(),
        }
    }

    /// Scans some of the blocks of `request` and keeps the transfers. Returns the report.
    pub fn read(
        &mut self,
        request: &ScanRequest,
        blocks: &BlockRanges,
    ) -> Result<ScanReport, SourceError> {
        let kept: usize = self.parts.iter().map(CachedPart::len).sum();
        let request = ScanRequest {
            blocks: blocks.clone(),
            ..request.clone()
        };
        let mut transfers = Some(Vec::new());
        let report = self.source.scan(&request, &mut |mut batch| {
            if let Some(all) = &mut transfers {
                all.append(&mut batch.transfers);
                if kept + all.len() > TRANSFERS_MAX {
                    transfers = None;
                }
            }
            ControlFlow::Continue(())
        })?;
        self.parts.push(CachedPart {
            blocks: request.blocks,
            report: report.clone(),
            transfers,
        });
        Ok(report)
    }
}

impl CachedPart {
    fn len(&self) -> usize {
        self.transfers.as_ref().map_or(0, Vec::len)
    }
}

impl<S: TransferSource> Wrapper for CachedSource<S> {
    type Inner = S;

    fn inner(&self) -> &Self::Inner {
        &self.source
    }

    /// Answers the request of [`Self::read`], with any addresses, for blocks that were read.
    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        let Some(part) = self.parts.iter().find(|part| part.blocks == request.blocks) else {
            // Blocks that another source had are no longer canonical, so that other ones are left.
            let block = request.blocks.span().map_or(0, |span| span.first);
            return Err(SourceError::Reorged { block });
        };
        let Some(transfers) = &part.transfers else {
            return self.source.scan(request, sink);
        };
        let mut report = part.report.clone();
        report.counts.transfers = 0;
        let mut rest = &transfers[..];
        let mut covered = Vec::new();
        for blocks in part.report.covered.iter() {
            let of_blocks = rest.partition_point(|transfer| transfer.block_number <= blocks.last);
            let (these, later) = rest.split_at(of_blocks);
            rest = later;
            let wanted = these.iter().filter(|transfer| {
                let (from, to) = (&transfer.from_address, &transfer.to_address);
                request.filter.matches_ends(from, to)
            });
            let transfers: Vec<_> = wanted.cloned().collect();
            report.counts.transfers += transfers.len() as u64;
            covered.push(blocks);
            if sink(Batch { blocks, transfers }).is_break() {
                break;
            }
        }
        let covered = BlockRanges::new(covered);
        if covered != report.covered {
            report.last_block_hash = None;
            report
                .anchors
                .retain(|anchor| covered.contains(anchor.blocks.last));
            report.covered = covered;
        }
        Ok(report)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        match self.parts.iter().any(|part| part.blocks == request.blocks) {
            true => Ok(()),
            false => self.source.check_available(request),
        }
    }
}
