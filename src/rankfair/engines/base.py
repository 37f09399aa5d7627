"""What a fit asks of the rows, wherever they are.

A solver sees rows through an `Engine`: sums over the rows (``XᵀX``, and the moments of
y and of every direction, of every task), and predictions along a line of coefficients,
counted as if each row were left out.  What passes through it is (k, n, n) once and
(k, n + 1), or a table of bins, a pass: never a row.  `check_room` says before a fit
starts whether what it has to keep fits into memory.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import LEAST, Blocks, Floats
from rankfair.input.errors import InputError

if TYPE_CHECKING:
    from rankfair.core.problem import Groups

BESIDE = 25  # arrays of n numbers a task: coefficients and moments of a few rounds
SHARE = 0.9  # of the memory there is; the rest is the system's
# Where a container says how much of the machine's memory is its own.
LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@dataclass(frozen=True)
class Engine(ABC):
    """Rows by task, in standard units, wherever they are.

    ``blocks`` says how features are centred; its rows may be elsewhere.  Its ``gram``
    is in standard units: of all that a fit keeps it is the largest, and is there once.
    """

    blocks: Blocks
    scale: Floats  # (n,): z's coefficient is scale * w; 0 for a constant column
    varies: NDArray[np.bool_]  # (k, n): whether the column varies within the task
    y_centre: float
    y_unit: float
    beta_unit: float  # what one unit of y is worth to the penalty
    counts: Floats  # (k,) rows or weight of each place
    groups: Groups | None  # of the rows sorted by task
    user_groups: Groups | None  # of the rows as the user gave them
    resolution: float  # what the user's predictions are multiples of
    # What one unit of weight was to the user.
    weight_unit: float = field(default=1.0, kw_only=True)

    @property
    def loss_unit(self) -> float:
        """What one unit of the objective is to the user."""
        return self.beta_unit * self.beta_unit * self.weight_unit

    @property
    def n_tasks(self) -> int:
        """How many tasks."""
        return len(self.counts)

    @property
    def n_features(self) -> int:
        """How many features."""
        return len(self.scale)

    @property
    def gram(self) -> Floats:
        """``Xᵀ S X`` of every task in standard units: (k, n, n)."""
        return self.blocks.gram

    @cached_property
    def whole_gram(self) -> Floats:
        """The same about the mean of all rows, with a column of ones: (k, n + 1, …)."""
        none = np.zeros((self.n_tasks, self.n_features + 1, 0))
        return with_intercepts(self.gram, self.centre, self.counts, none)[0]

    @cached_property
    def centre(self) -> Floats:
        """The mean of every task about that of all rows, in standard units: (k, n)."""
        share = self.counts / self.counts.sum()
        found: Floats = self.blocks.centre - share @ self.blocks.centre
        return found * self.scale

    @abstractmethod
    def sums(self, directions: Sequence[Any]) -> tuple[Floats, Floats]:
        """Moments (k, n + 1, 1 + r) and squares (k, 1 + r) of y and r directions."""

    @cached_property
    def target_moments(self) -> Floats:
        """``Xᵀ S y`` of every task: (k, n + 1)."""
        return self.sums(())[0][:, :, 0]

    @cached_property
    def y_squares(self) -> float:
        """``Σ s_i y_i²`` in standard units."""
        return float(self.sums(())[1].sum())

    @property
    @abstractmethod
    def row_counts(self) -> Floats:
        """The rows of every task, each as often as it weighs, at least once: (k,)."""

    def user_coef(self, W: Floats) -> tuple[Floats, Floats]:
        """Coefficients (k, n) and intercepts (k,) in the user's units and tasks."""
        coef = np.empty((self.n_tasks, self.n_features))
        intercept = np.empty(self.n_tasks)
        slopes = W[: self.n_tasks, :-1] * self.scale
        at_centre = W[: self.n_tasks, -1] - (slopes * self.blocks.centre).sum(axis=1)
        coef[self.blocks.tasks] = slopes * self.blocks.unit * self.y_unit
        intercept[self.blocks.tasks] = (at_centre + self.y_centre) * self.y_unit
        return coef, intercept

    def user_shared(self, W: Floats) -> tuple[Floats, float] | None:
        """The model all tasks lean on, for a task never seen, if there is one."""
        if len(W) == self.n_tasks:
            return None
        share = self.counts / self.counts.sum()
        slopes = W[-1, :-1] * self.scale
        at_zero = W[-1, -1] - (share @ self.blocks.centre) @ slopes
        coef = slopes * self.blocks.unit * self.y_unit
        return coef, float((at_zero + self.y_centre) * self.y_unit)


def with_intercepts(
    G: Floats, centre: Floats, counts: Floats, B: Floats
) -> tuple[Floats, Floats]:
    """Moments about the mean of all rows with a column of ones: (k, n + 1, …)."""
    k, n, _ = G.shape
    full = np.empty((k, n + 1, n + 1))
    full[:, :n, :n] = G + counts[:, None, None] * centre[:, :, None] * centre[:, None]
    full[:, :n, n] = full[:, n, :n] = counts[:, None] * centre
    full[:, n, n] = counts
    moments = B.copy()
    moments[:, :n] += centre[:, :, None] * B[:, n:]
    return full, moments


def check_room(n_tasks: int, n_features: int, copies: int = LEAST) -> None:
    """Raise if ``XᵀX`` of every task, and what is made of it, cannot be held.

    ``copies`` is how many arrays of that size the penalty needs at once.

    Examples
    --------
    >>> check_room(1000, 10)
    """
    need = 8 * n_tasks * n_features * (copies * n_features + BESIDE)
    there = memory_here()
    if there is None or need <= SHARE * there:
        return
    most = math.isqrt(int(SHARE * there / (8 * n_tasks * copies)))
    raise InputError(
        "X",
        f"has {n_tasks:,} tasks with {n_features} predictors, which need about "
        f"{need / 1e9:,.1f} GB of memory ({copies} arrays of {n_features} × "
        f"{n_features} numbers a task, and {BESIDE} of {n_features}); this machine has "
        f"{there / 1e9:,.1f} GB",
        cure=f"Use fewer predictors, of which about {most:,} fit, join small tasks, or "
        "fit some of the tasks at a time.",
    )


def memory_here(limits: Iterable[Path] = LIMITS) -> int | None:
    """Bytes of memory of this machine or container; None where unknown."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        found = []
    for path in limits:
        with suppress(OSError, ValueError):  # not there, or "max"
            found.append(int(path.read_text(encoding="ascii")))
    return min(found, default=None)
