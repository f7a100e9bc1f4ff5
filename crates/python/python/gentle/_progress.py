"""Progress bars of long calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float], object]
"""Callable that receives the completed fraction, 0 to 1."""


@contextmanager
def reported(progress: Report | bool | None, title: str) -> Iterator[Report | None]:
    """Yield the callable that shows progress, or ``None``.

    ``None`` shows a bar in notebooks and terminals if tqdm is installed; ``True`` and ``False`` override this.
    """
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _is_watched()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise
        yield None
        return
    with tqdm(total=100, desc=title, unit="%", leave=False) as bar:

        def report(fraction: float) -> None:
            bar.update(int(100 * fraction) - bar.n)

        yield report


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
