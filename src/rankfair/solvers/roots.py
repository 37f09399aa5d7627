"""One rule for the next probe of a root in a bracket, for a number and for arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Floats, Ints

CLOSE = 1e-7  # of a shown value, or a share of λ: how near to the edge a search ends
CLOSEST = 1e-3  # of a shown value: gaps this much above the least count as least


class Root(NamedTuple):
    """A place on the line, the value of the demand there, and whether it is inside."""

    x: float
    value: float
    inside: bool


@dataclass
class Bracket:
    """``f(a) > 0 ≥ f(b)``, for one number or for an array of them.

    The next probe lies where the chord meets 0.  While probes move the same end, the
    value at the other end is halved, which draws them over (the Illinois rule); after
    a few of these the bracket is halved instead.  Any step function with a jump
    through 0 is closed in on.

    Examples
    --------
    >>> bracket = Bracket(0.0, 3.0, 4.0, -1.0)
    >>> float(bracket.probe())
    3.0
    """

    a: Any
    fa: Any
    b: Any
    fb: Any
    kept_a: Any = 0  # probes in a row that moved b
    kept_b: Any = 0
    patience: int = 3  # probes that move the same end before the bracket is halved

    def probe(self) -> Any:
        """Where to look next: strictly inside, or at an end if nothing lies between."""
        middle = 0.5 * (self.a + self.b)
        fa = self.fa / 2.0 ** np.maximum(self.kept_a - 1, 0)
        fb = self.fb / 2.0 ** np.maximum(self.kept_b - 1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            chord = self.b - fb * (self.b - self.a) / (fb - fa)
        low, high = np.minimum(self.a, self.b), np.maximum(self.a, self.b)
        stalled = np.maximum(self.kept_a, self.kept_b) >= self.patience
        usable = (chord > low) & (chord < high) & ~stalled
        return np.where(usable, chord, middle)[()]

    def update(self, x: Any, fx: Any) -> None:
        """Take a probe in: it becomes the end of its sign."""
        above = fx > 0
        stalled = np.maximum(self.kept_a, self.kept_b) >= self.patience
        self.kept_b = np.where(above & ~stalled, self.kept_b + 1, 0)[()]
        self.kept_a = np.where(~above & ~stalled, self.kept_a + 1, 0)[()]
        self.a = np.where(above, x, self.a)[()]
        self.fa = np.where(above, fx, self.fa)[()]
        self.b = np.where(above, self.b, x)[()]
        self.fb = np.where(above, self.fb, fx)[()]


def first_beyond(
    f: Callable[[float], float], places: Iterable[float], start: float
) -> Bracket | None:
    """Between the last place with ``f > 0``, or 0, and the first with ``f ≤ 0``."""
    a, fa = 0.0, start
    for b in places:
        fb = f(b)
        if fb <= 0:
            return Bracket(a, fa, b, fb)
        a, fa = b, fb
    return None


def close_in(
    f: Callable[[float], float],
    bracket: Bracket,
    enough: Callable[[Bracket], bool],
    most: int = 200,
) -> Bracket:
    """Probe until it is enough, or until nothing lies between the ends."""
    for _ in range(most):
        if enough(bracket):
            break
        x = float(bracket.probe())
        if x in (bracket.a, bracket.b):
            break
        bracket.update(x, f(x))
    return bracket


def close_in_all(
    f: Callable[[Ints, Floats], Floats],
    bracket: Bracket,
    enough: Callable[[Bracket], NDArray[np.bool_]],
    most: int = 200,
) -> Bracket:
    """The same for an array of brackets, those that are open all probed at once.

    ``f(which, x)`` is the value of some of them, each at its own ``x``.
    """
    for _ in range(most):
        x = bracket.probe()
        open_ = ~enough(bracket) & (x != bracket.a) & (x != bracket.b)
        which = np.flatnonzero(open_)
        if not len(which):
            break
        fx = bracket.fb.copy()
        fx[which] = f(which, x[which])
        bracket.update(np.where(open_, x, bracket.b), fx)
    return bracket
