"""Python values as options of the command line."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any, Dict, List, Mapping, Optional

#: Parameters that ``columns`` replaced, as options.
_REPLACED = {"u256": "u256_types", "hex": "hex", "exclude": "exclude"}


def text(name: str, value: Any) -> str:
    """A value as text: addresses as hex, dates as UTC, numbers in decimal."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        raise TypeError(f"{name} cannot be {value}")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "0x" + bytes(value).hex()
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(timespec="seconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise TypeError(f"{name} cannot be of type {type(value).__name__}")


def texts(name: str, value: Any) -> List[str]:
    """One value or several."""
    if value is None:
        return []
    if isinstance(value, (str, int, bytes, bytearray, memoryview, os.PathLike)):
        return [text(name, value)]
    try:
        items = iter(value)
    except TypeError:
        return [text(name, value)]
    return [text(name, item) for item in items]


def blocks(value: Any) -> List[str]:
    """Block ranges: cryo's grammar, numbers, or ``range`` objects (end excluded)."""
    if value is None:
        return []
    if isinstance(value, (str, range, slice)) or not hasattr(value, "__iter__"):
        value = [value]
    found = []
    for item in value:
        if isinstance(item, slice):
            item = range(item.start or 0, item.stop, item.step or 1)
        if isinstance(item, range):
            if item.step < 1 or item.start < 0 or item.stop <= item.start:
                raise ValueError(f"blocks cannot be {item}: an ascending range that is not empty")
            step = "" if item.step == 1 else f":{item.step}"
            found.append(f"{item.start}:{item.stop}{step}")
        else:
            found.append(text("blocks", item))
    return found


def columns(value: Any, replaced: Mapping[str, Any]) -> Dict[str, Any]:
    """Columns, and parameters that they replaced, which are refused with the list that says the
    same."""
    options: Dict[str, Any] = {"columns": texts("columns", value)}
    words = {"bytes": "binary", "str": "string"}
    for name, old in replaced.items():
        if name not in _REPLACED:
            raise TypeError(f"unexpected keyword argument {name!r}")
        if not isinstance(old, bool):
            old = [words.get(word, word) for word in texts(name, old)]
        options[_REPLACED[name]] = old
    return options


def integer(name: str, value: Any) -> Optional[int]:
    """A whole number that is not negative."""
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not of type {type(value).__name__}")
    number = value.__index__()
    if not 0 <= number < 2**63:
        raise ValueError(f"{name} cannot be {number}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is true or false, not of type {type(value).__name__}")
    return value


def given(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options that have a value."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != []
    }


def dump(options: Mapping[str, Any]) -> str:
    """A query as JSON, with the names of the command line."""
    return json.dumps({name.replace("_", "-"): value for name, value in given(options).items()})


_TEXTS = ("since", "until", "min_value")
_LISTS = ("token", "token_id", "standard", "kind", "wrapped_native")
_FLAGS = ("allow_partial", "with_internal")


def selection(given: Dict[str, Any]) -> Dict[str, Any]:
    """Options that every query about transfers has, from the parameters of its method."""
    return {
        "blocks": blocks(given["blocks"]),
        **{name: None if given[name] is None else text(name, given[name]) for name in _TEXTS},
        **{name: texts(name, given[name]) for name in _LISTS},
        **{name: flag(name, given[name]) for name in _FLAGS},
        "allow_bad_checksum": not flag("check_checksums", given["check_checksums"]),
    }


def hops(value: Any) -> Optional[Any]:
    """A number of hops, or ``"all"``."""
    return value if value is None or value == "all" else integer("hops", value)


def roots(value: Any) -> List[str]:
    """Addresses to start from; at least one."""
    found = texts("root", value)
    if not found:
        raise ValueError("root needs at least one address")
    return found
