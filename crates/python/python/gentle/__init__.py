"""Handshake loss in queues: measure it in captures, predict it, compare queue disciplines.

>>> import gentle
>>> comparison = gentle.compare("real", schemes=["pfifo limit=50", "spa"], duration="20s", seeds=2)
>>> comparison.schemes
['pfifo limit=50', 'spa']

Results of runs are tables that Polars, pandas, DuckDB and pyarrow read without a copy:
``polars.DataFrame(comparison)``. Times are in seconds, rates in bits per second, and losses are fractions, unless a
name says otherwise. Quantities given as text have a unit: ``"2.4mbit"``, ``"20ms"``.
"""

from gentle import testbed
from gentle._core import Error, InvalidInput, Packet, Table, __version__, profiles, schemes
from gentle.analysis import Analysis, analyze, replay
from gentle.comparison import Comparison, compare
from gentle.prediction import Prediction, model
from gentle.queue import CustomQueue, Queue
from gentle.reproduction import Reproduction, papers, reproduce
from gentle.scenario import Scenario
from gentle.sweeps import Sweep, sweep

__all__ = [
    "Analysis",
    "Comparison",
    "CustomQueue",
    "Error",
    "InvalidInput",
    "Packet",
    "Prediction",
    "Queue",
    "Reproduction",
    "Scenario",
    "Sweep",
    "Table",
    "__version__",
    "analyze",
    "compare",
    "model",
    "papers",
    "profiles",
    "replay",
    "reproduce",
    "schemes",
    "sweep",
    "testbed",
]
