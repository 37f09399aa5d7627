"""Records as files, and files that are whole or not there."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from rankfair._disk import write_whole
from rankfair.experiments.records import Record

__all__ = ["as_csv", "as_json", "write_whole"]


def as_json(records: Sequence[Record]) -> str:
    """Return records as a JSON array of objects.

    Parameters
    ----------
    records : sequence of dict
        As `compare` returns them.

    Returns
    -------
    str
        Numbers with all their digits.

    Examples
    --------
    >>> as_json([])
    '[]\\n'
    """
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def as_csv(records: Sequence[Record]) -> str:
    """Return records as comma-separated lines under a line of names.

    Parameters
    ----------
    records : sequence of dict
        As `compare` returns them; at least one.

    Returns
    -------
    str
        Numbers with all their digits.

    Examples
    --------
    >>> from rankfair.experiments.records import Record
    >>> one = Record(
    ...     method="tilt", rows="train", epsilon=0.0, rmse=0.75, auc=0.5, gap=0.0,
    ...     md=0.1, br=1.2, irr=1.0, ks=0.1, seconds=0.1, note="",
    ... )
    >>> print(as_csv([one]), end="")
    method,rows,epsilon,rmse,auc,gap,md,br,irr,ks,seconds,note
    tilt,train,0.0,0.75,0.5,0.0,0.1,1.2,1.0,0.1,0.1,
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [*records[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
