"""The response-time model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from gentle import _arguments, _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def model(
    *,
    rtt: float = 0.1,
    loss: float = 0.02,
    syn_loss: float | None = None,
    rto: float | Sequence[float] = (1.0, 3.0),
    segments: Sequence[int] = (),
    backoff: str = "doubling",
    initial_window: float = 1,
    segments_per_ack: float = 1,
) -> Prediction:
    """Predict response times in closed form, and the delay that a lost SYN adds (``docs/concepts/model.md``).

    Parameters
    ----------
    rtt
        Round-trip time in seconds, queueing included.
    loss, syn_loss
        Probability that a data packet is lost, and that an attempt of the handshake fails; by default a SYN or SYN/ACK
        is lost like other packets.
    rto
        Initial RTOs in seconds.
    segments
        Sizes of transfers.
    backoff
        ``"doubling"``, ``"linux"`` or ``"published"``.
    initial_window, segments_per_ack
        Segments.

    Examples
    --------
    >>> prediction = model(loss=0.01, rto=1.0, segments=[10, 1000])
    >>> [size["segments"] for size in prediction.data["rtos"][0]["sizes"]]
    [10, 1000]
    """
    _arguments.check(
        rtt=rtt,
        loss=loss,
        syn_loss=syn_loss,
        rto=rto,
        segments=segments,
        backoff=backoff,
        initial_window=initial_window,
        segments_per_ack=segments_per_ack,
    )
    given: Any = [rto] if _arguments.is_number(rto) else rto
    rtos = [float(value) for value in given]
    return Prediction(
        _core.predict(rtt, loss, syn_loss, rtos, list(segments), backoff, initial_window, segments_per_ack)
    )


class Prediction:
    """Predicted response times. Arrow libraries read it as a table with a row per initial RTO and size."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.data: dict[str, Any] = json.loads(text)
        """All results, as ``gentle model --json`` prints them."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON of `to_json`."""
        _core.prediction_text(text)
        return cls(text)

    def to_json(self) -> str:
        """Return all results as JSON, like ``gentle model --json``, with ``null`` for its ``command``."""
        return self._text

    @cached_property
    def sizes(self) -> _core.Table:
        """A row per initial RTO and size, times in seconds."""
        columns: dict[str, list[Any]] = {}
        for rto in self.data["rtos"]:
            for size in rto["sizes"]:
                parts = {f"{name}": value for name, value in size["parts"].items()}
                rest = {name: value for name, value in size.items() if name != "parts"}
                row = {"initial_rto_s": rto["initial_rto_s"], **rest, **parts}
                for name, value in row.items():
                    columns.setdefault(name, []).append(value)
        return _core.Table.from_pydict(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the response time against size, with and without a lost SYN."""
        from gentle.plots import predicted

        return predicted(self, ax)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.sizes.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.sizes.__arrow_c_schema__()

    def __str__(self) -> str:
        return _core.prediction_text(self._text, 100)

    def __repr__(self) -> str:
        return f"<gentle.Prediction for an RTT of {self.data['rtt_s']} s and a loss of {self.data['loss']}>"
