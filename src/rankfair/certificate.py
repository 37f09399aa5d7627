"""What new rows prove about a fitted model: a bound of its rank gap in the population.

Training balance is not population balance.  On rows that the fit has not seen, the AUC
of the predictions is an estimate of the population's, and `certify` says below which
value ``|AUC − 1/2|`` lies with a given confidence.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair._frames import (
    Codes,
    Column,
    Floats,
    find_known,
    find_labels,
    is_missing,
    label_array,
    listed,
    match,
    open_table,
    shown,
)
from rankfair._groups import (
    CUT_FIRST,
    MOST_GROUPS,
    Groups,
    passed_columns,
    refuse_quantity,
)
from rankfair._validation import (
    check_flag,
    check_lengths,
    check_number,
    check_seed,
    read_target,
    resolve_columns,
)
from rankfair.inference import ENOUGH_TASKS, Spread, auc_spread, clusters_of
from rankfair.projections import shift

__all__ = [
    "Certificate",
    "ShiftedModel",
    "certify",
    "certify_predictions",
    "is_reference",
    "predict",
    "read_labels",
]

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Certificate:
    """What is known about the rank gap of a model in the population.

    Attributes
    ----------
    auc : float
        The AUC of the rows given, group A against group B (or against all others).
    bound : float
        With this confidence, ``|AUC − 1/2|`` of the population is at most that.  NaN if
        it is not estimable; `notes` say why.
    interval : pair of float
        A two-sided interval of the AUC, with the same confidence.
    confidence : float
        What was asked for.
    method : {"delong-logit", "clusters", "exact", "none"}
        Rows independent; tasks as clusters; a limit that holds whatever the
        distributions, where placements do not vary; not estimable.
    n_a, n_b : int
        Rows of the groups.
    n_clusters : int or None
        How many tasks were taken as clusters.
    groups : tuple
        Labels of groups B and A; for one of several groups, None and its label.
    rmse : float
        Root mean squared error, NaN without y.
    notes : tuple of str
        Sentences on what was done, and what could not be.
    parts : tuple of Certificate
        With three or more groups, each against all others; all bounds hold together.
    model : object or None
        With ``calibrate=True``, the calibrated model that was certified.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> in_a = rng.random(400) < 0.5
    >>> certificate = certify_predictions(rng.normal(size=400), in_a)
    >>> print(certificate)
    With 95 % confidence |AUC − 1/2| ≤ 0.0659 (AUC 0.5184, 0.4614 to 0.5749;
    183 rows in A, 217 in B; delong-logit).
    >>> certificate.holds(0.1)
    True
    """

    auc: float
    bound: float
    interval: tuple[float, float]
    confidence: float
    method: str
    n_a: int
    n_b: int
    n_clusters: int | None = None
    groups: tuple[Any, Any] = (False, True)
    rmse: float = math.nan
    notes: tuple[str, ...] = ()
    parts: tuple[Certificate, ...] = ()
    model: Any = None

    @property
    def estimable(self) -> bool:
        """Whether the rows can say anything about the population."""
        return not math.isnan(self.bound)

    def holds(self, epsilon: float) -> bool:
        """Tell whether ``|AUC − 1/2| ≤ epsilon`` is shown; False if nothing is known.

        Examples
        --------
        >>> import numpy as np
        >>> certify_predictions(np.arange(3.0), np.arange(3) > 1).holds(0.5)
        False
        """
        return self.bound <= epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the record without the model, as plain values.

        Examples
        --------
        >>> import numpy as np
        >>> found = certify_predictions(np.arange(9.0) % 4, np.arange(9) > 4).to_dict()
        >>> found["n_a"], found["n_b"], found["method"]
        (4, 5, 'delong-logit')
        """
        parts = [part.to_dict() for part in self.parts]
        return asdict(replace(self, model=None, parts=())) | {"parts": parts}

    def __str__(self) -> str:
        rows = f"{self.n_a} rows in A, {self.n_b} in B"
        if self.n_clusters is not None:
            rows += f", {self.n_clusters} clusters"
        if not self.estimable:
            return f"Not estimable (AUC {self.auc:.4f}; {rows}). {self.notes[-1]}"
        low, high = self.interval
        return (
            f"With {100 * self.confidence:g} % confidence |AUC − 1/2| ≤ "
            f"{self.bound:.4f} (AUC {self.auc:.4f}, {low:.4f} to {high:.4f}; {rows}; "
            f"{self.method})."
        )


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    tasks: Any = None,
    confidence: float = 0.95,
    calibrate: bool = False,
    random_state: Any = None,
) -> Certificate:
    """Bound the rank gap of a fitted model in the population, from rows it has not met.

    The bound is honest only on rows that had no part in fitting or choosing the model.
    Where most rows are in tasks of one group only, tasks are clusters: rows of a task
    are alike, and many of them say little more than few.  Where tasks mix the groups,
    rows and (from ten tasks on) tasks are both tried, and the wider bound counts.

    Parameters
    ----------
    model : fitted regressor
        Anything with ``predict``: `RankFairRegressor` (whose own ``certify`` is the
        same), `TiltedRegressor`, `RankFairPostprocessor`, or another library's model.
    X : array-like or data frame of shape (N, n_features_in_)
        New rows, as for ``predict``.
    y : array-like of shape (N,), optional
        The target, for the error beside the bound.
    sensitive_features : array-like of shape (N,), or str or int, optional
        The group of each row, or the column of X that says so; by default the column
        that the model was given.  Rows of unknown group are left out.
    tasks : array-like of shape (N,), or str, int or list of them, optional
        The task of each row, or columns of X; by default the columns the model was
        given.
    confidence : float, default=0.95
        How sure, from 0.5 to below 1.
    calibrate : bool, default=False
        First move each group's predictions by a constant, so that AUC is 1/2 on a
        random half of the rows (whole tasks where they are clusters, or twenty and
        more); certify on the other half.  The group must be a column of X that the
        model may use.
    random_state : int, Generator or None, default=None
        Seed of the halves.

    Returns
    -------
    Certificate
        With three or more groups, of the group that is worst off, at a confidence for
        all of them together (Bonferroni).

    Examples
    --------
    >>> from rankfair import RankFairRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(40, 100, random_state=0)
    >>> train = data.frame.index % 2 == 0
    >>> model = RankFairRegressor(0.01, tasks="task", sensitive_features="z")
    >>> _ = model.fit(data.frame[train], data.target[train])
    >>> certificate = certify(model, data.frame[~train])
    >>> certificate.method, certificate.bound < 0.1
    ('clusters', True)
    """
    confidence = check_number("confidence", confidence, 0.5, 1.0)
    if confidence == 1.0:
        raise ValueError(
            "confidence must be below 1; got 1: only the bound 1/2 is that sure."
        )
    check_flag("calibrate", calibrate)
    check_seed("random_state", random_state)
    sensitive_features = _unwrapped(sensitive_features)
    rows = _read(model, X, y, sensitive_features, tasks)
    if not calibrate:
        return _certify(rows, confidence)
    rng = np.random.default_rng(random_state)
    return _calibrated(model, sensitive_features, rows, confidence, rng)


