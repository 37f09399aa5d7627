"""Predictions with groups, tasks and weights: for metrics, audits and paths."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.errors import (
    Argument,
    InputError,
    check_choice,
    counted,
    listed,
    shown,
)
from rankfair.input.frames import (
    check_lengths,
    column_numbers,
    find_known,
    frame_library,
    label_array,
    read_ranked,
    read_target,
    read_weights,
)
from rankfair.input.groups import (
    GROUPS,
    SensitiveGroups,
    Source,
    combined,
    is_reference,
    label_source_of,
    label_table,
    labels_of_rows,
    passed_columns,
    plain_labels,
    read_balanced,
    read_features,
    refuse_same_names,
    refuse_several,
)

PREDICTED = "what the model predicts"
MODEL = "predicted"  # the name of predictions that have none
MOST_REPEATED = 20_000_000  # rows that are repeated have to fit into memory with ease
MOST_LEVELS = 200  # of a control: more are names of rows, not categories


@dataclass(frozen=True)
class ScoredRows:
    """Predictions by name, groups, tasks and weights; arrays of one length N.

    Attributes
    ----------
    predicted, ranked : dict of str to ndarray of shape (N,)
        Predictions, and numbers of exactly their order and ties.
    target : ndarray of shape (N,) or None
    groupings : tuple of SensitiveGroups
        One for each feature, −1 where a row has no group.
    tasks : ndarray of shape (N,) or None
    task_labels : tuple of str
    weights : ndarray of shape (N,) or None
    fingerprint : str
        A digest of all that was given, in an audit.
    n_given : int
        Rows before some were left out, or repeated.
    backend : str or None
        The library of the first frame that was given.
    unit : float
        What a weight of 1 was before.
    target_name : str
        What the target is called.
    controls : ndarray of shape (N, p) or None
        Columns that may explain a gap.
    control_names : tuple of str
        The control of each of them.
    complementary : ndarray of shape (N,) or None
        Pay beside the base pay.
    places : ndarray of shape (N,) or None
        The rows that were given, from 0; None if these are all.
    within : dict of str to ndarray of shape (N,)
        Predictions for figures within tasks, where these are others.
    """

    predicted: dict[str, Floats]
    ranked: dict[str, Floats]
    groupings: tuple[SensitiveGroups, ...]
    target: Floats | None = None
    tasks: Codes | None = None
    task_labels: tuple[str, ...] = ("all",)
    weights: NDArray[Any] | None = None
    fingerprint: str = ""
    n_given: int = 0
    backend: str | None = None
    unit: float = 1.0
    target_name: str = "target"
    controls: Floats | None = None
    control_names: tuple[str, ...] = ()
    complementary: Floats | None = None
    places: Codes | None = None
    within: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def m(self) -> Floats:
        """The predictions of the only model."""
        return self.predicted[MODEL]

    @property
    def exact(self) -> Floats:
        """Numbers of exactly their order and ties."""
        return self.ranked[MODEL]

    def take(self, at: NDArray[Any]) -> ScoredRows:
        """Return some rows, by mask or by position."""
        arrays = "target", "tasks", "weights", "controls", "complementary", "places"
        values = {name: getattr(self, name) for name in arrays}
        own = {name: each[at] for name, each in values.items() if each is not None}
        for name in ("predicted", "ranked", "within"):
            by_model = getattr(self, name)
            own[name] = {model: each[at] for model, each in by_model.items()}
        groupings = tuple(each.take(at) for each in self.groupings)
        return replace(self, groupings=groupings, **own)

    def of_known_group(self) -> ScoredRows:
        """Return the rows whose group is known, of the first feature."""
        known = self.groupings[0].known
        return self if known is None else self.take(known)


def read_scored(
    read: Mapping[str, tuple[Floats, Floats]],
    groups: Source,
    weights: Floats | None,
    **more: Any,
) -> ScoredRows:
    """Return predictions, each with its exact order, beside their groups and more."""
    return ScoredRows(
        predicted={name: values for name, (values, _) in read.items()},
        ranked={name: order for name, (_, order) in read.items()},
        groupings=tuple(read_features(groups, weights)),
        weights=weights,
        **more,
    )


# Of a model


def score_model(
    model: Any, X: Any, y: Any, sensitive_features: Any, tasks: Any
) -> ScoredRows:
    """Predict new rows and read them beside their groups and tasks."""
    several = isinstance(sensitive_features, list | tuple)
    if several and len(sensitive_features) == 1 and is_reference(sensitive_features[0]):
        (sensitive_features,) = sensitive_features
    source = labels_for(GROUPS, sensitive_features, model, X)
    if source is None:
        from sklearn.utils.validation import check_is_fitted  # a second to import

        if hasattr(model, "fit"):  # one that is not fitted names no column yet
            check_is_fitted(model)
        raise _no_groups("the column of X that says so")
    refuse_several(source, "Name the column of one, or pass the labels of one.")
    of_tasks = labels_for("tasks", tasks, model, X)
    predicted = predict_rows(model, X, tasks, sensitive_features)
    read = {MODEL: read_ranked(predicted, PREDICTED)}
    return read_scored(
        read,
        source,
        None,
        target=None if y is None else read_target(y, n_rows=len(predicted)),
        tasks=None if of_tasks is None else of_tasks.labels()[0],
    )


def _no_groups(where: str) -> InputError:
    return InputError(
        GROUPS, f"is missing: the group of each row is expected, or {where}"
    )


def labels_for(argument: str, given: Any, model: Any, X: Any) -> Source | None:
    """Return labels that were given, else those of columns that a model names.

    Its groups are read as it reads them: cut into bins, and combined.
    """
    if given is None:
        model, X = naming(model, X, argument)
        named = getattr(model, argument, None) is not None
        if argument == GROUPS and named and hasattr(model, "group_labels"):
            found = model.group_labels(X)
            return labels_of_rows(found, len(next(iter(found.values()))))
    return label_source_of(argument, given, model, X)


def predict_rows(model: Any, X: Any, tasks: Any, sensitive_features: Any) -> Any:
    """Return what the model predicts, as it came.

    Passed on are the labels that its ``predict`` has an argument for, that came as an
    array, as they did to ``fit``, and that it does not read from a column of X; a
    pipeline hands them to its last step.
    """
    from sklearn import config_context  # a second to import
    from sklearn.pipeline import Pipeline

    reader = model
    while isinstance(reader, Pipeline):
        reader = reader.steps[-1][1]
    takes = inspect.signature(reader.predict).parameters
    # Tasks may be clusters only, and groups those of a measure.
    trained = {
        "tasks": getattr(getattr(reader, "_layout", None), "task_columns", ()),
        GROUPS: getattr(reader, "groups_", ()),
    }
    passed = {
        name: given
        for name, given in {"tasks": tasks, GROUPS: sensitive_features}.items()
        if not (given is None or is_reference(given) or trained[name] is None)
        and name in takes
        and getattr(reader, name, None) is None
    }
    with config_context(enable_metadata_routing=False):
        return model.predict(X, **passed)


def naming(model: Any, X: Any, name: str) -> tuple[Any, Any]:
    """Return the fitted model that names columns of X by an argument, and its X.

    It may be inside others: pipelines, whose other steps make its X, searches,
    transformed targets, and those of ours that have an ``_inside``.  The model and X
    themselves if none names any.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from rankfair import MultiTaskRegressor
    >>> X, y = [[2.0, 5], [4.0, 5], [6.0, 10], [8.0, 10]], [0.0, 1.0, 3.0, 4.0]
    >>> model = make_pipeline(MaxAbsScaler(), MultiTaskRegressor(tasks=1)).fit(X, y)
    >>> naming(model, X, "tasks")[1][:, 1].tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    from sklearn.compose import TransformedTargetRegressor  # a second to import
    from sklearn.pipeline import Pipeline

    part, seen = model, X
    while getattr(part, name, None) is None:
        if isinstance(part, Pipeline):
            steps, (_, part) = part[:-1], part.steps[-1]
            seen = steps.transform(seen) if len(steps) else seen
        elif isinstance(part, TransformedTargetRegressor):
            part = part.regressor_
        elif hasattr(part, "best_estimator_"):
            part = part.best_estimator_
        elif hasattr(part, "_inside"):
            part, seen = part._inside(seen)
        else:
            return model, X
    return part, seen


