"""Whether what a fit has to keep fits into memory, said before it starts."""

from __future__ import annotations

import os

__all__ = ["check_room", "memory_here"]

# The sums themselves, in the user's and in standard units, and what a penalty makes of
# them: measured for all four, rounded up.
COPIES = 5
SHARE = 0.9  # of the memory there is; the rest is the system's


def check_room(n_tasks: int, n_features: int) -> None:
    """Raise if ``XᵀX`` of every task, and what is made of it, cannot be held.

    Examples
    --------
    >>> check_room(1000, 10)
    """
    need, there = 8 * COPIES * n_tasks * n_features**2, memory_here()
    if there is None or need <= SHARE * there:
        return
    raise ValueError(
        f"{n_tasks:,} tasks with {n_features} predictors need about {_shown(need)} of "
        f"memory ({COPIES} arrays of {n_features} × {n_features} numbers a task), and "
        f"this machine has {_shown(there)}. Use fewer predictors, join small tasks, or "
        "fit some of the tasks at a time."
    )


def memory_here() -> int | None:
    """Bytes of memory of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _shown(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
