//! An imitated node in a process of its own, which its parent controls.
//!
//! The parent writes one JSON command per line to standard input, and the child answers
//! each with one line on standard output. The child is the test binary itself, started
//! again to run one test that calls [`serve_if_asked`].

use super::{Appender, Config, Error, Tip, block::Order, world::World};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio},
    time::Duration,
};
use txgraph_transfers::Transfer;

/// The variable that makes a test binary the node.
const CHILD_ENV: &str = "TXGRAPH_LIVE_NODE";
/// The prefix of the lines of a child, which distinguishes them from other output.
const PREFIX: &str = "chaingen: ";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    Create { folder: PathBuf, config: Config },
    Append(u64),
    Unwind(u64),
    PruneReceipts(u64),
    PauseMicros(u64),
    Order(u64),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Tip(Tip),
    Pruned(Option<u64>),
    Order(Option<Order>),
    Error(String),
}

/// Runs the node if this process was started as one, and returns true when its parent closes
/// standard input. The test with the name that [`LiveNode::start`] gets must begin with this:
///
/// ```no_run
/// // #[test]
/// fn follows_a_chain() {
///     if txgraph_chaingen::serve_if_asked() {
///         return;
///     }
///     // … LiveNode::start("follows_a_chain", …)
/// }
/// ```
pub fn serve_if_asked() -> bool {
    let is_asked = std::env::var_os(CHILD_ENV).is_some();
    if is_asked {
        serve().expect("the parent reads the answers");
    }
    is_asked
}

/// Answers commands until the end of standard input.
fn serve() -> io::Result<()> {
    let mut node: Option<Appender> = None;
    for line in io::stdin().lines() {
        let command = serde_json::from_str(&line?).map_err(|e| Error::Live(e.to_string()));
        let answer = command.and_then(|command| obey(&mut node, command));
        write_message(&answer.unwrap_or_else(|e| Answer::Error(e.to_string())))?;
    }
    Ok(())
}

fn obey(node: &mut Option<Appender>, command: Command) -> Result<Answer, Error> {
    if let Command::Create { folder, config } = command {
        let created = Appender::create(&folder, config)?;
        return Ok(Answer::Tip(node.insert(created).tip()));
    }
    let node = node
        .as_mut()
        .ok_or_else(|| Error::Live("there is no chain yet".to_owned()))?;
    Ok(match command {
        Command::Create { .. } => unreachable!("obeyed above"),
        Command::Append(blocks) => Answer::Tip(node.append(blocks)?),
        Command::Unwind(to) => Answer::Tip(node.unwind(to)?),
        Command::PruneReceipts(below) => Answer::Pruned(node.prune_receipts(below)?),
        Command::PauseMicros(pause) => {
            node.set_pause(Duration::from_micros(pause));
            Answer::Tip(node.tip())
        }
        Command::Order(block) => Answer::Order(node.order(block)),
    })
}

/// Starts this test binary again to run only the test `name`, with a variable.
pub(super) fn start_again(name: &str, variable: &str, value: &str) -> io::Result<Child> {
    Process::new(std::env::current_exe()?)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(variable, value)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
}

/// Writes a line to the parent, in a process of [`start_again`].
pub(super) fn write_message(line: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(line).map_err(io::Error::other)?;
    let mut output = io::stdout();
    writeln!(output, "{PREFIX}{line}")?;
    output.flush()
}

/// The lines of a process of [`start_again`].
pub(super) type Output = io::Lines<BufReader<ChildStdout>>;

/// The next line of the process. `None` if it has ended.
pub(super) fn read_message<T: DeserializeOwned>(output: &mut Output) -> Option<Result<T, String>> {
    // The test harness may have printed text before it.
    let line = output.map_while(Result::ok).find_map(|line| {
        let (_, message) = line.split_once(PREFIX)?;
        Some(message.to_owned())
    })?;
    Some(serde_json::from_str(&line).map_err(|e| format!("{e}: {line}")))
}

