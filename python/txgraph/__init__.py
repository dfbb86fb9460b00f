"""Where did these tokens go? Transfer graphs from a local reth database.

>>> import txgraph
>>> with txgraph.open(txgraph.sample()) as node:
...     frame = node.transfers("10:20").to_polars()
...     graph = node.graph("0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0", hops="all")
"""

from ._answers import Call, Index, Replay, Taint
from ._errors import (
    Closed,
    Error,
    Failed,
    Gap,
    Interrupted,
    Reorged,
    Unavailable,
    UnsupportedError,
    UsageError,
)
from ._graph import Analysis, Graph
from ._native import Batch
from ._node import Node
from ._open import open, queries, source_kinds
from ._sample import sample, sample_genesis, sample_truth
from ._table import Batches, Stream, Table, Transfers

__all__ = [
    "Analysis",
    "Batch",
    "Batches",
    "Call",
    "Closed",
    "Error",
    "Failed",
    "Gap",
    "Graph",
    "Index",
    "Interrupted",
    "Node",
    "Reorged",
    "Replay",
    "Stream",
    "Table",
    "Taint",
    "Transfers",
    "Unavailable",
    "UnsupportedError",
    "UsageError",
    "open",
    "queries",
    "sample",
    "sample_genesis",
    "sample_truth",
    "source_kinds",
]
