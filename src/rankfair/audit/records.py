"""What an audit found: plain records that tables, pages and files only show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from rankfair.audit.gate import Gate, judge
from rankfair.input.disk import write_whole
from rankfair.input.settings import check_choice, check_flag, check_number
from rankfair.stats.estimate import Estimate

__all__ = [
    "Attribute",
    "Audit",
    "Comparison",
    "FrontierPoint",
    "Group",
    "Histogram",
    "ModelLine",
    "Provenance",
    "TaskLine",
    "plain",
]


@dataclass(frozen=True)
class Group:
    """The rows of one group.

    ``mean_target`` is NaN without a target; the other numbers have one entry a model,
    by its name.  ``share_above_median`` is the share of the group predicted above the
    median of all rows, ``impact_ratio`` that share over the highest of any group of the
    attribute (the score rule of New York's Local Law 144).
    """

    label: str
    n_rows: int
    weight: float
    mean_target: float
    mean_predicted: dict[str, float]
    share_above_median: dict[str, float]
    impact_ratio: dict[str, float]


@dataclass(frozen=True)
class Attribute:
    """A protected attribute, or an intersection of several (``sex × race``).

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

    Numbers above the neutral value (1/2 for an AUC, 1 for a ratio, 0 for a difference)
    mean that ``group`` is predicted higher than ``against``; balanced residuals above 0
    that it is predicted too low, compared with ``against``.  ``impact_ratio`` is
    ``share_above_median`` over ``share_above_median_against``.
    """

    model: str
    attribute: str
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


@dataclass(frozen=True)
class TaskLine:
    """The AUC within one task.

    ``adjusted_p`` is the p-value corrected for the number of tasks (Benjamini and
    Hochberg); ``flagged`` tasks have one at or below ``1 − confidence``.
    """

    model: str
    attribute: str
    group: str
    against: str
    task: str
    n_group: int
    n_against: int
    auc: Estimate
    adjusted_p: float | None = None
    flagged: bool = False
    note: str = ""


@dataclass(frozen=True)
class Histogram:
    """Shares of a group's predictions between ``edges``; they sum to 1.

    All groups and models of one audit share their edges.
    """

    model: str
    attribute: str
    group: str
    edges: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class ModelLine:
    """How far off the predictions of one model are; not estimable without a target."""

    name: str
    rmse: Estimate
    mae: Estimate
    r2: Estimate


@dataclass(frozen=True)
class FrontierPoint:
    """Error and rank gap of one ε along a path."""

    epsilon: float
    rmse: float
    rmse_ci_low: float
    rmse_ci_high: float
    auc_gap: float
    gap_ci_low: float
    gap_ci_high: float
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

    ``fingerprint`` is the beginning of a SHA-256 of the values that were read, so that
    two audits of the same rows can be told from audits of others.
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
    >>> plain(FrontierPoint(0.1, 1.0, 0.9, 1.1, 0.1, 0.0, math.nan))["gap_ci_high"]
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
        Errors of each model; the last one is the model that is judged.
    attributes : tuple of Attribute
        Protected attributes with their groups.
    comparisons : tuple of Comparison
        Each model, attribute and pair of groups.
    tasks : tuple of TaskLine
        The AUC within each task, where it has rows of both groups.
    histograms : tuple of Histogram
        Predictions of each group.
    frontier : tuple of FrontierPoint
        Error and gap along a path of ε, if one was given.
    provenance : Provenance
        Where the numbers come from.
    confidence : float
        Of the intervals.
    min_group : int
        Groups with fewer rows are not compared.
    title : str
        What the page is called.
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
    ['attributes', 'comparisons', 'confidence', 'format']
    """

    models: tuple[ModelLine, ...]
    attributes: tuple[Attribute, ...]
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
        """The models, as given; the last one is judged."""
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
            None if an attribute has no comparison that is estimable: what is not known
            may be larger.
        """
        name = self.model_names[-1] if model is None else model
        check_choice("model", name, self.model_names)
        known = [c for c in self.comparisons if c.model == name and c.auc.estimable]
        if {c.attribute for c in known} != {a.name for a in self.attributes}:
            return None
        return max(known, key=lambda c: c.gap)

    def unjudged(
        self, model: str | None = None, *, ignore_small: bool = False
    ) -> tuple[tuple[str, str], ...]:
        """Return groups that no estimable comparison is about.

        Parameters
        ----------
        model : str, optional
            The last one by default.
        ignore_small : bool, default=False
            Leave out groups of fewer than ``min_group`` rows.

        Returns
        -------
        tuple of pairs of str
            Attribute and label of each.
        """
        name = self.model_names[-1] if model is None else model
        check_choice("model", name, self.model_names)
        judged = set()
        for c in self.comparisons:
            if c.model == name and c.auc.estimable:
                judged.add((c.attribute, c.group))
                if c.kind == "pair":
                    judged.add((c.attribute, c.against))
        return tuple(
            (attribute.name, group.label)
            for attribute in self.attributes
            for group in attribute.groups
            if (attribute.name, group.label) not in judged
            and not (ignore_small and group.n_rows < attribute.min_group)
        )

    @property
    def gap(self) -> float:
        """The largest ``|AUC − 1/2|`` of the last model; NaN if it is not estimable."""
        worst = self.worst()
        return math.nan if worst is None else worst.gap

    @property
    def verdict(self) -> str:
        """What was measured, with its uncertainty, in a sentence."""
        from rankfair.audit.words import verdict

        return verdict(self)

    def gate(
        self, max_gap: float, model: str | None = None, *, ignore_small: bool = False
    ) -> Gate:
        """Compare the largest gap of a model with the most allowed.

        Parameters
        ----------
        max_gap : float
            From 0 to 1/2; a gap equal to it passes.
        model : str, optional
            The last one by default.
        ignore_small : bool, default=False
            Let the gate hold though groups of fewer than ``min_group`` rows are not
            judged.

        Returns
        -------
        Gate
            ``HELD``, ``EXCEEDED`` or ``NOT_ESTIMABLE``, with the exit code of each.  A
            gap that exceeds the limit does so whatever else is not known; none holds
            while a group is `unjudged`.
        """
        limit = check_number("max_gap", max_gap, 0.0, 0.5)
        check_flag("ignore_small", ignore_small)
        worst = self.worst(model)
        found = judge(math.nan if worst is None else worst.gap, limit)
        if found is Gate.HELD and self.unjudged(model, ignore_small=ignore_small):
            return Gate.NOT_ESTIMABLE
        return found

    def passes(self, max_gap: float, *, ignore_small: bool = False) -> bool:
        """Tell whether the gate held; False if the gap is not estimable."""
        return self.gate(max_gap, ignore_small=ignore_small) is Gate.HELD

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON's types; ``docs/audit.schema.json`` describes it.

        Returns
        -------
        dict
            NaN is None; ``verdict`` and ``gap`` are among the keys.
        """
        found: dict[str, Any] = plain(self)
        del found["backend"]
        head = {"format": "rankfair-audit", "version": 1}
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
        """Write the audit as one page that needs nothing else.

        Parameters
        ----------
        path : str or Path
            Where to; a file that is there is replaced at once, or not at all.
        command : str, optional
            What to show as the command that made the page.

        Returns
        -------
        Path
            The same path.
        """
        found = self
        if command is not None:
            found = replace(self, provenance=replace(self.provenance, command=command))
        return write_whole(Path(path), _page(found))

    def _repr_html_(self) -> str:
        html: str = import_module("rankfair.report").render_fragment(self)
        return html

    def plot(self, ax: Any = None) -> Any:
        """Draw the AUC of every comparison with its interval, by matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to; a new figure by default.

        Returns
        -------
        Axes
            With a line for each comparison and model.
        """
        from rankfair.audit.picture import draw

        return draw(self, ax)

    def __str__(self) -> str:
        from rankfair.audit.words import table

        return table(self)


def _page(found: Audit) -> str:
    """Show a page by the layer below, which knows these records and not the reverse."""
    html: str = import_module("rankfair.report").render(found)
    return html
