//! A node in a process of its own that mines in its own rhythm, and reorganises.
//!
//! The process is the test program itself, started again to run one test that calls
//! [`mine_if_asked`]. It ends when its standard input does; until then it tells each step
//! on standard output, one line of JSON.

use super::{Chain, Error, Plan};
use crate::{Draw, Tip};
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Tells a test program that it is to be the miner, and what to do.
const MINER_ENV: &str = "TXGRAPH_MINER";
/// Before every line, so that nothing else on standard output is taken for one.
const PREFIX: &str = "miner: ";

/// How a miner behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinerPlan {
    /// Its chain.
    pub chain: Plan,
    /// Blocks that are there before it says anything.
    pub blocks_at_start: u64,
    /// Blocks in a commit at most.
    pub commit_blocks_max: u64,
    /// From step to step, in milliseconds; `None`: whenever [`Miner::step`] says so.
    pub step_ms: Option<u64>,
    /// Steps of a thousand that replace the newest blocks by a longer branch.
    pub reorgs_permille: u64,
    /// So many blocks are replaced, at least and at most.
    pub reorg_blocks: (u64, u64),
}

/// What a miner has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Its newest block.
    pub tip: Tip,
    /// Steps done; a step is a commit of new blocks, after a reorganisation or not.
    pub steps: u64,
    /// Blocks mined, those taken back since included.
    pub mined: u64,
    /// Blocks taken back.
    pub taken_back: u64,
    /// Reorganisations.
    pub reorgs: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Job {
    folder: PathBuf,
    plan: MinerPlan,
}

#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Step(Progress),
    Failed(String),
}

/// Is the miner if this process was started to be one, and returns when its parent lets
/// go. Otherwise does nothing. To be called from a test of its own.
///
/// # Panics
///
/// When the parent's words are none, or nobody reads the answers.
pub fn mine_if_asked() {
    let Ok(job) = std::env::var(MINER_ENV) else {
        return;
    };
    let job: Job = serde_json::from_str(&job).expect("the parent's words are JSON");
    let say = |line: &Line| {
        let line = serde_json::to_string(line).expect("plain data");
        let mut output = std::io::stdout();
        let said = writeln!(output, "{PREFIX}{line}").and_then(|()| output.flush());
        said.expect("the parent listens");
    };
    if let Err(error) = mine(&job, &say) {
        say(&Line::Failed(error.to_string()));
    }
}

fn mine(job: &Job, say: &dyn Fn(&Line)) -> Result<(), Error> {
    let plan = job.plan;
    let (told, wait) = mpsc::channel();
    thread::spawn(move || {
        // The end of its input, or of the loop below, is the end of this.
        let lines = std::io::stdin().lines();
        for _ in lines.map_while(Result::ok) {
            if told.send(()).is_err() {
                break;
            }
        }
    });
    let mut chain = Chain::create(&job.folder, plan.chain)?;
    let mut progress = Progress {
        tip: chain.append(plan.blocks_at_start)?,
        steps: 0,
        mined: plan.blocks_at_start,
        taken_back: 0,
        reorgs: 0,
    };
    let mut draw = Draw::new(plan.chain.seed, "miner", &[]);
    loop {
        say(&Line::Step(progress));
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
            let depth = draw.between(least, most).min(progress.tip.number);
            chain.unwind(progress.tip.number - depth)?;
            progress.taken_back += depth;
            progress.reorgs += 1;
            blocks += depth;
        }
        progress.tip = chain.append(blocks)?;
        progress.mined += blocks;
        progress.steps += 1;
    }
}

/// A miner in another process, which ends with this value.
#[derive(Debug)]
pub struct Miner {
    child: Child,
    input: Option<ChildStdin>,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// What was heard from the other process, and that it changed.
#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Heard>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    progress: Option<Progress>,
    failed: Option<String>,
    /// Nothing more will come.
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until so many steps are done.
    fn wait_for(&self, steps: u64) -> Result<Progress, Error> {
        let mut heard = self.lock();
        loop {
            if let Some(why) = &heard.failed {
                return Err(Error::Miner(why.clone()));
            }
            match heard.progress {
                Some(progress) if progress.steps >= steps => return Ok(progress),
                _ if heard.ended => return Err(Error::Miner("it has ended".to_owned())),
                _ => heard = (self.changed.wait(heard)).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Miner {
    /// Starts this very test program again, to run only the test `name`, which must call
    /// [`mine_if_asked`], and waits for the blocks at the start. Its data directory is
    /// `folder`.
    pub fn start(name: &str, folder: &Path, plan: MinerPlan) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Miner(error.to_string());
        let folder = folder.to_path_buf();
        let job = serde_json::to_string(&Job { folder, plan });
        let job = job.map_err(|error| Error::Miner(error.to_string()))?;
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args([name, "--exact", "--nocapture", "--test-threads=1"])
            .env(MINER_ENV, job)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let shared = Arc::new(Shared::default());
        let hears = Arc::clone(&shared);
        let listener = thread::spawn(move || {
            let lines = output.into_iter().flat_map(|it| BufReader::new(it).lines());
            for line in lines.map_while(Result::ok) {
                // The test harness may have begun the line with words of its own.
                if let Some((_, line)) = line.split_once(PREFIX) {
                    hears.note(|heard| match serde_json::from_str(line) {
                        Ok(Line::Step(progress)) => heard.progress = Some(progress),
                        Ok(Line::Failed(why)) => heard.failed = Some(why),
                        Err(error) => heard.failed = Some(error.to_string()),
                    });
                }
            }
            hears.note(|heard| heard.ended = true);
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

    /// What it has done so far.
    pub fn progress(&self) -> Result<Progress, Error> {
        self.shared.wait_for(0)
    }

    /// Has a miner without a pace of its own do a step.
    pub fn step(&mut self) -> Result<Progress, Error> {
        let steps = self.progress()?.steps;
        if let Some(input) = &mut self.input {
            let told = writeln!(input).and_then(|()| input.flush());
            told.map_err(|error| Error::Miner(error.to_string()))?;
        }
        self.shared.wait_for(steps + 1)
    }

    /// Lets it end its step, and says where it stands: nothing is written any more.
    pub fn stop(mut self) -> Result<Progress, Error> {
        self.end();
        self.shared.wait_for(0)
    }

    fn end(&mut self) {
        // The end of its input ends the child, and the end of its output the listener.
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
