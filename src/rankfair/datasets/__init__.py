"""Data to try the methods on: a synthetic design, the paper's four sets, one more."""

from rankfair.datasets.base import Dataset
from rankfair.datasets.county_murders import load_county_murders
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.datasets.wine import load_wine

__all__ = [
    "Dataset",
    "load_county_murders",
    "load_crime",
    "load_income",
    "load_student",
    "load_wine",
    "make_biased_tasks",
]