# For an audit


def read_audited(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    tasks: Any,
    sample_weight: Any,
    intersect: bool,
    frequency_weights: bool = False,
    reference: Any = None,
    controls: Any = None,
    complementary: Any = None,
    task_predictions: Any = None,
) -> ScoredRows:
    """Check all arguments and return them as arrays."""
    read = _read_predictions(y_pred, "y_pred")
    n_rows = len(next(iter(read.values()))[0])
    more: dict[str, Any] = {"n_given": n_rows, "places": np.arange(n_rows)}
    if y_true is not None:
        columns, names = passed_columns(y_true, "y_true", "target")
        if len(columns) > 1:
            raise InputError("y_true", "has one name", f"{len(columns)} names")
        more["target"] = read_target(columns[0], "y_true", n_rows)
        more["target_name"] = names[0]
    weights = read_weights(sample_weight, n_rows)
    if frequency_weights:
        _refuse_no_frequencies(weights)
    if sensitive_features is None:
        raise InputError(GROUPS, "is None: the group of each row is expected")
    source = labels_of_rows(sensitive_features, n_rows)
    if tasks is not None:
        more["tasks"], labels = labels_of_rows(tasks, n_rows, "tasks").labels()
        more["task_labels"] = texts(labels.tolist())
    if task_predictions is not None:
        more["within"] = _read_within(task_predictions, [*read], n_rows)
    if controls is not None:
        more["controls"], more["control_names"] = read_controls(controls, n_rows)
    if complementary is not None:
        pay = read_target(complementary, "complementary", n_rows)
        more["complementary"] = pay
    more["backend"] = frame_library(sensitive_features, y_pred)
    rows = read_scored(read, source, weights, **more)
    groupings = plain = tuple(map(_texts_of, rows.groupings))
    if intersect:
        groupings += _intersections(groupings, weights)
    rows = replace(rows, groupings=_with_references(groupings, reference))
    rows = replace(rows, fingerprint=_fingerprint(replace(rows, groupings=plain)))
    if weights is None:
        return rows
    if frequency_weights:
        at = np.repeat(np.arange(n_rows), weights.astype(np.intp))
        return replace(rows, weights=None).take(at)
    rows = rows.take(np.flatnonzero(weights))
    assert rows.weights is not None
    unit = float(rows.weights.mean())  # the mean becomes 1: their unit does not matter
    return replace(rows, weights=rows.weights / unit, unit=unit)


