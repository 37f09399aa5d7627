"""Estimates as they are shown: in words, and as a mark with its interval on a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from rankfair.report.scales import Scale, around_half, ticks
from rankfair.report.text import between, chance, decimal

__all__ = ["STRIP", "View", "axis", "cell", "place_of", "strip"]

STRIP = (280, 26, 12)  # width, height a line, and room at the sides

View = dict[str, Any]


def cell(estimate: Any, form: Callable[[float], str] = decimal) -> View:
    """Return an estimate in words: number, interval, p-value, and why one is missing.

    Parameters
    ----------
    estimate : Estimate, float or None
        A bare number has no interval.
    form : callable
        Turns a number into text.

    Returns
    -------
    dict
        With ``text``, ``interval``, ``p`` and ``note``.

    Examples
    --------
    >>> cell(0.25)
    {'text': '0.250', 'interval': '', 'p': '', 'note': ''}
    """
    if estimate is None or isinstance(estimate, int | float):
        value = math.nan if estimate is None else float(estimate)
        return {"text": form(value), "interval": "", "p": "", "note": ""}
    interval = between(form(estimate.low), form(estimate.high))
    note = estimate.note
    if math.isnan(estimate.value):
        note = note or "not estimable"
    return {
        "text": form(estimate.value),
        "interval": interval,
        "p": chance(estimate.p_value),
        "note": note,
    }


def strip(estimate: Any, x: Scale, name: str) -> View:
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
    limits = f" ({said['interval']})" if said["interval"] else ""
    return {
        "x": place_of(estimate.value, x),
        "low": place_of(estimate.low, x),
        "high": place_of(estimate.high, x),
        "title": f"{name}: {said['text']}{limits}",
    }


def place_of(value: float, x: Scale) -> float | None:
    """Return where a value is drawn, None if there is none."""
    return x.clipped(value) if math.isfinite(value) else None


def axis(values: Iterable[float]) -> tuple[Scale, list[tuple[float, str]]]:
    """Return a scale of AUCs that holds all values, and its ticks."""
    width, _, room = STRIP
    x = Scale(*around_half(values), room, width - room)
    return x, [(x(v), f"{v:g}") for v in ticks(x.low, x.high, 4)]
