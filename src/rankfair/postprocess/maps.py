"""Learning a map for each group: the least movement, or the constant shift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from rankfair.postprocess.levels import Bundles, lay, spacing
from rankfair.postprocess.search import NEAR, Free, Placed, Search
from rankfair.postprocess.shifts import shifted
from rankfair.projections.chains import least_movement
from rankfair.projections.samples import Floats, Sample, Standing


class Status(Enum):
    """How the maps came out; the value is the sentence shown."""

    SATISFIED = "The band is met with the least movement."
    INACTIVE = "The predictions lie in the band already."
    INFEASIBLE = (
        "No map of predictions by group was found that reaches the band, which is hard "
        "where many predictions tie or a group has few rows; the closest was kept."
    )

    def __str__(self) -> str:
        """The short word: satisfied, inactive or infeasible."""
        return self.name.lower()


@dataclass(frozen=True)
class Moved:
    """Where the steps of each group move to, and how the groups stand then.

    ``shifts`` are what the groups moved by as wholes before that, if means were asked
    for: the movement that is left is the least from there.
    """

    values: list[Floats]
    standing: Standing
    status: Status
    shifts: tuple[float, ...] = ()


Excess = Callable[[Standing], float]


def distribution(samples: Sequence[Sample], epsilon: float) -> Moved:
    """Move as little as brings the KS of any two groups down to ε, on common levels.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Sample.of(np.array([4.0, 6.0])), Sample.of(np.array([0.0, 1.0]))
    >>> moved = distribution([a, b], epsilon=0.5)
    >>> [values.tolist() for values in moved.values], moved.standing.ks
    ([[2.5, 6.0], [0.0, 2.5]], 0.5)
    """

    def excess(standing: Standing) -> float:
        return standing.ks_excess(epsilon)

    def move(bundles: Bundles, _: Standing) -> Placed:
        space = spacing(samples)
        slack = epsilon + bundles.width
        laid = lay(bundles, least_movement(bundles.samples, slack), space)
        if bundles.whole:
            return laid
        laid = laid.within(epsilon)
        if excess(laid.standing) <= 0:
            return laid
        every = Bundles.single(samples)
        return lay(every, least_movement(samples, epsilon), space)

    return _moved(samples, excess, move)


def rank(samples: Sequence[Sample], epsilon: float) -> Moved:
    """Move as little as brings AUC to the edge of its band, by the maps for KS.

    The maps are those of `distribution` for the largest slack that puts the AUC of
    every group against the rest within ε of 1/2.  A band too narrow for common levels
    is met without them, and where no slack reaches it groups move as wholes, if that
    brings them nearer.

    Examples
    --------
    >>> import numpy as np
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> [values.tolist() for values in rank([b, a], epsilon=0.25).values]
    [[2.0, 3.5], [2.0, 3.5]]
    """

    def excess(standing: Standing) -> float:
        return standing.auc_excess(epsilon)

    def move(bundles: Bundles, start: Standing) -> Placed:
        # Of two groups the one that stands too high comes first.
        turn = -1 if len(samples) == 2 and start.lead(0) < 0 else 1
        turned, space = bundles.turned(turn), spacing(samples)

        def place(moved: list[Floats]) -> Placed:
            return lay(turned, moved, space)

        high = start.ks + 2 * bundles.width
        finest = 1e-3 * min(sample.row for sample in samples)
        near = NEAR if bundles.whole else 10 * NEAR  # AUC goes in steps of a bundle
        found = Search(turned.samples, epsilon, place, near, finest).best(high)
        if found.outside > 0:
            found = Search(turned.full, epsilon).best(high)
        placed = Free(samples, found.placed.values[::turn])
        if found.outside > 0:
            # Steps are coarse where rows are few; groups as wholes move by any number.
            wholes = shifted(bundles, epsilon)
            if excess(wholes.standing) < excess(placed.standing):
                return wholes
        return placed

    return _moved(samples, excess, move)


def shift(samples: Sequence[Sample], epsilon: float) -> Moved:
    """Move every group as a whole, until AUC is in its band.

    Examples
    --------
    >>> import numpy as np
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> [values.round(6).tolist() for values in shift([b, a], epsilon=0.25).values]
    [[1.5, 2.5], [2.5, 4.5]]
    """

    def excess(standing: Standing) -> float:
        return standing.auc_excess(epsilon)

    def move(bundles: Bundles, _: Standing) -> Placed:
        return shifted(bundles, epsilon)

    return _moved(samples, excess, move)


def _moved(
    samples: Sequence[Sample],
    excess: Excess,
    move: Callable[[Bundles, Standing], Placed],
) -> Moved:
    """Leave what is in the band; move the rest, and judge it on all rows."""
    bundles = Bundles.of(samples)
    start = Standing.of([sample.values for sample in bundles.samples], bundles.samples)
    # Bundles tell how the groups stand up to their width each.
    if not bundles.whole and excess(start) <= 2 * bundles.width:
        start = Standing.of([sample.values for sample in samples], samples)
    if excess(start) <= 0:
        return Moved([sample.values for sample in samples], start, Status.INACTIVE)
    placed = move(bundles, start)
    standing = placed.standing
    met = excess(standing) <= 0
    status = Status.SATISFIED if met else Status.INFEASIBLE
    return Moved(placed.values, standing, status)


MAPS = {"rank": rank, "distribution": distribution, "shift": shift}
