"""Estimates as they are shown: in words, and as a mark with its interval on a line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rankfair.report.scales import Scale, around_half, ticks
from rankfair.report.text import Form, between, chance, decimals

if TYPE_CHECKING:
    from rankfair.stats.estimate import Estimate

__all__ = ["STRIP", "View", "axis", "cell", "place_of", "strip"]

STRIP = (280, 26, 12)  # width, height a line, and room at the sides

View = dict[str, Any]


def cell(estimate: Estimate, form: Form = decimals) -> View:
    """Return an estimate in words: number, interval, p-value, and why one is missing.

    Parameters
    ----------
    estimate : Estimate
        What was measured.
    form : callable
        Turns the number and its interval into text.

    Returns
    -------
    dict
        With ``text``, ``interval``, ``p`` and ``note``.

    Examples
    --------
    >>> from rankfair.stats.estimate import Estimate
    >>> cell(Estimate(0.25, 0.2, 0.3, 0.04))
    {'text': '0.250', 'interval': '0.200 to 0.300', 'p': 'p = 0.040', 'note': ''}
    """
    value, low, high = form((estimate.value, estimate.ci_low, estimate.ci_high))
    missing = "not estimable" if math.isnan(estimate.value) else ""
    return {
        "text": value,
        "interval": between(low, high),
        "p": chance(estimate.p_value),
        "note": estimate.note or missing,
    }


def strip(estimate: Estimate, x: Scale, name: str) -> View:
    """Return the places of an estimate and its interval on a line.

    Parameters
    ----------
    estimate : Estimate
        An AUC.
    x : Scale
        Of the line.
    name : str
        What is said to those who do not see the picture.

    Returns
    -------
    dict
        With ``x``, ``low``, ``high`` (None where there is none) and ``title``.
    """
    said = cell(estimate)
    interval = f" ({said['interval']})" if said["interval"] else ""
    return {
        "x": place_of(estimate.value, x),
        "low": place_of(estimate.ci_low, x),
        "high": place_of(estimate.ci_high, x),
        "title": f"{name}: {said['text']}{interval}",
    }


def place_of(value: float, x: Scale) -> float | None:
    """Return where a value is drawn, None if there is none."""
    return x.clipped(value) if math.isfinite(value) else None


def axis(values: Iterable[float]) -> tuple[Scale, list[tuple[float, str]]]:
    """Return a scale of AUCs that holds all values, and its ticks."""
    width, _, room = STRIP
    x = Scale(*around_half(values), room, width - room)
    return x, [(x(v), f"{v:g}") for v in ticks(x.low, x.high, 4)]
