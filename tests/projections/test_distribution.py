import numpy as np
import pytest
from scipy.stats import ks_2samp

from rankfair.constraints import Distribution
from rankfair.core.problem import Groups
from rankfair.projections import least_move


def drawn(seed=0, n=200):
    rng = np.random.default_rng(seed)
    in_a = rng.random(n) < 0.4
    return rng.normal(size=n) * np.where(in_a, 1.0, 2.0) + in_a, Groups(in_a)


@pytest.mark.parametrize("slack", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_distributions_end_within_the_slack_in_the_order_of_each_group(slack, seed):
    m, groups = drawn(seed)
    moved = least_move(m, groups, slack)
    a = groups.in_a
    assert ks_2samp(moved[a], moved[~a]).statistic <= slack + 1e-9
    for own in (a, ~a):
        order = np.argsort(m[own])
        assert (np.diff(moved[own][order]) >= -1e-12).all()


def test_what_is_level_stays():
    m, groups = drawn()
    np.testing.assert_array_equal(least_move(m, groups, 1.0), m)


def test_a_narrower_slack_moves_further():
    m, groups = drawn()
    moves = [
        np.square(least_move(m, groups, slack) - m).sum() for slack in (0.3, 0.1, 0.02)
    ]
    assert moves == sorted(moves)


def test_rows_that_weigh_nothing_stay_and_have_no_say():
    m, groups = drawn()
    known = np.arange(len(m)) % 5 > 0
    part = Groups(groups.in_a, known.astype(np.int64))
    moved = least_move(m, part, 0.05)
    np.testing.assert_array_equal(moved[~known], m[~known])
    alone = least_move(m[known], Groups(groups.in_a[known]), 0.05)
    np.testing.assert_allclose(moved[known], alone, atol=1e-12)


def test_inputs_are_left_alone():
    m, groups = drawn()
    m.flags.writeable = False
    value = Distribution().value(least_move(m, groups, 0.1), groups)
    assert value <= 0.1 * groups.total_a * groups.total_b + 1e-6
