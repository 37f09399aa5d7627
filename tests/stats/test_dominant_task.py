"""One task that is far larger than the others: limits neither explode nor fail."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from rankfair import audit
from rankfair.stats.certificate import certify_predictions


def sites(share, n, n_sites, rng):
    """Tasks of n rows, the first with that share of them."""
    first = int(share * n)
    return np.concatenate((np.zeros(first, int), rng.integers(1, n_sites, n - first)))


@pytest.mark.parametrize(("share", "alike"), [(0.02, 0.3), (0.1, 0.0)])
def test_a_large_site_of_many_hardly_widens_what_is_known(share, alike):
    """Groups are independent of everything: rows alone give honest limits."""
    rng = np.random.default_rng(0)
    n, n_sites = 30_000, 1_000
    tasks, groups = sites(share, n, n_sites, rng), rng.random(n) < 0.5
    effects = math.sqrt(alike) * rng.normal(size=n_sites)[tasks]
    m = effects + math.sqrt(1 - alike) * rng.normal(size=n)
    found = certify_predictions(m, groups, tasks)
    rows = certify_predictions(m, groups)
    seen, plain = (
        audit(None, m, sensitive_features=groups, tasks=t).comparisons[0]
        for t in (tasks, None)
    )

    def times(low, high, least, most):
        assert low <= least and most <= high
        return (high - low) / (most - least)

    assert found.bound < 3 * rows.bound
    assert times(*found.interval, *rows.interval) < 4
    assert found.bound <= max(abs(end - 0.5) for end in found.interval)
    for wide, narrow in (
        (seen.auc, plain.auc),
        (seen.mean_difference, plain.mean_difference),
        (seen.impact_ratio, plain.impact_ratio),
    ):
        assert times(wide.ci_low, wide.ci_high, narrow.ci_low, narrow.ci_high) < 4
    within = seen.within_task_auc
    assert 0.45 < within.ci_low < 0.5 < within.ci_high < 0.55


@pytest.mark.parametrize(("share", "mixed"), [(0.6, False), (0.3, True)])
def test_limits_cover_the_population_beside_a_dominant_task(share, mixed):
    """Rows of a task are alike.  95 % of the data sets less three standard errors."""
    rng = np.random.default_rng(0)
    n, sets, audited, auc = 400, 80, 15, 0.7
    held, covered = np.zeros(2), 0
    for i in range(sets):
        tasks = sites(share, n, 20, rng)
        in_a = rng.random(n) < 0.5 if mixed else (tasks % 2 == 0)
        gaps = 0.3 * rng.normal(size=20)[tasks] * in_a if mixed else 0.0
        m = math.sqrt(0.7) * rng.normal(size=n) + gaps
        m += math.sqrt(0.3) * rng.normal(size=20)[tasks]
        m += norm.ppf(auc) * math.sqrt(2 + 0.3**2 * mixed) * in_a
        found = certify_predictions(m, in_a, tasks)
        held += found.bound >= auc - 0.5, found.interval[0] <= auc <= found.interval[1]
        if i < audited:
            given = {"sensitive_features": in_a, "tasks": tasks, "reference": False}
            seen = audit(None, m, **given).comparisons[0]
            covered += seen.auc.covers(auc)
    assert held.min() >= 0.95 * sets - 3 * math.sqrt(sets * 0.05 * 0.95)
    assert covered >= 0.95 * audited - 3 * math.sqrt(audited * 0.05 * 0.95)
