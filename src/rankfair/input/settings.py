"""Checks of settings: each names the argument, what was expected and what came."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankfair.input.errors import Argument, InputError, Words, listed, shown

MOST_GROUPS = 60  # each has a constraint of its own; states and territories are 56
# What to do about too many numbers to be groups.
OR_TEXT = ", or turn labels that are numbers into text."
CUT: Words = ("Set ", Argument("bins", 4), " to balance four quantiles", OR_TEXT)
CUT_FIRST: Words = "Cut it into a few classes first" + OR_TEXT


def check_choice(argument: str, value: Any, valid: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``valid``; else list them and the nearest.

    Examples
    --------
    >>> check_choice("side", "upper", ("both", "upper"))
    'upper'
    """
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    expected = f"must be one of {listed(names, 20)}"
    raise InputError(argument, expected, as_given(value), nearest(value, names))


def nearest(value: Any, names: Sequence[Any]) -> str:
    """Return ``Did you mean …?`` for names close to ``value``, or nothing.

    Examples
    --------
    >>> nearest("rigde", ["task", "ridge"])
    'Did you mean "ridge"?'
    """
    by_case = {str(name).lower(): str(name) for name in names}
    close = difflib.get_close_matches(str(value).lower(), by_case, n=3)
    found = " or ".join(shown(by_case[name]) for name in close)
    return f"Did you mean {found}?" if found else ""


def check_number(
    argument: str, value: Any, low: float, high: float = math.inf
) -> float:
    """Return ``value`` as a float if it is a number in ``[low, high]``.

    Examples
    --------
    >>> check_number("epsilon", 0, 0.0, 0.5)
    0.0
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not low <= float(value) <= high or math.isinf(float(value)):
        wanted = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"≥ {low:g}"
        raise InputError(argument, f"must be a number {wanted}", as_given(value))
    return float(value)


def check_count(argument: str, value: Any, low: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``low``.

    Examples
    --------
    >>> check_count("max_iter", 50)
    50
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not whole or int(value) < low:
        raise InputError(argument, f"must be a whole number ≥ {low}", as_given(value))
    return int(value)


def check_bins(bins: Any) -> None:
    """Refuse what is neither None nor a number of groups to cut numbers into."""
    if bins is not None and check_count("bins", bins, 2) > MOST_GROUPS:
        raise InputError("bins", f"must be at most {MOST_GROUPS}", str(bins))


def check_seed(argument: str, value: Any) -> None:
    """Refuse what NumPy cannot make a random generator of."""
    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        expected = "must be None, a whole number ≥ 0 or a numpy Generator"
        raise InputError(argument, expected, as_given(value)) from None


def check_verbose(value: Any) -> None:
    """Refuse what is neither a count nor True or False."""
    check_count("verbose", int(value) if isinstance(value, bool) else value, low=0)


def check_jobs(value: Any) -> None:
    """Refuse what joblib cannot count jobs by."""
    if value is not None and (not isinstance(value, Integral) or int(value) == 0):
        expected = "must be a whole number other than 0, or None"
        raise InputError("n_jobs", expected, as_given(value))


def values_to_try(argument: str, values: Any) -> list[Any]:
    """Return what was given as a list; refuse one value, and none.

    Examples
    --------
    >>> values_to_try("epsilons", (0.0, 0.1))
    [0.0, 0.1]
    """
    try:
        found = [] if isinstance(values, str) else list(values)
    except TypeError:  # a number, and an array of no dimension
        found = []
    if not found:
        expected = "must be a list of values to try"
        raise InputError(argument, expected, as_given(values), "Give one or more.")
    return found


def check_flag(argument: str, value: Any) -> bool:
    """Return ``value`` if it is True or False.

    Examples
    --------
    >>> check_flag("blind", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(argument, "must be True or False", as_given(value))
    return bool(value)


def as_given(value: Any) -> str:
    """Return a value as it stands in a sentence; a long one by its type."""
    if isinstance(value, str):
        return shown(value)
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
