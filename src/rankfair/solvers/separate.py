"""A band in every task: all tasks' multipliers are searched at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rankfair.balances.by_task import LinearByTask
from rankfair.blocks import Ints
from rankfair.solvers.base import Floats, OnStep, Step
from rankfair.solvers.lines import Landed, Lines, Part, land_all
from rankfair.solvers.mixing import Mixers, ratio
from rankfair.solvers.ray import relative
from rankfair.solvers.tilt import Tilt

ROUNDS = 7  # directions that are tried, the mean's first
LEAVE = 0.05  # a task whose gap is this share of its force has settled
GAIN = 1e-3  # of a task's objective, too little to go on for
COUNTS = 10  # counts a round; walks that need more go on along the next direction
EXACTLY = 60  # counts of the user's own predictions at the end
SHORT = 1e-8  # a bracket this short, as a share of x, has nothing in it
CLOSELY = 1e-3  # one this short is short enough at the end
NEARLY = 1e-2  # and this short on the way
NUDGES, MOST_NUDGES = 8, 16  # orders of rows tried before a task is given up, if few
STIR = 0.5  # how much of a direction these change
AT_ONCE = 1 << 12  # rows that are nudged at once, each task in many ways


@dataclass
class Found:
    """For each task the least error found in its band, or the closest miss."""

    W: Floats
    misses: Floats
    objective: Floats
    force: Floats  # the moments of the tilt that made it, 0 where there is none
    ahead: Floats  # moments to walk along next, 0 where there was no walk
    multipliers: Floats
    free: NDArray[np.bool_]  # whether the fit without a tilt is it
    stationarity: float = 0.0
    settled: bool = True

    @classmethod
    def free_of(cls, part: Part, W: Floats, values: Floats) -> Found:
        """Start from the fit without a tilt."""
        misses = np.abs(part.demands.misses(values))
        return cls(
            W.copy(),
            misses,
            part.objective(W),
            np.zeros_like(W),
            np.zeros_like(W),
            np.zeros(len(W)),
            misses == 0,
        )

    def learn(
        self, places: Ints, part: Part, landed: Landed, force: Floats, x: Floats
    ) -> None:
        """Take what is better in these places, ``x`` being the multipliers there."""
        objective = part.objective(landed.W)
        closer = landed.misses < self.misses[places]
        level = landed.misses == self.misses[places]
        better = closer | (level & (objective < self.objective[places]))
        at = places[better]
        self.W[at], self.misses[at] = landed.W[better], landed.misses[better]
        self.objective[at], self.force[at] = objective[better], force[better]
        self.multipliers[at] = x[better]


def search(
    part: Part,
    settings: Tilt,
    on_step: OnStep | None = None,
    force: Floats | None = None,
    rounds: int = ROUNDS,
) -> Found:
    """Every task's best fit in its band, by quick counts.

        g ← ±1/n_group in each task
        repeat: x_t of all tasks with their values in their bands
                g ← mix of x_t g and x̂_t ∇ of the task's value
        until the two agree

    ``force`` are moments to start from instead.  A task that agrees leaves the search.
    """
    W0 = part.fit(0.0)
    values = part.values(W0)
    best = Found.free_of(part, W0, values)
    if best.free.all():
        return best
    going = Going(part, np.arange(len(W0)), W0, values, best.objective.copy())
    still: Ints = np.flatnonzero(~best.free)
    b = force
    for i in range(min(rounds, settings.max_iter)):
        if 4 * len(still) <= 3 * len(going.places):
            going.keep(still)
            b = None if b is None else b[still]
        landed, along = going.walk(b)
        gap, still = going.learn(best, landed, along)
        _tell(on_step, i + 1, best, going.part.demands.show(landed.values))
        b = going.mixer.next(along, gap)
        best.ahead[going.places] = b
        if not len(still):
            return best
    # Some tasks would go on.  After all rounds that is for want of rows, which leave no
    # slope to follow, and ``stationarity`` tells; otherwise it is for want of rounds.
    best.settled = settings.max_iter >= rounds
    return best


@dataclass
class Going:
    """The tasks still searched for, and their fits without a tilt."""

    part: Part
    places: Ints  # among all tasks
    W0: Floats
    values: Floats
    free: Floats  # the objectives there
    mixer: Mixers = field(default_factory=Mixers)

    def keep(self, some: Ints) -> None:
        """Go on with some of these only."""
        if len(some) < len(self.places):
            self.part, self.mixer = self.part.take(some, False), self.mixer.take(some)
            self.places, self.free = self.places[some], self.free[some]
            self.W0, self.values = self.W0[some], self.values[some]

    def walk(self, b: Floats | None) -> tuple[Landed, Floats]:
        """Where walks along ``b`` land, and the moments of the tilts there."""
        b, first = directions(self.part, self.W0, self.values, b)
        # A difference of means has no directions to try: its one walk goes to the end.
        linear = isinstance(self.part.demands, LinearByTask)
        counts, enough = (EXACTLY, SHORT) if linear else (COUNTS, NEARLY)
        lines = Lines(self.part, b, self.W0, exact=False).straight()
        landed = land_all(lines, self.values, first, counts, enough)
        return landed, landed.x[:, None] * b

    def learn(self, best: Found, landed: Landed, force: Floats) -> tuple[Floats, Ints]:
        """Write down what is better; gaps to the gradients, and which tasks go on."""
        gap, multiples = bent(self.part, landed.W, force)
        best.learn(self.places, self.part, landed, force, multiples)
        best.stationarity = relative(gap, force)
        off, objective = relative_by_task(gap, force), best.objective[self.places]
        # What better directions could save goes with the square of the gap.
        saving = off * off * (objective - self.free)
        settled = (off <= LEAVE) | (saving <= GAIN * objective)
        return gap, np.flatnonzero(~settled | ~landed.inside)


def directions(
    part: Part, W0: Floats, values: Floats, force: Floats | None
) -> tuple[Floats, Floats]:
    """Where to walk, and how far at first: along the force if there is one."""
    if force is None:
        force = np.zeros_like(part.first)
    known: NDArray[np.bool_] = np.any(force, axis=1)
    b = np.where(known[:, None], force, part.first)
    # A force that lowers values has a positive product with the first direction.
    lowers = np.where((part.first * b).sum(axis=1) >= 0, 1.0, -1.0)
    high = np.where(part.demands.misses(values) > 0, 1.0, -1.0)
    if known.all():
        return b, lowers * high
    guess = Lines(part, b, W0, exact=False).first(values)
    return b, np.where(known, lowers * high, guess)


def _tell(on_step: OnStep | None, i: int, best: Found, shown: Floats) -> None:
    if on_step is not None:
        worst = float(shown[np.argmax(np.abs(shown - np.median(shown)))])
        on_step(Step(i, float(best.objective.sum()), worst, best.stationarity))


def bent(part: Part, W: Floats, force: Floats) -> tuple[Floats, Floats]:
    """What is missing for ``force`` to be a multiple of the gradient; the multiples."""
    m = part.fitter.rows.predict(W)
    bend = part.fitter.rows.moments(part.demands.gradient(m))
    size, along = (bend * bend).sum(axis=1), (bend * force).sum(axis=1)
    multiple = ratio(along, size, otherwise=0.0)
    return multiple[:, None] * bend - force, multiple


def relative_by_task(gap: Floats, force: Floats) -> Floats:
    """``||gap|| / ||force||`` of each task, and 0 where there is no force."""
    squares = ratio((gap * gap).sum(axis=1), (force * force).sum(axis=1), 0.0)
    return np.sqrt(squares)


def confirmed(part: Part, best: Found) -> tuple[Floats, Floats]:
    """Coefficients whose values the user's own predictions confirm, and the values.

    Where rounding moved a count out of its band a walk on exact counts leads back, if
    need be along directions stirred a little.  One value for all rows of a task has
    level ranks and means: it is taken where nothing else is found, or nothing better.
    """
    W, values = best.W.copy(), part.values(best.W, exact=True).astype(float)
    places = np.flatnonzero(~part.demands.kept(values))
    first, tries = 0, _tries(part, places)
    while first < tries and len(places):
        some = min(_at_once(part, places), tries - first)
        landed = _nudged(part, best, places, np.arange(first, first + some))
        closer = landed.misses < np.abs(part.demands.misses(values)[places])
        W[places[closer]] = landed.W[closer]
        values[places[closer]] = landed.values[closer]
        places, first = places[~part.demands.kept(values)[places]], first + some
    _or_constant(part, best.free, W, values)
    return W, values


def _tries(part: Part, places: Ints) -> int:
    """How often to nudge; no other order of rows can help a difference of means."""
    if isinstance(part.demands, LinearByTask):
        return 1
    return min(max(_at_once(part, places), NUDGES), MOST_NUDGES)


def _at_once(part: Part, places: Ints) -> int:
    """In how many ways some tasks can be nudged at once."""
    rows = int(part.demands.segments.sizes[places].sum())
    return max(AT_ONCE // max(rows, 1), 1)


def _nudged(part: Part, best: Found, places: Ints, seeds: Ints) -> Landed:
    """Exact landings of some tasks, each the best of one with every seed.

    All are walked at once, as if each were another task.  Seed 0 is no nudge.
    """
    again = np.repeat(places, len(seeds))
    some = part.take(again, True)
    force = best.force[again]
    if seeds[-1] > 0:
        stir = np.where(np.tile(seeds > 0, len(places)), best.multipliers[again], 0.0)
        force = force + _stirred(some, best.W[again], stir, int(seeds[-1]))
    landed = _land_exactly(some, force)
    found = np.stack((some.objective(landed.W), landed.misses))
    order = np.lexsort(found.reshape(2, len(places), -1))
    at = np.arange(len(places)) * len(seeds) + order[:, 0]
    return Landed(landed.x[at], landed.W[at], landed.values[at], landed.misses[at])


def _land_exactly(part: Part, force: Floats) -> Landed:
    """Walks along a force, on counts of the user's own predictions."""
    W0 = part.fit(0.0)
    start = part.values(W0, exact=True)
    b, first = directions(part, W0, start, force)
    return land_all(Lines(part, b, W0, exact=True), start, first, EXACTLY, CLOSELY)


