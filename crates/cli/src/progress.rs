//! stderr: the progress bar, the log, and lines that must not break into either.

use crate::args::Global;
use indicatif::{
    HumanCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{
        LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};
use txgraph::Progress;

/// Owns the lines of stderr that bars are drawn on.
static BARS: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));

/// Writes a line to stderr, above the bar if there is one.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    // A closed stderr is no reason to fail.
    let _ = Stderr.write_all(format!("{line}\n").as_bytes());
}

/// A bar for what goes through blocks: blocks, rate, time left, what was counted in them.
pub(crate) struct Bar {
    bar: ProgressBar,
    count: AtomicU64,
    counted: Mutex<&'static str>,
}

impl Bar {
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template(
            "{spinner} {human_pos}/{human_len} blocks {wide_bar} {rate}, {eta} left, {msg}",
        );
        let bar = ProgressBar::hidden();
        if let Ok(style) = style {
            let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // A bar has no way to fail.
                let _ = write!(out, "{:.0} blocks/s", state.per_sec());
            };
            bar.set_style(style.with_key("rate", rate).progress_chars("=> "));
        }
        Self {
            bar,
            count: AtomicU64::new(0),
            counted: Mutex::new(""),
        }
    }

    fn tell(&self, count: u64) {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        self.bar
            .set_message(format!("{} {counted}", HumanCount(count)));
    }
}

impl Progress for Bar {
    fn start(&self, blocks: u64, counted: &'static str) {
        self.count.store(0, Ordering::Relaxed);
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        self.bar.set_length(blocks);
        self.bar.reset();
        self.tell(0);
        BARS.add(self.bar.clone());
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn advance(&self, blocks: u64, count: u64) {
        let all = self.count.fetch_add(count, Ordering::Relaxed) + count;
        self.bar.inc(blocks);
        self.tell(all);
    }

    fn finish(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
        BARS.remove(&self.bar);
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// Begins logging to stderr: `-v`, `-q`, or what `RUST_LOG` says.
pub(crate) fn log(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) | (_, 0) => "warn",
        (_, 1) => "warn,txgraph=info,txgraph_reader=info,txgraph_graph=info,txgraph_nodedb=info",
        (_, 2) => "debug",
        _ => "trace",
    };
    let filter = match std::env::var("RUST_LOG") {
        Ok(words) if !words.is_empty() => EnvFilter::new(words),
        _ => EnvFilter::new(level),
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    // Fails only if somebody began before, which nobody does.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Stderr)
        .with_ansi(io::stderr().is_terminal() && !no_color)
        .try_init();
}

/// stderr, with the bar out of the way.
#[derive(Clone, Copy)]
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        BARS.suspend(|| io::stderr().write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for Stderr {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}
