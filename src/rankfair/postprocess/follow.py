"""Where a map sends predictions, seen and unseen.

A map is a table of two rows, its *knots*: predictions in ascending order and where they
move to.
"""

from __future__ import annotations

import numpy as np

from rankfair.projections.samples import Floats


def nearest(knots: Floats, m: Floats) -> Floats:
    """Move predictions as little as the order with the knots allows.

    Between two knots that move to ``low`` and ``high`` a prediction goes to the nearest
    value in [low, high], beyond the first and the last one side is open.  Where a whole
    stretch moves up that is ``low``, where it moves down ``high``: the least movement
    of the rows that were seen goes on between them.  Straight lines would move what
    lies between two rows further than either demand, by half a row of each group.

    Examples
    --------
    >>> import numpy as np
    >>> knots = np.array([[0.0, 2.0, 4.0], [1.0, 2.0, 2.0]])
    >>> nearest(knots, np.array([-1.0, 0.5, 1.0, 1.5, 3.0, 5.0])).tolist()
    [-1.0, 1.0, 1.0, 1.5, 2.0, 5.0]
    """
    start, end = knots
    low = np.concatenate(([-np.inf], end))[np.searchsorted(start, m, "right")]
    high = np.concatenate((end, [np.inf]))[np.searchsorted(start, m, "left")]
    moved: Floats = np.clip(m, low, high)
    return moved


def lines(knots: Floats, m: Floats) -> Floats:
    """Move predictions along straight lines between knots, as the ends do beyond them.

    Examples
    --------
    >>> import numpy as np
    >>> knots = np.array([[0.0, 1.0], [0.5, 1.0]])
    >>> lines(knots, np.array([-1.0, 0.0, 0.5, 3.0])).tolist()
    [-0.5, 0.5, 0.75, 3.0]
    """
    start, end = knots
    inside: Floats = np.interp(m, start, end)
    beyond = m - np.clip(m, start[0], start[-1])
    # A shift that is nothing keeps every bit; a sum might not.
    still = np.array_equal(start, end)
    return m if still else np.where(beyond == 0, inside, inside + beyond)


def knots(start: Floats, end: Floats) -> Floats:
    """Return the table of a map, without steps that lie between two of the same end.

    Examples
    --------
    >>> import numpy as np
    >>> knots(np.arange(5.0), np.array([1.0, 1.0, 1.0, 3.0, 4.0])).tolist()
    [[0.0, 2.0, 3.0, 4.0], [1.0, 1.0, 3.0, 4.0]]
    """
    new = end[1:] != end[:-1]
    kept = np.concatenate(([True], new)) | np.concatenate((new, [True]))
    return np.stack((start[kept], end[kept]))


FOLLOW = {"rank": nearest, "distribution": nearest, "shift": lines, "mean": lines}
