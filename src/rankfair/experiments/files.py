"""Records as text of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["as_csv"]


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as comma-separated lines under a line of names.

    Parameters
    ----------
    records : sequence of dict
        With the same names; at least one.

    Returns
    -------
    str
        Numbers with all their digits.

    Examples
    --------
    >>> print(as_csv([{"method": "tilt", "rmse": 0.75}]), end="")
    method,rmse
    tilt,0.75
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [*records[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
