"""The program of the testbed's machines: a Python interpreter that runs the compiled module's guest.

The machine starts it by its path, without the user's environment; see `gentle.testbed`.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> None:
    """Run the stage named by the arguments."""
    candidates = (Path(__file__).with_name("_core" + suffix) for suffix in EXTENSION_SUFFIXES)
    extension = next(filter(Path.exists, candidates), None)
    spec = spec_from_file_location("gentle._core", extension) if extension else None
    if spec is None or spec.loader is None:
        sys.exit("gentle: the compiled module is missing from this folder; please reinstall gentle-net")
    core = module_from_spec(spec)
    spec.loader.exec_module(core)
    sys.exit(0 if core.testbed_guest(sys.argv[1:]) else 1)


if __name__ == "__main__":
    main()
