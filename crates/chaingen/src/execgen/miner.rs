//! A node in a process of its own that mines and reorganizes at its own pace.
//!
//! The process is the test binary itself, started again to run one test that calls
//! [`mine_if_asked`]. It prints each step on standard output as one line of JSON, and
//! ends when its standard input is closed.

use super::{Answer, Chain, Error, Plan};
use crate::{
    Draw, Tip,
    live::{read_message, start_again, write_message},
};
use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// The variable that makes a test binary the miner, with its plan.
const MINER_ENV: &str = "TXGRAPH_MINER";

/// The behavior of a miner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinerPlan {
    /// Its chain.
    pub chain: Plan,
    /// Blocks before the first step.
    pub blocks_at_start: u64,
    /// Blocks per commit at most.
    pub commit_blocks_max: u64,
    /// Milliseconds between steps. `None`: a step for each [`Miner::step`].
    pub step_ms: Option<u64>,
    /// Steps of a thousand that replace the newest blocks with a longer branch.
    pub reorgs_permille: u64,
    /// Replaced blocks, minimum and maximum. A reorganization never replaces a finalized
    /// block.
    pub reorg_blocks: (u64, u64),
    /// Steps of a thousand that write all blocks and state, as a clean restart does.
    pub flushes_permille: u64,
}

/// The progress of a miner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Its newest block on disk.
    pub tip: Tip,
    /// Its newest block, in memory or on disk.
    pub head: u64,
    /// The block up to which its hashed state is on disk.
    pub state: u64,
    /// Steps so far. A step commits new blocks, after a reorganization or not.
    pub steps: u64,
    /// Mined blocks, including those that were removed again.
    pub mined: u64,
    /// Removed blocks.
    pub taken_back: u64,
    /// Reorganizations.
    pub reorgs: u64,
    /// Reorganizations that removed blocks from the disk.
    pub reorgs_on_disk: u64,
    /// Reorganizations that removed blocks at or below the block of hashed state.
    pub reorgs_below_state: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Job {
    folder: PathBuf,
    plan: MinerPlan,
}

#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Step(Progress),
    /// Answers about the state after the block with this hash.
    Answers(B256, Vec<Answer>),
    Failed(String),
}

/// Runs the miner if this process was started as one, and returns when its parent closes
/// standard input. Otherwise does nothing. A test of its own must call this.
///
/// # Panics
///
/// The plan cannot be parsed, or standard output is closed.
pub fn mine_if_asked() {
    let Ok(job) = std::env::var(MINER_ENV) else {
        return;
    };
    let job: Job = serde_json::from_str(&job).expect("the plan is JSON");
    let report = |line: &Line| write_message(line).expect("standard output is open");
    if let Err(error) = mine(&job, &report) {
        report(&Line::Failed(error.to_string()));
    }
}

fn mine(job: &Job, report: &dyn Fn(&Line)) -> Result<(), Error> {
    let plan = job.plan;
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        // The end of standard input, or of the loop below, ends the process.
        let lines = std::io::stdin().lines();
        for _ in lines.map_while(Result::ok) {
            if done.send(()).is_err() {
                break;
            }
        }
    });
    let mut chain = Chain::create(&job.folder, plan.chain)?;
    let mut progress = Progress {
        tip: chain.append(plan.blocks_at_start)?,
        head: chain.head(),
        state: chain.state_block(),
        mined: plan.blocks_at_start,
        ..Progress::default()
    };
    let mut draw = Draw::new(plan.chain.seed, "miner", &[]);
    loop {
        for (hash, answers) in chain.take_answers() {
            report(&Line::Answers(hash, answers));
        }
        report(&Line::Step(progress));
        let ends = match plan.step_ms.map(Duration::from_millis) {
            Some(pace) => wait.recv_timeout(pace) == Err(RecvTimeoutError::Disconnected),
            None => wait.recv().is_err(),
        };
        if ends {
            return Ok(());
        }
        let mut blocks = draw.between(1, plan.commit_blocks_max);
        if draw.permille(plan.reorgs_permille) {
            let (least, most) = plan.reorg_blocks;
            let most = most.min(progress.head - chain.finalized());
            let depth = draw.between(least.min(most), most);
            let to = progress.head - depth;
            progress.reorgs_on_disk += u64::from(to < progress.tip.number);
            progress.reorgs_below_state += u64::from(to < progress.state);
            chain.unwind(to)?;
            progress.taken_back += depth;
            progress.reorgs += 1;
            blocks += depth;
        }
        progress.tip = chain.append(blocks)?;
        if plan.flushes_permille > 0 && draw.permille(plan.flushes_permille) {
            progress.tip = chain.flush()?;
        }
        progress.head = chain.head();
        progress.state = chain.state_block();
        progress.mined += blocks;
        progress.steps += 1;
    }
}

