"""Results of an audit: plain records that tables, pages and files show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from rankfair.input.disk import write_whole
from rankfair.input.settings import check_choice, check_flag, check_number
from rankfair.stats.estimate import Estimate

__all__ = [
    "Audit",
    "Comparison",
    "FrontierPoint",
    "Gate",
    "Group",
    "Histogram",
    "ModelLine",
    "Provenance",
    "SensitiveFeature",
    "TaskLine",
    "gap_interval",
    "plain",
]


class Gate(Enum):
    """Whether a gap is within a limit; the value is the sentence shown.

    Examples
    --------
    >>> Gate.EXCEEDED.exit_code, Gate.EXCEEDED.value
    (1, 'The gap exceeds the limit.')
    """

    HELD = "The gap is within the limit."
    EXCEEDED = "The gap exceeds the limit."
    NOT_ESTIMABLE = "The gap cannot be estimated from these rows."

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0 held, 1 exceeded, 3 not estimable."""
        return {Gate.HELD: 0, Gate.EXCEEDED: 1, Gate.NOT_ESTIMABLE: 3}[self]

    @classmethod
    def of(cls, gap: float, max_gap: float) -> Gate:
        """Compare a gap with a limit; equality passes, NaN is not estimable."""
        if math.isnan(gap):
            return cls.NOT_ESTIMABLE
        # A gap is a ratio of counts: equal fractions may differ in their last bits.
        return cls.HELD if gap <= max_gap + 1e-12 else cls.EXCEEDED


@dataclass(frozen=True)
class Group:
    """The rows of one group.

    ``mean_target`` is NaN without a target.  The other numbers have one entry a model,
    by its name.  ``share_above_median`` is the share of the group predicted above the
    median of all rows; ``impact_ratio`` is that share over the highest share of any
    group of the feature (the score rule of New York's Local Law 144).
    """

    label: str
    n_rows: int
    weight: float
    mean_target: float
    mean_predicted: dict[str, float]
    share_above_median: dict[str, float]
    impact_ratio: dict[str, float]


@dataclass(frozen=True)
class SensitiveFeature:
    """A sensitive feature, or an intersection of several (``sex × race``).

    ``n_missing`` rows have no group and are in no comparison.  ``constant_in_tasks``
    says that every task has rows of one group only.
    """

    name: str
    groups: tuple[Group, ...]
    n_missing: int
    constant_in_tasks: bool
    min_group: int
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """One group against another (``pair``) or against all others (``rest``).

    A number above parity (1/2 for an AUC, 1 for a ratio, 0 for a difference) means that
    ``group`` is predicted higher than ``against``.  Balanced residuals above 0 mean
    that ``group`` is predicted too low compared with ``against``.  ``impact_ratio`` is
    ``share_above_median`` over ``share_above_median_against``.
    """

    model: str
    sensitive_feature: str
    group: str
    against: str
    kind: str
    n_group: int
    n_against: int
    auc: Estimate
    within_task_auc: Estimate
    between_task_auc: Estimate
    mean_difference: Estimate
    balanced_residuals: Estimate
    impact_rank_ratio: Estimate
    ks: Estimate
    wasserstein: Estimate
    share_above_median: Estimate
    share_above_median_against: Estimate
    impact_ratio: Estimate

    @property
    def gap(self) -> float:
        """``|AUC − 1/2|``; NaN if the AUC does not exist."""
        return abs(self.auc.value - 0.5)

    @property
    def measures(self) -> dict[str, Estimate]:
        """All estimates by name."""
        found = vars(self).items()
        return {name: value for name, value in found if isinstance(value, Estimate)}

    def changed(self, change: Callable[[Estimate], Estimate]) -> Comparison:
        """Return the comparison with a function applied to every estimate."""
        new: dict[str, Any] = {name: change(e) for name, e in self.measures.items()}
        return replace(self, **new)


@dataclass(frozen=True)
class TaskLine:
    """The AUC within one task.

    ``adjusted_p`` is the p-value adjusted for the number of tasks (Benjamini and
    Hochberg).  A task is ``flagged`` if it is at most ``1 − confidence``.
    """

    model: str
    sensitive_feature: str
    group: str
    against: str
    task: str
    n_group: int
    n_against: int
    auc: Estimate
    adjusted_p: float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class Histogram:
    """The share of a group's predictions in each bin between ``edges``.

    All groups and models of one audit share their edges.
    """

    model: str
    sensitive_feature: str
    group: str
    edges: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class ModelLine:
    """The errors of one model; not estimable without a target."""

    name: str
    rmse: Estimate
    mae: Estimate
    r2: Estimate


