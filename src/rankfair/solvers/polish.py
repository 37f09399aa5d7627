"""A lower objective inside the same bands, where rows are few and slopes say little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankfair.balances import Band
from rankfair.balances.base import Field
from rankfair.balances.rank import deviation
from rankfair.penalties.base import eigen
from rankfair.problem import Groups, Problem
from rankfair.solvers.base import Fitter, Floats
from rankfair.solvers.pinned import Pinned

SMALL = 4000  # rows times coefficients, so few that a search costs little
FEW = 32  # coefficients, for the same
BATCH = 128  # fits tried at once, or as many as have
COUNTS = 64_000  # rows to be sorted for their counts
IDLE = 6  # batches without a gain worth having
MOST = 60  # batches of a run in all
RUNS = 4  # runs where rows are very few: chance leads to different places
STIR = 0.05  # how much of its own a row gets where pairs have to change places
GAIN = 1e-3  # of the objective: a gain worth going on for
TIE = 1e-9  # of the spread of predictions: nearer ones are taken for equal
NOTHING = 1e-12  # the square of an answer that is rounding
ASKED = 0.1  # of the force: what fits that are not linear are asked to answer to
LOOKS = 4  # fits of a batch that are counted exactly


def is_small(fitter: Fitter, asked: int | None = None) -> bool:
    """Whether a search costs little: few coefficients, and few rows times these.

    Rows times ``asked`` counts, where that is given.  Linear demands would have to be
    kept in the search: not here.
    """
    if not isinstance(fitter.problem, Problem) or isinstance(fitter, Pinned):
        return False
    coefficients = _coefficients(fitter)
    times = coefficients if asked is None else asked
    return coefficients <= FEW and times * _rows(fitter) <= SMALL


def _coefficients(fitter: Fitter) -> int:
    return fitter.problem.n_tasks * (fitter.problem.n_features + 1)


def _rows(fitter: Fitter) -> float:
    """How many rows; whole weights are as many, as they mean repeated rows."""
    groups = fitter.rows.groups
    return len(fitter.rows.y) if groups is None else _size(groups)


def _size(groups: Groups) -> float:
    whole = isinstance(groups.total_a, int)
    return groups.total_a + groups.total_b if whole else len(groups.in_a)


def stirred(direction: Field, seed: int) -> Field:
    """A little of a direction, more or less of it along a wave over the predictions.

    What a row gets depends on its prediction and group alone, and not on its place.
    """
    rng = np.random.default_rng(seed)
    pace, phase = rng.uniform(1, 6), rng.uniform(0, 2 * np.pi)

    def part(m: Floats, groups: Groups) -> Floats:
        spread = deviation(m, groups.weights) or 1.0
        return direction(m, groups) * (STIR * np.cos(pace * m / spread + phase))

    return part


@dataclass(frozen=True)
class Sieve:
    """Which of many predictions ``m`` (S, N) have ranks in all bands, but for ties.

    Each demand has its rows, a slice of all, with their groups and its band.
    """

    asked: tuple[tuple[slice, Groups, Band], ...]

    def __call__(self, m: Floats) -> NDArray[np.bool_]:
        """Whether each is inside."""
        kept = np.ones(len(m), bool)
        for rows, groups, (low, high) in self.asked:
            values = twice_u_of_each(m[:, rows], groups)
            kept &= (values >= low) & (values <= high)
        return kept

    @property
    def size(self) -> float:
        """How many rows are sorted for one look."""
        return sum(_size(groups) for _, groups, _ in self.asked)


def twice_u_of_each(m: Floats, groups: Groups) -> Floats:
    """``2U`` of each of many predictions (S, N), those next to equal as ties.

    Sorted with A above B among equals, and again with B above A.

    Examples
    --------
    >>> groups = Groups(np.array([True, True, False]))
    >>> twice_u_of_each(np.array([[1.0, 3.0, 2.0], [2.0, 3.0, 2.0]]), groups).tolist()
    [2.0, 3.0]
    """
    w = np.ones(m.shape[1]) if groups.weights is None else groups.weights.astype(float)
    w_a, w_b = w * groups.in_a, w * ~groups.in_a
    tie = TIE * m.std(axis=1, keepdims=True) * groups.in_a
    found = np.zeros(len(m))
    for keys in (m - tie, m + tie):
        order = keys.argsort(axis=1)
        found += (w_a[order] * w_b[order].cumsum(axis=1)).sum(axis=1)
    return found


@dataclass(frozen=True)
class Search:
    """Fits ``W + Σ z_i D_i``, many at once: their objectives and predictions."""

    fitter: Fitter
    B0: Floats
    W0: Floats
    ways: Floats  # D: (d, k, n + 1), each of length 1 in the objective
    moved: Floats  # (d, N): what they add to the predictions

    @classmethod
    def around(cls, fitter: Fitter, B0: Floats, W0: Floats, force: Floats) -> Search:
        """Along the answers of a fit to everything that its rows can tell apart."""
        problem, w = fitter.rows, _weights(fitter)
        ways, moved = [], []
        for way in _answers(fitter, B0, W0, force):
            p = problem.predict(way)
            length = float((p * p) @ w)
            if fitter.penalty.degree == 2:
                length += 2 * fitter.penalty.value(way[:, :-1])
            if length > NOTHING:
                ways.append(way / np.sqrt(length))
                moved.append(p / np.sqrt(length))
        shape = (len(ways), *W0.shape)
        return cls(
            fitter,
            B0,
            W0,
            np.array(ways).reshape(shape),
            np.array(moved).reshape(len(ways), len(problem.y)),
        )

    def sloped(self) -> Search:
        """The same along slopes only: intercepts change no ranks within tasks."""
        return self._only(np.arange(self.ways.shape[2]) < self.ways.shape[2] - 1)

    def on(self, task: int, W: Floats) -> Search:
        """The same for one task, if they share nothing; the others stay as in ``W``."""
        alone = (np.arange(len(W)) == task)[:, None]
        return replace(self._only(alone), W0=np.where(alone, self.W0, W))

    def _only(self, entries: NDArray[np.bool_]) -> Search:
        """Ways of these entries of W; what they do to others is rounding."""
        squares = self.ways**2
        inside = (squares * entries).sum(axis=(1, 2))
        ways = self.ways[inside > squares.sum(axis=(1, 2)) / 2] * entries
        moved = np.array([self.fitter.rows.predict(way) for way in ways])
        return replace(
            self, ways=ways, moved=moved.reshape(len(ways), self.moved.shape[1])
        )

    def lower(
        self, W: Floats, exactly: Callable[[Floats], bool], sieve: Sieve
    ) -> Floats:
        """The fit of the lowest objective found inside, from ``W`` that is inside.

        What is drawn depends on no row's place and no group's name.
        """
        if not len(self.ways):
            return W
        size = _rows(self.fitter) * _coefficients(self.fitter)
        runs = int(np.clip(SMALL // size, 1, RUNS))
        found = [self._run(W, exactly, sieve, seed) for seed in range(runs)]
        return min(found, key=lambda it: it[0])[1]

    def _run(
        self, W: Floats, exactly: Callable[[Floats], bool], sieve: Sieve, seed: int
    ) -> tuple[float, Floats]:
        """Batches until they are in vain: all over what costs less, and nearby."""
        batch = int(np.clip(COUNTS // sieve.size, BATCH // 8, BATCH))
        rng, idle = np.random.default_rng(seed), 0
        lowest, least = (self.fitter.objective(each, self.B0) for each in (W, self.W0))
        for _ in range(MOST):
            reach = np.sqrt(2 * max(lowest - least, 0.0))
            idle += 1
            for objective, V in self._drawn(rng, batch, W, reach, lowest, sieve):
                if objective < lowest and exactly(V):
                    idle = 0 if objective < (1 - GAIN) * lowest else idle
                    W, lowest = V, objective
                    break
            if idle >= max(IDLE, 2 * BATCH // batch):
                break
        return lowest, W

    def _drawn(
        self,
        rng: np.random.Generator,
        batch: int,
        W: Floats,
        reach: float,
        lowest: float,
        sieve: Sieve,
    ) -> list[tuple[float, Floats]]:
        """Fits of a batch that the sieve keeps and that may cost less, best first."""
        d, half = len(self.ways), batch // 2
        z = rng.standard_normal((batch, d))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        home = np.ones(batch)
        # Far: anywhere around the free fit.
        z[:half] *= rng.random((half, 1)) ** (1 / d)
        # Near: some of the way home, and astray by as much.
        part = 10 ** rng.uniform(-3, 0, batch - half)
        home[half:] = part * rng.random(batch - half)
        z[half:] *= part[:, None]
        z *= reach
        problem, penalty = self.fitter.rows, self.fitter.penalty
        m, m0 = problem.predict(W), problem.predict(self.W0)
        many = m + home[:, None] * (m0 - m) + z @ self.moved
        loss = 0.5 * ((many - problem.y) ** 2 @ _weights(self.fitter))
        kept = np.flatnonzero(loss < lowest)
        kept = kept[sieve(many[kept])]
        V = (z[kept] @ self.ways.reshape(d, -1)).reshape(-1, *W.shape)
        V += W + home[kept, None, None] * (self.W0 - W)
        cost = loss[kept] + [penalty.value(each[:, :-1]) for each in V]
        best = [V[i] for i in np.argsort(cost, kind="stable")[:LOOKS]]
        return [(self.fitter.objective(each, self.B0), each) for each in best]


def _weights(fitter: Fitter) -> Floats:
    w = fitter.rows.weights
    return np.ones(len(fitter.rows.y)) if w is None else w


def _answers(fitter: Fitter, B0: Floats, W0: Floats, force: Floats) -> Iterator[Floats]:
    """How much a fit answers to a unit of each target that its rows can tell apart.

    A fit that is not linear is asked where the force has brought it, so that what the
    penalty keeps at nothing stays there.
    """
    if fitter.linear:
        yield from map(fitter.slope, _told_apart(fitter, B0))
        return
    here = fitter.solve(B0 - force, W0)
    step = ASKED * max(float(np.linalg.norm(force)) / np.sqrt(force.size), 1e-3)
    for b in _told_apart(fitter, B0):
        yield (fitter.solve(B0 - force + step * b, here) - here) / step


def _told_apart(fitter: Fitter, B0: Floats) -> Iterator[Floats]:
    """Moments along the axes of each task's rows, and of its intercept.

    Tasks come by their numbers: they stand in the order of their sizes.
    """
    problem = fitter.rows
    values, axes = eigen(problem.gram)
    for place in np.argsort(problem.blocks.tasks):
        for value, axis in zip(values[place], axes[place].T, strict=True):
            if value > 0:
                b = np.zeros_like(B0)
                b[place, :-1] = np.sqrt(value) * axis
                yield b
        # One intercept alone moves all predictions alike, which changes no rank.
        if len(B0) > 1 and problem.counts[place] > 0:
            b = np.zeros_like(B0)
            b[place, -1] = np.sqrt(problem.counts[place])
            yield b


def slope_of(fitter: Fitter, W: Floats, B0: Floats) -> Floats:
    """What pulls at a fit, ``−∂ objective / ∂W`` (k, n + 1), by central differences."""
    out = np.zeros_like(B0)
    step = 1e-5 * max(float(np.abs(W).max(initial=0.0)), 1e-3)
    for at in np.ndindex(*B0.shape):
        ends = []
        for sign in (1.0, -1.0):
            V = W.copy()
            V[at] += sign * step
            ends.append(fitter.objective(V, B0))
        out[at] = (ends[1] - ends[0]) / (2 * step)
    return out
