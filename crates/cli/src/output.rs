//! Messages on stderr, results on stdout, and the width of the terminal.

use crate::{
    progress,
    stats::Stats,
    units::{rate, thousands},
};
use serde::Serialize;
use std::{
    fmt,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};
pub(crate) use txgraph::number;
use txgraph::{
    BlockRanges, CancelFlag, Error, ErrorKind, Labels, LimitHit, Progress, Result, ScanReport,
    Target, Written, printable,
};

/// Ranges and gaps that a line lists.
const LISTED_MAX: usize = 6;

/// Output for people: notes, warnings and progress.
#[derive(Debug)]
pub(crate) struct Terminal {
    quiet: bool,
    /// Set by the first SIGINT.
    pub(crate) cancel: CancelFlag,
    /// For --stats.
    pub(crate) stats: Stats,
}

impl Terminal {
    pub(crate) fn new(quiet: bool, cancel: CancelFlag) -> Self {
        Self {
            quiet,
            cancel,
            stats: Stats::new(),
        }
    }

    /// Counts blocks, with a bar if stderr is a terminal.
    pub(crate) fn progress(&self) -> Arc<dyn Progress> {
        progress::progress(self.quiet)
    }

    /// Columns of stdout, if it is a terminal.
    pub(crate) fn width(&self) -> Option<u16> {
        let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(width.max(40))
    }

    /// Whether stdout is a terminal, so that a person sees the result.
    pub(crate) fn is_seen(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Fails if a result goes to stdout, and stdout was closed when the process started.
    pub(crate) fn check_stdout<'a>(
        &self,
        targets: impl IntoIterator<Item = &'a Target>,
    ) -> Result<()> {
        if targets.into_iter().any(|target| *target == Target::Stdout) {
            check_stdout()
        } else {
            Ok(())
        }
    }

    /// Whether lines of information are hidden, so that nothing is worth computing for them.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A line of information.
    pub(crate) fn note(&self, line: fmt::Arguments<'_>) {
        if !self.quiet {
            progress::say(line);
        }
    }

    /// A line about what makes a result doubtful. Printed even if quiet.
    pub(crate) fn warn(&self, line: fmt::Arguments<'_>) {
        progress::say(format_args!("warning: {line}"));
    }

    /// Lines of information that come with a result.
    pub(crate) fn notes(&self, notes: &[String]) {
        for note in notes {
            self.note(format_args!("{note}"));
        }
    }

    pub(crate) fn blocks(&self, blocks: &BlockRanges) {
        self.stats.ranges(blocks);
        let count = thousands(blocks.blocks());
        let ranges = listed(blocks.iter().map(|range| range.to_string()));
        self.note(format_args!("blocks {ranges} ({count} in all)"));
    }

    /// How the source was understood, and missing blocks. Those are printed even if quiet: the
    /// answer is not complete.
    pub(crate) fn gaps(&self, scan: &ScanReport) {
        for note in &scan.notes {
            self.note(format_args!("read {note}"));
        }
        if !scan.caveats.is_empty() {
            progress::say(format_args!(
                "warning: the answer may be partial: {}",
                scan.caveats.join("; ")
            ));
        }
        if scan.missing.is_empty() {
            return;
        }
        let missing: BlockRanges = scan.missing.iter().map(|gap| gap.blocks).collect();
        let gaps = scan
            .missing
            .iter()
            .map(|gap| format!("{} ({})", gap.blocks, gap.reason));
        progress::say(format_args!(
            "warning: the answer is partial: {} missing: {}",
            number(missing.blocks(), "block is", "blocks are"),
            listed(gaps)
        ));
    }

    /// The end of a search for relations: missing blocks and limits.
    pub(crate) fn searched(&self, scan: &ScanReport, limits: &[LimitHit]) {
        self.stats.phase("search");
        self.gaps(scan);
        self.limits(limits, txgraph::limit_words);
    }

    /// Limits that ended the search.
    pub(crate) fn limits(&self, limits: &[LimitHit], words: impl Fn(&LimitHit) -> String) {
        for limit in limits {
            self.note(format_args!("not expanded: {}", words(limit)));
        }
    }

    /// Prints the warnings about files of labels, also if quiet: names are missing.
    pub(crate) fn labels(&self, labels: &Labels) {
        for warning in labels.warnings() {
            progress::say(format_args!("warning: labels: {}", printable(warning)));
        }
    }

    /// Files that were written.
    pub(crate) fn written(&self, written: &[Written]) {
        self.stats.written(written);
        for Written {
            path,
            rows,
            bytes,
            notes,
            ..
        } in written
        {
            if let Some(path) = path {
                let rows = rows.map(|rows| number(rows, "row", "rows") + ", ");
                let (rows, bytes) = (rows.unwrap_or_default(), number(*bytes, "byte", "bytes"));
                self.note(format_args!("wrote {} ({rows}{bytes})", path.display()));
            }
            for note in notes {
                self.note(format_args!("picture: {note}"));
            }
        }
    }

