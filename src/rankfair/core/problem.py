"""The data of one fit: rows by task, in standard units, with their groups.

The solvers work in *standard units*: features centred in each task and scaled, the
target centred and scaled, intercepts ``a`` at the centre of each task.  ``W`` is
(k, n + 1), one row a place of ``blocks``, the intercept last (and one more row where
tasks share a model).  ``user_coef`` brings ``W`` back to the user's units and
``user_predict`` predicts there, as the fitted estimator will: counts made on it are the
counts the user will see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import (
    CONSTANT,
    Blocks,
    Floats,
    Ints,
    SortedRows,
    TaskProducts,
    dense_rows,
    linear_predict,
    power_of_two,
    resolution_of,
    sorted_by_task,
    units_of,
)
from rankfair.core.ranks import places_of, rows_near_others, whole_if_so
from rankfair.engines.base import Engine
from rankfair.input.errors import Argument, InputError, shown

Direction = Floats | tuple[float, float]  # of every row, or of all of A and of B

SHOWS = 1e-10  # of a spread: what rounding of a mean may leave


@dataclass(frozen=True)
class Groups:
    """Rows of group A and of group B, with what each row weighs."""

    in_a: NDArray[np.bool_]
    weights: NDArray[np.int64] | Floats | None = None

    @cached_property
    def index_a(self) -> Ints:
        """Positions of group A."""
        return np.flatnonzero(self.in_a)

    @cached_property
    def total_a(self) -> int | float:
        """How many rows, or how much weight, group A has."""
        return self._total(self.in_a)

    @cached_property
    def total_b(self) -> int | float:
        """How many rows, or how much weight, group B has."""
        return self._total(~self.in_a)

    @property
    def both(self) -> bool:
        """Whether either group has a row that weighs something."""
        return self.total_a > 0 and self.total_b > 0

    @cached_property
    def pair(self) -> int | float:
        """What one pair weighs: 1, or for fractional weights that of typical rows.

        Whole weights mean repeated rows, so a pair of rows is 1 there too.
        """
        w = self.weights
        if w is None or w.dtype.kind == "i":
            return 1
        a, b = self.in_a, ~self.in_a
        typical_a = (w * w).sum(where=a) / w.sum(where=a)
        return float(typical_a * (w * w).sum(where=b) / w.sum(where=b))

    @cached_property
    def known(self) -> NDArray[np.bool_] | None:
        """The rows that weigh something here; None if all do."""
        if self.weights is None or self.weights.all():
            return None
        found: NDArray[np.bool_] = self.weights > 0
        return found

    def of_known(self, g: Floats) -> Floats:
        """A direction of the rows that weigh something here, and 0 in the others."""
        return g if self.known is None else g * self.known

    def take(self, rows: Ints | slice) -> Groups:
        """The groups of some rows."""
        return Groups(
            self.in_a[rows], None if self.weights is None else self.weights[rows]
        )

    def _total(self, rows: NDArray[np.bool_]) -> int | float:
        if self.weights is None:
            return int(np.count_nonzero(rows))
        total: int | float = self.weights.sum(where=rows).item()
        return total


@dataclass(frozen=True)
class Part(Groups):
    """Some rows of larger groups: what counts is how many there are in all."""

    all_a: int | float = 0
    all_b: int | float = 0
    one_pair: int | float = 1

    @classmethod
    def elsewhere(cls, weight: Any, squares: Any, whole: bool) -> Part:
        """Groups without their rows: what A and B weigh, and sums of its squares."""
        (a, b), (of_a, of_b) = weight, squares
        if whole:
            return cls(np.zeros(0, bool), None, round(a), round(b), 1)
        return cls(np.zeros(0, bool), None, a, b, of_a / a * of_b / b)

    @property
    def total_a(self) -> int | float:
        """How many rows, or how much weight, group A has in all."""
        return self.all_a

    @property
    def total_b(self) -> int | float:
        """How many rows, or how much weight, group B has in all."""
        return self.all_b

    @property
    def pair(self) -> int | float:
        """What one pair weighs."""
        return self.one_pair


def counted_weights(
    weights: NDArray[np.int64] | Floats | None, known: NDArray[np.bool_] | None
) -> NDArray[np.int64] | Floats | None:
    """What rows weigh where pairs are counted: nothing, if their group is not known."""
    counted = whole_if_so(weights)
    if known is None or known.all():
        return counted
    found: NDArray[np.int64] | Floats
    found = known.astype(np.int64) if counted is None else counted * known
    return found


@dataclass(frozen=True)
class Problem(Engine):
    """Rows ``(x_i, y_i)`` with tasks and groups in memory, prepared once."""

    X: Any  # (N, n) as the user gave it, dense or sparse by rows
    codes: Ints  # (N,)
    y: Floats  # (N,) standard units, sorted
    weights: Floats | None  # sorted
    order: Ints  # (N,): the user's row behind each sorted row
    rows: SortedRows
    off: Floats  # (1 or 2, k, n): what is taken off the rows of each task
    known: TaskProducts  # of y and, where groups are two, of 1 in A and 0 in B

    @classmethod
    def from_rows(
        cls,
        X: Any,
        y: Floats,
        codes: Ints,
        n_tasks: int,
        *,
        in_a: NDArray[np.bool_] | None = None,
        weights: Floats | None = None,
        standardize: bool = True,
        names: Sequence[str] | None = None,
    ) -> Problem:
        """Sort, centre and scale; ``X`` and ``y`` themselves are left alone.

        ``names`` are those of the columns, for error messages.
        """
        X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X.tocsr()
        order, tasks, sizes = sorted_by_task(codes, n_tasks)
        weights, weight_unit = _in_units(weights)
        user_groups = None if in_a is None else Groups(in_a, whole_if_so(weights))
        groups = None if user_groups is None else user_groups.take(order)
        weights = None if weights is None else weights[order]
        standard, centre, y_unit = _standard(y, order, weights)
        unit = units_of(X)
        own = unit if (unit != 1.0).any() else None
        rows = SortedRows(X, order, sizes, own)
        targets = [standard] if groups is None else [standard, groups.in_a]
        with np.errstate(all="ignore"):  # sizes are looked at afterwards
            products = rows.all_products(weights, targets)
            off, gram, weight = products.centred(), products.gram, products.weight
        blocks = Blocks(tasks, sizes, off[0], gram, unit)
        refuse_wild(gram, names)
        if not standardize:
            _refuse_extreme(unit, names)
        scale, varies = scale_of(blocks, weight, standardize)
        inside = np.einsum("kff->kf", gram)
        far = (weight[:, None] * off[1] ** 2 > SHOWS**2 * inside).any()
        to_standard(gram, scale, varies)
        return cls(
            X=X,
            codes=codes.astype(np.min_scalar_type(max(n_tasks - 1, 0)), copy=False),
            user_groups=user_groups,
            resolution=resolution_of(y),
            blocks=blocks,
            scale=scale,
            varies=varies,
            y=standard,
            y_centre=centre,
            y_unit=y_unit,
            beta_unit=1.0 if standardize else y_unit,
            weights=weights,
            order=order,
            counts=weight,
            groups=groups,
            weight_unit=weight_unit,
            rows=rows,
            off=off if far else off[:1],
            known=products,
        )

    def sums(self, directions: Sequence[Direction]) -> tuple[Floats, Floats]:
        """Moments (k, n + 1, 1 + r) and squares (k, 1 + r) of y and r directions."""
        known, pairs = self.known.cross, self.known.sums
        found = [(known[:, 0], pairs[:, 0, -1], pairs[:, 0, 0])]
        others = iter(self._of([g for g in directions if isinstance(g, np.ndarray)]))
        for g in directions:
            if isinstance(g, np.ndarray):
                found.append(next(others))
            else:
                a, b = g
                of_a, of_b = pairs[:, 1, -1], self.counts - pairs[:, 1, -1]
                total, square = a * of_a + b * of_b, a * a * of_a + b * b * of_b
                found.append(((a - b) * known[:, 1], total, square))
        columns = zip(*found, strict=True)
        cross, totals, squares = (np.stack(each, -1) for each in columns)
        cross *= (self.scale * self.varies)[:, :, None]
        return np.concatenate((cross, totals[:, None]), axis=1), squares

    def moments(self, target: Floats) -> Floats:
        """``Xᵀ S t`` of every task and the weighted sum of ``t``: (k, n + 1)."""
        found: Floats = self.sums([target])[0][:, :, 1]
        return found

    def _of(self, targets: Sequence[Floats]) -> list[tuple[Floats, Floats, Floats]]:
        """``Zᵀ S t``, the sum and the sum of squares of each target in each task."""
        if not targets:
            return []
        found = self.rows.all_products(self.weights, targets, self.off)
        return [
            (found.cross[:, i], found.sums[:, i, -1], found.sums[:, i, i])
            for i in range(len(targets))
        ]

    @cached_property
    def row_counts(self) -> Floats:
        """The rows of every task, each as often as it weighs, at least once: (k,)."""
        if self.weights is None:
            return self.counts
        times = np.maximum(self.weights * self.weight_unit, 1.0)
        places = np.repeat(np.arange(self.n_tasks), self.blocks.sizes)
        return np.bincount(places, times, self.n_tasks).astype(float, copy=False)

    def each_along(
        self,
        W: Sequence[Floats],
        K: Sequence[Callable[[slice], Floats]],
        visit: Callable[[slice, Floats, Floats], None],
    ) -> None:
        """Give predictions (r, rows) of ``W`` and leverages (s, rows) of ``K``.

        The leverage is ``u_i z̃ᵀ K_j z̃``, one unit of weight being left out.  All are
        of the sorted rows in standard units, at the centre of each task.
        """
        scale, own, weights = (
            np.append(self.scale, 1.0),
            slice(self.n_tasks),
            self.weights,
        )

        def times(block: Callable[[slice], Floats], at: slice) -> Floats:
            found: Floats = block(at) * scale[:, None]
            found *= scale
            return found

        def weighted(rows: slice, m: Floats, h: Floats) -> None:
            if weights is not None:
                h *= np.minimum(weights[rows], 1.0 / self.weight_unit)
            visit(rows, m, h)

        self.rows.each_along(
            [each[own] * scale for each in W],
            [partial(times, each) for each in K],
            self.off,
            weighted,
        )

    def predict(self, W: Floats) -> Floats:
        """Predictions of the sorted rows in standard units."""
        m = np.empty(len(self.y))

        def visit(rows: slice, found: Floats, _: Floats) -> None:
            m[rows] = found[0]

        self.each_along([W], [], visit)
        return m

    def twins(self) -> Ints | None:
        """For each sorted row the set of rows alike in task and predictors, or −1.

        Left out, such rows are ordered against their own targets; new rows like them
        have one prediction.  None if no two rows are alike.
        """
        ways = np.random.default_rng(0).uniform(1.0, 2.0, self.n_features + 1)
        # Each row is summed by itself: rows that are alike have the same key.
        dense = isinstance(self.X, np.ndarray)
        keys = np.einsum("ij,j->i", self.X, ways[:-1]) if dense else self.X @ ways[:-1]
        keys += ways[-1] * self.codes
        places = places_of(keys)
        if places is None:
            at = np.arange(len(keys))
        else:
            at = rows_near_others(places, np.sort(places))
        ordered = np.sort(keys[at])
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(repeated):
            return None
        at = at[np.isin(keys[at], repeated)]
        at = at[np.lexsort((self.codes[at], keys[at]))]
        X, codes = dense_rows(self.X, at), self.codes[at]
        new = (codes[1:] != codes[:-1]) | (X[1:] != X[:-1]).any(axis=1)
        ids = np.full(len(keys), -1)
        ids[at] = np.append(0, np.cumsum(new))
        return ids[self.order]

    def user_predict(self, W: Floats) -> Floats:
        """Predictions of the user's rows in the user's order and units."""
        coef, intercept = self.user_coef(W)
        return linear_predict(self.X, self.codes, coef, intercept, self.resolution)


def _in_units(weights: Floats | None) -> tuple[Floats | None, float]:
    """Weights of a size that can be multiplied and added to others, and their unit.

    Sizes that are no matter are left alone, whole weights among them.  The unit is a
    power of two, so that no digit changes.
    """
    if weights is None:
        return None, 1.0
    unit = power_of_two(float(weights.max()))
    return (weights, 1.0) if 2.0**-30 <= unit <= 2.0**30 else (weights / unit, unit)


def scale_of(
    blocks: Blocks, counts: Floats, standardize: bool
) -> tuple[Floats, NDArray[np.bool_]]:
    """What turns a penalised coefficient into one of ``z``, and which columns vary."""
    share = counts / counts.sum()
    inside = np.einsum("kff->kf", blocks.gram)
    off = blocks.centre - share @ blocks.centre
    between = share @ (off - share @ off) ** 2  # twice, as the first mean is rounded
    squares = np.maximum(inside.sum(axis=0), 0.0)  # 0 with the sign of rounding
    spread = np.sqrt(squares / counts.sum() + between)
    size = np.abs(blocks.centre).max(axis=0, initial=0.0)
    dead = ~(spread > CONSTANT * size)
    unit = np.where(dead, 1.0, spread) if standardize else np.ones(len(spread))
    varies = inside > counts[:, None] * (CONSTANT * blocks.centre) ** 2
    return np.where(dead, 0.0, 1.0 / unit), varies & ~dead


def refuse_wild(gram: Floats, names: Sequence[str] | None = None) -> None:
    """Raise if squares of a column are too large to be added up."""
    if np.isfinite(gram).all():
        return
    squares = np.einsum("kff->kf", gram)
    column = np.where(np.isfinite(squares), squares, np.inf).max(axis=0).argmax()
    called = int(column) if names is None else shown(names[column])
    raise InputError(
        "X",
        f"has values in column {called} that are too large to be squared",
        cure="Rescale it, or clip outliers.",
    )


def _refuse_extreme(unit: Floats, names: Sequence[str] | None) -> None:
    """Raise if a column cannot be penalised in its own units."""
    if (unit != 1.0).any():
        column = int(np.argmax(unit != 1.0))
        called = column if names is None else shown(names[column])
        raise InputError(
            "X",
            f"has values in column {called} that are too large or too small to be "
            "penalised in their own units",
            cure=("Rescale it, or use ", Argument("standardize", True), "."),
        )


def to_standard(gram: Floats, scale: Floats, varies: NDArray[np.bool_]) -> None:
    """Bring ``XᵀX`` of every task (k, n, n) to standard units, in place."""
    gram *= np.outer(scale, scale)
    if not varies.all():
        gram *= varies[:, :, None]
        gram *= varies[:, None, :]


def _standard(
    y: Floats, order: Ints, weights: Floats | None
) -> tuple[Floats, float, float]:
    """``y / unit − centre``, sorted, with mean 0, deviation 1; the centre, the unit."""
    largest = max(-float(y.min(initial=0.0)), float(y.max(initial=0.0)))
    size = power_of_two(largest)
    scaled = np.take(y, order, mode="clip")
    scaled /= size
    mean = float(np.average(scaled, weights=weights))
    scaled -= mean
    rest = float(np.average(scaled, weights=weights))  # as the first is rounded
    scaled -= rest
    mean += rest
    own = scaled if weights is None else scaled * weights
    total = len(y) if weights is None else weights.sum()
    spread = float(np.sqrt(own @ scaled / total))
    if not spread > CONSTANT * abs(mean):
        spread = 1.0
    scaled /= spread
    return scaled, mean / spread, size * spread
