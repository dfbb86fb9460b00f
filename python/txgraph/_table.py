"""Tables in memory, for every library that takes Arrow."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Optional, Union

from . import _native
from ._errors import UsageError


class ArrowTable:
    """What has Arrow's PyCapsule interface, with shortcuts to other libraries.

    Numbers that fit are unsigned integers. Times are seconds since 1970. Amounts are in the
    smallest unit of the token (wei for the native coin).
    """

    def __arrow_c_schema__(self) -> Any:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise NotImplementedError

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` of the same buffers."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``."""
        return self.to_arrow().to_pandas()


class Table(ArrowTable):
    """A table in memory. It stays valid when its node is closed."""

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def metadata(self) -> Optional[Dict[str, Any]]:
        """The source and the coverage of the answer: query, chain, blocks, gaps, counts."""
        return _metadata(self._native)

    def batches(self) -> List[_native.Batch]:
        """The record batches."""
        return self._native.batches()

    def __arrow_c_schema__(self) -> Any:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<txgraph.Table of {len(self):,} rows: {', '.join(self.columns)}>"


def _metadata(native: Union[_native.Table, _native.Batches]) -> Optional[Dict[str, Any]]:
    text = native.metadata
    return None if text is None else json.loads(text)


class Batches:
    """Record batches as they are read: an iterator, and a stream of Arrow for a single use."""

    def __init__(self, native: _native.Batches) -> None:
        self._native = native

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def metadata(self) -> Optional[Dict[str, Any]]:
        """The source and the coverage of the answer; ``None`` before the end."""
        return _metadata(self._native)

    def __iter__(self) -> Iterator[_native.Batch]:
        return self

    def __next__(self) -> _native.Batch:
        try:
            return next(self._native)
        except RuntimeError as error:
            raise UsageError(str(error)) from None

    def close(self) -> None:
        """Stops reading. To read on, also in another thread, raises :class:`Interrupted`."""
        self._native.close()

    def __arrow_c_schema__(self) -> Any:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            return self._native.__arrow_c_stream__(requested_schema)
        except RuntimeError as error:
            raise UsageError(str(error)) from None


class Stream(ArrowTable):
    """Transfers as they are read. Each library that takes it reads the blocks again.

    What fails before the first rows is an exception of txgraph. Later failures, a reorganization
    among them, are errors of the library that takes the rows. After Ctrl-C, its error comes
    first, and ``KeyboardInterrupt`` follows.
    """

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return self._transfers.columns

    def __arrow_c_schema__(self) -> Any:
        return self._transfers.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._transfers.batches().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<txgraph.Stream of {self._transfers!r}>"


class Transfers(ArrowTable):
    """A query for transfers. Nothing is read before an answer is asked for.

    Hand it to a library: ``polars.DataFrame(t)``, ``pyarrow.table(t)``,
    ``duckdb.sql("from t")``. Each reads the blocks again, and gets all rows or an exception;
    :meth:`collect` keeps the answer, and :meth:`stream` needs no memory for it.

    =================  =====================================================================
    column             content
    =================  =====================================================================
    block_number       block
    block_timestamp    seconds since 1970 (UTC)
    transaction_index  index in the block; of a withdrawal, the number of transactions
    log_index          index of the log in the block; absent for the native coin
    sub_index          index in an ERC-1155 batch, or among native movements
    transaction_hash   32 bytes; absent for withdrawals
    token_address      20 bytes; absent for the native coin
    from_address       20 bytes
    to_address         20 bytes
    value              amount in the smallest unit; 1 for ERC-721
    token_id           of ERC-721 and ERC-1155
    token_standard     erc20, erc721, erc1155, native
    kind               transfer, mint, burn, wrap, unwrap, value, internal, withdrawal, fees
    chain_id           EIP-155
    =================  =====================================================================

    With several types of 256-bit numbers, ``value`` becomes ``value_binary``, ``value_string``
    and ``value_f64``, and so does ``token_id``.
    """

    def __init__(self, node: _native.Node, options: str) -> None:
        self._node = node
        self._options = options

    def collect(self) -> Table:
        """Reads all transfers into memory: about 300 bytes each.

        All or nothing: if the chain is reorganized in the meantime, it begins again.

        :raises Unavailable: if blocks are missing; ``missing`` says which and why
        """
        return Table(self._node.transfers(self._options))

    def batches(self) -> Batches:
        """Reads record batches in constant memory. Iterate, or hand it to a library once:
        ``pyarrow.RecordBatchReader.from_stream(t.batches())``.

        Rows that were taken cannot be taken back: a reorganization in the meantime raises
        :class:`Reorged`.
        """
        return Batches(self._node.batches(self._options))

    def stream(self) -> Stream:
        """The same query for libraries that take rows as they are read, in constant memory:
        ``s = t.stream()``, then ``duckdb.sql("select kind, count(*) from s group by kind")``."""
        return Stream(self)

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return self._node.transfers_columns(self._options)

    @property
    def blocks(self) -> List[range]:
        """The blocks that are asked for."""
        return [range(first, last + 1) for first, last in self._node.blocks(self._options)]

    def __arrow_c_schema__(self) -> Any:
        return self._node.transfers_schema(self._options)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.collect().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<txgraph.Transfers {self._options}>"
