"""A linear constraint asked of some rows only, a stratum say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import Floats, Linear
from rankfair.constraints.mean import Mean
from rankfair.core.problem import Groups


@dataclass(frozen=True)
class Within(Linear):
    """``whole``'s demand on the chosen ``rows``; both groups must be among them.

    ``rows`` are in the order of the problem, sorted by task: this is a part for solvers
    and no constraint for an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, True, False]))
    >>> some = Within(rows=np.array([True, False, True]))
    >>> some.value(np.array([1.0, 3.0, 5.0]), groups)
    -4.0
    """

    whole: Linear = field(default_factory=Mean)
    rows: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    def on(self, y: Floats, groups: Groups) -> Within:
        """What is due to these rows."""
        chosen = self.whole.on(y[self.rows], self._chosen(groups))
        return replace(self, due=chosen.due)

    def direction(self, groups: Groups) -> Floats:
        """Nothing for the other rows."""
        g = np.zeros(len(self.rows))
        g[self.rows] = self.whole.direction(self._chosen(groups))
        return g

    def _chosen(self, groups: Groups) -> Groups:
        return groups.take(np.flatnonzero(self.rows))
