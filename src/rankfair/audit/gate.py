"""The gate of a continuous-integration job: one rule for Python and the command line."""

from __future__ import annotations

import math
from enum import Enum

__all__ = ["Gate", "judge"]

# A gap is a ratio of counts: equal fractions may differ in their last bits.
ROUNDING = 1e-12


class Gate(Enum):
    """Whether a gap is at most what was asked; the value is the sentence shown.

    Examples
    --------
    >>> Gate.EXCEEDED.exit_code, Gate.EXCEEDED.value
    (1, 'The gap exceeds the limit.')
    """

    HELD = "The gap is within the limit."
    EXCEEDED = "The gap exceeds the limit."
    NOT_ESTIMABLE = "The gap cannot be estimated from these rows."

    @property
    def exit_code(self) -> int:
        """What a command ends with: 0 held, 1 exceeded, 3 not estimable."""
        return {Gate.HELD: 0, Gate.EXCEEDED: 1, Gate.NOT_ESTIMABLE: 3}[self]


def judge(gap: float, max_gap: float) -> Gate:
    """Compare a gap with the most allowed; equality passes, NaN is not estimable.

    Examples
    --------
    >>> judge(0.05, 0.05), judge(0.3, 0.05), judge(float("nan"), 0.05)
    (<Gate.HELD: ...>, <Gate.EXCEEDED: ...>, <Gate.NOT_ESTIMABLE: ...>)
    """
    if math.isnan(gap):
        return Gate.NOT_ESTIMABLE
    return Gate.HELD if gap <= max_gap + ROUNDING else Gate.EXCEEDED
