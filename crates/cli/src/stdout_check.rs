//! Whether standard output was closed when the process started, as by `>&-` in a shell, or its reader
//! has gone since.
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

/// Whether standard output is a pipe or a socket that no process reads any more. A write would fail.
pub(crate) fn is_reader_gone() -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let stdout = std::io::stdout();
    // Errors are reported without being asked for.
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let found = poll(&mut polled, PollTimeout::ZERO);
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    found.is_ok() && (polled[0].revents()).is_some_and(|events| events.intersects(gone))
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
