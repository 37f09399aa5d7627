"""Whether what a fit has to keep fits into memory, said before it starts."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["LEAST", "check_room", "memory_here"]

LEAST = 3  # arrays of n × n numbers a task that a fit keeps, whatever the penalty
BESIDE = 25  # arrays of n numbers a task: coefficients and moments of a few rounds
SHARE = 0.9  # of the memory there is; the rest is the system's
# Where a container says how much of the machine's memory is its own.
LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def check_room(n_tasks: int, n_features: int, copies: int = LEAST) -> None:
    """Raise if ``XᵀX`` of every task, and what is made of it, cannot be held.

    ``copies`` is how many arrays of that size the penalty needs at once.

    Examples
    --------
    >>> check_room(1000, 10)
    """
    need, there = _needed(n_tasks, n_features, copies), memory_here()
    if there is None or need <= SHARE * there:
        return
    cure = "Use fewer predictors, join small tasks, or fit some of the tasks at a time"
    if copies > LEAST:
        cure += '; penalty="task" and "ridge" need '
        cure += _shown(_needed(n_tasks, n_features, LEAST))
    raise ValueError(
        f"{n_tasks:,} tasks with {n_features} predictors need about {_shown(need)} of "
        f"memory ({copies} arrays of {n_features} × {n_features} numbers a task, and "
        f"{BESIDE} of {n_features}), and this machine has {_shown(there)}. {cure}."
    )


def _needed(n_tasks: int, n_features: int, copies: int) -> int:
    return 8 * n_tasks * n_features * (copies * n_features + BESIDE)


def memory_here() -> int | None:
    """Bytes of memory of this machine or container; None where nobody says."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        found = []
    for path in LIMITS:
        try:
            found.append(int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(found, default=None)


def _shown(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
