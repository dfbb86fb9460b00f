"""A small chain to try things on."""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Dict

_DATA = Path(__file__).parent / "data"


def sample() -> Path:
    """The data directory of a small chain that a real reth node wrote.

    41 blocks with 521 transactions of real contracts, and planted scenarios: a peel chain, wash
    trades, an airdrop and more, which :func:`sample_truth` describes. The chain is unpacked at
    the first call, into ``$XDG_CACHE_HOME/txgraph`` or ``~/.cache/txgraph``. It takes about 2 MB
    there, although its largest file appears to be larger.
    """
    archive = _DATA / "sample.tar.xz"
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    folder = home / "txgraph" / f"sample-{archive.stat().st_size:x}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Complete under its name or not at all, also with several processes at once.
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            chain = Path(temporary) / "chain"
            with tarfile.open(archive) as tar:
                safe: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                tar.extractall(chain, **safe)
            try:
                chain.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder


def sample_genesis() -> Path:
    """The genesis file of the chain of :func:`sample`, to replay it:
    ``txgraph.open(txgraph.sample(), chain=txgraph.sample_genesis())``."""
    return _DATA / "sample-genesis.json"


def sample_truth() -> Dict[str, Any]:
    """What was planted in the chain of :func:`sample`: tokens, accounts, scenarios, and the
    expected answers of searches."""
    truth: Dict[str, Any] = json.loads((_DATA / "sample.json").read_text())
    return truth
