"""What a page that compares methods shows."""

from __future__ import annotations

from dataclasses import dataclass

from rankfair.audit.records import FrontierPoint, Provenance
from rankfair.stats.estimate import Estimate

__all__ = ["MethodLine", "MethodTable"]


@dataclass(frozen=True)
class MethodLine:
    """One method: its error, and how far apart it leaves the groups.

    ``auc_gap`` is ``|AUC − 1/2|``; ``note`` says what a reader should know of it, and
    ``groups`` of which groups the distances are ("M v F").
    """

    method: str
    rmse: Estimate
    auc_gap: Estimate
    mean_difference: Estimate
    ks: Estimate
    chosen: bool = False
    note: str = ""
    groups: str = ""


@dataclass(frozen=True)
class MethodTable:
    """Methods on one dataset, side by side.

    Attributes
    ----------
    lines : tuple of MethodLine
        In the order in which they are shown.
    provenance : Provenance
        Where the numbers come from.
    summary : str
        What stands out, in one sentence.
    path : tuple of FrontierPoint
        A curve of one method for several ε, if there is one.
    confidence : float
        Of the intervals.
    title : str
        What the page is called.
    notes : tuple of str
        How the figures were made, in paragraphs.
    """

    lines: tuple[MethodLine, ...]
    provenance: Provenance
    summary: str = ""
    path: tuple[FrontierPoint, ...] = ()
    confidence: float = 0.95
    title: str = "Methods compared"
    notes: tuple[str, ...] = ()

    @property
    def of_groups(self) -> str:
        """The groups that all lines are of; empty if they differ or are not named."""
        named = {line.groups for line in self.lines if line.groups}
        return next(iter(named)) if len(named) == 1 else ""
