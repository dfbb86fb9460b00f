"""What runs in the process, and how long an interrupt may take."""

import os
import pathlib
import time

#: Seconds from a signal to the exception. The default only catches hangs, because timing does not
#: decide a test: TXGRAPH_PROMPT=0.1 measures the limit that the documentation states.
PROMPT = float(os.environ.get("TXGRAPH_PROMPT", 10))


def running():
    """The number of queries that run: each has a thread with a name of its own."""
    names = [read(task / "comm") for task in pathlib.Path("/proc/self/task").iterdir()]
    return names.count("txgraph-ask")


def read(path):
    try:
        return path.read_text().strip()
    except OSError:
        # The thread ended.
        return None


def wait_until_idle():
    """Fails when queries still run after a minute."""
    end = time.monotonic() + 60
    while running():
        assert time.monotonic() < end, f"{running()} queries still run"
        time.sleep(0.05)