    /// Prints the counts and the speed of a scan; from an index, blocks are not read.
    pub(crate) fn scanned(&self, scan: &ScanReport, time: Duration, is_indexed: bool) {
        self.stats.scan(scan);
        let counts = &scan.counts;
        let mut line = format!(
            "read {}, {}, {}: {}",
            number(counts.blocks, "block", "blocks"),
            number(counts.transactions, "transaction", "transactions"),
            number(counts.logs, "log", "logs"),
            number(counts.transfers, "matching transfer", "matching transfers")
        );
        for (count, one, many) in [
            (
                counts.skipped_blocks,
                "block skipped, because its bloom filter excludes the tokens",
                "blocks skipped, because their bloom filters exclude the tokens",
            ),
            (
                counts.malformed,
                "malformed transfer log",
                "malformed transfer logs",
            ),
            (
                counts.dirty_addresses,
                "dirty address word",
                "dirty address words",
            ),
            (
                counts.wraps_deduplicated,
                "duplicate wrap",
                "duplicate wraps",
            ),
            (counts.duplicates, "duplicate row", "duplicate rows"),
        ] {
            if count > 0 {
                line += &format!(", {}", number(count, one, many));
            }
        }
        let blocks = (!is_indexed).then_some(counts.blocks);
        self.note(format_args!("{line}; {}", pace(blocks, time)));
    }

    /// Prints the size of the graph that was found or measured.
    pub(crate) fn graph(&self, [vertices, transfers]: [u64; 2], hop_max: u32) {
        // Without roots there are no hops.
        let hops = match hop_max {
            0 => String::new(),
            _ => format!(", up to hop {hop_max}"),
        };
        self.note(format_args!(
            "graph of {} and {}{hops}",
            number(vertices, "address", "addresses"),
            number(transfers, "transfer", "transfers"),
        ));
    }
}

/// A duration, with the rate of blocks or, without blocks, that an index answered.
fn pace(blocks: Option<u64>, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let time = if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    };
    match blocks {
        Some(blocks) => {
            let rate = rate(blocks, seconds);
            format!("{time}, {rate:.0} blocks/s")
        }
        None => format!("{time}, from the index"),
    }
}

/// The part of a graph that a limit left out, with the option that includes it.
pub(crate) fn limit_words(limit: &LimitHit) -> String {
    match limit {
        LimitHit::ZeroAddress => "the zero address (--expand-zero)".to_owned(),
        limit => txgraph::limit_words(limit),
    }
}

/// The first of many, and how many more there are.
pub(crate) fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    listed_of(items.len() as u64, items)
}

/// The first of `count` items, of which `items` may lack the last.
pub(crate) fn listed_of(count: u64, items: impl Iterator<Item = String>) -> String {
    let mut words: Vec<_> = items.take(LISTED_MAX).collect();
    if words.is_empty() {
        return "none".to_owned();
    }
    let more = count.saturating_sub(words.len() as u64);
    if more > 0 {
        words.push(format!("and {} more", thousands(more)));
    }
    words.join(", ")
}

/// Lines of a name and a text, in two columns. A name is shown once for all its lines.
pub(crate) fn aligned(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut page = String::new();
    let mut last = "";
    for (name, text) in lines {
        let shown = if *name == last { "" } else { name };
        page += &format!("{shown:width$}  {}\n", printable(text));
        last = name;
    }
    page
}

/// Prints a text on stdout. Characters that a terminal would interpret are replaced.
pub(crate) fn print_page(text: &str) -> Result<()> {
    let lines = text.split('\n').map(printable);
    print_data(lines.collect::<Vec<_>>().join("\n").as_bytes())
}

/// Prints a value as JSON on stdout. Characters that a terminal would interpret are escaped.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print_data(&txgraph::pretty_json(value)?)
}

/// Writes bytes to stdout as they are.
pub(crate) fn print_data(bytes: &[u8]) -> Result<()> {
    check_stdout()?;
    let written = io::stdout().lock().write_all(bytes);
    written.map_err(stdout_error)
}

/// Fails if stdout was closed when the process started.
pub(crate) fn check_stdout() -> Result<()> {
    if crate::stdout_check::stdout() {
        Err(Error::new(ErrorKind::Failed, "standard output is closed"))
    } else {
        Ok(())
    }
}

/// Fails as a write does if the process that read stdout has ended. For commands that wait.
pub(crate) fn check_reader() -> Result<()> {
    match crate::stdout_check::is_reader_gone() {
        true => Err(stdout_error(io::ErrorKind::BrokenPipe.into())),
        false => Ok(()),
    }
}

/// A failure to print.
pub(crate) fn stdout_error(error: io::Error) -> Error {
    Error::io(Path::new("standard output"), error)
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_escapes_what_a_terminal_would_interpret() {
        let text = "esc\u{1b}[31m c1\u{9b} turn\u{202e} tag\u{e0041} plain é 火";
        let json = String::from_utf8(txgraph::pretty_json(&[text]).unwrap()).unwrap();
        assert_eq!(
            json,
            "[\n  \"esc\\u001b[31m c1\\u009b turn\\u202e tag\\udb40\\udc41 plain é 火\"\n]\n"
        );
        let read: [String; 1] = serde_json::from_str(&json).unwrap();
        assert_eq!(read, [text]);
    }
}
