"""Tests of the experiment `regret`: python3 evaluation/tests.py PROGRAM"""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import judge
import measures
import report
import results
import runs
import traffic
from judge import Row
from paired import Estimate

PROGRAM = Path(sys.argv.pop())


def files(folder: Path, seed: int = 3) -> dict[str, str]:
    """Writes every scenario, and returns the written files."""
    for name in [*runs.all_scenarios(), *runs.scenarios(runs.SETS, number=2, first=1000)]:
        runs.written(name, seed, folder, traffic.BUDGET / 100)
    return {path.name: path.read_text() for path in folder.iterdir()}


class Traffic(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_same_seed_gives_the_same_files(self) -> None:
        again = Path(self.enterContext(tempfile.TemporaryDirectory()))
        other = Path(self.enterContext(tempfile.TemporaryDirectory()))
        written = files(self.folder)
        self.assertEqual(written, files(again))
        lists = {text for name, text in written.items() if name.endswith(".csv")}
        self.assertFalse(lists & {text for name, text in files(other, seed=4).items() if name.endswith(".csv")})

    def test_the_program_accepts_every_scenario(self) -> None:
        files(self.folder)
        # All points are read before the first run: the last one, which does not exist, is the first error.
        grid = self.folder / "grid.toml"
        paths = [*sorted(self.folder.glob("*.toml")), self.folder / "nowhere.toml"]
        points = (f'[[point]]\ntraffic = "{path}"\nlabels = {{ traffic = "{path.stem}" }}\n' for path in paths)
        grid.write_text(f'schemes = ["fq_codel"]\nseeds = 1\n{"".join(points)}')
        made = subprocess.run([PROGRAM, "sweep", grid, "--store", self.folder / "store"], capture_output=True, text=True, check=False)
        self.assertRegex(made.stderr, rf"point\[{len(paths) - 1}\]\.traffic: .*nowhere\.toml: cannot be read")

    def test_parameters_are_within_the_ranges(self) -> None:
        for name in runs.scenarios(runs.SETS, number=50):
            family, _, number = name.rpartition("-")
            drawn = traffic.scenario(family, int(number))
            with self.subTest(name):
                self.assertTrue(traffic.RATES[0] <= drawn.rate <= traffic.RATES[1])
                low, high = drawn.rtts
                self.assertTrue(traffic.RTTS[0] <= low <= high <= traffic.RTTS[1])
                self.assertTrue(traffic.DURATIONS[0] <= drawn.duration <= traffic.DURATIONS[1])
                for flows in drawn.lists:
                    self.assertTrue(traffic.LOADS[0] <= flows.rate * 8 / drawn.rate <= traffic.LOADS[1])

    def test_flow_lists_have_the_load_and_the_classes(self) -> None:
        drawn = traffic.Scenario("made", 0, 10e6, (0.02, 0.02), 60.0)
        drawn.connections("", traffic.bimodal(2, 200, 0.1), 0.7, 21.8)
        text = drawn.write(self.folder, 1).read_text()
        total, found = 0, []
        for workload in tomllib.loads(text)["workload"]:
            with (self.folder / workload["file"]).open() as file:
                for row in csv.DictReader(file):
                    segments = math.ceil(int(row["bytes"]) / 1448)
                    total += int(row["bytes"]) + segments * traffic.HEADERS
                    found.append((workload["group"], segments))
                    self.assertTrue(0 <= float(row["start_s"]) <= 60)
        self.assertEqual(set(found), {("1-3", 2), ("over 100", 200)})
        self.assertAlmostEqual(total * 8 / 60 / 10e6, 0.7, delta=0.01)

    def test_sizes_have_their_means(self) -> None:
        rng = traffic.random.Random(1)
        for sizes in (
            traffic.constant(50),
            traffic.weibull(50, 0.5),
            traffic.lognormal(50, 1),
            traffic.pareto(50, 2.5),
            traffic.hyperexponential(50, 10),
            traffic.gamma(50, 0.4),
            traffic.uniform(50),
        ):
            mean = math.fsum(sizes(rng) for _ in range(100_000)) / 100_000
            self.assertAlmostEqual(mean, 50, delta=2)


def by_seed(name: str, *values: float) -> judge.BySeed:
    return {seed: {name: value} for seed, value in enumerate(values)}


class Judgement(unittest.TestCase):
    def rows(self, name: str, of: tuple[float, ...], to: tuple[float, ...], **others: tuple[float, ...]) -> Row:
        made = {"scheme": by_seed(name, *of), "fq_codel": by_seed(name, *to)}
        made |= {scheme: by_seed(name, *values) for scheme, values in others.items()}
        (row,) = judge.rows("sizes-0", made, ["scheme"])
        return row

    def test_a_ratio_is_judged_beyond_its_interval(self) -> None:
        name = "all: over 100 segments, mean"
        doubled = self.rows(name, (2.0, 4.0, 6.0, 8.0), (1.0, 2.0, 3.0, 4.0))
        self.assertAlmostEqual(doubled.to_fq_codel.value, 2, delta=0.01)
        self.assertTrue(judge.is_worse(doubled.to_fq_codel) and judge.is_failure(doubled.to_fq_codel))
        slightly = self.rows(name, (1.05, 2.11, 3.16, 4.2), (1.0, 2.0, 3.0, 4.0))
        self.assertTrue(judge.is_worse(slightly.to_fq_codel) and not judge.is_failure(slightly.to_fq_codel))
        noisy = self.rows(name, (1.0, 4.0, 1.5, 8.0), (1.0, 2.0, 3.0, 4.0))
        self.assertFalse(judge.is_worse(noisy.to_fq_codel))
        alone = self.rows(name, (2.0,), (1.0,))
        self.assertFalse(judge.is_worse(alone.to_fq_codel))

    def test_small_differences_are_none(self) -> None:
        for name, low, high in (
            ("all: 1-3 segments, mean", 0.002, 0.0023),
            ("call: packet delay, p99", 0.005, 0.006),
            ("call: packets lost", 0.0, 0.0009),
            ("all: unfinished", 0.0, 0.0009),
        ):
            row = self.rows(name, (high,) * 3, (low,) * 3)
            self.assertFalse(judge.is_failure(row.to_fq_codel), name)
            much = self.rows(name, (10 * high,) * 3, (low,) * 3)
            self.assertTrue(judge.is_failure(much.to_fq_codel), name)

    def test_less_goodput_is_worse(self) -> None:
        row = self.rows("honest: goodput", (0.2, 0.2), (0.4, 0.4), cake=(0.6, 0.6), las=(0.1, 0.1))
        self.assertAlmostEqual(row.to_fq_codel.value, 2, delta=0.01)
        # The best of the three is cake.
        self.assertAlmostEqual(row.to_best, 3, delta=0.02)
        self.assertIsNone(row.to_las)

    def test_seeds_are_paired(self) -> None:
        name = "all: 4-10 segments, mean"
        of, to = {1: {name: 1.0}, 2: {name: 5.0}}, {2: {name: 5.0}, 3: {name: 9.0}}
        self.assertEqual(len(judge.pairs_of(name, of, to)), 1)

    def test_invariants_are_those_of_their_classes(self) -> None:
        holds = [[rule.applies(name, attacked) for rule in judge.INVARIANTS] for name, attacked in (
            ("link: utilization", False),
            ("long flows: Jain", False),
            ("slow stream: packets lost", False),
            ("stream: packets lost", False),
            ("honest: goodput", True),
            ("honest: goodput", False),
        )]  # fmt: skip
        self.assertEqual(holds, [
            [True, False, False, False],
            [False, True, False, False],
            [False, False, True, False],
            [False, False, False, False],
            [False, False, False, True],
            [False, False, False, False],
        ])  # fmt: skip

    def test_attackers_are_not_judged(self) -> None:
        scenario = {"workload": [{"kind": "long", "group": "attacker"}, {"kind": "long", "group": "honest"}]}
        link = {"rate_bps": {"mean": 4e6}, "loss": None, "queue_delay_s": None}
        result = {
            "utilization": 1.0,
            "links": {"down": {"capacity_bps": 10e6}, "up": {"capacity_bps": 1e6}},
            "groups": [{"group": name, "links": {"down": link, "up": None}} for name in ("attacker", "honest")],
            "jain_index": 0.5,
        }
        self.assertEqual(measures.measures(scenario, result), {"attacked link: utilization": 1.0, "honest: goodput": 0.4})

    def test_groups_of_size_classes_are_one_part(self) -> None:
        self.assertEqual([measures.part_of(name) for name in ("1-3", "web over 100", "mice")], ["all", "web", "mice"])


class Tables(unittest.TestCase):
    def test_verdicts(self) -> None:
        good, bad = Estimate(1.0, 0.9, 1.05), Estimate(2.0, 1.5, 3.0)
        rows = [
            Row("sizes-0", "link: utilization", "scheme", Estimate(1.0, 1.0, 1.0), 1.0, None),
            Row("sizes-0", "all: 1-3 segments, mean", "scheme", good, 1.2, Estimate(1.01, 1.0, 1.02)),
            Row("sizes-1", "all: over 100 segments, mean", "scheme", bad, 2.0, None),
        ]
        text = report.report(rows, "5")
        self.assertIn("**does not hold**: 1 of 2 classes, in 1 of 2 scenarios", text)
        self.assertIn("| **does not hold**: 50 % of 2 |", text)
        self.assertIn("| holds: 100 % of 1 |", text)
        self.assertIn("| sizes-1 | all: over 100 segments, mean | **2.00 (1.50 to 3.00)** |", text)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            results.save(results.to_table(rows, "5"), path)
            self.assertEqual(results.from_table(results.read(path)), (rows, "5"))


if __name__ == "__main__":
    unittest.main()
