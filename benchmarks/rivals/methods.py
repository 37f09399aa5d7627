"""What a method is: fit rows with a base learner and a setting, get a predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.cases import Rows

from .cases import Base, Kind

Predict = Callable[[Rows], np.ndarray]
Setting = float | tuple[float, ...]
Fit = Callable[[Rows, Base, Any], Predict]

ANY: tuple[Kind, ...] = ("pooled", "tasks", "boosting")
LINEAR: tuple[Kind, ...] = ("pooled", "tasks")


@dataclass(frozen=True)
class Mover:
    """Moves the predictions of a fitted learner; learnt from out-of-fold ones.

    On training rows it is measured on those: of learners that overfit, predictions of
    rows they were fitted to are others than those of new rows.
    """

    learner: Any
    base: Base
    out_of_fold: np.ndarray
    move: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __call__(self, rows: Rows) -> np.ndarray:
        return self.move(self.learner.predict(self.base.table(rows)), rows.in_a)

    def training(self, rows: Rows, some: np.ndarray) -> np.ndarray:
        return self.move(self.out_of_fold[some], rows.in_a[some])


@dataclass(frozen=True)
class Method:
    """A row of the tables.  The first setting is the one whose cost is measured.

    `group` says that new rows need their group.  `matches` names measures of a rival
    that say which setting of ours comes close to it: |AUC − 1/2| ≤ ε is set beside a
    rival's rank gap, KS ≤ ε beside its KS.
    """

    library: str
    name: str
    fit: Fit
    symbol: str = ""
    settings: tuple[Setting, ...] = (0.0,)
    kinds: tuple[Kind, ...] = ANY
    matches: tuple[str, ...] = ()
    group: bool = False

    @property
    def key(self) -> str:
        return f"{self.library}: {self.name}"

    def shown(self, setting: Setting) -> str:
        """A setting as the tables show it."""
        parts = setting if isinstance(setting, tuple) else (setting,)
        numbers = " and ".join(f"{part:g}" for part in parts)
        return f"{self.symbol} {numbers}" if self.symbol else ""
