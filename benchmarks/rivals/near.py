"""Settings of a method on a dataset: its own, and those beside which rivals stand."""

from __future__ import annotations

from . import theirs
from .cases import CASES
from .methods import Method, Setting
from .points import Point
from .store import path_of, points_of

# Settings of ours: a rival's own measure on training rows, and a little more and less,
# for what changes on the way to others.  The most that makes sense of each.
NEAR = (1.0, 0.9, 1.02)
PAIRED = 0.03
MOST = {"gap": 0.5, "md": 10.0, "ks": 1.0}
# How many of our own settings where fits take long.
FEW = 3
QUICK_SETTINGS = 3


def settings_of(name: str, method: Method, quick: bool) -> tuple[Setting, ...]:
    """Its own settings, and those that a rival's training rows suggest."""
    own = method.settings[:QUICK_SETTINGS] if quick else method.settings
    few = CASES[name].shares < len(NEAR)
    if few:
        own = own[:FEW]
    found: dict[Setting, None] = dict.fromkeys(own)
    if method.matches:
        for share in NEAR[: CASES[name].shares]:
            for point in on_training_rows(name):
                # Some take long, and our own lie close to the fair end.
                long = few or len(method.matches) > 1
                if not long or point.mean("gap") > PAIRED:
                    found[beside(point, method.matches, share)] = None
    return tuple(found)


def beside(point: Point, measures: tuple[str, ...], share: float) -> Setting:
    """The ε with which ours are as fair as a point, times a share."""
    near = tuple(min(_short(share * point.mean(m)), MOST[m]) for m in measures)
    return near if len(near) > 1 else near[0]


def _short(value: float) -> float:
    """Three digits: settings that nearly agree are one."""
    return float(f"{value:.3g}")


def on_training_rows(name: str) -> list[Point]:
    """How fair the rivals are on training rows, errors beyond all use left out."""
    found = [
        point
        for method in theirs.METHODS
        if path_of(name, method).exists()
        for point in points_of(name, method, training=True)
    ]
    return [point for point in found if point.mean("rmse") < 1.0]
