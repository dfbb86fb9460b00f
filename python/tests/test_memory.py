"""Batches need the same memory for any number of rows."""

import subprocess
import sys

PROGRAM = """
import sys, txgraph
import pyarrow as pa

def resident():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) << 10

def reset():
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")

with txgraph.open(sys.argv[1], index="off") as node:
    # Warms up: threads, caches, allocator.
    for batch in node.transfers().batches():
        pa.record_batch(batch)
    reset()
    before, rows, size = resident(), 0, 0
    for batch in node.transfers().batches():
        part = pa.record_batch(batch)
        rows += len(part)
        size += part.nbytes
        del batch, part
    streamed = resident() - before
    reset()
    before = resident()
    reader = pa.RecordBatchReader.from_stream(node.transfers().stream())
    assert sum(part.num_rows for part in reader) == rows
    pulled = resident() - before
    reset()
    before = resident()
    table = pa.table(node.transfers())
    kept = resident() - before
    print(rows, size, streamed, pulled, kept)
"""


def test_memory_of_batches_is_flat(large_chain):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, large_chain], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows, size, streamed, pulled, kept = map(int, done.stdout.split())
    print(f"{rows} rows, {size >> 20} MiB: {streamed >> 20} MiB in batches,")
    print(f"{pulled >> 20} MiB through a stream, {kept >> 20} MiB kept")
    assert rows >= 400_000
    assert kept > size // 2
    # Up to six of the ten batches of 64 Ki rows are on their way, some in two forms.
    assert max(streamed, pulled) < kept * 2 // 3
    assert max(streamed, pulled) < 128 << 20
