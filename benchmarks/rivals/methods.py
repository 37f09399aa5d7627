"""What a method is: fit rows with a base learner and a setting, get a predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankfair.experiments.methods import Rows

from .cases import Base, Kind

Predict = Callable[[Rows], np.ndarray]
Fit = Callable[[Rows, Base, float], Predict]

OURS = "rankfair"
ANY: tuple[Kind, ...] = ("pooled", "tasks", "boosting")
LINEAR: tuple[Kind, ...] = ("pooled", "tasks")


@dataclass(frozen=True)
class Method:
    """A row of the tables.  The first setting is the one whose cost is measured."""

    library: str
    name: str
    fit: Fit
    symbol: str = ""
    settings: tuple[float, ...] = (0.0,)
    kinds: tuple[Kind, ...] = ANY

    @property
    def key(self) -> str:
        return f"{self.library}: {self.name}"
