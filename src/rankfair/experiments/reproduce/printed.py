"""The values that the paper prints in its Tables II and III."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

__all__ = ["printed", "printed_tables"]

# Columns of ours that stand for a column of the paper.
SAME = {"Rank (paper)": "Rank", "SDBC (ADM)": "SDBC"}


@cache
def printed_tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return all cells by dataset, metric and column of the paper."""
    text = files(__package__).joinpath("printed.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, dict[str, list[float]]]] = json.loads(text)
    return found


def printed(data: str, method: str, metric: str) -> tuple[float, float | None] | None:
    """Return what the paper prints in a cell.

    Parameters
    ----------
    data : str
        The dataset.
    method : str
        A column of the paper's tables, or one of ours that stands for it.
    metric : {"auc", "md", "br", "irr"}

    Returns
    -------
    tuple of float or None
        The value, and the standard deviation or None; None for an empty cell.

    Examples
    --------
    >>> printed("crime", "Rank", "auc")
    (0.495, 0.001)
    >>> printed("crime", "SSEM s=2", "auc")
    (0.686, None)
    >>> printed("crime", "Data", "br")
    """
    cell = printed_tables()[data].get(metric, {}).get(SAME.get(method, method))
    if cell is None:
        return None
    return cell[0], cell[1] if len(cell) > 1 else None
