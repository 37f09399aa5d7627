"""What fairness costs: error against rank gap over a path of ε, on held-out rows."""

from rankfair.path.api import fairness_path
from rankfair.path.folds import Folds, make_folds, take_rows, task_folds
from rankfair.path.records import Path, PathRow

__all__ = [
    "Folds",
    "Path",
    "PathRow",
    "fairness_path",
    "make_folds",
    "take_rows",
    "task_folds",
]
