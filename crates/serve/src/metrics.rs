//! Counts of requests, in the text format of Prometheus.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The upper bounds of the durations that are counted together, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Finished requests by interface and result.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Calls by method or action, and whether they have an answer.
    calls: Mutex<BTreeMap<(&'static str, bool), u64>>,
    durations: Mutex<BTreeMap<&'static str, Durations>>,
    /// Requests that are worked on.
    pub(crate) running: AtomicU64,
    /// Requests that were refused because too many others ran.
    pub(crate) refused: AtomicU64,
    /// Requests whose time limit ended.
    pub(crate) late: AtomicU64,
    /// Requests whose client closed the connection before the answer.
    pub(crate) left: AtomicU64,
    /// Calls that were passed on.
    pub(crate) passed: AtomicU64,
    /// Panics, each of which is a bug.
    pub(crate) panics: AtomicU64,
    /// The newest block of the last answer.
    pub(crate) tip: AtomicU64,
    /// The newest block of the index.
    pub(crate) index_block: AtomicU64,
    /// Attempts to extend the index that failed.
    pub(crate) index_failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Durations {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Counts a finished request.
    pub(crate) fn request(&self, interface: &'static str, status: u16, time: Duration) {
        *lock(&self.requests).entry((interface, status)).or_default() += 1;
        let seconds = time.as_secs_f64();
        let mut all = lock(&self.durations);
        let durations = all.entry(interface).or_default();
        durations.count += 1;
        durations.sum += seconds;
        for (bound, bucket) in BUCKETS.iter().zip(&mut durations.buckets) {
            *bucket += u64::from(seconds <= *bound);
        }
    }

    /// Counts a call. `name` is one of the known names.
    pub(crate) fn call(&self, name: &'static str, answered: bool) {
        *lock(&self.calls).entry((name, answered)).or_default() += 1;
    }

    /// Counts a panic, if called while one ends a thread or a task: by what is dropped then.
    pub(crate) fn note_panic(&self) {
        if std::thread::panicking() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All counts.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let head = |name: &str, help: &str| {
            let kind = match name {
                "request_seconds" => "histogram",
                name if name.ends_with("_total") => "counter",
                _ => "gauge",
            };
            format!("# HELP txgraph_{name} {help}\n# TYPE txgraph_{name} {kind}\n")
        };
        text += &head("requests_total", "Finished HTTP requests.");
        for ((interface, status), count) in &*lock(&self.requests) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "txgraph_requests_total{{interface=\"{interface}\",status=\"{status}\"}} {count}"
            );
        }
        text += &head("calls_total", "Methods and actions that were asked.");
        for ((name, answered), count) in &*lock(&self.calls) {
            let _ = writeln!(
                text,
                "txgraph_calls_total{{name=\"{name}\",answered=\"{answered}\"}} {count}"
            );
        }
        text += &head("request_seconds", "Time of HTTP requests.");
        for (interface, durations) in &*lock(&self.durations) {
            let name = format!("txgraph_request_seconds_bucket{{interface=\"{interface}\"");
            for (bound, bucket) in BUCKETS.iter().zip(durations.buckets) {
                let _ = writeln!(text, "{name},le=\"{bound}\"}} {bucket}");
            }
            let Durations { count, sum, .. } = durations;
            let _ = writeln!(text, "{name},le=\"+Inf\"}} {count}");
            let _ = writeln!(
                text,
                "txgraph_request_seconds_sum{{interface=\"{interface}\"}} {sum}\n\
                 txgraph_request_seconds_count{{interface=\"{interface}\"}} {count}"
            );
        }
        let mut count = |name: &str, help: &str, value: &AtomicU64| {
            text += &head(name, help);
            let _ = writeln!(text, "txgraph_{name} {}", value.load(Ordering::Relaxed));
        };
        count("running", "Requests that are worked on.", &self.running);
        count(
            "refused_total",
            "Requests refused because of others.",
            &self.refused,
        );
        count("late_total", "Requests whose time limit ended.", &self.late);
        count("left_total", "Requests whose client left.", &self.left);
        count("passed_total", "Calls passed on to the node.", &self.passed);
        count(
            "panics_total",
            "Requests that failed by a bug of the server.",
            &self.panics,
        );
        count(
            "tip_block",
            "The newest block of the last answer.",
            &self.tip,
        );
        count(
            "index_block",
            "The newest block of the index, 0 without one.",
            &self.index_block,
        );
        count(
            "index_failures_total",
            "Failed attempts to extend the index.",
            &self.index_failures,
        );
        text
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_cumulative() {
        let metrics = Metrics::default();
        metrics.request("rpc", 200, Duration::from_millis(3));
        metrics.request("rpc", 200, Duration::from_secs(60));
        metrics.call("eth_call", true);
        let text = metrics.text();
        for line in [
            "txgraph_requests_total{interface=\"rpc\",status=\"200\"} 2",
            "txgraph_request_seconds_bucket{interface=\"rpc\",le=\"0.001\"} 0",
            "txgraph_request_seconds_bucket{interface=\"rpc\",le=\"0.005\"} 1",
            "txgraph_request_seconds_bucket{interface=\"rpc\",le=\"30\"} 1",
            "txgraph_request_seconds_bucket{interface=\"rpc\",le=\"+Inf\"} 2",
            "txgraph_calls_total{name=\"eth_call\",answered=\"true\"} 1",
            "txgraph_running 0",
            "txgraph_panics_total 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
    #[test]
    fn panics_are_counted() {
        struct Watch(std::sync::Arc<Metrics>);
        impl Drop for Watch {
            fn drop(&mut self) {
                self.0.note_panic();
            }
        }
        let metrics = std::sync::Arc::<Metrics>::default();
        drop(Watch(metrics.clone()));
        let watch = Watch(metrics.clone());
        let thread = std::thread::spawn(move || {
            let _watch = watch;
            panic!("a test of panics");
        });
        assert!(thread.join().is_err());
        assert_eq!(metrics.panics.load(Ordering::Relaxed), 1);
    }
}