/// A miner in another process, which is stopped when this value is dropped.
#[derive(Debug)]
pub struct Miner {
    child: Child,
    input: Option<ChildStdin>,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// The last progress of the other process, with a signal for changes.
#[derive(Debug, Default)]
struct Shared {
    last: Mutex<LastReport>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LastReport {
    progress: Option<Progress>,
    /// Known answers by block hash.
    answers: HashMap<B256, Vec<Answer>>,
    failed: Option<String>,
    /// The output of the process has ended.
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, LastReport> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut LastReport)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until this many steps are done.
    fn wait_for(&self, steps: u64) -> Result<Progress, Error> {
        let mut last = self.lock();
        loop {
            if let Some(why) = &last.failed {
                return Err(Error::Miner(why.clone()));
            }
            match last.progress {
                Some(progress) if progress.steps >= steps => return Ok(progress),
                _ if last.ended => return Err(Error::Miner("the process has ended".to_owned())),
                _ => last = (self.changed.wait(last)).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Miner {
    /// Starts this test binary again to run only the test `name`, which must call
    /// [`mine_if_asked`], and waits for the initial blocks. The data directory is
    /// `folder`.
    pub fn start(name: &str, folder: &Path, plan: MinerPlan) -> Result<Self, Error> {
        let folder = folder.to_path_buf();
        let job = serde_json::to_string(&Job { folder, plan });
        let job = job.map_err(|error| Error::Miner(error.to_string()))?;
        let child = start_again(name, MINER_ENV, &job);
        let mut child = child.map_err(|error| Error::Miner(error.to_string()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let shared = Arc::new(Shared::default());
        let reader = Arc::clone(&shared);
        let listener = thread::spawn(move || {
            let mut output = output.map(|it| BufReader::new(it).lines());
            while let Some(line) = output.as_mut().and_then(read_message) {
                reader.note(|last| match line {
                    Ok(Line::Step(progress)) => last.progress = Some(progress),
                    Ok(Line::Answers(hash, answers)) => {
                        last.answers.insert(hash, answers);
                    }
                    Ok(Line::Failed(why)) | Err(why) => last.failed = Some(why),
                });
            }
            reader.note(|last| last.ended = true);
        });
        let miner = Self {
            child,
            input,
            shared,
            listener: Some(listener),
        };
        miner.shared.wait_for(0)?;
        Ok(miner)
    }

    /// The progress so far.
    pub fn progress(&self) -> Result<Progress, Error> {
        self.shared.wait_for(0)
    }

    /// Known answers about the state after the block with this hash, if it was mined in a step
    /// that is finished.
    pub fn answers(&self, hash: B256) -> Vec<Answer> {
        self.shared
            .lock()
            .answers
            .get(&hash)
            .cloned()
            .unwrap_or_default()
    }

    /// Makes a miner without its own pace do a step.
    pub fn step(&mut self) -> Result<Progress, Error> {
        let steps = self.progress()?.steps;
        if let Some(input) = &mut self.input {
            let written = writeln!(input).and_then(|()| input.flush());
            written.map_err(|error| Error::Miner(error.to_string()))?;
        }
        self.shared.wait_for(steps + 1)
    }

    /// Lets the miner finish its step, and returns its progress. Nothing is written after
    /// that.
    pub fn stop(&mut self) -> Result<Progress, Error> {
        self.end();
        self.shared.wait_for(0)
    }

    fn end(&mut self) {
        // Closing its standard input ends the child, and the end of its output ends the
        // reader thread.
        self.input = None;
        let _ = self.child.wait();
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Drop for Miner {
    fn drop(&mut self) {
        self.end();
    }
}
