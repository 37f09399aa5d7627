"""Results of an audit: plain records that tables, pages and files show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw

from rankfair.input.disk import write_whole
from rankfair.input.errors import (
    check_choice,
    check_flag,
    check_number,
    counted,
    printable,
)
from rankfair.stats.estimate import Estimate
from rankfair.stats.explained import ExplainedGap

MOST_PAIRED = 20  # groups; more are compared with the rest only
REST_ONLY = f"more than {MOST_PAIRED} groups: each against the rest only"


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
    says that every task has rows of one group only.  Groups are compared with the
    ``reference``.
    """

    name: str
    groups: tuple[Group, ...]
    n_missing: int
    constant_in_tasks: bool
    note: str = ""
    reference: str = ""


@dataclass(frozen=True)
class GroupPair:
    """Which group is compared with which."""

    sensitive_feature: str
    group: str
    against: str

    @property
    def pair(self) -> tuple[str, str, str]:
        """The feature and both groups."""
        return self.sensitive_feature, self.group, self.against


@dataclass(frozen=True)
class Comparison(GroupPair):
    """One group against another (``pair``) or against all others (``rest``).

    A number above parity (1/2 for an AUC, 1 for a ratio, 0 for a difference) means that
    ``group`` is predicted higher than ``against``.  Balanced residuals above 0 mean
    that ``group`` is predicted too low compared with ``against``.  ``impact_ratio`` is
    ``share_above_median`` over ``share_above_median_against``.
    """

    model: str
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
    def reversal(self) -> str:
        """How the gap within tasks contradicts the overall gap; empty if it does not.

        It is "sign" if it is the other way round, and "size" if it is larger; both by
        more than its interval.
        """
        return reversal(self.auc.value, self.within_task_auc)

    @property
    def measures(self) -> dict[str, Estimate]:
        """All estimates by name."""
        return {name: getattr(self, name) for name in MEASURES}


def reversal(auc: float, within: Estimate) -> str:
    """Return how an AUC within tasks contradicts the overall one: "sign" or "size"."""
    least, _ = gap_interval(within.ci_low, within.ci_high)
    overall = auc - 0.5
    if not least > 0.0 or math.isnan(overall):
        return ""
    if overall * (within.value - 0.5) < 0.0:
        return "sign"
    return "size" if least > abs(overall) else ""


@dataclass(frozen=True)
class TaskLine(GroupPair):
    """The AUC within one task.

    ``adjusted_p`` is the p-value adjusted for the number of tasks (Benjamini and
    Hochberg).  A task is ``flagged`` if it is at most ``1 − confidence``.
    """

    model: str
    task: str
    n_group: int
    n_against: int
    auc: Estimate
    adjusted_p: float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class UnitsGap(GroupPair):
    """The gap between a group and the reference in units of the target: money, say.

    ``of`` is the target, or the prediction where there is no target.  ``task`` is None
    for all rows.  A gap is the number of ``group`` less that of ``against``; a
    ``share`` is that gap over the number of ``against``.
    """

    of: str
    task: str | None
    n_group: int
    n_against: int
    mean_group: float
    mean_against: float
    median_group: float
    median_against: float
    mean_gap: Estimate
    mean_gap_share: Estimate
    median_gap: Estimate
    median_gap_share: Estimate


@dataclass(frozen=True)
class GapParts(GroupPair, ExplainedGap):
    """The part of a mean gap that the controls explain, and the part they do not.

    ``gap = explained + unexplained``; ``by_control`` adds up to ``explained``.  A
    ``share`` is over the mean of ``against``.  ``unexplained_log`` is the relative gap
    of a regression of logarithms.  ``residual_auc`` ranks what the controls leave of
    the values, ``stratified_auc`` the values among rows that are alike in their chance
    of being in the group, by the controls.  ``dropped`` controls repeat others.
    """

    of: str
    controls: tuple[str, ...]
    mean_against: float
    unexplained_log: Estimate
    residual_auc: Estimate
    stratified_auc: Estimate

    def share(self, part: Estimate) -> float:
        """Return a part over the mean of ``against``; NaN if that is not above 0."""
        return part.value / self.mean_against if self.mean_against > 0.0 else math.nan


@dataclass(frozen=True)
class TaskRaises:
    """How many are raised in one task, and by how much in all."""

    task: str
    n_raised: int
    total: float


