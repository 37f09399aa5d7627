"""US counties 2014-2016: median household income."""

import os

import numpy as np

from rankfair.datasets import base
from rankfair.datasets.synthetic import raise_lowest

FILES = (
    base.DataFile(
        "income.csv",
        "dc1cfe2a00f174cbb5f698b4d6c6da3efd0f7d61d6be22273e5d0d640b98496b",
    ),
)
TARGET, TASK, SHARE, PERIOD = "income_median", "fips", "race_black_perc", "year"
# Left out: the target by another agency (saipe_median_hh_income) and the two columns
# that are the sensitive feature itself (race_black_perc, pep_black).
FEATURES = (
    *("education_perc", "unemployed_perc", "poverty_perc", "sex_male_perc"),
    *("age_median", "race_white_perc", "population", "pep_asian", "pep_hispanic"),
    *("pep_white", "labor_force", "employed", "unemployed", "laus_unemp_rate"),
    "bea_pcpi",
)
# Wade Hampton became Kusilvak and Shannon became Oglala Lakota: one county, two codes.
RENAMED = {"02270": "02158", "46113": "46102"}
CUT = 8.8  # percent of the population: where it is Black above that is group A
FACTOR, BIASED_AUC = 1.75, 0.815
LICENCE = "public domain (US federal statistics: ACS, PEP, LAUS, BEA)"
DESCRIPTION = (
    "9426 rows: 3142 US counties in 2014, 2015 and 2016. The target is median "
    "household income in dollars, group A ('yes') are counties and years with a Black "
    "share above a cut: 8.8 %, which gives 2567 rows where the paper has 2581 (its "
    "stated 70 % gives 68). Missing cells, one target among them, hold the "
    "county's mean over its other years, or the national median where it has none. Two "
    "counties renamed in 2015 carry their new code in 2014 too. biased=True raises "
    "group A by 75 %, lowest incomes first, until P(A above B) is 0.815, the paper's."
)


def load_income(
    data_home: str | os.PathLike[str] | None = None,
    *,
    biased: bool = True,
) -> base.Dataset:
    """Load Income: 9426 rows, 3142 counties of 3 years, 15 features.

    The file `income/income.csv` must be in `data_home`; by default that is the folder
    named by the environment variable RANKFAIR_DATA, else the user's cache folder. It
    cannot be downloaded. The paper's n = 16 counts the sensitive feature too.

    Parameters
    ----------
    data_home : path or None
    biased : bool
        Raise group A's target by 75 %, lowest incomes first, until the AUC of A above
        B is 0.815. No random numbers are used.

    Returns
    -------
    Dataset
        `period` is the year.

    Examples
    --------
    >>> from rankfair.datasets import load_income
    >>> load_income("no-such-folder")
    Traceback (most recent call last):
    FileNotFoundError: income.csv not found: put the file(s) into ...
    """
    columns = base.read_columns(base.find_files("income", FILES, data_home))
    counties = np.array([RENAMED.get(code, code) for code in columns[TASK].tolist()])
    target = base.fill(base.numbers(columns[TARGET]), counties)
    in_a = base.numbers(columns[SHARE]) > CUT
    if biased:
        target = raise_lowest(target, in_a, FACTOR, BIASED_AUC)
    return base.Dataset(
        name="income",
        X=np.column_stack(
            [base.fill(base.numbers(columns[name]), counties) for name in FEATURES]
        ),
        target=target,
        tasks=counties,
        sensitive=np.where(in_a, "yes", "no"),
        feature_names=FEATURES,
        target_name=TARGET,
        task_name=TASK,
        sensitive_name="black_share_above_cut",
        group_a="yes",
        description=DESCRIPTION,
        licence=LICENCE,
        biased=biased,
        period=columns[PERIOD].astype(np.int64),
        period_name=PERIOD,
    )
