"""Distances between the predictions of two groups against scipy."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from scipy import stats

from comparisons import distances_of, samples, shifted


# Of 5 and 5 rows that differ in one, scipy counts no exact p and says so: it is 1.
@pytest.mark.filterwarnings("ignore:ks_2samp. Exact calculation unsuccessful")
@settings(max_examples=25, deadline=None)
@given(samples())
@example((np.arange(10) // 9.0, np.arange(10) < 5))
def test_distances_are_those_of_scipy(case):
    m, in_a = case
    ks, moved = distances_of(m, in_a)
    wanted = stats.ks_2samp(m[in_a], m[~in_a])
    assert ks.value == pytest.approx(wanted.statistic)
    if all(len(set(m[who].tolist())) == 1 for who in (in_a, ~in_a)):
        assert ks.p_value is None and not ks.estimable and not moved.estimable
    else:
        assert ks.p_value == pytest.approx(wanted.pvalue)
    far = stats.wasserstein_distance(m[in_a], m[~in_a])
    assert moved.value == pytest.approx(far, rel=1e-9, abs=1e-9)
    for e in (ks, moved):
        assert not e.estimable or 0 <= e.ci_low <= e.value <= e.ci_high + 1e-12


@pytest.mark.parametrize("n", [1_500, 45_000])
def test_distances_of_many_rows_have_scipys_p_value(n):
    m, in_a = shifted(n, n, 0.05)
    ks, _ = distances_of(m, in_a)
    wanted = stats.ks_2samp(m[in_a], m[~in_a], method="asymp")
    assert ks.value == pytest.approx(wanted.statistic)
    assert ks.p_value == pytest.approx(wanted.pvalue, rel=0.02)


def test_distances_of_clusters():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(20), 30)
    in_a = tasks % 2 == 0
    m = rng.normal(size=600) + rng.normal(size=20)[tasks]
    ks, moved = distances_of(m, in_a, tasks)
    naive, _ = distances_of(m, in_a)
    assert ks.value == naive.value and ks.p_value > naive.p_value
    assert ks.ci_high - ks.ci_low > naive.ci_high - naive.ci_low
    assert "tasks" in moved.method
    apart, _ = distances_of(m + 9 * in_a, in_a, tasks)
    assert apart.value == 1.0 and apart.p_value < 0.01
    some = tasks.copy()
    some[:3] = 1  # a task that mixes the groups
    assert "mix the groups" in distances_of(m, in_a, some)[0].note
    lone, _ = distances_of(m, in_a, in_a.astype(int))
    assert "rests on one task only" in lone.note


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
