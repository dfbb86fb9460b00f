"""Exceptions. Every failure of txgraph is an :class:`Error`."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple


class Gap(NamedTuple):
    """Blocks that cannot be read, both ends included, and the reason."""

    first: int
    last: int
    reason: str


class Error(Exception):
    """A query that failed. ``str`` of it says what failed and where."""

    #: What to do about it, if that is known.
    advice: Optional[str] = None

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\nhint: {self.advice}" if self.advice else text

    @property
    def message(self) -> str:
        """What failed, without the advice."""
        return super().__str__()


class UsageError(Error, ValueError):
    """The query or a setting is wrong."""


class UnsupportedError(Error):
    """The source cannot do what the query needs."""


class Unavailable(Error):
    """Requested blocks are missing, pruned, or above the tip."""

    #: The missing blocks, ascending; empty if the source does not say which.
    missing: List[Gap] = []
    #: The blocks that are available: first and last of each range.
    available: List[Tuple[int, int]] = []


class Reorged(Error):
    """The chain was reorganized during every attempt to answer."""


class Interrupted(Error):
    """The query was stopped: by a signal, by another thread, or because the node was closed."""


class Closed(Error):
    """The node was closed before."""


class Failed(Error):
    """Everything else: damaged files, full disks, no permission."""