def _read_predictions(
    given: Any, argument: str, n_rows: int | None = None
) -> dict[str, tuple[Floats, Floats]]:
    if not isinstance(given, dict):
        return {MODEL: read_ranked(given, argument, n_rows)}
    if not given:
        raise InputError(
            argument,
            "is an empty dict: a name and predictions for each model are expected, "
            '{"before": p0, "after": p1}',
        )
    refuse_same_names(argument, [*map(str, given)], "models")  # 1 and "1"
    read = {}
    for name, values in given.items():
        read[str(name)] = one = read_ranked(values, f"{argument}[{name!r}]", n_rows)
        n_rows = len(one[0])
    return read


def _read_within(given: Any, names: Sequence[str], n_rows: int) -> dict[str, Floats]:
    read = _read_predictions(given, "task_predictions", n_rows)
    if list(read) != names:
        expected = f"must name the predictions {listed(names)}, as y_pred"
        raise InputError("task_predictions", expected, listed([*read]))
    return {name: exact for name, (_, exact) in read.items()}


def _with_references(
    groupings: Sequence[SensitiveGroups], asked: Any
) -> tuple[SensitiveGroups, ...]:
    """Say of every feature which group others are compared with.

    It is the one that was asked for, else the largest; of equal ones the first.
    """
    given = [asked] if np.isscalar(asked) else list(asked or ())
    wanted = [str(label) for label in given]
    known = [label for grouping in groupings for label in grouping.labels.tolist()]
    for label in wanted:
        check_choice("reference", label, known)
    found = []
    for grouping in groupings:
        labels = grouping.labels.tolist()
        mine = [label for label in wanted if label in labels]
        if len(mine) > 1:
            expected = f"names one group of {shown(grouping.name)} at most"
            raise InputError("reference", expected, listed(mine))
        place = labels.index(mine[0]) if mine else int(np.argmax(grouping.sizes()))
        found.append(replace(grouping, reference=place))
    return tuple(found)


def _texts_of(groups: SensitiveGroups) -> SensitiveGroups:
    """Return groups whose labels are text."""
    labels = label_array(list(texts(groups.labels.tolist())))
    return SensitiveGroups(groups.codes, labels, groups.name)


def texts(labels: list[Any]) -> tuple[str, ...]:
    """Return labels as text; those of several columns are joined.

    Examples
    --------
    >>> texts(["a", 1]), texts([("a", 1), ("b", 2)])
    (('a', '1'), ('a × 1', 'b × 2'))
    """
    plain = [str(label) for label in plain_labels(labels)]
    if len(set(plain)) < len(plain):  # 1 and "1"
        plain = [repr(label) for label in labels]
    return tuple(plain)


def _intersections(
    groupings: tuple[SensitiveGroups, ...], weights: Floats | None
) -> tuple[SensitiveGroups, ...]:
    """Return every combination of two or more features, with the groups that occur."""
    argument = Argument("intersect", True)
    if len(groupings) < 2:
        needs = ("needs two or more features in ", Argument(GROUPS))
        raise InputError(argument, needs, str(len(groupings)))
    sizes = range(2, len(groupings) + 1)
    parts = [each for size in sizes for each in combinations(groupings, size)]
    found = [_texts_of(combined(each, argument, weights)) for each in parts]
    refuse_same_names(argument, [each.name for each in (*groupings, *found)])
    return tuple(found)


