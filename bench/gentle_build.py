"""Builds gentle as packages have it, and says where it is."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "bench" / "sim" / "dumbbell.toml"


def optimised_binary() -> Path:
    """Builds the profile dist and returns the path of `gentle`; ends the program when the build fails."""
    return build(["-p", "gentle"]) / "gentle"


def optimised_example(package: str, name: str) -> Path:
    """Builds an example of a package of the workspace in the profile dist and returns its path."""
    return build(["-p", package, "--example", name]) / "examples" / name


def build(selection: list[str]) -> Path:
    if subprocess.run(["cargo", "build", "--profile", "dist", *selection], cwd=ROOT).returncode != 0:
        sys.exit(f"cargo build {' '.join(selection)} failed; see its messages above")
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    return Path(json.loads(metadata.stdout)["target_directory"]) / "dist"