@dataclass(frozen=True)
class RemedyCost(GroupPair):
    """The least money that brings the unexplained gap to ``close_to``.

    ``close_to`` and ``left`` are shares of the mean of ``against``; ``left`` is what
    remains of the gap.  ``raised`` is the lower of the two groups, whose rows are
    raised.  ``share`` is ``total`` over the sum of all values of both.  ``rows`` are
    the places of the raised rows, from 0, and ``raises`` what each gets.
    """

    of: str
    close_to: float
    left: float
    raised: str
    n_raised: int
    total: float
    share: float
    largest: float
    by_task: tuple[TaskRaises, ...]
    rows: tuple[int, ...] = field(default=(), repr=False)
    raises: tuple[float, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class QuartileBand:
    """The rows between two quartiles of pay, and the share of each group in them."""

    low: float
    high: float
    n_rows: int
    shares: dict[str, float]


@dataclass(frozen=True)
class PayBands:
    """The four quartile bands of pay; of each group, the share with complementary pay.

    The gaps of complementary pay are among those in units.
    """

    of: str
    sensitive_feature: str
    bands: tuple[QuartileBand, ...]
    receiving: dict[str, float]


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

    ``fingerprint`` is the beginning of a SHA-256 of the data: target, groups, tasks and
    weights.  Audits of the same rows have the same, whatever the predictions.
    ``notes`` say what was left out, and what was changed, when the rows were read.
    """

    n_rows: int
    n_tasks: int
    fingerprint: str
    versions: dict[str, str] = field(default_factory=dict)
    command: str | None = None
    created: str = ""
    seed: int | None = None
    notes: tuple[str, ...] = ()


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


@dataclass(frozen=True, repr=False)
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
    provenance : Provenance
        Where the numbers come from.
    confidence : float
        Confidence level of the intervals.
    min_group : int
        Groups with fewer rows get no interval.
    title : str
        The title of the page.
    units : tuple of UnitsGap
        Gaps in units of the target, over all rows and within each task.
    parts : tuple of GapParts
        What controls explain of each gap, if there are controls.
    remedies : tuple of RemedyCost
        What it takes to close the unexplained gaps.
    bands : tuple of PayBands
        Quartile bands, with ``layout="pay-transparency"``.
    unit : str
        What a row is: a person, say.
    layout : {"audit", "pay-transparency"}
        What comes first on the page.
    backend : {"pandas", "polars"} or None
        What `to_frame` makes; None for whichever is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair import audit
    >>> predicted = np.arange(40) % 7 + 2.0 * (np.arange(40) < 20)
    >>> found = audit(None, predicted, sensitive_features=np.arange(40) < 20)
    >>> print(found.verdict)
    True prediction is 67.2 % (1.95; 4.9 % to 129.5 %) above False; in 74.5 % of pairs
    the row in group True ranks higher (AUC 0.745, 0.569 to 0.858). In brackets: 95 %
    confidence intervals.
    >>> found.gate(0.1).exit_code, round(found.gap, 3)
    (1, 0.245)
    >>> sorted(found.to_dict())[:4]
    ['bands', 'comparisons', 'confidence', 'format']
    """

    models: tuple[ModelLine, ...]
    sensitive_features: tuple[SensitiveFeature, ...]
    comparisons: tuple[Comparison, ...]
    tasks: tuple[TaskLine, ...]
    histograms: tuple[Histogram, ...]
    provenance: Provenance
    confidence: float = 0.95
    min_group: int = 5
    title: str = "Rank audit"
    backend: str | None = None
    units: tuple[UnitsGap, ...] = ()
    parts: tuple[GapParts, ...] = ()
    remedies: tuple[RemedyCost, ...] = ()
    bands: tuple[PayBands, ...] = ()
    unit: str = "row"
    layout: str = "audit"

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
            and not (ignore_small and group.n_rows < self.min_group)
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
        from rankfair.audit.summary import verdict

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

    def task_gap(self) -> float:
        """Return the largest ``|AUC − 1/2|`` of the last model's flagged tasks.

        Returns
        -------
        float
            0 if no task is flagged, NaN if no task can be judged.
        """
        mine = [line for line in self.tasks if line.model == self.model_names[-1]]
        judged = [line for line in mine if line.adjusted_p is not None]
        if not judged:
            return math.nan
        return max((abs(t.auc.value - 0.5) for t in judged if t.flagged), default=0.0)

    def task_gate(self, max_gap: float) -> Gate:
        """Compare the largest gap of a flagged task with a limit.

        Parameters
        ----------
        max_gap : float
            From 0 to 1/2; a gap equal to it passes.

        Returns
        -------
        Gate
            ``NOT_ESTIMABLE`` if no task can be judged.
        """
        limit = check_number("max_gap", max_gap, 0.0, 0.5)
        return Gate.of(self.task_gap(), limit)

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
        for remedy in found["remedies"]:  # they are in `raises_frame`
            del remedy["rows"], remedy["raises"]
        head = {"format": "rankfair-audit", "version": 3}
        return {**head, "verdict": self.verdict, "gap": plain(self.gap), **found}

    def to_frame(self) -> Any:
        """Return a data frame with a row for each comparison.

        Returns
        -------
        DataFrame or dict
            Of the library that the groups came from; else of pandas or polars,
            whichever is installed; else a dict of lists.
        """
        return _frame(_columns(Comparison, self.comparisons), self.backend)

    def tasks_frame(self) -> Any:
        """Return a data frame with a row for each task of each comparison.

        Returns
        -------
        DataFrame or dict
            As `to_frame`.
        """
        notes = {"note": [line.auc.note for line in self.tasks]}
        return _frame(_columns(TaskLine, self.tasks) | notes, self.backend)

    def units_frame(self) -> Any:
        """Return a data frame with a row for each gap in units of the target.

        Returns
        -------
        DataFrame or dict
            As `to_frame`.
        """
        return _frame(_columns(UnitsGap, self.units), self.backend)

    def raises_frame(self) -> Any:
        """Return a data frame with a row for each raise that closes a gap.

        Returns
        -------
        DataFrame or dict
            As `to_frame`; ``row`` counts from 1.
        """
        return _frame(raises_columns(self.remedies), self.backend)

    def to_html(
        self, path: Any, *, command: str | None = None, suppress: int = 5
    ) -> Path:
        """Write the audit as one HTML page that needs no other file.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced as a whole, or not at all.
        command : str, optional
            The command that made the page, to be shown on it.
        suppress : int, default=5
            Groups and tasks of fewer rows are not shown, so that nobody can be
            recognised; if they have fewer rows together, the next smallest is not
            either.  `gate` counts them all the same.

        Returns
        -------
        Path
            The same path.
        """
        found = self
        if command is not None:
            found = replace(self, provenance=replace(self.provenance, command=command))
        page = _report("audit_page", "render")(found, suppress=suppress)
        return write_whole(Path(path), page)

    def _repr_html_(self) -> str:
        html: str = _report("audit_page", "render_fragment")(self)
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
        return _report("pictures", "draw_audit")(self, ax)

    def __repr__(self) -> str:
        names = printable(", ".join(self.model_names))
        figures = counted(len(self.comparisons), "comparison")
        return f"<Audit of {names}: {figures}, gap of the last model {self.gap:.4f}>"

    def __str__(self) -> str:
        from rankfair.audit.summary import audit_table

        return audit_table(self)


def _report(module: str, function: str) -> Any:
    """Look up a function of the report, a layer below that imports these records."""
    return getattr(import_module(f"rankfair.report.{module}"), function)


MEASURES = tuple(f.name for f in fields(Comparison) if f.type == "Estimate")
LABELS = tuple(f.name for f in fields(Comparison) if f.type != "Estimate")


def estimate_columns(name: str, estimates: Sequence[Estimate]) -> dict[str, list[Any]]:
    """Return the values of estimates, and the ends of their intervals, as columns."""
    return {
        name: [e.value for e in estimates],
        f"{name}_ci_low": [e.ci_low for e in estimates],
        f"{name}_ci_high": [e.ci_high for e in estimates],
    }


def raises_columns(remedies: Sequence[RemedyCost]) -> dict[str, list[Any]]:
    """Return a row for each raise as columns; rows count from 1."""
    names = ("sensitive_feature", "group", "against", "raised", "close_to")
    columns: dict[str, list[Any]] = {
        name: [getattr(each, name) for each in remedies for _ in each.rows]
        for name in names
    }
    columns["row"] = [row + 1 for each in remedies for row in each.rows]
    columns["raise"] = [amount for each in remedies for amount in each.raises]
    return columns


def _columns(kind: type[Any], records: Sequence[Any]) -> dict[str, list[Any]]:
    """All fields of records as columns; an estimate has several columns."""
    columns: dict[str, list[Any]] = {}
    for each in fields(kind):
        values = [getattr(record, each.name) for record in records]
        if each.type != "Estimate":
            columns[each.name] = values
            continue
        columns |= estimate_columns(each.name, values)
        if any(e.p_value is not None for e in values):
            columns[f"{each.name}_p"] = [e.p_value for e in values]
    return columns


def _frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """A frame of the library asked for, or of one that is installed, or the dict."""
    names = (backend, "pandas", "polars")
    here = next((name for name in names if name and find_spec(name)), None)
    if here is None:
        return columns
    return nw.from_dict(columns, backend=here).to_native()  # type: ignore[arg-type]