def _refuse_no_frequencies(weights: Floats | None) -> None:
    got, weight = "", Argument("sample_weight")
    if weights is not None:
        broken = np.flatnonzero(weights != np.floor(weights))
        got = f"{weights.sum():.4g}" if weights.sum() > MOST_REPEATED else ""
        got = f"{weights[broken[0]]:g} in row {broken[0]}" if len(broken) else got
    if weights is None or got:
        most = f": how often each row was seen, at most {MOST_REPEATED:,} rows in all"
        raise InputError(
            Argument("frequency_weights", True),
            ("needs whole numbers in ", weight, most),
            got,
            "Leave it out, and intervals follow the rows that are given.",
        )


def _fingerprint(rows: ScoredRows) -> str:
    """A digest of values and names, each with its length: none runs into another.

    It is of the data: where the target is known, not of what a model made of them.
    """
    target = rows.target
    values = rows.ranked if target is None else {rows.target_name: target}
    groupings = rows.groupings
    named = [*values], rows.task_labels, [[g.name, *g.labels] for g in groupings]
    arrays = [*values.values(), rows.weights, rows.tasks, *(g.codes for g in groupings)]
    parts = [json.dumps(named).encode()]
    for array in arrays:
        kind = "<f8" if array is not None and array.dtype.kind == "f" else "<i8"
        parts.append(b"" if array is None else array.astype(kind).tobytes())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:16]


def read_controls(given: Any, n_rows: int) -> tuple[Floats, tuple[str, ...]]:
    """Return columns that may explain a gap as numbers, and the control of each.

    A control of numbers is one column.  One of labels has a column of 0 and 1 for each
    label but the first.

    Examples
    --------
    >>> X, names = read_controls({"rank": ["a", "b", "c"], "years": [3, 1, 2]}, 3)
    >>> X.tolist(), names
    ([[0.0, 0.0, 3.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]], ('rank', 'rank', 'years'))
    """
    columns, names = [np.zeros((n_rows, 0))], []
    for column, name in zip(*passed_columns(given, "controls", "control"), strict=True):
        check_lengths(n_rows, **{f"controls ({shown(name)})": column})
        made = _control(column, name)
        columns.append(made)
        names += [name] * made.shape[1]
    return np.hstack(columns), tuple(names)


def _control(column: Column, name: str) -> Floats:
    """A control as one column of numbers, or one for each label but the first."""
    argument = f"controls ({shown(name)})"
    values = column.to_numpy() if isinstance(column, nw.Series) else column
    if values.dtype.kind in "biuf":
        found = column_numbers(column, argument)[:, None]
        missing = int((~np.isfinite(found)).sum())
    else:
        codes, labels = find_known(column, argument)
        found = np.asarray(codes[:, None] == np.arange(1, len(labels)), np.float64)
        missing = int((codes < 0).sum())
        # More than that, and each row is explained by itself.
        most = min(MOST_LEVELS, max(10, len(codes) // 2))
        if len(labels) > most:
            raise InputError(
                argument,
                f"may have at most {most} labels in {counted(len(codes), 'row')}",
                f"{len(labels)} ({listed(labels.tolist())})",
                "Unite labels, or leave the column out.",
            )
    if missing:
        expected = f"has no value in {counted(missing, 'row')}"
        cure = "Fill them, or leave these rows out."
        raise InputError(argument, expected, cure=cure)
    return found


# For a path


def compared_groups(
    owner: Any, X: Any, given: Any, weights: Floats | None
) -> tuple[Codes, tuple[str, ...], NDArray[Any]]:
    """Return the group of each row, −1 if not known, names, and labels to hand on.

    Groups that the model reads, or would, are cut and combined as it does.
    """
    own = given is None or getattr(owner, GROUPS, None) is None
    source = label_source_of(GROUPS, given, owner, X)
    if source is None:
        raise _no_groups("its column, named in the model")
    bins = getattr(owner, "bins", None) if own else None
    intersect = own and bool(getattr(owner, "intersect", False))
    if not intersect:
        combine = "compare their combinations with ", Argument("intersect", True)
        refuse_several(source, ("Name one of them, or ", *combine, "."))
    _, (groups,) = read_balanced(source, weights, bins, intersect)
    names = tuple(map(str, groups.labels.tolist()))
    rows = groups.sizes(None if weights is None else np.sign(weights))
    for name, count in zip(names, rows.astype(int).tolist(), strict=True):
        if count < 2:
            raise InputError(
                GROUPS,
                f"has {counted(count, 'row')} that counts in group {shown(name)}: a "
                "path needs one to learn from and one to hold out",
                cure="Join groups, or leave these rows out.",
            )
    # Each fit reads, cuts and combines these itself, as it would outside of a path.
    return groups.codes, names, label_table(source.columns)
