"""Checks of settings: each names the argument, what was expected and what came."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankfair.input.errors import listed, shown
from rankfair.input.groups import MOST_GROUPS


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
    hint = nearest(value, names)
    raise ValueError(
        f"{argument} must be one of {listed(names, 20)}; got {as_given(value)}.{hint}"
    )


def nearest(value: Any, names: Sequence[Any]) -> str:
    """Return `` Did you mean …?`` for names close to ``value``, or nothing.

    Examples
    --------
    >>> nearest("rigde", ["task", "ridge"])
    ' Did you mean "ridge"?'
    """
    by_case = {str(name).lower(): str(name) for name in names}
    close = difflib.get_close_matches(str(value).lower(), by_case, n=3)
    if not close:
        return ""
    return f" Did you mean {' or '.join(shown(by_case[name]) for name in close)}?"


def check_number(
    argument: str, value: Any, low: float, high: float = math.inf
) -> float:
    """Return ``value`` as a float if it is a number in ``[low, high]``.

    Examples
    --------
    >>> check_number("epsilon", 0, 0.0, 0.5)
    0.0
    """
    wanted = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"≥ {low:g}"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not low <= float(value) <= high or math.isinf(float(value)):
        raise ValueError(
            f"{argument} must be a number {wanted}; got {as_given(value)}."
        )
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
        raise ValueError(
            f"{argument} must be a whole number ≥ {low}; got {as_given(value)}."
        )
    return int(value)


def check_bins(bins: Any) -> None:
    """Refuse what is neither None nor a number of groups to cut numbers into.

    Examples
    --------
    >>> check_bins(4)
    """
    if bins is not None and check_count("bins", bins, 2) > MOST_GROUPS:
        raise ValueError(f"bins must be at most {MOST_GROUPS}; got {bins}.")


def check_seed(argument: str, value: Any) -> None:
    """Refuse what NumPy cannot make a random generator of.

    Examples
    --------
    >>> check_seed("random_state", 3)
    """
    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{argument} must be None, a whole number ≥ 0 or a numpy Generator; "
            f"got {as_given(value)}."
        ) from None


def check_verbose(value: Any) -> None:
    """Refuse what is neither a count nor True or False.

    Examples
    --------
    >>> check_verbose(True)
    """
    flag = isinstance(value, bool)
    check_count("verbose", int(value) if flag else value, low=0)


def values_to_try(argument: str, values: Any) -> list[Any]:
    """Return what was given as a list; refuse one value, and none.

    Examples
    --------
    >>> values_to_try("epsilons", (0.0, 0.1))
    [0.0, 0.1]
    """
    try:
        found = None if isinstance(values, str) else list(values)
    except TypeError:  # a number, and an array of no dimension
        found = None
    if found is None:
        raise ValueError(
            f"{argument} must be a list of values to try; got {as_given(values)}."
        )
    if not found:
        raise ValueError(f"{argument} is empty: give at least one value to try.")
    return found


def check_flag(argument: str, value: Any) -> bool:
    """Return ``value`` if it is True or False.

    Examples
    --------
    >>> check_flag("blind", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{argument} must be True or False; got {as_given(value)}.")
    return bool(value)


def as_given(value: Any) -> str:
    """Return a value as it stands in a sentence; a long one by its type."""
    if isinstance(value, str):
        return shown(value)
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def check_lengths(n_rows: int, **columns: Any) -> None:
    """Raise if a column has not one value for each row of X.

    Examples
    --------
    >>> check_lengths(2, y=[1.0, 2.0], sample_weight=None)
    """
    for argument, column in columns.items():
        if column is not None and len(column) != n_rows:
            raise ValueError(
                f"Found inconsistent numbers of samples: {argument} has {len(column)} "
                f"values, but there are {n_rows} rows."
            )
