"""Opens sources, and lists what there is."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _native, _options
from ._node import Node, _Path
from ._progress import Callback, callback


def open(
    source: Optional[_Path] = None,
    *,
    join: Sequence[_Path] = (),
    head: Optional[str] = None,
    index: Optional[_Path] = None,
    threads: Optional[int] = None,
    chunk_blocks: Optional[int] = None,
    memory: Optional[Union[int, str]] = None,
    check_roots: Optional[bool] = None,
    cache: Optional[_Path] = None,
    token_list: Optional[_Path] = None,
    static_files: Optional[_Path] = None,
    rocksdb: Optional[_Path] = None,
    chain: Optional[_Path] = None,
    chain_id: Optional[int] = None,
    covers: Optional[str] = None,
    source_columns: Optional[str] = None,
    progress: Union[bool, Callback, None] = None,
) -> Node:
    """Opens a source: the data directory of a reth node, or ``KIND:LOCATION``, as
    :func:`source_kinds` lists them. Missing arguments come from the environment and from
    ``txgraph.toml``, as for the command line.

    :param join: more sources of the same chain
    :param head: URL of the node's own JSON-RPC server, for blocks that are not on disk yet
    :param index: ``"auto"``, ``"off"``, or the directory of an index
    :param threads: default: one for each core
    :param chunk_blocks: blocks that a thread reads at a time
    :param memory: bytes of transfers that a search keeps, or text like ``"4G"``
    :param check_roots: recompute the roots of every block that is read
    :param cache: directory of indexes and names of tokens
    :param token_list: file with symbols and decimals of tokens
    :param chain: genesis file, to replay chains that are not built in
    :param chain_id: for data that does not contain it
    :param covers: blocks that files of other tools cover completely
    :param source_columns: columns of such files by role: ``from=sender,to=receiver``
    :param progress: ``True`` for a bar of tqdm, if it is installed; or a function that is called
        with the blocks done, the blocks in all, how many were found, and of what
    :raises Failed: if nothing can be opened there
    """

    joined = [join] if isinstance(join, (str, os.PathLike)) else join
    settings = {
        "source": _options.path("source", source),
        "join": [_options.path("join", one) for one in joined],
        "head": _options.optional("head", head),
        "index": _options.path("index", index),
        "threads": _options.integer("threads", threads),
        "chunk_blocks": _options.integer("chunk_blocks", chunk_blocks),
        "memory": _options.optional("memory", memory),
        "cache": _options.path("cache", cache),
        "token_list": _options.path("token_list", token_list),
        "static_files": _options.path("static_files", static_files),
        "rocksdb": _options.path("rocksdb", rocksdb),
        "chain": _options.path("chain", chain),
        "chain_id": _options.integer("chain_id", chain_id),
        "covers": _options.optional("covers", covers),
        "source_columns": _options.optional("source_columns", source_columns),
    }
    settings = _options.given(settings)
    if check_roots is not None:
        settings["check_roots"] = _options.flag("check_roots", check_roots)
    return Node(_native.open(json.dumps(settings), callback(progress)))


def queries() -> List[Dict[str, Any]]:
    """The saved queries: name, purpose, and parameters with their types and defaults."""
    return json.loads(_native.queries())


def source_kinds() -> Dict[str, str]:
    """The kinds of sources: the word before the colon, and what comes after it."""
    return dict(_native.kinds())