def certify_predictions(
    predicted: Floats,
    in_a: Bools,
    tasks: Codes | None = None,
    confidence: float = 0.95,
) -> Certificate:
    """Bound the rank gap of predictions in the population they are a sample of.

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A, neither none nor all.
    tasks : integer ndarray of shape (N,), optional
        The task of each row.
    confidence : float, default=0.95
        How sure.

    Returns
    -------
    Certificate
        Without labels.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(12) < 6
    >>> found = certify_predictions(np.arange(12.0), in_a, np.arange(12) // 2)
    >>> found.method, found.n_clusters, found.bound, found.interval[1] < 1
    ('exact', 6, 0.5, True)
    """
    needed, possible, reason = clusters_of(tasks, in_a)
    spread = auc_spread(predicted, in_a, needed)
    if possible is not None:
        other = auc_spread(predicted, in_a, possible)
        spread = max(spread, other, key=lambda each: each.bound(confidence))
    n_a = int(np.count_nonzero(in_a))
    return Certificate(
        auc=spread.auc,
        bound=spread.bound(confidence),
        interval=spread.interval(confidence),
        confidence=confidence,
        method=_method(spread),
        n_a=n_a,
        n_b=len(in_a) - n_a,
        n_clusters=spread.n_clusters,
        notes=(reason, *_doubts(spread)),
    )


