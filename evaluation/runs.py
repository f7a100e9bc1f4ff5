"""Scenarios by name, and their runs, whose measures are kept in a folder."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import judge
import measures
import traffic
from files import write

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
SETS = {"train": traffic.TRAIN, "validation": traffic.VALIDATION}
# Schemes that no router can run, and Linux does not have.
IDEALS = ("las", "srpt")


# ---- scenarios --------------------------------------------------------------------------------------------------------


def cases() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.toml"))


def scenarios(families: Iterable[str], number: int | None = None, first: int = 0) -> list[str]:
    """Names of scenarios: of each family, or each family of a set, `number` (default: as many as it has) from number `first` on."""
    found = []
    for name in families:
        family, _, index = name.rpartition("-")
        if name == "cases":
            found += [f"cases/{stem}" for stem in cases()]
        elif name in SETS:
            found += scenarios(SETS[name], number, first)
        elif name in traffic.FAMILIES:
            found += [f"{name}-{first + offset}" for offset in range(number or traffic.FAMILIES[name][1])]
        elif (family in traffic.FAMILIES and index.isdecimal()) or name in [f"cases/{stem}" for stem in cases()]:
            found.append(name)
        else:
            raise SystemExit(f"unknown family {name}; expected cases, {', '.join([*SETS, *traffic.FAMILIES])}")
    return list(dict.fromkeys(found))


def all_scenarios() -> list[str]:
    return scenarios([*SETS, "cases"])


def written(name: str, seed: int, folder: Path, budget: float) -> Path:
    """The scenario file with the flow lists of this seed."""
    if name.startswith("cases/"):
        return traffic.write_case(CASES / f"{name.removeprefix('cases/')}.toml", folder, seed)
    family, _, number = name.rpartition("-")
    return traffic.scenario(family, int(number), budget).write(folder, seed)


# ---- runs -------------------------------------------------------------------------------------------------------------


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


@dataclass
class Runs:
    """Makes runs, and keeps their measures in a folder: a file for each scenario, seed, scheme and program."""

    store: Path
    gentle: Path
    # The program that runs FQ-CoDel, cake and LAS, so that a search that changes another scheme keeps their runs.
    rivals: Path
    on: str = "simulator"
    # Bits of a run.
    budget: float = traffic.BUDGET

    def __post_init__(self) -> None:
        self.digests = {path: digest(path) for path in {self.gentle, self.rivals}}
        self.measure = digest(Path(measures.__file__))
        self.written: dict[tuple[str, int], tuple[Path, measures.Object, str]] = {}

    def program(self, scheme: str) -> Path:
        return self.rivals if scheme in judge.RIVALS else self.gentle

    def scenario(self, name: str, seed: int) -> tuple[Path, measures.Object, str]:
        """The file of a scenario, its contents, and a digest of it and its flow lists."""
        if (name, seed) not in self.written:
            path = written(name, seed, self.store / f"scenarios-{self.budget:g}", self.budget)
            text = path.read_text()
            scenario = tomllib.loads(text)
            identity = hashlib.sha256(text.encode())
            for workload in scenario["workload"]:
                if workload["kind"] == "replay":
                    identity.update((path.parent / workload["file"]).read_bytes())
            self.written[name, seed] = path, scenario, identity.hexdigest()
        return self.written[name, seed]

    def measured(self, name: str, seed: int, schemes: list[str]) -> dict[str, dict[str, float]]:
        """Measures of a scenario with a seed under each scheme."""
        path, scenario, identity = self.scenario(name, seed)
        kept: dict[str, dict[str, float]] = {}
        missing: dict[Path, dict[str, Path]] = {}
        for scheme in schemes:
            program = self.program(scheme)
            key = hashlib.sha256(f"{identity} {seed} {scheme} {self.measure}".encode()).hexdigest()[:20]
            file = self.store / f"{self.on}-{self.digests[program]}" / f"{key}.json"
            if file.exists():
                kept[scheme] = json.loads(file.read_text())
            else:
                missing.setdefault(program, {})[scheme] = file
        for program, files in missing.items():
            for (scheme, file), result in zip(files.items(), self.run(program, path, seed, list(files))):
                # As they are read again.
                kept[scheme] = {name: float(f"{value:.6g}") for name, value in measures.measures(scenario, result).items()}
                file.parent.mkdir(parents=True, exist_ok=True)
                write(file, json.dumps(kept[scheme]))
        return {scheme: kept[scheme] for scheme in schemes}

    def run(self, program: Path, path: Path, seed: int, schemes: list[str]) -> list[measures.Object]:
        """Results of schemes, in this order."""
        command = [program, *(["testbed"] if self.on == "linux" else []), "compare", "--traffic", path, "--quiet", "--json"]
        command += ["--seeds", "1", "--first-seed", str(seed), "--threads", "1", "--bins", "3,10,100"]
        if self.on == "linux":
            command += ["--modules", HERE.parent / "kernel", "--backing", "native"]
        for scheme in schemes:
            command += ["--scheme", scheme]
        made = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if made.returncode:
            raise SystemExit(f"{' '.join(map(str, command))}\n{made.stderr}")
        results: list[measures.Object] = json.loads(made.stdout)["results"]
        if len(results) != len(schemes):
            raise SystemExit(f"{path}: results of {len(results)} schemes instead of {len(schemes)}")
        return results

    def all(self, names: list[str], seeds: list[int], schemes: Iterable[str], threads: int) -> dict[str, dict[str, judge.BySeed]]:
        """Measures by scenario, scheme and seed."""
        schemes = [scheme for scheme in dict.fromkeys([*judge.RIVALS, *schemes]) if self.on == "simulator" or scheme not in IDEALS]
        found: dict[str, dict[str, judge.BySeed]] = {name: {} for name in names}
        with ThreadPoolExecutor(threads) as pool:
            work = [(name, seed) for name in names for seed in seeds]
            made = pool.map(lambda of: self.measured(of[0], of[1], schemes), work)
            for number, ((name, seed), measured) in enumerate(zip(work, made), 1):
                if sys.stderr.isatty():
                    print(f"\r{number} of {len(work)} runs", end="", file=sys.stderr)
                for scheme, values in measured.items():
                    found[name].setdefault(scheme, {})[seed] = values
        return found
