"""Searches options of CoDel that do least harm to short connections under the traffic that is worst for them.

Optuna proposes options; each proposal is a sweep over loads and delays, and what counts is its worst point. All
proposals share a store, so a search that is repeated makes no run twice, and any executor of `gentle.sweep` serves it.

    python worst_traffic.py --trials 40 --store results
"""

from __future__ import annotations

import argparse

import gentle
import optuna
import polars as pl

METRIC = "response_time_by_size.0.mean_s"
"""Mean response time of connections of up to three segments, which a lost SYN delays most."""

GRID = {
    "duration": "100s",
    "load": [0.7, 0.9, 1.1],
    "link.down.delay": ["5ms", "42ms", "150ms"],
}


def worst(scheme: str, grid: dict[str, object], seeds: int, store: str | None) -> dict[str, object]:
    """Return the point at which a scheme is worst: its coordinates, and the mean over seeds."""
    runs = pl.DataFrame(gentle.sweep(grid, [scheme], seeds, store=store, progress=False))
    axes = [name for name in grid if name in runs.columns]
    means = runs.group_by(axes, maintain_order=True).agg(pl.col(METRIC).mean())
    return means.sort(METRIC, descending=True).row(0, named=True)


def search(trials: int, grid: dict[str, object], seeds: int, store: str | None) -> optuna.Study:
    """Search target and interval of CoDel; the same arguments give the same study."""

    def objective(trial: optuna.Trial) -> float:
        target = trial.suggest_float("target_ms", 1, 100, log=True)
        interval = trial.suggest_float("interval_ms", 50, 500, log=True)
        scheme = f"codel target={target:.1f}ms interval={interval:.0f}ms"
        found = worst(scheme, grid, seeds, store)
        trial.set_user_attr("scheme", scheme)
        trial.set_user_attr("worst", found)
        return float(found[METRIC])  # type: ignore[arg-type]

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    # The default options come first: the search has to beat them.
    study.enqueue_trial({"target_ms": 5.0, "interval_ms": 100.0})
    study.optimize(objective, n_trials=trials)
    return study


def main() -> None:
    """Search, and print the default and the best options with their worst points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--store")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = search(options.trials, GRID, options.seeds, options.store)
    for trial in (study.trials[0], study.best_trial):
        print(f"{trial.user_attrs['scheme']}: at worst {trial.user_attrs['worst']}")


if __name__ == "__main__":
    main()
