import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from rankfair.stats.independence import independence_test

Z = np.repeat(["F", "M"], 30)


def normal(seed=0, n=60):
    return np.random.default_rng(seed).normal(size=n)


def skew(seed=0, n=60):
    return np.exp(2 * normal(seed, n))


def welch(y):
    return stats.ttest_ind(y[30:], y[:30], equal_var=False)


def ranks(y):
    return stats.mannwhitneyu(y[len(y) // 2 :], y[: len(y) // 2])


def chi_square(y):
    table = [[np.sum((y == v) & (z == Z)) for v in ("no", "yes")] for z in ("M", "F")]
    return stats.chi2_contingency(table, correction=False)


def wilcoxon(y):
    return stats.wilcoxon(y[30:], y[:30])


THIRD = np.where(np.arange(60) % 3 == 0, "yes", "no")
FLAT = np.r_[normal(n=30), np.ones(30)]
PAIRED = {"paired": True}
CASES = [
    (normal(), {}, "Student's t (Welch)", "looks normal", welch),
    (skew(), {}, "Mann-Whitney U", "not normal", ranks),
    (skew(n=12_000), {}, "Mann-Whitney U", "not normal", ranks),
    (normal(), {"nature": "ordinal"}, "Mann-Whitney U", "ordinal", ranks),
    (FLAT, {}, "Mann-Whitney U", "constant in a group", ranks),
    (np.ones(60), {"nature": "numeric"}, "Mann-Whitney U", "constant", None),
    (np.ones(60), {}, "chi-square", "one category", None),
    (THIRD, {}, "chi-square", "categorical", chi_square),
    (normal(), PAIRED, "paired t", "normal", lambda y: stats.ttest_rel(y[30:], y[:30])),
    (
        skew() ** 2,
        PAIRED,
        "Wilcoxon signed-rank",
        "not normal",
        wilcoxon,
    ),
    (
        normal(),
        PAIRED | {"nature": "ordinal"},
        "Wilcoxon signed-rank",
        "ordinal",
        wilcoxon,
    ),
    (
        np.ones(60),
        PAIRED | {"nature": "numeric"},
        "Wilcoxon signed-rank",
        "no pair differs",
        None,
    ),
]


@pytest.mark.parametrize(("y", "change", "test", "reason", "wanted"), CASES)
def test_the_test_that_fits_is_scipys(y, change, test, reason, wanted):
    z = Z if len(y) == 60 else np.repeat(["F", "M"], len(y) // 2)
    found = independence_test(y, z, **change)
    assert found.test == test and reason in found.reason
    p = wanted(y).pvalue if wanted else 1.0  # of what does not differ
    assert found.p_value == pytest.approx(p)
    if wanted:
        assert abs(found.statistic) == pytest.approx(abs(wanted(y).statistic))
    elif test == "Mann-Whitney U":
        assert found.statistic == found.n_a * found.n_b / 2
    assert (found.n_a, found.n_b) == (len(y) // 2, len(y) // 2)
    assert found.nature_z == ("paired" if "paired" in change else "independent")
    for make in (list, pd.Series, pl.Series):
        assert independence_test(make(y.tolist()), make(z.tolist()), **change) == found


def test_mixed_lists_of_numbers_are_numbers():
    assert independence_test([0, 0.5, 1, 2.5], list("FFMM")).nature_y == "numeric"


def test_few_counts_go_to_fisher():
    y, z = [0, 0, 0, 1, 1, 1, 1, 0], list("FFFFMMMM")
    found = independence_test(y, z)
    assert found.test == "Fisher's exact"
    assert found.p_value == pytest.approx(stats.fisher_exact([[1, 3], [3, 1]]).pvalue)
    many = independence_test(list("abcdabcd"), z)
    assert many.test == "chi-square" and "unite rare categories" in many.reason


def test_pairs_of_categories():
    before = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    after = np.array([1, 1, 1, 1, 0, 0, 1, 1])
    found = independence_test(np.r_[before, after], Z[22:38], paired=True)
    assert found.test == "McNemar"
    assert found.p_value == pytest.approx(stats.binomtest(4, 5).pvalue)
    same = independence_test(np.r_[before, before], Z[22:38], paired=True)
    assert same.p_value == 1.0 and math.isnan(same.statistic)


@pytest.mark.parametrize(
    ("y", "z", "change", "message"),
    [
        ([1, 2, 3], list("FFM"), {"paired": True}, "as many rows of"),
        ([1, 2, 3], list("FGM"), {}, "z must have two groups; got 3"),
        ([1, 2], ["F", None], {}, "missing in 1 row"),
        ([1, math.nan, 2, 3], list("FFMM"), {}, "y has missing"),
        ([1, 2], list("FFM"), {}, "z has 3 values, but there are 2"),
        ([], [], {}, "at least one row"),
        (list("abcabd"), list("FFFMMM"), {"paired": True}, "must have two categories"),
        ([1, 2], list("FM"), {"nature": "nominal"}, "nature must be one of"),
        ([1, 2], list("FM"), {"paired": 1}, "paired must be True or False"),
    ],
)
def test_what_is_wrong_is_said(y, z, change, message):
    with pytest.raises(ValueError, match=message):
        independence_test(y, z, **change)


@pytest.mark.parametrize("make", [normal, skew])
@pytest.mark.parametrize(
    ("scale", "paired"), [(1e-310, False), (1e-200, True), (1.7e307, False)]
)
def test_the_unit_of_numbers_does_not_matter(scale, paired, make):
    y = make() / np.abs(make()).max()
    one = independence_test(y, Z, paired=paired)
    other = independence_test(scale * y, Z, paired=paired)
    assert one.test == other.test
    assert other.p_value == pytest.approx(one.p_value, rel=1e-6)


def test_a_small_spread_around_large_numbers_is_no_warning():
    y = normal()
    found = independence_test(1e9 + 1e-3 * y, Z)
    assert found.test == "Student's t (Welch)"
    wanted = independence_test(y, Z).p_value
    assert found.p_value == pytest.approx(wanted, rel=1e-2)
    tight = np.r_[1.0 + 1e-15 * np.round(9 * y[:30]), 2.0 + y[30:]]
    assert 0 <= independence_test(tight, Z).p_value <= 1
    pairs = np.r_[y[:30], y[:30] + 1.0 + 1e-14 * y[30:]]
    assert independence_test(pairs, Z, paired=True).p_value < 1e-5
