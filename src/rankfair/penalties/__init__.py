"""Penalties: one file each, with a value and an exact fit."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rankfair.penalties.base import Factor, Penalty
from rankfair.penalties.feature import Feature
from rankfair.penalties.pool import Pool
from rankfair.penalties.ridge import Ridge
from rankfair.penalties.shared import Shared
from rankfair.penalties.task import Task

__all__ = [
    "PENALTIES",
    "Factor",
    "Feature",
    "Penalty",
    "PenaltyName",
    "Pool",
    "Ridge",
    "Shared",
    "Task",
    "make_penalty",
]

PenaltyName: TypeAlias = Literal["pool", "task", "feature", "shared", "ridge"]
PENALTIES: dict[str, type[Penalty]] = {
    "pool": Pool,
    "task": Task,
    "feature": Feature,
    "shared": Shared,
    "ridge": Ridge,
}


def make_penalty(penalty: str | Penalty, beta: float = 1.0) -> Penalty:
    """The penalty of that name with its ``β``; an object is returned as it is.

    Examples
    --------
    >>> make_penalty("ridge", 0.5)
    Ridge(beta=0.5)
    """
    return PENALTIES[penalty](beta) if isinstance(penalty, str) else penalty