/// A node in another process, which is killed when this value is dropped.
#[derive(Debug)]
pub struct LiveNode {
    child: Child,
    input: Option<ChildStdin>,
    output: Output,
    tip: Tip,
    world: World,
}

impl LiveNode {
    /// Starts this test binary again to run only the test `name`, which must call
    /// [`serve_if_asked`]. It creates a data directory in `folder`.
    pub fn start(name: &str, folder: &Path, config: Config) -> Result<Self, Error> {
        let world = World::new(config.clone())?;
        let child = start_again(name, CHILD_ENV, "1");
        let mut child = child.map_err(|e| Error::Live(e.to_string()))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let mut node = Self {
            child,
            input,
            output,
            tip: Tip::default(),
            world,
        };
        node.say(&Command::Create {
            folder: folder.to_path_buf(),
            config,
        })?;
        node.finish()?;
        Ok(node)
    }

    /// The newest block as of the last answer.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// See [`Appender::append`].
    pub fn append(&mut self, blocks: u64) -> Result<Tip, Error> {
        self.begin_append(blocks)?;
        self.finish()
    }

    /// See [`Appender::unwind`].
    pub fn unwind(&mut self, to: u64) -> Result<Tip, Error> {
        self.begin_unwind(to)?;
        self.finish()
    }

    /// Begins [`Appender::unwind`] without waiting, so that this process can drop its
    /// snapshots. [`LiveNode::finish`] waits.
    pub fn begin_unwind(&mut self, to: u64) -> Result<(), Error> {
        self.say(&Command::Unwind(to))
    }

    /// Begins [`Appender::append`] without waiting.
    pub fn begin_append(&mut self, blocks: u64) -> Result<(), Error> {
        self.say(&Command::Append(blocks))
    }

    /// Waits for the operation that was begun.
    pub fn finish(&mut self) -> Result<Tip, Error> {
        match self.receive()? {
            Answer::Tip(tip) => {
                self.tip = tip;
                Ok(tip)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Appender::prune_receipts`].
    pub fn prune_receipts(&mut self, below: u64) -> Result<Option<u64>, Error> {
        self.say(&Command::PruneReceipts(below))?;
        match self.receive()? {
            Answer::Pruned(block) => Ok(block),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Appender::set_pause`].
    pub fn set_pause(&mut self, pause: Duration) -> Result<(), Error> {
        let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        self.say(&Command::PauseMicros(micros))?;
        self.finish().map(|_| ())
    }

    /// See [`Appender::transfers`].
    pub fn transfers(&mut self, block: u64) -> Result<Vec<Transfer>, Error> {
        self.say(&Command::Order(block))?;
        match self.receive()? {
            Answer::Order(order) => {
                Ok(order.map_or_else(Vec::new, |it| it.body(&self.world).transfers))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Kills the node like `kill -9`: nothing is flushed or closed.
    pub fn kill(mut self) -> Result<(), Error> {
        self.child.kill().map_err(|e| Error::Live(e.to_string()))
    }

    fn say(&mut self, command: &Command) -> Result<(), Error> {
        let line = serde_json::to_string(command).map_err(|e| Error::Live(e.to_string()))?;
        let input = self.input.as_mut().expect("open until drop");
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .map_err(|e| Error::Live(format!("the node accepts no more commands: {e}")))
    }

    fn receive(&mut self) -> Result<Answer, Error> {
        match read_message(&mut self.output) {
            None => Err(Error::Live("the node has ended".to_owned())),
            Some(Ok(Answer::Error(e)) | Err(e)) => Err(Error::Live(e)),
            Some(Ok(answer)) => Ok(answer),
        }
    }
}

fn unexpected(answer: &Answer) -> Error {
    Error::Live(format!("unexpected answer {answer:?}"))
}

impl Drop for LiveNode {
    fn drop(&mut self) {
        // Closing its standard input ends the child.
        self.input = None;
        let _ = self.child.wait();
    }
}
