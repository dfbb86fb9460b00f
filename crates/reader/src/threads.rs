//! Workers on a thread pool: the real thing behind [`Workers`].

use crate::{
    error::Error,
    merge::{Outcome, Task},
    patience::retry,
    read::ChunkReader,
    scan::Workers,
};
use alloy_primitives::B256;
use rayon::ScopeFifo;
use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};
use txgraph_nodedb::{NodeDb, Scratch};
use txgraph_transfers::SourceError;

/// How long a patient wait lasts; then the caller looks whether to stop.
const MOMENT: Duration = Duration::from_millis(50);

/// Chunks as tasks of a rayon scope. Rayon's threads take them in the order in
/// which they were started.
pub(crate) struct Threads<'scope, 'a> {
    scope: &'a ScopeFifo<'scope>,
    reader: &'scope ChunkReader<'scope>,
    /// Buffers, one set per thread. A lock is only ever taken by its own thread,
    /// once per chunk: it is there to prove that, not to wait.
    scratch: &'scope [Mutex<Scratch>],
    sender: Sender<(u64, Outcome)>,
    receiver: Receiver<(u64, Outcome)>,
}

impl<'scope, 'a> Threads<'scope, 'a> {
    pub(crate) fn new(
        scope: &'a ScopeFifo<'scope>,
        reader: &'scope ChunkReader<'scope>,
        scratch: &'scope [Mutex<Scratch>],
    ) -> Self {
        let (sender, receiver) = channel();
        Self {
            scope,
            reader,
            scratch,
            sender,
            receiver,
        }
    }
}

impl Workers for Threads<'_, '_> {
    fn start(&mut self, task: Task) {
        let (reader, scratch) = (self.reader, self.scratch);
        let mut reply = Reply {
            task,
            sender: Some(self.sender.clone()),
        };
        self.scope.spawn_fifo(move |_| {
            let slot = rayon::current_thread_index().and_then(|thread| scratch.get(thread));
            let outcome = match slot {
                Some(slot) => {
                    // Buffers hold nothing between chunks, so a panic cannot spoil them.
                    let mut scratch = slot.lock().unwrap_or_else(PoisonError::into_inner);
                    reader.read(task.blocks, &mut scratch)
                }
                None => reader.read(task.blocks, &mut Scratch::default()),
            };
            reply.send(outcome);
        });
    }

    fn outcome(&mut self, patient: bool) -> Option<(u64, Outcome)> {
        if patient {
            self.receiver.recv_timeout(MOMENT).ok()
        } else {
            self.receiver.try_recv().ok()
        }
    }

    fn canonical(&mut self, block: u64) -> Result<Option<B256>, SourceError> {
        canonical(self.reader.db, block)
    }
}

/// Hash of `block` in the chain of now; `None` above its tip.
pub(crate) fn canonical(db: &NodeDb, block: u64) -> Result<Option<B256>, SourceError> {
    let hash = retry("block hash", || {
        let snapshot = db.snapshot()?;
        if block > snapshot.tip() {
            Ok(None)
        } else {
            snapshot.block_hash(block).map(Some)
        }
    });
    Ok(hash.map_err(Error::NodeDb)?)
}

/// Sends an outcome in any case: without one for every task a scan would wait
/// for ever.
struct Reply {
    task: Task,
    sender: Option<Sender<(u64, Outcome)>>,
}

impl Reply {
    fn send(&mut self, outcome: Outcome) {
        if let Some(sender) = self.sender.take() {
            // When nobody listens any more the scan has ended.
            let _ = sender.send((self.task.id, outcome));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let block = self.task.blocks.first;
        self.send(Outcome::Failed(Box::new(Error::WorkerLost { block })));
    }
}
