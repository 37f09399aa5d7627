"""One rule for the next probe of a root in a bracket, for a number and for arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[[Any, Any], Any]  # of places x, needed only where the mask is set


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
        self.a, self.fa = np.where(above, (x, fx), (self.a, self.fa))
        self.b, self.fb = np.where(above, (self.b, self.fb), (x, fx))


def first_beyond(f: Function, places: Iterable[Any], start: Any) -> Bracket:
    """The bracket up to the first of the places, nearest to 0 first, with ``f ≤ 0``.

    ``start`` is ``f(0)``.  ``a`` is the last place before it on the same side.  Where
    there is none, ``b`` is the place closest to it, and ``fb`` is positive.
    """
    none = 0.0 * start
    at = Bracket(none, start, none, start)
    last: list[Any] = [(none, start), (none, start)]  # below 0, and above
    still = start > 0
    for x in places:
        if not np.any(still):
            break
        fx = np.where(still & (x != 0), f(x, still), np.inf)
        before = np.where(x > 0, last[1], last[0])
        closer = still & (fx < at.fb)
        at.a, at.fa = np.where(closer, before, (at.a, at.fa))
        at.b, at.fb = np.where(closer, (x, fx), (at.b, at.fb))
        last = [
            np.where(own, (x, fx), old)
            for own, old in zip((x < 0, x > 0), last, strict=True)
        ]
        still = still & (fx > 0)
    return at


def close_in(
    f: Function, bracket: Bracket, enough: Callable[[Bracket], Any], most: int = 200
) -> Bracket:
    """Probe until it is enough, or until nothing lies between the ends."""
    for _ in range(most):
        x = bracket.probe()
        still = np.logical_not(enough(bracket)) & (x != bracket.a) & (x != bracket.b)
        if not still.any():
            break
        # What is settled is told again of its own end.
        fx = np.where(still, f(x, still), bracket.fb)
        bracket.update(np.where(still, x, bracket.b), fx)
    return bracket
