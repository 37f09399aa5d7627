"""Line or least movement: what decides the default, on data of no other use here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .cases import Case, Data, real
from .methods import judged, moved, ours
from .points import LINE, Point, Results

FIRST = 5000  # seeds of splits that no other figure has
ASKED = (("rank", 0.01), ("rank", 0.1), ("distribution", 0.01), ("distribution", 0.1))


def lognormal(rng: np.random.Generator, z: np.ndarray) -> np.ndarray:
    return np.exp(rng.normal(0, 0.6 + 0.2 * z)) + 0.5 * z


def narrower(rng: np.random.Generator, z: np.ndarray) -> np.ndarray:
    return rng.normal(size=len(z)) * np.where(z, 0.6, 1.2) + 0.7 * z


def two_humps(rng: np.random.Generator, z: np.ndarray) -> np.ndarray:
    high = rng.random(len(z)) < np.where(z, 0.7, 0.4)
    return 0.5 * rng.normal(size=len(z)) + 2 * high


def crossing(rng: np.random.Generator, z: np.ndarray) -> np.ndarray:
    return rng.standard_t(5, size=len(z)) * np.where(z, 1.8, 0.8) + 0.3 * z


def drawn(
    shape: Callable[[np.random.Generator, np.ndarray], np.ndarray], n_rows: int
) -> Callable[[int], Case]:
    """Predictions of a shape, as many to learn from as to judge with; sd(y) is 1."""

    def draw(seed: int) -> Case:
        rng = np.random.default_rng(FIRST + seed)
        z = rng.random(2 * n_rows) < 0.35
        m = shape(rng, z)
        y = m + 0.6 * rng.normal(size=len(z))
        m, y = m / y.std(), y / y.std()
        old, new = slice(0, n_rows), slice(n_rows, None)
        return Case(m[old], z[old], m[new], z[new], y[new])

    return draw


def split(name: str) -> Callable[[int], Case]:
    draw = real(name)
    return lambda seed: draw(FIRST + seed)


CHOICE = {
    "lognormal": Data("lognormal, 600", drawn(lognormal, 600), 20),
    "narrower": Data("narrower above, 600", drawn(narrower, 600), 20),
    "narrower-1e4": Data("narrower above, 10⁴", drawn(narrower, 10**4), 20),
    "humps": Data("two humps, 600", drawn(two_humps, 600), 20),
    "crossing": Data("crossing, 600", drawn(crossing, 600), 20),
    "wine": Data("Wine", split("wine"), 20),
    "student": Data("Student", split("student"), 20),
}


def compared(name: str) -> Results:
    """Both methods under the same constraint, and at the same Wasserstein distance."""
    data = CHOICE[name]
    figures: dict[Point, list[list[float]]] = {}
    for seed in range(data.splits):
        case = data.draw(seed)
        for constraint, epsilon in ASKED:
            least = ours(case, constraint, epsilon)
            line = ours(case, constraint, epsilon, LINE)
            kind = f"{constraint} ≤ {epsilon:g}"
            figures.setdefault(Point(kind, "least"), []).append(judged(case, least))
            figures.setdefault(Point(kind, LINE), []).append(judged(case, line))
        # `least` is now that of KS ≤ 0.1.
        line = ours(case, "wasserstein", moved(least[0], case.z), LINE)
        kind = "the Wasserstein distance of least at KS ≤ 0.1"
        figures.setdefault(Point(kind, "least"), []).append(judged(case, least))
        figures.setdefault(Point(kind, LINE), []).append(judged(case, line))
    print(f"{name}: {data.splits} splits", flush=True)
    return Results(name, data.title, data.splits, figures)
