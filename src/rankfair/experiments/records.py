"""The one place where methods are measured: predictions in, records out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from scipy.stats import ks_2samp

from rankfair.experiments.methods import Bools, Floats, Method, Predictions, Rows
from rankfair.metrics import (
    balanced_residuals,
    impact_rank_ratio,
    mean_difference,
    rank_auc,
    rmse,
)

__all__ = [
    "HELD_OUT",
    "TRAIN",
    "Mean",
    "Measures",
    "Record",
    "Summary",
    "compare",
    "measure",
    "summarise",
]

TRAIN, HELD_OUT = "train", "held-out"


class Measures(TypedDict):
    """How far off predictions are, and how far apart they put the groups."""

    rmse: float
    auc: float
    gap: float
    md: float
    br: float
    irr: float
    ks: float


class Record(Measures):
    """The measures of one method on one set of rows of one draw."""

    seed: int
    method: str
    needs_group: str
    rows: str
    epsilon: float
    seconds: float
    note: str


class Mean(NamedTuple):
    """A mean over draws, and its standard error; NaN of one draw."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of some values, at least one."""
        n = len(values)
        error = np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
        return cls(float(np.mean(values)), float(error))


class Summary(NamedTuple):
    """The measures of one method on one set of rows, over all draws."""

    method: str
    needs_group: str
    rows: str
    rmse: Mean
    auc: Mean
    md: Mean
    ks: Mean


def measure(y: Floats, predicted: Floats, in_a: Bools) -> Measures:
    """Measure predictions against the target and between the groups.

    Parameters
    ----------
    y : ndarray of shape (N,)
        What was observed.
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.

    Returns
    -------
    dict
        RMSE, AUC, the rank gap ``|AUC − 1/2|``, mean difference MD, balanced residuals
        BR, impact rank ratio IRR (A against B), and KS, the greatest distance between
        the distribution functions of the groups' predictions.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, True, False, False])
    >>> found = measure(np.zeros(4), np.array([1.0, 4.0, 2.0, 3.0]), in_a)
    >>> found["auc"], found["gap"], found["md"], found["ks"].item()
    (0.5, 0.0, 0.0, 0.5)
    """
    auc = rank_auc(None, predicted, sensitive_features=in_a)
    apart = ks_2samp(predicted[in_a], predicted[~in_a], method="asymp")
    return Measures(
        rmse=rmse(y, predicted),
        auc=auc,
        gap=abs(auc - 0.5),
        md=mean_difference(None, predicted, sensitive_features=in_a),
        br=balanced_residuals(y, predicted, sensitive_features=in_a),
        irr=impact_rank_ratio(None, predicted, sensitive_features=in_a),
        ks=apart.statistic,
    )


def compare(
    name: str,
    method: Method,
    train: Rows,
    held_out: Rows,
    epsilon: float,
    seed: int = 0,
) -> list[Record]:
    """Run one method and measure it on the training rows and on the others.

    Parameters
    ----------
    name : str
        What the method is called in the records.
    method : Method
        An entry of `METHODS`, or any of the same form.
    train, held_out : Rows
        The rows to learn from and the rows to be judged on as well.
    epsilon : float
        The half width of the band asked for.
    seed : int, default=0
        The draw that the rows are of.

    Returns
    -------
    list of dict
        One record for the training rows and one for the others.  What the method
        warned of is in "note".

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> from rankfair.experiments.methods import METHODS
    >>> rows = Rows.of(make_biased_tasks(4, 20, random_state=0))
    >>> name = "tilt, with group"
    >>> found = compare(name, METHODS[name], rows, rows, 0.1)
    >>> [(record["method"], record["rows"]) for record in found]
    [('tilt, with group', 'train'), ('tilt, with group', 'held-out')]
    """
    predictions, seconds, note = _run(method, train, held_out, epsilon)
    return [
        Record(
            seed=seed,
            method=name,
            needs_group=method.needs_group,
            rows=kind,
            epsilon=float(epsilon),
            **measure(rows.y, predicted, rows.in_a),
            seconds=seconds,
            note=note,
        )
        for kind, rows, predicted in (
            (TRAIN, train, predictions.train),
            (HELD_OUT, held_out, predictions.held_out),
        )
    ]


def summarise(records: Iterable[Record]) -> list[Summary]:
    """Return the means over draws, for each method and set of rows.

    Parameters
    ----------
    records : iterable of dict
        As `compare` returns them, of any number of draws.

    Returns
    -------
    list of Summary
        In the order of the records.

    Examples
    --------
    >>> summarise([])
    []
    """
    of: dict[tuple[str, str, str], list[Record]] = {}
    for row in records:
        of.setdefault((row["method"], row["needs_group"], row["rows"]), []).append(row)
    return [
        Summary(
            *key,
            rmse=Mean.of([row["rmse"] for row in rows]),
            auc=Mean.of([row["auc"] for row in rows]),
            md=Mean.of([row["md"] for row in rows]),
            ks=Mean.of([row["ks"] for row in rows]),
        )
        for key, rows in of.items()
    ]


def _run(
    method: Method, train: Rows, held_out: Rows, epsilon: float
) -> tuple[Predictions, float, str]:
    """Predictions, the seconds they took, and what the method warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        predictions = method.predict(train, held_out, epsilon)
        seconds = time.perf_counter() - start
    return predictions, seconds, " ".join(str(warning.message) for warning in caught)
