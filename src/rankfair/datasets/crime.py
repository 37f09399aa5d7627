"""Chicago 2015: weekly crime counts by census tract."""

import os

import numpy as np

from rankfair.datasets import base
from rankfair.input.errors import InputError

FILES = (
    base.DataFile(
        "crime.csv",
        "6e005b1febefa2e080fd755e860f46577c19bb80e43c445e236325d7ccc94fac",
    ),
)
TARGET, TASK, SENSITIVE, PERIOD = "crime_count", "tract", "z_black_gt70", "week"
LICENCE = "not stated: rebuilt from a published file of City of Chicago open data"
DESCRIPTION = (
    "41652 rows: 801 census tracts of Chicago, the 52 weeks of 2015. The target is the "
    "week's count of crimes, group A ('yes') are tracts with more than 70 % Black "
    "households; the group is constant within a tract. The file is a reconstruction: "
    "counts were rebuilt from the lags x1..x3, and the order of weeks is certain for "
    "656 of the 801 tracts. No bias is put in, the recorded one is large enough."
)


def load_crime(
    data_home: str | os.PathLike[str] | None = None,
    *,
    biased: bool = False,
) -> base.Dataset:
    """Load Crime: 41652 rows, 801 tracts of 52 weeks, 14 features.

    The file `crime/crime.csv` must be in `data_home`; by default that is the folder
    named by the environment variable RANKFAIR_DATA, else the user's cache folder. It
    cannot be downloaded.
    The paper's n = 15 counts the sensitive feature too.

    Parameters
    ----------
    data_home : path or None
    biased : bool
        Must be False: the paper puts no bias into this dataset. The argument exists so
        that all four loaders can be called alike.

    Returns
    -------
    Dataset
        `period` is the week, 1 to 52.

    Examples
    --------
    >>> from rankfair.datasets import load_crime
    >>> load_crime("no-such-folder")
    Traceback (most recent call last):
    FileNotFoundError: crime.csv not found: put the file(s) into ...
    """
    if biased:
        raise InputError("biased", "must be False for Crime: no injection is defined")
    columns = base.read_columns(base.find_files("crime", FILES, data_home))
    features = [name for name in columns if name.startswith("x")]
    return base.Dataset(
        name="crime",
        X=np.column_stack([base.numbers(columns[name]) for name in features]),
        target=base.numbers(columns[TARGET]),
        tasks=columns[TASK],
        sensitive=np.where(columns[SENSITIVE] == "1", "yes", "no"),
        feature_names=tuple(features),
        target_name=TARGET,
        task_name=TASK,
        sensitive_name=SENSITIVE,
        group_a="yes",
        description=DESCRIPTION,
        licence=LICENCE,
        biased=False,
        period=columns[PERIOD].astype(np.int64),
        period_name=PERIOD,
    )
