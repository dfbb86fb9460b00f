"""Python values as options of the command line."""

from __future__ import annotations

import datetime
import json
import math
import numbers
import operator
import os
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._errors import UsageError


def text(name: str, value: Any) -> str:
    """A value as text: addresses as hex, dates as UTC, whole numbers in decimal."""
    if isinstance(value, (str, os.PathLike)):
        return _unicode(name, os.fsdecode(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "0x" + bytes(value).hex()
    if isinstance(value, datetime.datetime):
        return _time(name, value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool):
        raise TypeError(f"{name} cannot be {value}")
    # Integers of numpy are no `int`.
    if hasattr(value, "__index__"):
        return str(operator.index(value))
    raise TypeError(f"{name} cannot be of type {type(value).__name__}")


def optional(name: str, value: Any) -> Optional[str]:
    """A value as text. ``None`` is none."""
    return None if value is None else text(name, value)


def path(name: str, value: Any) -> Optional[str]:
    """A path, or ``KIND:LOCATION``, whose ``~`` is expanded. ``None`` is none."""
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} cannot be of type {type(value).__name__}")
    return None if value is None else os.path.expanduser(text(name, value))


def _unicode(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} is not valid Unicode: {value!a}") from None
    return value


def _time(name: str, value: datetime.datetime) -> str:
    try:
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        # Blocks have whole seconds. One at or after 5.9 s is at or after 6 s, and one before 5.9 s
        # is before 6 s, so a fraction is rounded up at both ends. A timestamp of pandas has
        # nanoseconds, too.
        if value.microsecond or getattr(value, "nanosecond", 0):
            value += datetime.timedelta(seconds=1)
    except (OverflowError, ValueError):
        raise UsageError(f"{name} cannot be {value}") from None
    return value.isoformat(timespec="seconds")


def _items(name: str, value: Any) -> List[Any]:
    """One value or several. None at all is a mistake: the native part takes it for no condition."""
    if isinstance(value, (str, bytes, bytearray, memoryview, os.PathLike)):
        return [value]
    try:
        values = iter(value)
    except TypeError:
        return [value]
    items = list(values)
    if not items:
        raise UsageError(f"{name} is empty: give at least one value, or leave {name} out")
    return items


def texts(name: str, value: Any) -> List[str]:
    """One value or several. ``None`` is none."""
    return [] if value is None else [text(name, item) for item in _items(name, value)]


def blocks(name: str, value: Any) -> List[str]:
    """Block ranges: cryo's grammar, numbers, or ``range`` objects (end excluded)."""
    if value is None:
        return []
    found = []
    for item in [value] if isinstance(value, range) else _items(name, value):
        if isinstance(item, range):
            if item.step < 1 or item.start < 0 or item.stop <= item.start:
                raise UsageError(f"{name} cannot be {item}: an ascending range that is not empty")
            step = "" if item.step == 1 else f":{item.step}"
            found.append(f"{item.start}:{item.stop}{step}")
        else:
            found.append(text(name, item))
    return found


def integer(name: str, value: Any) -> Optional[int]:
    """A whole number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not of type {type(value).__name__}")
    number = operator.index(value)
    if not 0 <= number < 2**63:
        raise UsageError(f"{name} cannot be {number}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is true or false, not of type {type(value).__name__}")
    return value


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is a number, not of type {type(value).__name__}")
    if not math.isfinite(value):
        raise UsageError(f"{name} is a finite number, not {value}")
    return float(value)


def _hops(name: str, value: Any) -> Any:
    return value if isinstance(value, str) and value == "all" else integer(name, value)


def _unknown(name: str, value: Any) -> str:
    """The value of an option that no query has: the native part refuses the name."""
    return str(value)


_Reader = Callable[[str, Any], Any]

#: How values are read, with the options of queries that have such values.
_NAMES: Dict[_Reader, str] = {
    blocks: "blocks",
    _hops: "hops",
    text: "by direction measure method min_value order since stop_at until",
    texts: "address columns initiated_by kind labels root standard stop_at_category token token_id "
    "token_list tx wrapped_native",
    flag: "allow_bad_checksum allow_partial expand_zero merge not_by_owner through_swaps "
    "time_respecting with_internal",
    integer: "follow_top from_block limit max_degree max_edges max_vertices to_block",
    _real: "alpha beta epsilon",
}

_READERS = {name: reader for reader, names in _NAMES.items() for name in names.split()}

#: Parameters that ``columns`` replaced, as options.
_REPLACED = {"u256": "u256_types", "hex": "hex", "exclude": "exclude"}


def _replaced(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Parameters that ``columns`` replaced, which are refused with the list that says the same."""
    options: Dict[str, Any] = {}
    words = {"bytes": "binary", "str": "string"}
    for name, old in given.items():
        if name not in _REPLACED:
            raise TypeError(f"unexpected keyword argument {name!r}")
        if not isinstance(old, bool):
            old = [words.get(word, word) for word in texts(name, old)]
        options[_REPLACED[name]] = old
    return options


def query(parameters: Mapping[str, Any]) -> str:
    """A query as JSON, from the parameters of its method: ``locals()`` at its start."""
    options = {name: it for name, it in parameters.items() if name != "self" and it is not None}
    replaced = _replaced(options.pop("replaced", {}))
    if not flag("check_checksums", options.pop("check_checksums", True)):
        options["allow_bad_checksum"] = True
    read = {name: _READERS.get(name, _unknown)(name, value) for name, value in options.items()}
    return dump({**read, **replaced})


def given(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options that have a value."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != []
    }


def dump(options: Mapping[str, Any]) -> str:
    """Options as JSON, with the names of the command line."""
    return json.dumps({name.replace("_", "-"): value for name, value in given(options).items()})
