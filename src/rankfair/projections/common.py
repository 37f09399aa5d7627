"""What both projections speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Band = tuple[float, float]


def outside(count: float, band: Band) -> float:
    """Signed distance of a count to the band, 0 inside."""
    low, high = band
    return max(count - high, 0.0) + min(count - low, 0.0)
