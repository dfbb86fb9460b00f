//! Log messages of the engine, which uses the crate `log`, as events of this process.

use log::{Level, LevelFilter, Log, Metadata, Record};

/// The target of the events. The target of a message begins with it.
const TARGET: &str = "ballista";

/// Passes on the messages of Ballista, from `info` on.
struct EngineLog;

impl Log for EngineLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(TARGET)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let (from, message) = (record.target(), record.args());
        match record.level() {
            Level::Error => tracing::error!(target: TARGET, "{from}: {message}"),
            Level::Warn => tracing::warn!(target: TARGET, "{from}: {message}"),
            _ => tracing::info!(target: TARGET, "{from}: {message}"),
        }
    }

    fn flush(&self) {}
}

/// Installs it, once for the process.
pub(crate) fn install() {
    if log::set_logger(&EngineLog).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}
