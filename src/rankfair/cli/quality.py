"""How good a fitted model is on rows it has not seen, and what to try if it is not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rankfair.audit.records import plain
from rankfair.cli.data import FitData
from rankfair.cli.screen import figure
from rankfair.input.arrays import Floats
from rankfair.input.errors import counted
from rankfair.input.folds import Folds

USELESS = "useless"
# What a model is with the defaults of the command line.
DEFAULTS = {"penalty": "pool", "beta": "auto"}


@dataclass(frozen=True)
class Quality:
    """Errors of predictions beside those of one constant, the mean of the target.

    Attributes
    ----------
    r2 : float
        One less the squared error over that of the constant.
    rmse, rmse_of_constant : float
        Root mean squared errors.
    n_outside : int
        Predictions outside the range of the target by more than its width.
    advice : str
        What to try; empty if the model is of use.
    rmse_of_advice : float or None
        The measured error of that.
    """

    r2: float
    rmse: float
    rmse_of_constant: float
    n_outside: int
    advice: str = ""
    rmse_of_advice: float | None = None

    @classmethod
    def of(cls, y: Floats, predicted: Floats, weights: Floats | None) -> Quality:
        """Measure predictions of some rows."""
        middle = np.average(y, weights=weights)
        error = float(np.average((y - predicted) ** 2, weights=weights))
        constant = float(np.average((y - middle) ** 2, weights=weights))
        low, high = y.min(), y.max()
        width = high - low
        outside = (predicted < low - width) | (predicted > high + width)
        r2 = 1 - error / constant if constant > 0 else np.nan
        return cls(float(r2), error**0.5, constant**0.5, int(outside.sum()))

    @property
    def useless(self) -> bool:
        """Whether the model is no better than the constant."""
        return self.r2 <= 0

    @property
    def sentences(self) -> list[str]:
        """What is to be said first; nothing of a model that is of use."""
        said = []
        if self.r2 <= 0:
            said.append(
                "This model is of no use: it errs no less than one constant, the mean "
                f"(RMSE {figure(self.rmse)} against {figure(self.rmse_of_constant)}, "
                f"R² {self.r2:.3f})."
            )
        if self.n_outside:
            are = counted(self.n_outside, "prediction is", "predictions are")
            far = "outside the range of the target by more than its width"
            said.append(f"{are} {far}.")
        if said and self.advice:
            error = self.rmse_of_advice
            came = "" if error is None else f" (RMSE {figure(error)})"
            said.append(f"Try {self.advice}{came}.")
        return [" ".join(said)] if said else []

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return dict(plain(asdict(self)))


def advice(
    data: FitData, model: Any, parts: Folds, free: Quality, rows: Any
) -> tuple[str, float | None]:
    """Return what to try instead of a fitted model of no use, and its error.

    ``free`` is the model without the constraint.  If that is of use, a wider ε is; else
    the penalty may be what is wrong, or the predictors are.
    """
    if not free.useless:
        try:
            wider = [row for row in model.path().rows if row.rmse < _half_way(free)]
        except AttributeError:  # no line of fits
            return "a larger --epsilon; without the constraint it is of use", free.rmse
        if wider:
            least = min(wider, key=lambda row: row.epsilon)
            return f"--epsilon {least.epsilon:.3g}", float(least.rmse)
        return "a larger --epsilon; without the constraint it is of use", free.rmse
    other = "other predictors: without the constraint the model is of no use either"
    if all(getattr(model, name) == value for name, value in DEFAULTS.items()):
        return other, free.rmse
    default = clone(model).set_params(**DEFAULTS)
    found = data.held_out(default, parts).values[rows]
    weights = None if data.weights is None else data.weights[rows]
    quality = Quality.of(data.y[rows], found, weights)
    if quality.useless:
        return other, free.rmse
    return "--penalty pool --beta auto, the defaults", quality.rmse


def _half_way(free: Quality) -> float:
    """The error half way, in squares, from the constant to no constraint."""
    middle = (free.rmse**2 + free.rmse_of_constant**2) / 2
    return float(middle**0.5)
