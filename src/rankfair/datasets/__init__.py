"""Data to try the methods on: a synthetic design, and the paper's four sets."""

from rankfair.datasets.base import Dataset
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.datasets.wine import load_wine

__all__ = [
    "Dataset",
    "load_crime",
    "load_income",
    "load_student",
    "load_wine",
    "make_biased_tasks",
]
