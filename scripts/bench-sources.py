"""Times txgraph, polars and pyarrow on tables of other tools.

Usage: bench-sources.py TXGRAPH FOLDER RUNS, a folder with all.csv: ERC-20 transfers, as txgraph
writes them. Prints a table. txgraph is timed as a process, the others without their start.
"""

import os
import subprocess
import sys
import time

import polars as pl
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

txgraph, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.chdir(folder)
transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
rows = pl.read_csv("all.csv", schema_overrides={"value": pl.String})
last = rows["block_number"].max()
place = ["block_number", "transaction_index", "log_index", "transaction_hash"]


def topic(column):
    return pl.lit("0x" + "0" * 24) + pl.col(column).str.slice(2)


def word(number):
    return f"0x{int(number):064x}"


etl = rows.select(*place, "token_address", "from_address", "to_address", "value")
cryo = rows.select(
    *place,
    pl.col("token_address").alias("erc20"),
    "from_address",
    "to_address",
    pl.col("value").alias("value_string"),
)
logs = rows.select(
    *place,
    pl.col("token_address").alias("address"),
    pl.lit(transfer).alias("topic0"),
    topic("from_address").alias("topic1"),
    topic("to_address").alias("topic2"),
    pl.lit(None, pl.String).alias("topic3"),
    pl.col("value").map_elements(word, pl.String).alias("data"),
)
dune = rows.select(
    "block_number",
    pl.col("transaction_hash").alias("tx_hash"),
    pl.col("transaction_index").alias("tx_index"),
    pl.col("log_index").alias("evt_index"),
    pl.col("token_address").alias("contract_address"),
    pl.col("from_address").alias("from"),
    pl.col("to_address").alias("to"),
    pl.col("value").alias("amount_raw"),
    pl.lit("erc20").alias("token_standard"),
)
tables = {}
for kind, name, table in [
    ("cryo", "erc20_transfers", cryo),
    ("cryo", "logs", logs),
    ("etl", "token_transfers", etl),
    ("dune", "tokens_transfers", dune),
]:
    stem = f"{kind}-{name}"
    table.write_parquet(f"{stem}.parquet", row_group_size=65536)
    table.write_csv(f"{stem}.csv")
    tables[f"{stem}.parquet"] = tables[f"{stem}.csv"] = kind
etl.write_ndjson("etl-token_transfers.jsonl")
tables["etl-token_transfers.jsonl"] = "etl"


def ask(kind, path, *options):
    line = [txgraph, "transfers", "-q", "--source", f"{kind}:{path}", "--chain-id", "1"]
    line += ["--covers", f"0:{last + 1}", "--format", "csv", "-o", "-", *options]
    # The warning about the other standards is expected.
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.count(b"\n") - 1


def best(work):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


readers = {
    "parquet": (pl.read_parquet, pyarrow.parquet.read_table),
    "csv": (lambda path: pl.read_csv(path, infer_schema=False), pyarrow.csv.read_csv),
    "jsonl": (pl.read_ndjson, pyarrow.json.read_json),
}
print("file", "MB", "rows", "txgraph rows/s", "polars rows/s", "pyarrow rows/s", sep="\t")
for path, kind in tables.items():
    found = ask(kind, path)
    assert found == len(rows), f"{path}: {found} transfers instead of {len(rows)}"
    everything = ["--min-value", str(2**256 - 1)]
    works = [lambda: ask(kind, path, *everything)]
    works += [lambda read=read: read(path) for read in readers[path.rsplit(".")[-1]]]
    speeds = [f"{len(rows) / best(work):.0f}" for work in works]
    print(path, f"{os.path.getsize(path) / 1e6:.1f}", len(rows), *speeds, sep="\t", flush=True)
