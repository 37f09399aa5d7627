"""Candidates: settings that are tried, what they come to, and the choice."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankfair._frames import Floats

__all__ = ["Candidate", "choose", "in_units", "results_of"]


class Candidate(NamedTuple):
    """Settings that are tried."""

    epsilon: Any
    penalty: Any
    beta: Any


def results_of(
    candidates: list[Candidate], errors: Floats, weights: Floats
) -> dict[str, Any]:
    """Return what is stored as ``cv_results_``; errors by candidate and fold."""
    n_folds = errors.shape[1]
    spread = errors.std(axis=1, ddof=1) if n_folds > 1 else np.full(len(errors), 0.0)
    return {
        "epsilon": [each.epsilon for each in candidates],
        "penalty": [each.penalty for each in candidates],
        "beta": [each.beta for each in candidates],
        "mse": errors @ weights / weights.sum(),
        "standard_error": spread / math.sqrt(n_folds),
        "split_mse": errors,
    }


def choose(results: dict[str, Any], smallest: bool) -> int:
    """Return the place of the best, or of the fairest that is not surely worse."""
    mse: Floats = results["mse"]
    best = int(np.argmin(mse))
    if not smallest:
        return best
    limit = mse[best] + results["standard_error"][best]
    epsilons = np.array(results["epsilon"])
    fairest = epsilons[mse <= limit].min()
    return int(np.argmin(np.where(epsilons == fairest, mse, math.inf)))


def in_units(results: dict[str, Any], unit: float) -> dict[str, Any]:
    """Return results with errors, in squares of ``unit`` so far, in those of y."""
    squares = ("mse", "standard_error", "split_mse")
    with np.errstate(over="ignore", under="ignore"):
        return {k: v * unit * unit if k in squares else v for k, v in results.items()}
