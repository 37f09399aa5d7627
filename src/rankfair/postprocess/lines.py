"""Straight lines through the target, on which predictions of a group are put first."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from rankfair._frames import Codes, Floats

__all__ = ["AS_IT_IS", "Line", "lines_through", "on_line"]

Line: TypeAlias = tuple[float, float]  # slope and height
AS_IT_IS: Line = (1.0, 0.0)
ROUNDING = 1e-14  # of the largest prediction: less is no difference


def lines_through(
    target: Floats, m: Floats, codes: Codes, weights: Floats | None = None
) -> list[Line]:
    """Slope and height of the least-squares line through the target in each group.

    A line that does not rise, or that no prediction varies along, would change the
    order within the group: there predictions stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> y, m = np.array([1.0, 3.0, 5.0, 4.0]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> lines_through(y, m, np.array([0, 0, 1, 1]))
    [(2.0, 1.0), (1.0, 0.0)]
    """
    lines = []
    for g in range(int(codes.max()) + 1):
        rows = codes == g
        own = None if weights is None else weights[rows]
        x, y = m[rows], target[rows]
        centre, height = np.average(x, weights=own), np.average(y, weights=own)
        spread = np.average((x - centre) ** 2, weights=own)
        both = np.average((x - centre) * (y - height), weights=own)
        varies = spread > (ROUNDING * np.abs(x).max()) ** 2
        slope = float(both / spread) if varies else 0.0
        rising = math.isfinite(slope) and slope > 0
        lines.append((slope, float(height - slope * centre)) if rising else AS_IT_IS)
    return lines


def on_line(line: Line, values: Floats) -> Floats:
    """Return predictions put on a line.

    Examples
    --------
    >>> import numpy as np
    >>> on_line((2.0, 1.0), np.array([0.0, 3.0])).tolist()
    [1.0, 7.0]
    """
    slope, height = line
    return slope * values + height
