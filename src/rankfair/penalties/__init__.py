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
]

PenaltyName: TypeAlias = Literal["pool", "task", "feature", "shared", "ridge"]
PENALTIES: dict[str, type[Penalty]] = {
    "pool": Pool,
    "task": Task,
    "feature": Feature,
    "shared": Shared,
    "ridge": Ridge,
}
