"""Records → means and standard deviations: all arithmetic that pages show is here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from paper.cells import CV, HELD_OUT, PATH, STEPS, TABLE, TRAIN
from paper.methods import Choices
from paper.tuning import choose

IDEAL = {"auc": 0.5, "md": 0.0, "br": 0.0, "irr": 1.0, "rmse": 0.0}
CONSTANT = 0.999  # the error of a constant is 1, in standard deviations of y
Records = Sequence[Mapping[str, Any]]


class Stat(NamedTuple):
    """A figure over repeats; without a standard deviation if there was one."""

    mean: float
    sd: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Stat:
        """Mean and standard deviation of some values, at least one."""
        found = tuple(values)
        sd = statistics.stdev(found) if len(found) > 1 else None
        return cls(statistics.fmean(found), sd, found)

    def off(self, ideal: float) -> float:
        """How far repeats are from what is ideal, on average."""
        return statistics.fmean(abs(value - ideal) for value in self.values)


class Curve(NamedTuple):
    """Figures along values of x."""

    x: tuple[float, ...]
    stats: tuple[Stat, ...]


class Failure(NamedTuple):
    """What could not be run: a kind of cell, in some repeats, for one reason."""

    kind: str
    data: str
    method: str
    why: str
    repeats: tuple[int, ...]


class Summary:
    """What the tables, figures and sentences ask of the records.

    Examples
    --------
    >>> row = {"kind": "table", "data": "wine", "method": "Rank", "rows": "train"}
    >>> found = Summary([row | {"auc": 0.48}, row | {"auc": 0.5}])
    >>> round(found.stat("wine", "Rank", "auc").mean, 3)
    0.49
    >>> round(found.shown("wine", "Rank", "auc").mean, 3)
    0.51
    """

    def __init__(self, records: Records):
        self.records = records
        self._table: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        self._failed: dict[tuple[str, str], list[str]] = {}
        for row in records:
            if row["kind"] == TABLE and "rows" in row:
                key = (row["data"], row["method"], row["rows"])
                self._table.setdefault(key, []).append(row)
            elif row["kind"] == TABLE and "error" in row:
                why = self._failed.setdefault((row["data"], row["method"]), [])
                why.append(str(row["error"]))

    def rows(self, data: str, method: str, rows: str = TRAIN) -> Records:
        """The records of a method, one a repeat."""
        return self._table.get((data, method, rows), [])

    def stat(
        self, data: str, method: str, metric: str, rows: str = TRAIN
    ) -> Stat | None:
        """Mean and standard deviation over the repeats, as measured."""
        found = [row[metric] for row in self.rows(data, method, rows) if metric in row]
        return Stat.of(found) if found else None

    def shown(
        self, data: str, method: str, metric: str, rows: str = TRAIN
    ) -> Stat | None:
        """The same in the paper's orientation: AUC above 1/2 and IRR below 1."""
        stat = self.stat(data, method, metric, rows)
        if stat is not None and metric == "auc" and stat.mean < 0.5:
            return Stat.of(1 - value for value in stat.values)
        if stat is not None and metric == "irr" and stat.mean > 1:
            return Stat.of(1 / value for value in stat.values)
        return stat

    def failed(self, data: str, method: str) -> Sequence[str]:
        """Why a method of the tables could not be run, a sentence a repeat."""
        return self._failed.get((data, method), ())

    def repeats(self, data: str, method: str) -> int:
        """In how many repeats a method of the tables was tried."""
        rows = max(len(self.rows(data, method, it)) for it in (TRAIN, HELD_OUT))
        return rows + len(self.failed(data, method))

    def failures(self) -> list[Failure]:
        """All that failed, in the order of the records."""
        found: dict[tuple[str, str, str, str], list[int]] = {}
        for row in self.records:
            if "error" in row:
                key = (row["kind"], row["data"], row["method"], str(row["error"]))
                found.setdefault(key, []).append(row.get("repeat", 0))
        return [Failure(*key, tuple(found[key])) for key in found]

    def best(
        self, data: str, methods: Iterable[str], metric: str
    ) -> tuple[str, Stat] | None:
        """Of some methods the one nearest to what is ideal, on average over repeats.

        On training rows.  Not the one whose average is nearest: far off on both sides
        is not near.  Methods that err like a constant are left out, unless there are
        no others: a constant is level.
        """
        shown = ((name, self.shown(data, name, metric)) for name in methods)
        found = [(name, stat) for name, stat in shown if stat is not None]
        models = [it for it in found if self.predicts(data, it[0])]
        nearest = min(
            models or found, key=lambda it: it[1].off(IDEAL[metric]), default=None
        )
        return nearest

    def predicts(self, data: str, method: str) -> bool:
        """Whether a method errs less than a constant on the rows of its fit."""
        rmse = self.stat(data, method, "rmse")
        return rmse is None or rmse.mean < CONSTANT

    def level(self, data: str, methods: Iterable[str], within: float) -> list[str]:
        """The methods whose mean rank gap is that small, least error first."""
        found = []
        for name in methods:
            gap, rmse = (self.stat(data, name, it) for it in ("gap", "rmse"))
            if gap is not None and rmse is not None and gap.mean <= within:
                found.append((rmse.mean, name))
        return [name for _, name in sorted(found)]

    def most(self, data: str, method: str, metric: str, ideal: float = 0.0) -> float:
        """The farthest that any repeat is from what is ideal; NaN if there is none."""
        stat = self.stat(data, method, metric)
        if stat is None:
            return math.nan
        return max(abs(value - ideal) for value in stat.values)

    def path(self, data: str, rows: str, metric: str = "rmse") -> Curve:
        """A figure of our method along ε."""
        found: dict[float, list[float]] = {}
        for row in self.records:
            if (row["kind"], row["data"], row.get("rows")) == (PATH, data, rows):
                found.setdefault(row["epsilon"], []).append(row[metric])
        x = tuple(sorted(found))
        return Curve(x, tuple(Stat.of(found[at]) for at in x))

    def steps(self, data: str) -> Records:
        """The steps of the paper's solver."""
        chosen = (row for row in self.records if row["kind"] == STEPS)
        return [row for row in chosen if row["data"] == data and "step" in row]

    def choices(self, data: str) -> Choices:
        """What cross-validation chose."""
        return choose(self.records, data)

    def tried(self, data: str, parameter: str) -> dict[float, float]:
        """The error of each candidate for a parameter."""
        return {
            row["value"]: row["rmse"]
            for row in self.records
            if (row["kind"], row["data"], row["method"]) == (CV, data, parameter)
            and "rmse" in row
        }

    def untuned(self, data: str) -> list[str]:
        """The parameters whose cross-validation failed."""
        return [
            row["method"]
            for row in self.records
            if (row["kind"], row["data"]) == (CV, data) and "error" in row
        ]
