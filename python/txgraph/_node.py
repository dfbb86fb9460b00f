"""A source that is open, and the queries to it."""

from __future__ import annotations

import datetime
import json
import os
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, Union

from . import _native, _options
from ._answers import Call, Index, Replay, Taint
from ._errors import UsageError
from ._graph import Analysis, Graph
from ._table import Table, Transfers

_Path = Union[str, "os.PathLike[str]"]
#: An address as text or 20 bytes, or several. Text can be a list with commas, or ``@FILE``.
_Addresses = Union[str, bytes, Sequence[Union[str, bytes]]]
#: One file, or several in the order of their priority.
_Paths = Union[_Path, Sequence[_Path]]
#: ``"18M:18.1M"`` (end excluded), ``"-1000:"``, ``"2024-01-01:"``, a number, a ``range``, or the
#: date of a day.
_Block = Union[str, int, range, datetime.date]
_Blocks = Union[_Block, Sequence[_Block]]


class Node:
    """A source that is open: a node, or anything else with transfers. Made by :func:`open`.

    It opens the data directory read-only, next to the running node. Use it as a context manager,
    or close it. Queries do not hold the interpreter's lock, and Ctrl-C ends them.
    """

    def __init__(self, native: _native.Node) -> None:
        self._native = native
        self._about: Optional[Dict[str, Any]] = None

    def close(self) -> None:
        """Closes the source, and stops what runs on it. Tables stay valid."""
        self._native.close()

    def __enter__(self) -> "Node":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _facts(self) -> Dict[str, Any]:
        if self._about is None:
            self._about = json.loads(self._native.about())
        return self._about

    @property
    def info(self) -> Dict[str, Any]:
        """What the data of the node looks like: chain, layout, tip, and the blocks that have
        receipts, transactions and state; as ``txgraph info --json``.

        :raises UnsupportedError: if the source is not a node
        """
        return json.loads(self._native.info())

    @property
    def source(self) -> str:
        """What was opened."""
        return self._facts()["source"]

    @property
    def chain_id(self) -> int:
        """The EIP-155 id of the chain."""
        return self._facts()["chain_id"]

    @property
    def tip(self) -> int:
        """The newest block that can be read at present."""
        return json.loads(self._native.about())["tip"]

    @property
    def can(self) -> List[str]:
        """What the source can do: transfers, blocks, hashes, state, replay, index, lake, info."""
        return self._facts()["can"]

    @property
    def index(self) -> Index:
        """The index of the node."""
        return Index(self._native)

    def transfers(
        self,
        blocks: Optional[_Blocks] = None,
        *,
        since: Any = None,
        until: Any = None,
        token: Optional[_Addresses] = None,
        address: Optional[_Addresses] = None,
        direction: Optional[str] = None,
        tx: Optional[Union[str, bytes, Sequence[Union[str, bytes]]]] = None,
        initiated_by: Optional[_Addresses] = None,
        not_by_owner: bool = False,
        min_value: Optional[Union[int, str]] = None,
        token_id: Any = None,
        standard: Optional[Union[str, Sequence[str]]] = None,
        kind: Optional[Union[str, Sequence[str]]] = None,
        wrapped_native: Optional[_Addresses] = None,
        allow_partial: bool = False,
        check_checksums: bool = True,
        with_internal: bool = False,
        columns: Union[None, str, Sequence[str]] = None,
        token_list: Optional[_Paths] = None,
        labels: Optional[_Paths] = None,
        **replaced: Any,
    ) -> Transfers:
        """Asks for the transfers of blocks. Nothing is read before an answer is asked for.

        :param blocks: all blocks if absent
        :param since: first block, or date (UTC), instead of ``blocks``; also ``date`` and
            ``datetime`` objects, without a time zone in UTC
        :param until: end of the blocks, excluded
        :param token: token addresses, or ``"eth"``
        :param address: addresses that send or receive
        :param direction: ``"out"`` (they send), ``"in"`` or ``"both"``
        :param tx: transactions, by hash or as ``"BLOCK:INDEX"``, instead of ``blocks``
        :param initiated_by: accounts that signed the transaction; the source must be a node
        :param not_by_owner: only transfers whose transaction another account signed than the one
            that gives the tokens; the source must be a node
        :param min_value: smallest amount: an integer in the smallest unit, or text such as
            ``"1.5"`` or ``"USDC=100"`` in units of the token
        :param token_id: ids of ERC-721 and ERC-1155
        :param standard: erc20, erc721, erc1155, native
        :param kind: transfer, mint, burn, wrap, unwrap, value, internal, withdrawal, fee
        :param wrapped_native: contracts whose deposits are wraps: ``"auto"``, ``"any"``,
            ``"none"`` or addresses
        :param allow_partial: answer with the blocks that exist; ``metadata`` states the gaps
        :param check_checksums: refuse addresses in mixed case without a valid checksum
        :param with_internal: replay transactions for the transfers inside of them
        :param columns: columns and their types, in order, as ``--columns``:
            ``["value:f64", "block_number"]``; ``"all:hex"`` for addresses and hashes as text;
            ``["all", "-chain_id", "symbol"]``. Amounts and ids are exact decimals (``string``)
            unless a type is named: ``binary`` (32 bytes, big-endian), ``f64`` (rounded), or
            several: ``"all:binary+f64"``
        :param token_list: files with symbols and decimals
        :param labels: files with names of addresses, for the columns ``from_label``, ``to_label``
        """
        return Transfers(self._native, _options.query(locals()))

    def graph(
        self,
        root: _Addresses,
        *,
        blocks: Optional[_Blocks] = None,
        since: Any = None,
        until: Any = None,
        token: Optional[_Addresses] = None,
        hops: Optional[Union[int, str]] = None,
        direction: Optional[str] = None,
        time_respecting: bool = False,
        max_degree: Optional[int] = None,
        stop_at: Optional[_Path] = None,
        stop_at_category: Optional[Union[str, Sequence[str]]] = None,
        labels: Optional[_Paths] = None,
        follow_top: Optional[int] = None,
        through_swaps: bool = False,
        max_vertices: Optional[int] = None,
        max_edges: Optional[int] = None,
        expand_zero: bool = False,
        min_value: Optional[Union[int, str]] = None,
        token_id: Any = None,
        standard: Optional[Union[str, Sequence[str]]] = None,
        kind: Optional[Union[str, Sequence[str]]] = None,
        wrapped_native: Optional[_Addresses] = None,
        allow_partial: bool = False,
        check_checksums: bool = True,
        with_internal: bool = False,
        token_list: Optional[_Paths] = None,
    ) -> Graph:
        """Searches the graph around addresses, breadth-first.

        :param root: addresses to start from; they are hop 0
        :param hops: how far to follow: a number, or ``"all"``; default 1
        :param direction: ``"out"`` (default), ``"in"`` or ``"both"``
        :param time_respecting: follow a transfer only if it happened after the tokens arrived
        :param max_degree: counterparties above which an address is not expanded
        :param stop_at: file of addresses that are not expanded, with labels
        :param stop_at_category: categories of labels that are not expanded, e.g. ``"exchange"``
        :param labels: files with names of addresses, the most important first
        :param follow_top: follow only the counterparties with the largest amounts
        :param through_swaps: follow each token for itself, and into those that it is swapped for;
            backward, into those that were given for it
        :param max_vertices: end with at most this number of addresses
        :param max_edges: end with at most this number of transfers
        :param expand_zero: expand the zero address, too

        Other parameters as in :meth:`transfers`.
        """
        return self._graph(_options.query(locals()))

    def analyze(self, measure: str = "summary", **options: Any) -> Analysis:
        """Measures a graph: ``summary``, ``pairs``, ``degrees``, ``cycles``, ``components``,
        ``volume``, ``patterns``, ``rank`` (which needs ``root``) or ``taint``.

        With ``root``, of the graph that :meth:`graph` finds with the same options. Without, of all
        transfers that match. ``limit`` limits rankings, ``order`` (amount, count, address) orders
        pairs. ``by`` (hour, day, week, month, transaction) chooses what ``volume`` sums together.
        Other options are as on the command line, with ``_`` instead of ``-``.
        """
        for name in ("output", "format", "overwrite", "table"):
            if name in options:
                raise UsageError(f"analyze has no {name}: it returns all tables and writes no file")
        return self._analyze(_options.query({"measure": measure, **options}))

    def taint(
        self, root: Any, *, method: str = "fifo", through_swaps: bool = False, **options: Any
    ) -> Taint:
        """Follows the tokens that ``root`` sent, amount by amount, to where they are now.

        ``method`` decides which tokens of an account leave first: ``fifo``, ``lifo``, ``haircut``
        (the same share of all), ``poison`` (upper bounds) or ``execution`` (contracts pay as their
        code does). ``through_swaps`` follows tokens into those that they are swapped for in one
        transaction. Other options are as in :meth:`graph`; all hops are followed unless ``hops``
        is given. Amounts are in the smallest unit of the token.
        """
        analysis = self.analyze(
            "taint",
            root=root,
            method=method,
            through_swaps=through_swaps,
            **options,
        )
        tables = analysis.tables
        return Taint(
            tables["ends"],
            tables["sources"],
            tables["ledger"],
            tables["swaps"],
            tables["slots"],
            analysis.result,
        )

    def query(self, name: _Path, **params: Any) -> Union[Transfers, Graph, Analysis]:
        """Asks a saved query by its name, or by the path of its file. :func:`queries` lists
        them. Names of parameters with ``-`` are written with ``_``.

        :returns: what the query is about: transfers, a graph, or a measure
        """
        pairs: List[Tuple[str, str]] = []
        for key, value in params.items():
            if isinstance(value, bool):
                values = [str(value).lower()]
            elif key == "blocks":
                values = _options.blocks(key, value)
            else:
                values = _options.texts(key, value)
            pairs.extend((key.replace("_", "-"), item) for item in values)
        command, options = _native.resolve_query(_options.text("name", name), pairs)
        if command == "graph":
            return self._graph(options)
        if command == "analyze":
            return self._analyze(options)
        return Transfers(self._native, options)

    def replay(
        self,
        blocks: Optional[_Blocks] = None,
        *,
        transaction: Optional[Union[str, bytes]] = None,
        trace: Optional[str] = None,
        fees: bool = False,
        balances: Optional[_Addresses] = None,
        verify_only: bool = False,
    ) -> Replay:
        """Executes past transactions again.

        :param transaction: only this one: its hash, or ``"BLOCK:INDEX"``
        :param trace: ``"call"`` or ``"diff"``, as JSON in the column ``result``; without, the
            table contains the movements of ETH inside transactions (wei)
        :param fees: movements of fees, too
        :param balances: instead, tokens whose balances are compared with their logs
        :param verify_only: no table; only compare with what the node stored
        """
        options = {
            "blocks": _options.blocks("blocks", blocks),
            "transaction": _options.optional("transaction", transaction),
            "trace": _options.optional("trace", trace),
            "fees": _options.flag("fees", fees),
            "balances": _options.texts("balances", balances),
            "verify_only": _options.flag("verify_only", verify_only),
        }
        named = [it for it in ("trace", "fees", "balances", "verify_only") if options[it]]
        if len(named) > 1:
            raise UsageError(f"{' and '.join(named)} exclude each other: a replay has one table")
        table, report = self._native.replay(json.dumps(_options.given(options)))
        return Replay(None if table is None else Table(table), json.loads(report))

    def call(
        self,
        to: Optional[Union[str, bytes]],
        data: Union[str, bytes] = b"",
        *arguments: Any,
        from_: Optional[Union[str, bytes]] = None,
        value: int = 0,
        gas: Optional[int] = None,
        block: Optional[int] = None,
    ) -> Call:
        """Calls a contract on the state after a block, and discards the changes.

        >>> import txgraph
        >>> node = txgraph.open(txgraph.sample(), chain=txgraph.sample_genesis())
        >>> token = "0xd601451207128971898aab8654521699f35222e2"
        >>> node.call(token, "decimals()(uint8)").values
        [6]

        :param to: the contract; ``None``: the data is init code
        :param data: a function, ``"balanceOf(address)(uint256)"``, or calldata as bytes or hex
        :param arguments: of the function: integers in the smallest unit, text, bytes, lists and
            tuples; text is read as by the command line (``"1ether"``)
        :param value: wei
        :param gas: limit; default 50 million
        :param block: default: the newest with a state
        :raises Failed: if what is returned is not of the types in the signature. A call that
            reverts raises nothing: see ``success``
        """
        function = data if isinstance(data, str) and "(" in data else None
        if function is not None:
            data = b""
        elif arguments:
            raise TypeError("arguments need a function, such as 'balanceOf(address)(uint256)'")
        if isinstance(data, str):
            try:
                data = bytes.fromhex(data[2:] if data[:2] in ("0x", "0X") else data)
            except ValueError as error:
                raise UsageError(f"data is not hex: {error}") from None
        elif not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data cannot be of type {type(data).__name__}")
        options = {
            "to": _options.optional("to", to),
            "from": _options.optional("from_", from_),
            "value": _options.optional("value", value),
            "gas": _options.integer("gas", gas),
            "block": _options.integer("block", block),
        }
        given = json.dumps(_options.given(options))
        return Call(*_native.call(self._native, given, bytes(data), function, list(arguments)))

    def balance(
        self,
        address: Union[str, bytes],
        *,
        token: Optional[Union[str, bytes]] = None,
        block: Optional[int] = None,
    ) -> int:
        """The balance of an address after a block.

        :param token: a token; default: the native coin
        :param block: default: the newest with a state
        :returns: an amount in the smallest unit of the token; wei for the native coin
        """
        asset = _options.optional("token", token)
        return _native.balance(
            self._native,
            _options.text("address", address),
            None if asset in ("eth", "native") else asset,
            _options.integer("block", block),
        )

    def nonce(self, address: Union[str, bytes], *, block: Optional[int] = None) -> int:
        """The number of transactions that an address sent, after a block; for a contract, the number of
        the contracts that it created, plus one."""
        return _native.nonce(
            self._native, _options.text("address", address), _options.integer("block", block)
        )

    def code(self, address: Union[str, bytes], *, block: Optional[int] = None) -> bytes:
        """The code of a contract after a block; empty if the address has none."""
        return _native.code(
            self._native, _options.text("address", address), _options.integer("block", block)
        )

    def storage(
        self, address: Union[str, bytes], slot: Union[int, str, bytes], *, block: Optional[int] = None
    ) -> bytes:
        """The 32 bytes in a slot of the storage of a contract after a block; zeros if nothing was
        written there."""
        return _native.storage(
            self._native,
            _options.text("address", address),
            _options.text("slot", slot),
            _options.integer("block", block),
        )

    def tx(
        self, transaction: Union[str, bytes], *, abi: Optional[_Paths] = None
    ) -> Dict[str, Any]:
        """What a transaction did: who sent it, what moved, what each address has more or less,
        as ``txgraph tx --json``. Amounts are text, in the smallest unit; the fee is in wei.

        :param transaction: its hash, or ``"BLOCK:INDEX"``
        :param abi: files with names of methods
        """
        name = _options.text("transaction", transaction)
        return json.loads(_native.transaction(self._native, name, _options.texts("abi", abi)))

    def _graph(self, options: str) -> Graph:
        return Graph(self._native.graph(options))

    def _analyze(self, options: str) -> Analysis:
        tables, result = self._native.analyze(options)
        return Analysis({name: Table(table) for name, table in tables}, json.loads(result))

    def __repr__(self) -> str:
        try:
            return f"<txgraph.Node {self.source}>"
        except Exception as error:
            return f"<txgraph.Node: {error}>"
