"""Predictions to map: drawn ones, and those of a boosted model on real data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """Predictions and groups to calibrate on, and to judge with."""

    m: np.ndarray
    z: np.ndarray
    m_new: np.ndarray
    z_new: np.ndarray
    y_new: np.ndarray


@dataclass(frozen=True)
class Data:
    """A name for people, what a seed gives, and how many seeds there are."""

    title: str
    draw: Callable[[int], Case]
    splits: int


def synthetic(n_rows: int, skewed: bool) -> Callable[[int], Case]:
    def draw(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        z = rng.random(2 * n_rows) < 0.4
        noise = rng.gamma(1.5, 1.0, 2 * n_rows) if skewed else rng.normal(size=len(z))
        m = 0.8 * noise * np.where(z, 1.3, 1.0) + 0.9 * z
        y = m + 0.5 * rng.normal(size=len(z))
        half = slice(0, n_rows), slice(n_rows, None)
        return Case(m[half[0]], z[half[0]], m[half[1]], z[half[1]], y[half[1]])

    return draw


@cache
def _loaded(name: str) -> Any:
    from rankfair import datasets

    return getattr(datasets, f"load_{name}")()


def real(name: str) -> Callable[[int], Case]:
    def draw(seed: int) -> Case:
        from sklearn.ensemble import HistGradientBoostingRegressor

        data = _loaded(name)
        z = data.sensitive == data.group_a
        X, y = np.column_stack((data.X, z)), data.target / data.target.std()
        place = np.random.default_rng(seed).permutation(len(y)) / len(y)
        fit, learn, new = place < 0.4, (place >= 0.4) & (place < 0.7), place >= 0.7
        model = HistGradientBoostingRegressor(max_iter=60, random_state=0)
        model.fit(X[fit], y[fit])
        m = model.predict(X)
        return Case(m[learn], z[learn], m[new], z[new], y[new])

    return draw


DATA = {
    "gauss-1e3": Data("Gaussian, 10³", synthetic(10**3, False), 20),
    "skewed-1e3": Data("skewed, 10³", synthetic(10**3, True), 20),
    "gauss-1e5": Data("Gaussian, 10⁵", synthetic(10**5, False), 20),
    "skewed-1e5": Data("skewed, 10⁵", synthetic(10**5, True), 20),
    "wine": Data("Wine", real("wine"), 20),
    "student": Data("Student", real("student"), 20),
    "crime": Data("Crime", real("crime"), 20),
    "income": Data("Income", real("income"), 20),
}
