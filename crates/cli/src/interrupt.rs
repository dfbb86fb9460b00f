//! Ctrl-C: once stops cleanly, twice at once.

use crate::progress;
use std::{
    future::poll_fn,
    task::{Context, Poll},
    thread,
};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};
use txgraph::CancelFlag;

/// A flag that the first Ctrl-C (or SIGTERM) sets. The second ends the process;
/// files under temporary names may then stay behind.
pub(crate) fn watch() -> CancelFlag {
    let cancel = CancelFlag::new();
    let flag = cancel.clone();
    let (ready, started) = std::sync::mpsc::channel::<()>();
    let watcher = thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
                return;
            };
            runtime.block_on(async {
                let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
                let [Ok(mut interrupt), Ok(mut terminate)] = kinds.map(signal) else {
                    return;
                };
                drop(ready);
                for first in [true, false] {
                    let either = |cx: &mut Context<'_>| {
                        let came =
                            interrupt.poll_recv(cx).is_ready() | terminate.poll_recv(cx).is_ready();
                        if came { Poll::Ready(()) } else { Poll::Pending }
                    };
                    poll_fn(either).await;
                    if !first {
                        std::process::exit(130);
                    }
                    progress::say(format_args!("stopping (once more to stop at once)"));
                    flag.cancel();
                }
            });
        });
    match watcher {
        // Returns when the handlers stand, or cannot: then a signal ends the process as usual.
        Ok(_) => drop(started.recv()),
        Err(error) => tracing::warn!(%error, "Ctrl-C will end the programme at once"),
    }
    cancel
}
