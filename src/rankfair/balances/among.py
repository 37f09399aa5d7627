"""A linear balance between groups of its own, one group and the rest say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rankfair.balances.base import Floats, Linear
from rankfair.balances.mean import Mean
from rankfair.problem import Groups


@dataclass(frozen=True)
class Among(Linear):
    """``whole``'s demand between ``own`` groups, whatever groups a problem has.

    ``own`` is in the order of the problem, sorted by task; rows that weigh nothing in
    it take no part.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.problem import Groups
    >>> problem = Groups(np.array([True, True, False]))
    >>> one = Among(own=Groups(np.array([True, False, False])))
    >>> one.value(np.array([1.0, 3.0, 5.0]), problem)
    -3.0
    """

    whole: Linear = field(default_factory=Mean)
    own: Groups = field(default_factory=lambda: Groups(np.zeros(0, bool)), repr=False)

    def on(self, y: Floats, groups: Groups) -> Among:
        """What is due between these groups."""
        return replace(self, due=self.whole.on(y, self.own).due)

    def direction(self, groups: Groups) -> Floats:
        """Nothing for rows that take no part."""
        return self.own.of_known(self.whole.direction(self.own))
