import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankfair.stats import auc_spread, certify_predictions
from rankfair.stats.auc import placement_spread, tied_share

# Rows of either group, and the share of each at the levels 0, 1, …
DESIGNS = {
    "5 v 2000": (5, 2000, [0.7, 0.3], [0.95, 0.05]),
    "20 v 2000": (20, 2000, [0.9, 0.1], [0.99, 0.01]),
    "2000 v 20": (2000, 20, [0.99, 0.01], [0.9, 0.1]),
    "50 v 50": (50, 50, [0.9, 0.1], [0.98, 0.02]),
    "100 v 5000": (100, 5000, [0.9, 0.07, 0.03], [0.97, 0.02, 0.01]),
    "200 v 200": (200, 200, [0.3, 0.3, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1]),
}


def population(of_a, of_b):
    lower = np.cumsum(of_b) - of_b
    return float(np.dot(of_a, lower + np.array(of_b) / 2))


@pytest.mark.parametrize("design", DESIGNS)
def test_bound_and_interval_hold_where_most_rows_tie(design):
    n_a, n_b, of_a, of_b = DESIGNS[design]
    rng, sets = np.random.default_rng(0), 400
    theta, in_a = population(of_a, of_b), np.arange(n_a + n_b) < n_a
    held = inside = 0
    for _ in range(sets):
        a, b = rng.choice(len(of_a), n_a, p=of_a), rng.choice(len(of_b), n_b, p=of_b)
        found = certify_predictions(np.concatenate((a, b)).astype(float), in_a)
        held += found.bound >= abs(theta - 0.5)
        inside += found.interval[0] <= theta <= found.interval[1]
    assert held >= 0.93 * sets and inside >= 0.93 * sets


@pytest.mark.parametrize("n", [10, 20, 100])
def test_rows_at_one_level_say_what_a_share_of_none_says(n):
    """Clopper and Pearson: at most 1 − 0.05^(1/n) of the population are elsewhere."""
    m = np.concatenate((np.ones(n), np.arange(50_000) % 3))
    in_a = np.arange(len(m)) < n
    elsewhere = 1.0 - 0.05 ** (1 / n)
    bound = auc_spread(m, in_a).bound(0.95)
    assert bound == pytest.approx(elsewhere / 2, rel=0.2)


def test_without_ties_nothing_changes():
    rng = np.random.default_rng(1)
    m, in_a = rng.normal(size=60), np.arange(60) < 20
    found = auc_spread(m, in_a)
    assert found.below is None and found.above is None
    # Rows that share a value within a cluster are no ties: that is what clusters are.
    tasks = np.arange(60) // 5
    assert auc_spread(m[tasks], in_a, tasks).above is None
    rounded = m.round(1)
    tied = auc_spread(rounded, in_a)
    above = np.array([(a > rounded[~in_a]).mean() for a in rounded[in_a]])
    above += [(a == rounded[~in_a]).mean() / 2 for a in rounded[in_a]]
    below = np.array([(rounded[in_a] > b).mean() for b in rounded[~in_a]])
    below += [(rounded[in_a] == b).mean() / 2 for b in rounded[~in_a]]
    plain = placement_spread(above, below)
    assert tied.auc == pytest.approx(plain.auc) and tied.se == pytest.approx(plain.se)
    assert tied.bound(0.95) > plain.bound(0.95)


def test_the_limits_mirror_each_other_when_groups_or_ranks_turn_round():
    rng = np.random.default_rng(2)
    m, in_a = rng.integers(0, 4, 80).astype(float), rng.random(80) < 0.3
    for clusters in (None, np.arange(80) // 4):
        low, high = auc_spread(m, in_a, clusters).interval(0.9)
        for other in (
            auc_spread(m, ~in_a, clusters),
            auc_spread(-m, in_a, clusters),
        ):
            assert other.interval(0.9) == pytest.approx((1 - high, 1 - low))


def test_one_unit_ties_with_no_other():
    assert tied_share(np.zeros(3), np.zeros(3, np.intp)) == 0.0


@given(
    arrays(np.float64, 9, elements=st.sampled_from([0.0, 1.0, 2.0])),
    arrays(np.intp, 9, elements=st.integers(0, 3)),
    arrays(np.float64, 9, elements=st.floats(0.1, 5.0)),
)
def test_the_share_is_that_of_all_pairs_of_different_units(values, units, weights):
    for of_rows, u in ((None, np.arange(9)), (units, units)):
        for given_weights, w in ((None, np.ones(9)), (weights, weights)):
            apart = (u[:, None] != u) * np.outer(w, w)
            tied = apart * (values[:, None] == values)
            expected = tied.sum() / apart.sum() if apart.any() else 0.0
            found = tied_share(values, of_rows, given_weights)
            assert found == pytest.approx(expected, abs=1e-12)
