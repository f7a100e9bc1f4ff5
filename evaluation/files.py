"""Files that others may read at any time."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Writes a file atomically: other threads and programs may read and write the same one."""
    beside = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    beside.write_text(text, newline="")
    beside.replace(path)
