"""Progress as a bar of tqdm."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

#: Called with the blocks done, the blocks in all, how many were found, and of what.
Callback = Callable[[int, int, int, str], Any]


class Bar:
    """A bar of tqdm, which begins again with every query."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._tqdm = tqdm
        self._bar: Optional[Any] = None

    def __call__(self, done: int, total: int, count: int, what: str) -> None:
        bar = self._bar
        if bar is None or bar.total != total or done < bar.n:
            if bar is not None:
                bar.close()
            bar = self._bar = self._tqdm(total=total, unit=" blocks", unit_scale=True)
        bar.set_postfix_str(f"{count:,} {what}", refresh=False)
        bar.update(done - bar.n)
        if done >= total:
            bar.close()
            self._bar = None


def callback(progress: Union[bool, Callback, None]) -> Optional[Callback]:
    """What receives progress: a function, tqdm if it is installed, or nothing."""
    if progress is True:
        try:
            return Bar()
        except ImportError:
            return None
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise TypeError("progress is True, False, or a function of four arguments")
    return progress
