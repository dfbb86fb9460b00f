//! Whether standard output was closed when the process started, as by `>&-` in a shell.
//!
//! The runtime of Rust opens `/dev/null` in place of closed standard streams before `main`:
//! everything that is printed would disappear without an error. So this has to be found out
//! before the runtime starts.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process started.
pub(crate) fn stdout() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
mod before_main {
    use super::{CLOSED, Ordering};
    use nix::fcntl::{FcntlArg, fcntl};

    extern "C" fn check() {
        let flags = fcntl(std::io::stdout(), FcntlArg::F_GETFD);
        CLOSED.store(flags.is_err(), Ordering::Relaxed);
    }

    #[expect(unsafe_code, reason = "runs before the runtime of Rust starts")]
    // SAFETY: the section contains pointers to functions that the C runtime calls, with
    // arguments that a C function may ignore. `check` needs nothing of the runtime of Rust:
    // it makes one system call and stores to a static. The handle of stdout is not locked.
    #[unsafe(link_section = ".init_array")]
    #[used]
    static CHECK: extern "C" fn() = check;
}
