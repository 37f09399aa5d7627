"""Distances between the predictions of two groups against scipy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from comparisons import distances_of, samples, shifted
from rankfair.stats.distances import GroupDraws
from rankfair.stats.ordered import Ordered


@settings(max_examples=25, deadline=None)
@given(samples())
def test_distances_are_those_of_scipy(case):
    m, in_a = case
    ks, moved = distances_of(m, in_a)
    wanted = stats.ks_2samp(m[in_a], m[~in_a], method="asymp")
    assert ks.value == pytest.approx(wanted.statistic)
    if all(len(set(m[who].tolist())) == 1 for who in (in_a, ~in_a)):
        assert not ks.estimable and not moved.estimable
    far = stats.wasserstein_distance(m[in_a], m[~in_a])
    assert moved.value == pytest.approx(far, rel=1e-9, abs=1e-9)
    for e in (ks, moved):
        assert not e.estimable or 0 <= e.ci_low <= e.value <= e.ci_high + 1e-12


def test_distances_of_clusters():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(20), 30)
    in_a = tasks % 2 == 0
    m = rng.normal(size=600) + rng.normal(size=20)[tasks]
    ks, moved = distances_of(m, in_a, tasks)
    naive, _ = distances_of(m, in_a)
    assert ks.value == naive.value
    assert ks.ci_high - ks.ci_low > naive.ci_high - naive.ci_low
    assert "tasks" in moved.method
    apart, _ = distances_of(m + 9 * in_a, in_a, tasks)
    assert apart.value == 1.0
    lone, _ = distances_of(m, in_a, in_a.astype(int))
    assert "rests on one task only" in lone.note


@pytest.mark.parametrize("constant", [True, False])
def test_one_group_without_spread_is_enough_for_none(constant):
    m, in_a = np.arange(40.0), np.arange(40) < 20
    m[in_a] = 7.5
    m[~in_a] = 3.5 if constant else m[~in_a]
    for found in distances_of(m, in_a):
        assert found.estimable != constant


@pytest.mark.parametrize("few", [2, 5])
def test_reaches_are_quantiles_over_the_draws_that_have_both_groups(few):
    """Many draws of tasks have none of the few rows of a group, which are the last."""
    rng = np.random.default_rng(0)
    codes, tasks = (np.arange(60) < 60 - few).astype(int), np.repeat(np.arange(6), 10)
    rows, n = Ordered.of(np.sort(rng.normal(size=60))), 50
    draws = GroupDraws(rows, codes, 2, np.ones(60), tasks, n_draws=n)
    widths = rng.random(draws.observed.shape[-1])
    for drawn in (draws.of_rows, draws.of_tasks):
        for pair in ((0, 1), (1, 0), (1, None)):
            far = []
            for i in range(n):
                shares = []
                for table, at in ((drawn, i), (draws.observed, 0)):
                    b = 1 - pair[0] if pair[1] is None else pair[1]
                    a, b = table[pair[0], at], table[b, at]
                    if min(a[-1], b[-1]) > 0:
                        shares.append(a / a[-1] - b / b[-1])
                if len(shares) == 2:
                    off = np.abs(shares[0] - shares[1])
                    far.append((off.max(), off @ widths))
            assert len(far) < n or drawn is draws.of_rows
            wanted = np.quantile(far, 0.9, axis=0)
            found = draws.farthest(drawn, pair, widths, 0.9)
            assert found == pytest.approx(wanted)


def test_a_cell_is_as_wide_as_the_way_to_the_top_of_the_next():
    m, in_a = shifted(100, 100)
    rows = Ordered.of(m)
    draws = GroupDraws(rows, in_a[rows.order].astype(int), 2, np.ones(200), n_draws=99)
    tops = dict(zip(draws.cells.tolist(), np.sort(m).tolist(), strict=True))
    widths = np.zeros(draws.observed.shape[-1])
    for cell, following in pairwise(tops):
        widths[cell] = (tops[following] - tops[cell]) / 2
    far = draws.farthest(draws.of_rows, (1, 0), widths, 0.95)[1]
    _, moved = distances_of(m, in_a, n_draws=99)
    assert moved.ci_high == pytest.approx(moved.value + 2 * far)


def test_very_many_mixed_tasks_are_drawn_in_bundles():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(60), 8)
    m, in_a = rng.normal(size=60)[tasks] + rng.normal(size=480), rng.random(480) < 0.5
    each, bundled = (distances_of(m, in_a, tasks, most_units=n)[0] for n in (4096, 30))
    widths = [ks.ci_high - ks.ci_low for ks in (bundled, each)]
    assert widths[0] == pytest.approx(widths[1], rel=0.3)
    # With two units half of the draws lack one of them, and its group with it.
    tasks = np.repeat(np.arange(20), 10)
    in_a = (np.arange(200) % 10 < 2) | (tasks % 2 == 0)
    found, _ = distances_of(rng.normal(size=200), in_a, tasks, most_units=2)
    assert 0.0 <= found.ci_low < found.ci_high <= 1.0
