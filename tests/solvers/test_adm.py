import numpy as np
import pytest

from problems import biased, make_penalty, predictions
from rankfair.constraints import Mean, Residual
from rankfair.solvers.admm import ADM
from rankfair.solvers.base import Status
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import solve_linear

PROBLEM = biased(k=4, per_task=20, auc=0.9)


@pytest.mark.parametrize("penalty", ["ridge", "task", "feature", "shared"])
@pytest.mark.parametrize("demand", [Mean(0.0), Residual(0.0)])
@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_many_steps_lead_to_the_exact_solution(penalty, demand, rho):
    own = make_penalty(penalty, 1.0)
    exact = solve_linear(PROBLEM, own, [Demand(demand, PROBLEM.groups)])
    found = ADM(rho, max_iter=3000, random_state=0).solve(PROBLEM, own, demand)
    assert found.status is Status.SATISFIED
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    np.testing.assert_allclose(
        predictions(PROBLEM, found), predictions(PROBLEM, exact), atol=1e-5
    )


def test_few_weak_steps_leave_a_gap_and_say_so():
    steps = ADM(1e-3, max_iter=5, random_state=0)
    found = steps.solve(PROBLEM, make_penalty("task"), Mean(0.0))
    assert found.status is Status.MAX_ITER
    assert found.n_iter == len(found.trace) == 5
    in_a, m = PROBLEM.user_groups.in_a, predictions(PROBLEM, found)
    gap = (m[in_a].mean() - m[~in_a].mean()) / PROBLEM.y_unit
    assert found.values[0] == pytest.approx(gap)
    assert abs(gap) > 1e-3
