//! Standard error: the progress bar, the log, and lines that must not break into either.

use indicatif::{
    HumanCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, format::Writer},
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};
use txgraph::{Progress, printable};

/// Owns the lines of stderr on which bars are drawn.
static BARS: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));

/// Writes a line to stderr, above the bar if there is one. Line breaks and everything that
/// a terminal would interpret are replaced: parts of the line come from databases and files.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let line = line.to_string();
    // A closed stderr is no reason to fail.
    let _ = Stderr.write_all(format!("{}\n", printable(&line)).as_bytes());
}

/// Writes a text of several lines like [`say`]. All but the first are indented, so that no
/// text from elsewhere can look like a message of its own.
pub(crate) fn say_lines(text: &str) {
    let lines: Vec<_> = text.lines().map(printable).collect();
    let _ = Stderr.write_all(format!("{}\n", lines.join("\n  ")).as_bytes());
}

/// Blocks that this process has finished, to see whether it makes progress.
static BLOCKS_DONE: AtomicU64 = AtomicU64::new(0);

/// The number of blocks finished so far, in all queries of this process.
pub(crate) fn blocks_done() -> u64 {
    BLOCKS_DONE.load(Ordering::Relaxed)
}

/// Counts finished blocks, and shows them on a bar if there is one.
pub(crate) struct Counted(pub(crate) Option<Bar>);

impl Progress for Counted {
    fn start(&self, blocks: u64, counted: &'static str) {
        if let Some(bar) = &self.0 {
            bar.start(blocks, counted);
        }
    }

    fn advance(&self, blocks: u64, count: u64) {
        BLOCKS_DONE.fetch_add(blocks, Ordering::Relaxed);
        if let Some(bar) = &self.0 {
            bar.advance(blocks, count);
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish();
        }
    }
}

/// A receiver of progress, which shows it if stderr is a terminal.
pub fn progress(quiet: bool) -> Arc<dyn Progress> {
    let seen = !quiet && io::stderr().is_terminal();
    Arc::new(Counted(seen.then(Bar::new)))
}

/// A bar with blocks, rate, time left, and the number of what is counted in them.
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
                // A bar cannot fail.
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

    /// Starts again with this many blocks.
    fn set_total(&self, blocks: u64, counted: &'static str) {
        self.count.store(0, Ordering::Relaxed);
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        self.bar.set_length(blocks);
        self.bar.reset();
        self.show();
    }

    /// Shows the count. It is read under the lock: of several threads, the last to show it
    /// shows the largest.
    fn show(&self) {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.count.load(Ordering::Relaxed);
        self.bar
            .set_message(format!("{} {counted}", HumanCount(count)));
    }
}

impl Progress for Bar {
    fn start(&self, blocks: u64, counted: &'static str) {
        self.set_total(blocks, counted);
        BARS.add(self.bar.clone());
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn advance(&self, blocks: u64, count: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
        self.bar.inc(blocks);
        self.show();
    }

    fn finish(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
        BARS.remove(&self.bar);
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// Whether colors are wanted where there is a terminal.
pub(crate) fn has_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Starts logging to standard error, above a progress bar if there is one. `RUST_LOG` takes
/// precedence over the level, which depends on `-q` and the number of `-v`. For servers: each line has
/// its time and origin.
pub fn log(quiet: bool, verbose: u8) {
    start_log(quiet, verbose, false);
}

/// As [`log`], for commands: unless more is asked for, warnings are lines like other ones.
pub(crate) fn log_of_command(quiet: bool, verbose: u8) {
    let is_asked = verbose > 0 || std::env::var_os("RUST_LOG").is_some_and(|it| !it.is_empty());
    start_log(quiet, verbose, !is_asked);
}

fn start_log(quiet: bool, verbose: u8, is_plain: bool) {
    let level = match (quiet, verbose) {
        (true, _) | (_, 0) => "warn",
        (_, 1) => "warn,txgraph=info,txgraph_reader=info,txgraph_graph=info,txgraph_nodedb=info",
        (_, 2) => "debug",
        _ => "trace",
    };
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let words = if wanted.is_empty() { level } else { &wanted };
    // What is not a target and a level is ignored.
    let parsed = |words: &str| words.parse::<Targets>().ok();
    let words: Vec<&str> = words.split(',').filter(|it| parsed(it).is_some()).collect();
    let errors = Targets::new().with_default(LevelFilter::ERROR);
    let filter = parsed(&words.join(",")).unwrap_or(errors);
    // Fails only if logging was started before.
    let lines = tracing_subscriber::fmt::layer().with_writer(Stderr);
    let lines = match is_plain {
        true => lines.with_ansi(false).event_format(Plain).boxed(),
        false => lines
            .with_ansi(io::stderr().is_terminal() && has_colors())
            .boxed(),
    };
    let lines = lines.with_filter(filter);
    let _ = tracing_subscriber::registry().with(lines).try_init();
}

/// Writes an event as other lines for people are written: without time and origin.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let word = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "note",
        };
        write!(writer, "{word}: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Standard error, with the bar hidden while it is written to.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_adds_up_reports_of_several_threads() {
        let bar = Bar::new();
        bar.set_total(400, "transfers");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| bar.advance(1, 3)));
            }
        });
        assert_eq!(bar.bar.position(), 400);
        assert_eq!(bar.bar.message(), "1,200 transfers");
    }
}
