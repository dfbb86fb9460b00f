"""Answers of a node, and its index."""

from __future__ import annotations

import json
import warnings
from typing import Any, Dict, List, NamedTuple, Optional

from . import _native, _options
from ._table import Table


class Call(NamedTuple):
    """The result of a call."""

    #: The block at whose end it was called.
    block: int
    #: Whether it ended without an error.
    success: bool
    #: What it returned, or reverted with.
    output: bytes
    #: Gas, before refunds.
    gas_used: int
    #: Why it reverted, if the contract returned a text.
    reason: Optional[str]
    #: What it returned, if the function was named with the types that it returns: integers, text,
    #: bytes, lists and tuples. Addresses are text.
    values: List[Any]


class Taint(NamedTuple):
    """Where the tokens of some addresses went: the answer of :meth:`Node.taint`."""

    #: the addresses that have them, with amounts, shares, and why they are not followed further
    ends: Table
    #: the transfers of the roots
    sources: Table
    #: the tainted part of every transfer, by source
    ledger: Table
    #: the swaps of tainted tokens, followed or not, two rows each
    swaps: Table
    #: the storage slots that tainted tokens were paid for; none unless the method is ``execution``
    slots: Table
    #: everything, as in the command line's JSON
    result: Dict[str, Any]


class Replay(NamedTuple):
    """The result of a replay."""

    #: What was found; ``None`` if it was only verified.
    table: Optional[Table]
    #: Numbers of blocks and transactions, gas, and differences from what the node stored.
    report: Dict[str, Any]


class Index:
    """The index of a node, which answers for an address without reading receipts."""

    def __init__(self, node: _native.Node) -> None:
        self._node = node

    def _do(self, action: str, **options: Any) -> Any:
        return json.loads(self._node.index(action, json.dumps(_options.given(options))))

    @property
    def directory(self) -> str:
        """Its directory, which need not exist."""
        return self._do("directory")

    @property
    def status(self) -> Dict[str, Any]:
        """Blocks, sizes in bytes, and how far it is behind the node."""
        return self._do("status")

    def build(
        self,
        *,
        first_block: Optional[int] = None,
        last_block: Optional[int] = None,
        with_internal: bool = False,
        with_transactions: bool = False,
    ) -> Dict[str, Any]:
        """Builds the index, or continues a build that was interrupted. Returns its status.

        Nodes that are open use an index from their next :func:`open` on.

        :param last_block: default: the newest without the last 64, which a reorganization can
            replace
        :param with_internal: also store the transfers inside of transactions
        :param with_transactions: also store the transactions of each address
        """
        status = self._do(
            "build",
            first_block=_options.integer("first_block", first_block),
            last_block=_options.integer("last_block", last_block),
            with_internal=_options.flag("with_internal", with_internal),
            with_transactions=_options.flag("with_transactions", with_transactions),
        )
        if not status["blocks"]:
            warnings.warn(
                "nothing to store: the newest blocks are left out, because others can replace them "
                "(last_block names the last to store)",
                stacklevel=2,
            )
        return status

    def update(self) -> Dict[str, Any]:
        """Extends the index to the tip of the node. Returns its status."""
        return self._do("update")

    def verify(self, *, quick: bool = False) -> Dict[str, Any]:
        """Checks every byte and, unless ``quick``, every transfer against the node."""
        return self._do("verify", quick=_options.flag("quick", quick))

    def delete(self) -> None:
        """Deletes the index."""
        self._do("delete")
