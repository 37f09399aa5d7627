"""Test whether a target is independent of the group, by the test that fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rankfair.input.arrays import Bools, Codes, Column, Floats
from rankfair.input.errors import (
    Argument,
    InputError,
    check_choice,
    check_flag,
    counted,
    listed,
    shown,
)
from rankfair.input.frames import (
    as_columns,
    check_lengths,
    column_numbers,
    exact_order,
    find_known,
    find_labels,
)

DROP = "Drop those rows first."
NATURES = ("auto", "numeric", "ordinal", "categorical")


@dataclass(frozen=True)
class IndependenceTest:
    """What an independence test found, and why it was chosen.

    Attributes
    ----------
    test : str
        Its name.
    statistic : float
        Its statistic, as scipy gives it.
    p_value : float
        Two-sided; NaN where nothing varies.
    reason : str
        Why this test.
    nature_y, nature_z : str
        What the target and the groups were taken as.
    n_a, n_b : int
        Rows (or pairs) of either group; A is the label that sorts last.

    Examples
    --------
    >>> print(independence_test([1.0, 2.0, 4.0, 9.0], ["F", "F", "M", "M"]))
    Mann-Whitney U: p = 0.333 (too few rows to see whether y is normal).
    """

    test: str
    statistic: float
    p_value: float
    reason: str
    nature_y: str
    nature_z: str
    n_a: int
    n_b: int

    def __str__(self) -> str:
        return f"{self.test}: p = {self.p_value:.3g} ({self.reason})."


def independence_test(
    y: Any, z: Any, *, paired: bool = False, nature: str = "auto"
) -> IndependenceTest:
    """Test whether ``y`` is independent of ``z``, a sensitive feature of two groups.

    ============ ============== ============================================
    groups       target         test
    ============ ============== ============================================
    independent  numeric        Student's t (Welch) if normal, else Mann-Whitney U
    independent  ordinal        Mann-Whitney U
    independent  categorical    chi-square; Fisher's exact if few are expected
    paired       numeric        paired t if differences are normal, else Wilcoxon
    paired       ordinal        Wilcoxon signed-rank
    paired       categorical    McNemar (exact)
    ============ ============== ============================================

    Parameters
    ----------
    y : array-like of shape (N,)
        The target.  Text and booleans are categories; numbers are numeric, unless they
        have two values only.
    z : array-like of shape (N,)
        Labels of two groups.
    paired : bool, default=False
        Whether the i-th row of one group belongs to the i-th row of the other.
    nature : {"auto", "numeric", "ordinal", "categorical"}, default="auto"
        What kind of values ``y`` has.

    Returns
    -------
    IndependenceTest
        The test, its p-value and why it was chosen.

    Notes
    -----
    The tests take rows (or pairs) as independent.  Where rows share tasks and the group
    is constant within them, use `rankfair.audit`, which takes tasks as clusters.
    Whether values look normal is decided by Shapiro and Wilk's test at the 5 % level
    (by D'Agostino and Pearson's above 5,000 rows).  A test that is chosen by another
    one rejects slightly more often than its level says.

    Examples
    --------
    >>> found = independence_test(["hired", "not"] * 3, ["F", "F", "M", "M", "M", "M"])
    >>> found.test, round(found.p_value, 3)
    ("Fisher's exact", 1.0)
    """
    check_flag("paired", paired)
    check_choice("nature", nature, NATURES)
    target, labels = _one(y, "y"), _one(z, "z")
    check_lengths(len(target), z=labels)
    in_a = _two_groups(labels, paired)
    kind = _nature(target) if nature == "auto" else nature
    if kind == "categorical":
        found = _categorical(*find_labels([target], "y"), in_a, paired)
    else:
        values = column_numbers(target, "y")
        if not np.isfinite(values).all():
            raise InputError("y", "has missing or infinite values", cure=DROP)
        if paired:
            found = _paired(values[in_a], values[~in_a], kind)
        else:
            found = _numeric(values, exact_order(target, values), in_a, kind)
    test, result, reason = found
    statistic, p = map(float, result)
    how, n_a = "paired" if paired else "independent", int(in_a.sum())
    return IndependenceTest(test, statistic, p, reason, kind, how, n_a, len(in_a) - n_a)


Found = tuple[str, tuple[float, float], str]  # test, statistic and p-value, reason


def _two_groups(labels: Column, paired: bool) -> Bools:
    """Return which rows are in the group that sorts last; refuse all but two."""
    codes, found = find_known(labels, "z")
    names, unknown = found.tolist(), int((codes < 0).sum())
    if unknown:
        raise InputError("z", f"is missing in {counted(unknown, 'row')}", cure=DROP)
    if len(names) != 2:
        raise InputError(
            "z",
            "must have two groups",
            f"{len(names)} ({listed(names)})",
            "Compare one with the rest, or two of them.",
        )
    in_a: Bools = codes == 1
    n_b, n_a = np.bincount(codes)
    if paired and n_a != n_b:
        raise InputError(
            "paired",
            f"needs as many rows of {shown(names[0])} as of {shown(names[1])}",
            f"{n_b} and {n_a}",
        )
    return in_a


def _one(values: Any, argument: str) -> Column:
    columns = as_columns(values, argument)
    if len(columns) != 1 or not len(columns[0]):
        raise InputError(argument, "must hold one value a row, and at least one row")
    return columns[0]


def _nature(column: Column) -> str:
    if isinstance(column, nw.Series):
        if not column.dtype.is_numeric():
            return "categorical"
        column = column.to_numpy()
    if column.dtype.kind == "O" and all(map(_is_number, column.tolist())):
        return "numeric"  # a list of whole numbers and fractions, say
    if column.dtype.kind not in "iuf":
        return "categorical"
    return "categorical" if len(np.unique(column)) <= 2 else "numeric"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _numeric(values: Floats, ranked: Floats, in_a: Bools, kind: str) -> Found:
    a, b = _scaled(values[in_a], values[~in_a])
    if (ranked == ranked[0]).all():
        return "Mann-Whitney U", (len(a) * len(b) / 2, 1.0), "y is constant"
    normal, why = _looks_normal((a, b), kind)
    if normal:
        parts = [n for v in (a, b) for n in (v.mean(), _deviation(v), len(v))]
        found = stats.ttest_ind_from_stats(*parts, equal_var=False)
        return "Student's t (Welch)", found, why
    return "Mann-Whitney U", stats.mannwhitneyu(ranked[in_a], ranked[~in_a]), why


def _paired(a: Floats, b: Floats, kind: str) -> Found:
    a, b = _scaled(a, b)
    (differences,) = _scaled(a - b)
    if not differences.any():
        return "Wilcoxon signed-rank", (0.0, 1.0), "no pair differs"
    normal, why = _looks_normal((differences,), kind)
    if normal:
        n = len(differences)
        t = float(differences.mean()) / (_deviation(differences) / math.sqrt(n))
        return "paired t", (t, 2.0 * float(stats.t.sf(abs(t), n - 1))), why
    found = stats.wilcoxon(differences)
    return "Wilcoxon signed-rank", (found.statistic, found.pvalue), why


def _scaled(*samples: Floats) -> tuple[Floats, ...]:
    """Numbers of at most 1, whose squares do not overflow."""
    _, exponent = math.frexp(max(float(np.abs(v).max()) for v in samples))
    return tuple(np.ldexp(v, -exponent) for v in samples)


def _deviation(sample: Floats) -> float:
    """The standard deviation with n − 1, also of numbers that are almost equal."""
    centred = sample - sample.mean()
    size = float(np.abs(centred).max())
    return size * float((centred / size).std(ddof=1))


def _looks_normal(
    samples: tuple[Floats, ...],
    kind: str,
    enough: int = 8,
    most_shapiro: int = 5_000,
) -> tuple[bool, str]:
    """Tell whether samples look normal, and why; fewer than ``enough`` rows do not."""
    if kind == "ordinal":
        return False, "y is ordinal"
    one = len(samples) == 2
    what, looks = ("y is", "looks") if one else ("differences are", "look")
    if min(map(len, samples)) < enough:
        return False, f"too few rows to see whether {what} normal"
    for sample in samples:
        if np.ptp(sample) == 0.0:
            return False, f"{what} not normal: constant in a group"
        standard = (sample - sample.mean()) / _deviation(sample)
        big = len(sample) > most_shapiro
        p = float((stats.normaltest if big else stats.shapiro)(standard).pvalue)
        if p < 0.05 / len(samples):
            return False, f"{what} not normal, p = {p:.2g}"
    return True, f"{what} numeric and {looks} normal"


def _categorical(
    codes: Codes, labels: NDArray[Any], in_a: Bools, paired: bool
) -> Found:
    n = len(labels)
    if paired:
        return _mcnemar(codes[in_a], codes[~in_a], n)
    table = np.array([np.bincount(codes[m], minlength=n) for m in (in_a, ~in_a)])
    if n == 1:
        return "chi-square", (0.0, 1.0), "y has one category only"
    least = float(stats.contingency.expected_freq(table).min())
    why = f"y is categorical, at least {least:.1f} are expected in a cell"
    few = least < 5.0  # the chi-square law is not trusted there
    if few and n == 2:
        exact = stats.fisher_exact(table)
        return "Fisher's exact", (exact.statistic, exact.pvalue), why
    if few:
        why += ": few; unite rare categories for a surer answer"
    found = stats.chi2_contingency(table, correction=False)
    return "chi-square", (found.statistic, found.pvalue), why


def _mcnemar(first: Codes, second: Codes, n: int) -> Found:
    if n > 2:
        raise InputError(
            "y",
            "must have two categories if it is paired and categorical (McNemar)",
            str(n),
            (
                "Unite them, or use ",
                Argument("nature", "ordinal"),
                " for numbers in order.",
            ),
        )
    up, down = int((first > second).sum()), int((first < second).sum())
    why = f"y is categorical and paired: {up} pairs changed one way, {down} the other"
    if not up + down:
        return "McNemar", (math.nan, 1.0), why
    p = stats.binomtest(up, up + down).pvalue
    return "McNemar", (float(min(up, down)), p), why
