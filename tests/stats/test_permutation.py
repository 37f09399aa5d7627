"""Mann and Whitney's test against all deals and scipy."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.stats import rankdata

from comparisons import shifted
from rankfair.stats.permutation import mann_whitney


@pytest.mark.parametrize("seed", range(3))
def test_ties_in_small_groups_are_counted_deal_by_deal(seed):
    rng = np.random.default_rng(seed)
    m, n_a = rng.integers(0, 4, 9).astype(float), int(rng.integers(2, 7))
    twice = np.rint(2 * rankdata(m)).astype(int)
    mean = n_a * twice.sum() / 9
    far = abs(twice[:n_a].sum() - mean)
    deals = [
        abs(sum(twice[list(d)]) - mean) for d in itertools.combinations(range(9), n_a)
    ]
    wanted = np.mean([d >= far - 1e-9 for d in deals])
    p, how = mann_whitney(int(twice[:n_a].sum()), twice, n_a)
    assert p == pytest.approx(wanted)
    assert "all permutations" in how


@pytest.mark.parametrize(("n_a", "n"), [(10, 3000), (25, 100)])
def test_drawn_permutations_are_near_the_counted(n_a, n):
    m, in_a = shifted(n_a, n - n_a, 0.3)
    twice = np.rint(2 * rankdata(m)).astype(int)
    total = int(twice[in_a].sum())
    p, how = mann_whitney(total, twice, n_a, seed=1, most_counted=0)
    wanted = stats.mannwhitneyu(m[in_a], m[~in_a], method="asymptotic").pvalue
    assert "random" in how
    assert p == pytest.approx(wanted, abs=0.03)
    assert p == mann_whitney(total, twice, n_a, seed=1, most_counted=0)[0]
    few, _ = mann_whitney(total, twice, n_a, most_counted=0, draws=19)
    assert (20 * few) % 1 == pytest.approx(0.0) and 0.05 <= few <= 1.0
    mirrored = mann_whitney(int(twice.sum()) - total, twice, n - n_a, 1, 0)[0]
    assert p == pytest.approx(mirrored)


def test_constant_values_are_no_evidence():
    assert mann_whitney(80 * 161, np.full(160, 161), 80)[0] == 1.0
