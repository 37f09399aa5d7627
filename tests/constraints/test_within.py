import numpy as np
import pytest

from rankfair.constraints import Mean, Residual, Within
from rankfair.core.problem import Groups

rng = np.random.default_rng(0)
IN_A = np.arange(30) < 12
M, Y = rng.normal(size=(2, 30)) + IN_A
ROWS = np.arange(30) % 3 > 0


@pytest.mark.parametrize("weights", [None, rng.integers(1, 4, 30), rng.random(30)])
@pytest.mark.parametrize("whole", [Mean(), Residual()])
def test_it_is_the_whole_demand_on_the_chosen_rows_alone(whole, weights):
    groups = Groups(IN_A, weights)
    chosen = groups.take(np.flatnonzero(ROWS))
    wanted = whole.on(Y[ROWS], chosen).value(M[ROWS], chosen)
    some = Within(whole=whole, rows=ROWS).on(Y, groups)
    assert some.value(M, groups) == pytest.approx(wanted)
    assert not some.direction(groups)[~ROWS].any()


@pytest.mark.parametrize("whole", [Mean(), Residual()])
def test_all_rows_are_the_whole_demand(whole):
    groups = Groups(IN_A)
    every = Within(whole=whole, rows=np.ones(30, bool)).on(Y, groups)
    wanted = whole.on(Y, groups)
    assert every.value(M, groups) == pytest.approx(wanted.value(M, groups))
    np.testing.assert_array_equal(every.direction(groups), wanted.direction(groups))


def test_other_rows_do_not_matter():
    groups, some = Groups(IN_A), Within(rows=ROWS)
    other = np.where(ROWS, M, 1e6)
    assert some.value(other, groups) == pytest.approx(some.value(M, groups))
