"""Fits of one model with any ε on any rows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from rankfair._frames import Codes, Floats, listed, open_table
from rankfair._validation import (
    check_lengths,
    label_source_of,
    read_target,
    read_weights,
)
from rankfair.constraints import refuse_own_epsilon
from rankfair.path.folds import take_rows
from rankfair.path.groups import compared_groups
from rankfair.path.judge import Judge

__all__ = ["FREE", "Refits"]

POINTS = 12
FREE = 0.5  # no AUC is farther from 1/2


@dataclass(frozen=True)
class Refits:
    """Fits of one model with any ε on any rows."""

    model: Any
    parameter: str
    X: Any
    y: Floats
    groups: Codes  # places in names or, where it is not known, −1
    names: tuple[str, ...]  # of groups
    labels: NDArray[Any]  # of groups, for models that take them as an array
    tasks: Codes | None
    weights: Floats | None

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, groups: Any, tasks: Any, weights: Any
    ) -> Refits:
        """Check what was passed to `fairness_path`."""
        parameter = _epsilon_of(model)
        target = read_target(y)
        check_lengths(open_table(X).shape[0], y=target)
        owner = _owner(model, parameter)
        refuse_own_epsilon(getattr(owner, "constraints", "rank"))
        of_tasks = label_source_of("tasks", tasks, owner, X)
        read = read_weights(weights, len(target))
        return cls(
            model,
            parameter,
            X,
            target,
            *compared_groups(owner, X, groups, read),
            None if of_tasks is None else of_tasks.labels()[0],
            read,
        )

    @property
    def everywhere(self) -> Codes:
        """All rows that count."""
        n = len(self.y)
        return np.arange(n) if self.weights is None else np.flatnonzero(self.weights)

    def owner(self, model: Any) -> Any:
        """Return the part of the model that has the parameter ε."""
        return _owner(model, self.parameter)

    def status(self, model: Any) -> str:
        """Return what came of a fit, in the words of the part that has the parameter.

        Pipelines fit their steps; a model that wraps another fits a copy of it.
        """
        for name in self.parameter.split("__")[:-1]:
            if isinstance(model, Pipeline):
                model = model.named_steps[name]
                continue
            own = getattr(model, "__dict__", {})
            model = own.get(f"{name}_", own.get("best_estimator_"))
        return str(getattr(model, "status_", ""))

    def fit(self, epsilon: float, at: Codes, **settings: Any) -> Any:
        """Fit some rows."""
        model = clone(self.model).set_params(**{self.parameter: epsilon})
        self.owner(model).set_params(**settings)
        needed = self._labels(self.owner(model), "fit")
        if self.weights is not None:
            needed["sample_weight"] = self.weights
        step = ""
        if get_config()["enable_metadata_routing"]:
            self._request(self.owner(model), needed)
        elif isinstance(model, Pipeline):
            # It passes on what is called step__name.
            step = self.parameter.removesuffix("epsilon")
        labels = {f"{step}{name}": values[at] for name, values in needed.items()}
        with warnings.catch_warnings():
            # The status of the fit is in the row, and so are limits of its gap.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "what is outside the band", UserWarning)
            return model.fit(take_rows(self.X, at), self.y[at], **labels)

    def _request(self, owner: Any, needed: Collection[str]) -> None:
        """Let what the model needs find its way to it, where metadata are routed."""
        if needed:  # a method that takes none cannot be told of any
            owner.set_fit_request(**dict.fromkeys(needed, True))
        at_prediction = self._labels(owner, "predict")
        if at_prediction:
            owner.set_predict_request(**dict.fromkeys(at_prediction, True))

    def predict(self, model: Any, at: Codes) -> Floats:
        """Predict some rows."""
        needed = self._labels(self.owner(model), "predict")
        labels = {name: values[at] for name, values in needed.items()}
        predicted = model.predict(take_rows(self.X, at), **labels)
        return read_target(predicted, "what the model predicts")

    def _labels(self, owner: Any, method: str) -> dict[str, NDArray[Any]]:
        """What a method takes as arrays and the model does not read from X."""
        takes = inspect.signature(getattr(owner, method)).parameters
        given = {"sensitive_features": self.labels, "tasks": self.tasks}
        return {
            name: values
            for name, values in given.items()
            if values is not None
            and name in takes
            and getattr(owner, name, None) is None
        }

    def line(self, epsilon: float) -> Any:
        """Return a fit that knows those of all ε and its rows left out, or None."""
        if not hasattr(type(self.model), "at"):
            return None
        model = self.fit(epsilon, self.everywhere)
        if not hasattr(model, "at"):
            return None
        model = model.at(epsilon)
        return None if model.loo_predictions_ is None else model

    def left_out(self, model: Any) -> Floats:
        """Return the predictions of rows as if left out; NaN where there are none."""
        predicted = np.full(len(self.y), np.nan)
        predicted[self.everywhere] = model.loo_predictions_
        return predicted

    def default_epsilons(self, left_out: bool) -> list[float]:
        """Twelve from 0 to the gap of the fit that nothing is asked of."""
        owner = self.owner(self.model)
        constraint = getattr(owner, "constraints", "rank")
        if not isinstance(constraint, str) or constraint != "rank":
            raise ValueError(
                f"epsilons is needed with constraints={constraint!r}: the default "
                f"path is "
                "in units of AUC."
            )
        # Bands within tasks bind as long as some task is outside, up to 1/2.
        everywhere = getattr(owner, "scope", "global") == "global"
        gap = self._free_gap(owner, left_out) if everywhere else FREE
        return sorted({gap * (i / (POINTS - 1)) ** 2 for i in range(POINTS)})

    def _free_gap(self, owner: Any, left_out: bool) -> float:
        """The rank gap of the fit that nothing is asked of."""
        at = self.everywhere
        # A band with one side would ask for something even at ε = 1/2.
        free = {"side": "both"} if hasattr(owner, "side") else {}
        model = self.fit(FREE, at, **free)
        judge = Judge(self.y, self.groups, self.names, None, self.weights)
        if not left_out:
            return judge(self.predict(model, at), at).gap
        predicted = self.left_out(model)
        at = np.flatnonzero(~np.isnan(predicted))
        return judge(predicted[at], at).gap


def _epsilon_of(model: Any) -> str:
    """Return the name of the model's parameter ε."""
    if isinstance(model, type):
        raise ValueError(
            f"model is the class {model.__name__}: a model is expected, "
            f"{model.__name__}(…)."
        )
    names = list(model.get_params()) if hasattr(model, "get_params") else []
    found = [name for name in names if name.split("__")[-1] == "epsilon"]
    shallow = [n for n in found if n.count("__") == min(m.count("__") for m in found)]
    if len(shallow) != 1:
        what = listed(shallow) if shallow else "none"
        raise ValueError(
            f"model must have one parameter epsilon, its own or that of a step; "
            f"{type(model).__name__} has {what}."
        )
    return str(shallow[0])


def _owner(model: Any, parameter: str) -> Any:
    """Return the estimator that the parameter is of."""
    place = parameter.removesuffix("epsilon").removesuffix("__")
    if not place:
        return model
    if isinstance(model, Pipeline) and place in model.named_steps:
        return model.named_steps[place]
    return model.get_params()[place]
