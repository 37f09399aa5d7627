"""One task that is far larger than the others: limits neither explode nor fail."""

import math

import numpy as np
import pytest

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