def _method(spread: Spread) -> str:
    if not spread.estimable:
        return "none"
    if spread.exact:
        return "exact"
    return "delong-logit" if spread.n_clusters is None else "clusters"


def _doubts(spread: Spread) -> list[str]:
    unit = "row" if spread.n_clusters is None else "task"
    if not spread.estimable:
        return [f"Not estimable: a group has one {unit} only, which shows no spread."]
    if spread.exact:
        return ["No placement differs from another: the limit is Hoeffding's."]
    if spread.few:
        return [f"Few {unit}s: the interval allows for the greatest possible variance."]
    return []


@dataclass(frozen=True)
class _Rows:
    """Predictions of the rows with a known group, what they are of, and the target."""

    predicted: Floats
    groups: Codes
    labels: NDArray[Any]
    tasks: Codes | None
    y: Floats | None
    notes: tuple[str, ...]

    def take(self, chosen: Bools) -> _Rows:
        return replace(
            self,
            predicted=self.predicted[chosen],
            groups=self.groups[chosen],
            tasks=None if self.tasks is None else _codes(self.tasks[chosen]),
            y=None if self.y is None else self.y[chosen],
        )


def _codes(values: NDArray[Any]) -> Codes:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _read(model: Any, X: Any, y: Any, sensitive_features: Any, tasks: Any) -> _Rows:
    columns = read_labels("sensitive_features", sensitive_features, model, X)
    if columns is None:
        raise ValueError(
            "sensitive_features is missing: give the group of each row, or the column "
            "of X that says so."
        )
    if len(columns) > 1:
        raise ValueError(
            f"sensitive_features has {len(columns)} columns: one protected attribute "
            "is certified at a time. Name one column of X, "
            'sensitive_features="sex", or pass the labels of one.'
        )
    of_tasks = read_labels("tasks", tasks, model, X)
    predicted = predict(model, X, tasks=tasks, sensitive_features=sensitive_features)
    target = None if y is None else read_target(y)
    check_lengths(len(predicted), y=target)
    known, groups, labels = _groups(columns[0])
    codes = None if of_tasks is None else find_labels(of_tasks, "tasks")[0][known]
    unknown = int((~known).sum())
    return _Rows(
        predicted[known],
        groups,
        labels,
        codes if codes is None else _codes(codes),
        None if target is None else target[known],
        (f"{unknown} rows of unknown group were left out.",) if unknown else (),
    )


def _groups(column: Column) -> tuple[Bools, Codes, NDArray[Any]]:
    """Return which rows have a known group, the group of these, and the labels."""
    values = column.to_list() if isinstance(column, nw.Series) else column.tolist()
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    if not known.any():
        raise ValueError(f"sensitive_features is unknown for all {len(known)} rows.")
    kept = label_array([v for v, there in zip(values, known, strict=True) if there])
    codes, labels = find_labels([kept], "sensitive_features")
    if len(labels) < 2:
        raise ValueError(
            f"sensitive_features has one group only ({shown(labels.tolist()[0])}, "
            f"{len(codes)} rows): there is nothing to compare it with."
        )
    refuse_quantity(Groups(codes, labels), "sensitive_features", CUT_FIRST)
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"sensitive_features has {len(labels)} groups "
            f"({listed(labels.tolist())}): at most {MOST_GROUPS} are certified. Join "
            "small groups."
        )
    return known, codes, labels


def read_labels(argument: str, given: Any, model: Any, X: Any) -> list[Column] | None:
    """Return columns of labels: those given, of X if named, or named by the model.

    Parameters
    ----------
    argument : str
        What the labels are called.
    given : array-like of shape (N,), str, int or None
        Labels, or a column of X.
    model : object
        Its attribute of that name says which columns are meant if none were given.
    X : array-like or data frame
        The rows.

    Returns
    -------
    list of columns or None
        None where neither says anything.

    Examples
    --------
    >>> read_labels("tasks", 1, None, [[0.5, 7.0], [0.1, 8.0]])[0].tolist()
    [7.0, 8.0]
    """
    table = open_table(X)
    wanted = given if is_reference(given) else None
    if given is None:
        wanted = getattr(model, argument, None)
    if wanted is not None:
        places = resolve_columns(argument, wanted, table)
        return [table.column(j) for j in places]
    if given is None:
        return None
    columns, _ = passed_columns(given, argument)
    for column in columns:
        check_lengths(table.shape[0], **{argument: column})
    return columns