@dataclass(frozen=True)
class FrontierPoint:
    """Error and rank gap of one ε along a path."""

    epsilon: float
    rmse: Estimate
    auc_gap: Estimate
    label: str = ""
    chosen: bool = False


def gap_interval(low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest ``|AUC − 1/2|`` in an interval of AUC.

    Examples
    --------
    >>> gap_interval(0.25, 0.625), gap_interval(0.625, 0.75)
    ((0.0, 0.25), (0.125, 0.25))
    """
    if math.isnan(low) or math.isnan(high):
        return math.nan, math.nan
    ends = abs(low - 0.5), abs(high - 0.5)
    return (0.0 if low <= 0.5 <= high else min(ends)), max(ends)


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from.

    ``fingerprint`` is the beginning of a SHA-256 of the values that were read: audits
    of the same rows have the same fingerprint.
    """

    n_rows: int
    n_tasks: int
    fingerprint: str
    versions: dict[str, str] = field(default_factory=dict)
    command: str | None = None
    created: str = ""
    seed: int | None = None


def plain(value: Any) -> Any:
    """Return records as JSON's types: dicts, lists, text and numbers; NaN is None.

    Examples
    --------
    >>> plain(Estimate(0.1))["ci_low"]
    >>> plain((1, 2.5, "a"))
    [1, 2.5, 'a']
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Audit:
    """Everything an audit measured; `audit` makes it.

    Attributes
    ----------
    models : tuple of ModelLine
        Errors of each model; ``gap``, ``gate`` and ``verdict`` are about the last one.
    sensitive_features : tuple of SensitiveFeature
        Sensitive features with their groups.
    comparisons : tuple of Comparison
        One for each model, sensitive feature and pair of groups.
    tasks : tuple of TaskLine
        The AUC within each task that has rows of both groups.
    histograms : tuple of Histogram
        Predictions of each group.
    frontier : tuple of FrontierPoint
        Error and gap along a path of ε, if one was given.
    provenance : Provenance
        Where the numbers come from.
    confidence : float
        Confidence level of the intervals.
    min_group : int
        Groups with fewer rows get no interval.
    title : str
        The title of the page.
    backend : {"pandas", "polars"} or None
        What `to_frame` makes; None for whichever is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair import audit
    >>> predicted = np.arange(40) % 7 + 2.0 * (np.arange(40) < 20)
    >>> found = audit(None, predicted, sensitive_features=np.arange(40) < 20)
    >>> print(found.verdict)
    Rows of "True" rank above rows of "False" in 74.5 % of pairs (group): AUC 0.745,
    95 % interval 0.569 to 0.858.
    >>> found.gate(0.1).exit_code, round(found.gap, 3)
    (1, 0.245)
    >>> sorted(found.to_dict())[:4]
    ['comparisons', 'confidence', 'format', 'frontier']
    """

    models: tuple[ModelLine, ...]
    sensitive_features: tuple[SensitiveFeature, ...]
    comparisons: tuple[Comparison, ...]
    tasks: tuple[TaskLine, ...]
    histograms: tuple[Histogram, ...]
    provenance: Provenance
    frontier: tuple[FrontierPoint, ...] = ()
    confidence: float = 0.95
    min_group: int = 5
    title: str = "Rank audit"
    backend: str | None = None

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names of the models, in the order given."""
        return tuple(line.name for line in self.models)

    def worst(self, model: str | None = None) -> Comparison | None:
        """Return the comparison with the largest gap that is estimable, if any.

        Parameters
        ----------
        model : str, optional
            The last one by default.

        Returns
        -------
        Comparison or None
            None if a sensitive feature has no estimable comparison: its gap may be
            larger than all others.
        """
        known = self._estimable(model)
        names = {feature.name for feature in self.sensitive_features}
        if {c.sensitive_feature for c in known} != names:
            return None
        return max(known, key=lambda c: c.gap)

    def unjudged(
        self, model: str | None = None, *, ignore_small: bool = False
    ) -> tuple[tuple[str, str], ...]:
        """Return the groups without an estimable comparison.

        Parameters
        ----------
        model : str, optional
            The last one by default.
        ignore_small : bool, default=False
            Leave out groups of fewer than ``min_group`` rows.

        Returns
        -------
        tuple of pairs of str
            Sensitive feature and label of each group.
        """
        known = self._estimable(model)
        judged = {(c.sensitive_feature, c.group) for c in known}
        judged |= {(c.sensitive_feature, c.against) for c in known if c.kind == "pair"}
        return tuple(
            (feature.name, group.label)
            for feature in self.sensitive_features
            for group in feature.groups
            if (feature.name, group.label) not in judged
            and not (ignore_small and group.n_rows < feature.min_group)
        )

    def _estimable(self, model: str | None) -> list[Comparison]:
        name = self.model_names[-1] if model is None else model
        check_choice("model", name, self.model_names)
        return [c for c in self.comparisons if c.model == name and c.auc.estimable]

    @property
    def gap(self) -> float:
        """The largest ``|AUC − 1/2|`` of the last model; NaN if it is not estimable."""
        worst = self.worst()
        return math.nan if worst is None else worst.gap

    @property
    def verdict(self) -> str:
        """The largest gap with its confidence interval, in a sentence."""
        from rankfair.audit.words import verdict

        return verdict(self)

    def gate(
        self, max_gap: float, model: str | None = None, *, ignore_small: bool = False
    ) -> Gate:
        """Compare the largest gap of a model with a limit.

        Parameters
        ----------
        max_gap : float
            From 0 to 1/2; a gap equal to it passes.
        model : str, optional
            The last one by default.
        ignore_small : bool, default=False
            Ignore groups of fewer than ``min_group`` rows, which are not judged.

        Returns
        -------
        Gate
            ``EXCEEDED`` if an estimable gap is above the limit, ``NOT_ESTIMABLE`` if
            none is but a group is `unjudged`, else ``HELD``.
        """
        limit = check_number("max_gap", max_gap, 0.0, 0.5)
        check_flag("ignore_small", ignore_small)
        worst = self.worst(model)
        found = Gate.of(math.nan if worst is None else worst.gap, limit)
        if found is Gate.HELD and self.unjudged(model, ignore_small=ignore_small):
            return Gate.NOT_ESTIMABLE
        return found

    def passes(self, max_gap: float, *, ignore_small: bool = False) -> bool:
        """Return whether `gate` holds; False if the gap is not estimable."""
        return self.gate(max_gap, ignore_small=ignore_small) is Gate.HELD

    def to_dict(self) -> dict[str, Any]:
        """Return all records as JSON types; ``docs/audit.schema.json`` describes them.

        Returns
        -------
        dict
            NaN is None; ``verdict`` and ``gap`` are among the keys.
        """
        found: dict[str, Any] = plain(self)
        del found["backend"]
        head = {"format": "rankfair-audit", "version": 2}
        return {**head, "verdict": self.verdict, "gap": plain(self.gap), **found}

    def to_frame(self) -> Any:
        """Return a data frame with a row for each comparison.

        Returns
        -------
        DataFrame or dict
            Of the library that the groups came from; else of pandas or polars,
            whichever is installed; else a dict of lists.
        """
        from rankfair.audit.frames import comparisons_frame

        return comparisons_frame(self)

    def tasks_frame(self) -> Any:
        """Return a data frame with a row for each task of each comparison.

        Returns
        -------
        DataFrame or dict
            As `to_frame`.
        """
        from rankfair.audit.frames import tasks_frame

        return tasks_frame(self)

    def to_html(self, path: Any, *, command: str | None = None) -> Path:
        """Write the audit as one HTML page that needs no other file.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced as a whole, or not at all.
        command : str, optional
            The command that made the page, to be shown on it.

        Returns
        -------
        Path
            The same path.
        """
        found = self
        if command is not None:
            found = replace(self, provenance=replace(self.provenance, command=command))
        return write_whole(Path(path), _report("render")(found))

    def _repr_html_(self) -> str:
        html: str = _report("render_fragment")(self)
        return html

    def plot(self, ax: Any = None) -> Any:
        """Draw the AUC of every comparison with its interval, by matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            With a line for each comparison and model.
        """
        return _report("draw_audit")(self, ax)

    def __str__(self) -> str:
        from rankfair.audit.words import audit_table

        return audit_table(self)


def _report(name: str) -> Callable[..., Any]:
    """Look up a function of the report, a layer below that imports these records."""
    function: Callable[..., Any] = getattr(import_module("rankfair.report"), name)
    return function
