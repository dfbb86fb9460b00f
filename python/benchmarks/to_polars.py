"""Transfers to polars, compared with the export of the command line to Arrow IPC.

Pairs of runs, one after the other, so that a slower hour of the machine affects both. Each is a
process of its own. The file is written to memory (`/dev/shm`), so that no disk is timed. Prints
the seconds of each pair, and the median of the ratios.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import sys, time
import polars, txgraph
begin = time.perf_counter()
with txgraph.open(sys.argv[1], index="off") as node:
    frame = polars.DataFrame(node.transfers(sys.argv[2], columns="all:binary+string+f64"))
print(time.perf_counter() - begin, frame.height)
"""


def export(chain, blocks, folder):
    """Seconds of the whole process of the command line, and its rows."""
    path = os.path.join(folder, "t.arrow")
    program = os.environ["TXGRAPH"]
    command = [program, "transfers", "--datadir", chain, "--index", "off", "-b", blocks]
    begin = time.perf_counter()
    subprocess.run([*command, "-o", path, "--overwrite"], check=True, capture_output=True)
    return time.perf_counter() - begin


def to_polars(chain, blocks):
    """Seconds from opening the node to the frame, and its rows."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, chain, blocks], check=True, capture_output=True, text=True
    )
    seconds, rows = done.stdout.split()
    return float(seconds), int(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chain")
    parser.add_argument("--blocks", default="0:200000")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for turn in range(options.rounds + 1):
            ours, rows = to_polars(options.chain, options.blocks)
            theirs = export(options.chain, options.blocks, folder)
            if turn == 0:
                print(f"{rows:,} rows")
                continue
            ratios.append(ours / theirs)
            print(f"polars {ours:.2f} s, Arrow IPC {theirs:.2f} s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