def _unwrapped(given: Any) -> Any:
    """Return the only column of a list that names one."""
    alone = isinstance(given, list | tuple) and len(given) == 1
    return given[0] if alone and is_reference(given[0]) else given


def is_reference(given: Any) -> bool:
    """Tell whether this names a column of X: text or a whole number.

    Examples
    --------
    >>> is_reference("sex"), is_reference(["F", "M"])
    (True, False)
    """
    return isinstance(given, str | Integral)


def predict(model: Any, X: Any, **labels: Any) -> Floats:
    """Predict, passing on the labels that the model's ``predict`` needs as arrays.

    Those are the ones it has an argument for, that came as an array, and that it does
    not read from a column of X.

    Parameters
    ----------
    model : fitted regressor
        Anything with ``predict``.
    X : array-like or data frame
        The rows.
    **labels : array-like or None
        Tasks and groups.

    Returns
    -------
    ndarray of shape (N,)
        Predictions.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])
    >>> predict(model, [[2.0]], tasks=["north"]).round(6).tolist()
    [4.0]
    """
    takes = inspect.signature(model.predict).parameters
    passed = {
        name: given
        for name, given in labels.items()
        if given is not None
        and not is_reference(given)
        and name in takes
        and getattr(model, name, None) is None
        and not (name == "tasks" and _fitted_without_tasks(model))
    }
    return read_target(model.predict(X, **passed), "what the model predicts")


def _fitted_without_tasks(model: Any) -> bool:
    """Tell whether a model of ours knows no tasks: they are clusters only then."""
    layout = getattr(model, "_layout", None)
    return layout is not None and getattr(layout, "task_columns", ()) is None


def _certify(rows: _Rows, confidence: float) -> Certificate:
    labels = rows.labels.tolist()
    if len(labels) > 2:
        return _certify_each(rows, labels, confidence)
    found = certify_predictions(
        rows.predicted, rows.groups == 1, rows.tasks, confidence
    )
    return _completed(found, rows, groups=(labels[0], labels[1]))


def _certify_each(rows: _Rows, labels: list[Any], confidence: float) -> Certificate:
    """Each group against all others; the doubt is shared out among them."""
    each = 1.0 - (1.0 - confidence) / len(labels)
    parts = tuple(
        replace(
            certify_predictions(rows.predicted, rows.groups == code, rows.tasks, each),
            groups=(None, label),
        )
        for code, label in enumerate(labels)
    )
    # What is not known may be the worst of all.
    worst = max(parts, key=lambda part: part.bound if part.estimable else math.inf)
    return _completed(
        replace(worst, confidence=confidence, parts=parts),
        rows,
        f"{len(labels)} groups, each against all others; the worst off is "
        f"{shown(worst.groups[1])}.",
    )


def _completed(
    found: Certificate, rows: _Rows, *notes: str, **more: Any
) -> Certificate:
    return replace(
        found, rmse=_rmse(rows), notes=rows.notes + notes + found.notes, **more
    )


def _rmse(rows: _Rows) -> float:
    if rows.y is None:
        return math.nan
    error = np.abs(rows.y - rows.predicted)
    scale = float(error.max()) or 1.0
    return scale * math.sqrt(np.mean((error / scale) ** 2))