def levelled(part: Part, found: Found) -> Found:
    """What was found by quick counts, or one value for all rows of a task."""
    cost = part.objective(part.constant)
    outside = found.misses > part.demands.forgiven
    use = _constant_is_best(part, outside, cost < found.objective, found.free)
    level = use[:, None]
    return replace(
        found,
        W=np.where(level, part.constant, found.W),
        misses=np.where(use, 0.0, found.misses),
        objective=np.where(use, cost, found.objective),
        force=np.where(level, 0.0, found.force),
        multipliers=np.where(use, 0.0, found.multipliers),
    )


def _or_constant(
    part: Part, free: NDArray[np.bool_], W: Floats, values: Floats
) -> None:
    """Put one value for all rows where that is in the band and nothing is better."""
    demands = part.demands
    lower = part.objective(part.constant) < part.objective(W)
    use = _constant_is_best(part, ~demands.kept(values), lower, free)
    W[use], values[use] = part.constant[use], demands.level[use]


def _constant_is_best(
    part: Part,
    outside: NDArray[np.bool_],
    lower: NDArray[np.bool_],
    free: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """In which tasks one value is in the band, and what was found is not, or dearer.

    Nothing costs less than a fit without a tilt: where one is free, rounding says so.
    """
    found: NDArray[np.bool_] = outside | (lower & ~free)
    return found & part.demands.kept(part.demands.level)


def _stirred(part: Part, W: Floats, multipliers: Floats, seed: int) -> Floats:
    """Moments of a little of each row's own: pairs then change places otherwise."""
    g = part.demands.gradient(part.fitter.rows.predict(W))
    g = g * part.demands.segments.each_row(multipliers)
    luck = np.random.default_rng(seed).uniform(-STIR, STIR, len(g))
    return part.fitter.rows.moments(g * luck)
