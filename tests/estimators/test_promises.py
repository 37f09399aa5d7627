"""What the README promises, on the training rows of every dataset and many seeds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import brute_twice_u
from problems import PENALTIES, make_penalty, of_dataset
from rankfair import RankFairRegressor, projections
from rankfair.constraints import Rank
from rankfair.core.problem import Groups
from rankfair.core.ranks import twice_u
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.wine import load_wine
from rankfair.metrics import rmse
from rankfair.solvers import NCADMM
from rankfair.solvers.base import Request
from rankfair.solvers.counted import Demand

# Feasible, exactly


@st.composite
def rows(draw, most_groups=2):
    """Few rows: ties, tiny groups, uneven tasks or one row a task, whole weights."""
    n_groups = draw(st.integers(2, most_groups))
    n_rows = draw(st.integers(n_groups, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 3, 5, 0]))  # 0: every value is different
    n = draw(st.integers(1, 3))
    X, y = rng.normal(size=(n_rows, n)), rng.normal(size=n_rows)
    if levels:
        X = rng.integers(0, levels, (n_rows, n)).astype(float)
        y = rng.integers(0, levels, n_rows).astype(float)
    more = rng.integers(0, n_groups, n_rows - n_groups) * draw(st.booleans())
    z = rng.permutation(np.concatenate((np.arange(n_groups), more)))
    tasks = {
        "one": np.zeros(n_rows, int),
        "uneven": np.minimum(rng.geometric(0.4, n_rows), 5),
        "one row each": np.arange(n_rows),
        "by group": z,
    }[draw(st.sampled_from(["one", "uneven", "one row each", "by group"]))]
    weights = rng.integers(1, 4, n_rows) if draw(st.booleans()) else None
    return X, y + draw(st.sampled_from([0.0, 2.0])) * z, tasks, z, weights


@settings(max_examples=40)
@given(
    rows=rows(),
    epsilon=st.sampled_from([0.0, 0.01, 0.05, 0.2]),
    side=st.sampled_from(["both", "upper"]),
    penalty=st.sampled_from(PENALTIES),
    beta=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    blind=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the few rows there are
def test_no_small_data_breaks_the_promise(rows, epsilon, side, penalty, beta, blind):
    X, y, tasks, z, weights = rows
    X, in_a = np.column_stack((X, z)), z == 1
    how = {"side": side, "penalty": penalty, "beta": beta, "blind": blind}
    model = RankFairRegressor(epsilon, sensitive_features=-1, count="train", **how)
    m = model.fit(X, y, tasks=tasks, sample_weight=weights).predict(X, tasks=tasks)
    w = np.ones(len(y), int) if weights is None else weights
    count = twice_u(m[in_a], m[~in_a], w[in_a], w[~in_a])
    pairs = int(w[in_a].sum() * w[~in_a].sum())
    reach = max(int(2 * epsilon * pairs * (1 + 1e-12)), 1)
    inside = pairs - reach * (side == "both") <= count <= pairs + reach
    assert inside == (model.status_ != "infeasible")
    assert model.rank_auc_ == count / (2 * pairs)


@settings(max_examples=25)
@given(
    rows=rows(most_groups=4),
    epsilon=st.sampled_from([0.0, 0.05, 0.3]),
    count=st.sampled_from(["loo", "train"]),
    penalty=st.sampled_from(["pool", "ridge"]),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recounted_several_bands_are_met_or_said_to_be_missed(
    rows, epsilon, count, penalty
):
    X, y, tasks, z, w = rows
    model = RankFairRegressor(epsilon, count=count, penalty=penalty)
    model.fit(X, y, tasks=tasks, sensitive_features=z, sample_weight=w)
    m, times = model.predict(X, tasks=tasks), np.ones(len(y), int) if w is None else w
    counted = model.loo_predictions_
    few_left = counted is None or 2 * np.isfinite(counted).sum() < len(y)
    counted = m if count == "train" or few_left else counted
    known = np.isfinite(counted)
    at = np.repeat(np.flatnonzero(known), times[known])
    inside = True
    for g in np.unique(z):
        own = z[at] == g
        pairs = int(own.sum() * (~own).sum())
        off = abs(brute_twice_u(counted[at], own) - pairs)
        # The band; of several groups 0.0005 beyond it or one pair, which is 2 in 2U.
        slack = 1e-9 if z.max() < 2 else max(0.001 * pairs, 2)
        inside &= off <= max(2 * epsilon * pairs, 1) + slack
    assert inside or model.status_ == "infeasible"
    assert model.status_ != "infeasible" or z.max() > 1 or not inside
    # Never worse than one constant.
    constant = np.average(y, weights=w)
    off, spread = (np.average((y - m_) ** 2, weights=w) for m_ in (m, constant))
    assert off <= spread * (1 + 1e-9) + 1e-18


# As good as a constant shift, where the paper's problem is asked for

LOADERS = {"wine": load_wine, "crime": load_crime, "income": load_income}


def compared(data):
    """The error at AUC 1/2 over that of the shifted unconstrained fit, on training."""
    X = np.column_stack((data.X, data.sensitive == data.group_a))
    given = {"tasks": data.tasks, "sensitive_features": data.sensitive}
    model = RankFairRegressor(
        0.0, penalty="ridge", beta=1.0, count="train", direction="density"
    )
    fair = model.fit(X, data.target, **given).predict(X, tasks=data.tasks)
    model.set_params(epsilon=0.5).fit(X, data.target, **given)
    free = model.predict(X, tasks=data.tasks)
    groups = Groups(data.sensitive == data.group_a)
    shifted = projections.shift(free, groups.in_a, Rank(0.0).band(groups))
    for m in (shifted, fair):
        assert Rank(0.0).band(groups).miss(Rank().value(m, groups)) == 0
    problem = of_dataset(data)
    request = Request(make_penalty("ridge", 1.0), fixed=True)
    solver = NCADMM(rho=1.0, max_iter=50)
    found = solver.solve(problem, request, [Demand(Rank(0.0), problem.groups)])
    assert min(step.residual for step in found.trace) < 1e-6
    return rmse(data.target, fair) / rmse(data.target, shifted)


# The group is a predictor here, and rounds may run out.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", LOADERS)
def test_tilt_beats_a_constant_shift_on_real_data(real_data, name):
    most = {"crime": 0.94, "income": 0.93}
    assert compared(LOADERS[name](real_data)) <= most.get(name, 1.001)
