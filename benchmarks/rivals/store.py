"""Cells as they are kept: a file of JSON lines for each, read as points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .methods import Method, Setting
from .page import Cell
from .points import MEASURES, Point

ROOT = Path(__file__).parents[2]
STORE = ROOT / "results" / "rivals"


def path_of(name: str, method: Method) -> Path:
    words = method.key.replace(": ", "-").replace(", ", "-").replace(" ", "-")
    return STORE / name / f"{words}.jsonl"


def read_cell(name: str, method: Method) -> Cell:
    """A cell as it was written: points, cost, and how it ended."""
    cost, note = None, ""
    for record in lines_of(path_of(name, method)):
        note = record.get("note", note)
        cost = record if "fit" in record else cost
    points = points_of(name, method)
    if "limit" in note:
        done = sum(len(point.seeds) for point in points)
        note += f", {done} points done" if done else " before the first point"
    return Cell(name, method.library, method.name, points, cost, note, method.group)


def points_of(name: str, method: Method, training: bool = False) -> tuple[Point, ...]:
    """The records of a cell as points, of held-out rows or of training rows."""
    found: dict[Setting, dict[str, dict[int, float]]] = {}
    for record in lines_of(path_of(name, method)):
        if "setting" not in record or ("training" in record) != training:
            continue
        setting = record["setting"]
        setting = tuple(setting) if isinstance(setting, list) else setting
        figures = record["training"] if training else record
        values = found.setdefault(setting, {m: {} for m in MEASURES})
        for measure in MEASURES:
            values[measure][int(record["seed"])] = figures[measure]
    return tuple(
        Point(name, method.library, method.name, method.shown(setting), values)
        for setting, values in found.items()
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Whole records; what a method printed itself, or half wrote, is none."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found