@dataclass(frozen=True)
class ShiftedModel:
    """A fitted model whose predictions are moved by a constant for each group.

    Rows of unknown group stay where they are, if the model predicts them at all.

    Attributes
    ----------
    model : fitted regressor
        What predicts first.
    sensitive_features : str or int
        The column of X that holds the group.
    steps : dict of label to float
        What is added to the predictions of each group.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> plain = LinearRegression().fit([[0.0, 0], [1.0, 1]], [0.0, 2.0])
    >>> model = ShiftedModel(plain, 1, {0: 0.5, 1: -0.5})
    >>> (model.predict([[0.0, 0]]) - plain.predict([[0.0, 0]])).tolist()
    [0.5]
    """

    model: Any
    sensitive_features: Any
    steps: dict[Any, float]

    @property
    def tasks(self) -> Any:
        """The task columns of the model."""
        return getattr(self.model, "tasks", None)

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return the model's predictions, moved by group.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows, the group among the columns.
        tasks : array-like of shape (N,), optional
            The task of each row, if the model needs them as an array.

        Returns
        -------
        ndarray of shape (N,)
            Predictions.
        """
        table = open_table(X)
        (at,) = resolve_columns("sensitive_features", self.sensitive_features, table)
        labels = label_array(list(self.steps))
        codes, here = find_known(table.column(at), "sensitive_features")
        places, others = match(here, labels)
        if others:
            raise ValueError(
                f"sensitive_features has groups that were not calibrated: "
                f"{listed(others)}; known are {listed(labels.tolist())}."
            )
        # The last step, for code −1, is that of rows of unknown group.
        steps = np.array([*self.steps.values(), 0.0])
        of_rows = steps[np.append(places, -1)[codes]]
        moved: Floats = predict(self.model, X, tasks=tasks) + of_rows
        return moved


def _calibrated(
    model: Any, given: Any, rows: _Rows, confidence: float, rng: np.random.Generator
) -> Certificate:
    """Learn the steps on one half of the rows and certify on the other."""
    column = _column_to_use(model, given, rows)
    first = _half(rows, rng)
    steps = _steps(rows.take(first))
    rest = rows.take(~first)
    moved = replace(rest, predicted=rest.predicted + steps[rest.groups])
    by_label = dict(zip(rows.labels.tolist(), steps.tolist(), strict=True))
    return replace(
        _completed(
            _certify(moved, confidence),
            replace(moved, notes=()),
            f"Calibrated on {int(first.sum())} rows, certified on the other "
            f"{len(rest.groups)}.",
        ),
        model=ShiftedModel(model, column, by_label),
    )


def _column_to_use(model: Any, given: Any, rows: _Rows) -> Any:
    """Return the column that tells the group at prediction, or say there is none."""
    if len(rows.labels) > 2:
        raise ValueError(
            f"calibrate=True moves two groups; there are {len(rows.labels)}. Use "
            "RankFairPostprocessor, or fit again."
        )
    if getattr(model, "blind", False):
        raise ValueError(
            "calibrate=True moves predictions by group, but the model is blind to the "
            "group. Fit it again on more rows instead."
        )
    column = getattr(model, "sensitive_features", None) if given is None else given
    column = _unwrapped(column)
    if not is_reference(column):
        raise ValueError(
            "calibrate=True moves predictions by group, so the group must be a column "
            "of X: name it in sensitive_features, by name or position."
        )
    return column


def _half(rows: _Rows, rng: np.random.Generator) -> Bools:
    """Choose half of the rows of each group, in whole units."""
    in_a = rows.groups == 1
    units = _units(rows.tasks, in_a)
    share = np.bincount(units, in_a) / np.bincount(units)
    order = rng.permutation(len(share))
    order = order[np.argsort(share[order] >= 0.5, kind="stable")]
    chosen = np.zeros(len(share), dtype=bool)
    chosen[order[::2]] = True
    half: Bools = chosen[units]
    for part in (half, ~half):
        if len(np.unique(rows.groups[part])) < 2:
            what = "rows" if rows.tasks is None else "rows, or tasks,"
            raise ValueError(
                f"calibrate=True needs two or more {what} of each group to halve; "
                f"got {int((~in_a).sum())} rows of {shown(rows.labels[0])} and "
                f"{int(in_a.sum())} of {shown(rows.labels[1])}."
            )
    return half


def _units(tasks: Codes | None, in_a: Bools) -> Codes:
    """What may not be cut in two: tasks that are clusters, in either half; else rows.

    Halves of one task share what is its own, and a step learnt on one of them would
    flatter the other.
    """
    needed, possible, _ = clusters_of(tasks, in_a)
    if needed is not None:
        return needed
    if possible is not None and possible.max() + 1 >= 2 * ENOUGH_TASKS:
        return possible
    return np.arange(len(in_a))


def _steps(rows: _Rows) -> Floats:
    """Return what moves the groups B and A so that AUC is 1/2 on these rows."""
    in_a = rows.groups == 1
    pairs = int(in_a.sum()) * int((~in_a).sum())
    moved = shift(rows.predicted, in_a, (pairs, pairs)) - rows.predicted
    # All rows of a group move by the same step but for rounding.
    return np.array([np.median(moved[~in_a]), np.median(moved[in_a])])
