"""The fits of all ε on one line, counted as if each row had been left out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import brute_twice_u
from problems import PENALTIES, biased, make_penalty, posed, predictions, solved, target
from rankfair import RankFairRegressor
from rankfair.constraints import Mean, Rank
from rankfair.core.problem import Groups
from rankfair.metrics import rank_auc, rmse
from rankfair.penalties import Pool
from rankfair.solvers import Demand, Tilt
from rankfair.solvers.base import Request, Status
from rankfair.solvers.counted import Counted, Units
from rankfair.solvers.line import nearest
from rankfair.solvers.tilt import TiltedFits, density_rounds, search_along

# A band that is missed, or rows that tell the groups, are no matter here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def rows(n_rows=120, n_tasks=6, seed=0, alone=2):
    """Uneven tasks, the last ones of one row; groups that the first column shows."""
    rng = np.random.default_rng(seed)
    in_a = rng.random(n_rows) < 0.4
    tasks = np.minimum(rng.geometric(0.35, n_rows), n_tasks)
    tasks[:alone] = 100 + np.arange(alone)
    X = rng.normal(size=(n_rows, 3)) + np.outer(in_a, [1.0, 0.0, 0.3])
    y = X @ [1.0, 0.5, 0.2] + 0.4 * tasks.clip(max=n_tasks) + rng.normal(size=n_rows)
    return X, y, tasks, in_a


def framed(X, tasks, in_a):
    frame = pd.DataFrame(X, columns=list("uvw"))
    return frame.assign(task=tasks, z=np.where(in_a, "b", "a"))


def fair(epsilon=0.02, **settings):
    return RankFairRegressor(epsilon, tasks="task", sensitive_features="z", **settings)


def inside(m, in_a, epsilon):
    """Whether predictions are in the band of ranks, by counting every pair."""
    known = ~np.isnan(m)
    m, in_a = m[known], in_a[known]
    pairs = int(in_a.sum() * (~in_a).sum())
    return abs(brute_twice_u(m, in_a) - pairs) <= max(2 * epsilon * pairs, 1) + 1e-9


def test_the_multiplier_takes_either_sign():
    """Of a skewed column the mean gap may lead up and the rank gap down."""
    rng = np.random.default_rng(1)
    a = rng.random(1500) < 0.4
    x = np.where(a, rng.gamma(1.0, 1.35, 1500), rng.gamma(4.0, 0.3, 1500))
    X = np.column_stack((x, rng.normal(size=1500), 0.3 * a + rng.normal(size=1500)))
    y = x + 0.5 * X[:, 1] + 0.5 * rng.normal(size=1500)
    up = RankFairRegressor(0.0).fit(X, y, sensitive_features=a)
    assert up.status_ == "satisfied" and up.multiplier_ < 0
    other, target, tasks, in_a = rows()
    down = RankFairRegressor(0.0)
    down.fit(other, target, tasks=tasks, sensitive_features=in_a)
    assert down.multiplier_ > 0


# Without the group, and with it


def test_with_the_group_the_line_is_a_constant_shift():
    X, y, tasks, in_a = rows(300, alone=0)
    frame = framed(X, tasks, in_a)
    free = fair(0.5, blind=False).fit(frame, y)
    model = fair(0.0, blind=False).fit(frame, y)
    start, left_out = free.predict(frame), free.loo_predictions_
    moved = model.predict(frame) - start
    gap = moved[in_a].mean() - moved[~in_a].mean()
    for group in (in_a, ~in_a):
        assert np.ptp(moved[group]) <= 1e-8
    shifted = left_out + np.where(in_a, gap, 0.0)
    assert inside(shifted, in_a, 0.0)
    # No smaller shift is enough: it ends at the first place that is inside.
    assert not inside(left_out + np.where(in_a, gap * (1 - 1e-4), 0.0), in_a, 0.0)


# Every ε


def test_the_model_of_another_epsilon_is_the_fit_of_it():
    X, y, tasks, in_a = rows(300, alone=0)
    frame = framed(X, tasks, in_a)
    model = fair(0.1).fit(frame, y)
    path = model.path([0.0, 0.05, 0.3])
    for row in path.rows:
        fit, other = fair(row.epsilon).fit(frame, y), model.at(row.epsilon)
        assert other.epsilon == row.epsilon and other.status_ == fit.status_
        np.testing.assert_allclose(other.coef_, fit.coef_, atol=1e-9)
        np.testing.assert_allclose(other.intercept_, fit.intercept_, atol=1e-9)
        left_out = fit.loo_predictions_
        np.testing.assert_allclose(other.loo_predictions_, left_out, atol=1e-9)
        assert other.loo_auc_ == pytest.approx(fit.loo_auc_, abs=1e-9)
        assert row.status == fit.status_
        assert row.rmse == pytest.approx(rmse(y, left_out))
        auc = rank_auc(y, left_out, sensitive_features=frame["z"])
        assert row.gap == pytest.approx(abs(auc - 0.5), abs=1e-9)
    assert model.epsilon == 0.1


def test_many_left_out_rows_land_within_one_pair():
    """However narrow the bracket has to be in which the count is found."""
    rng = np.random.default_rng(1)
    n_rows = 50_000
    group, task = rng.random(n_rows) < 0.5, rng.integers(0, 200, n_rows)
    y = rng.standard_normal(n_rows) + group + 0.3 * rng.standard_normal(200)[task]
    X = rng.standard_normal((n_rows, 4))
    X[:, 0] += 0.5 * group
    y += X.sum(axis=1) / 2
    model = RankFairRegressor(0.0).fit(X, y, tasks=task, sensitive_features=group)
    assert model.status_ == "satisfied"
    counted = rank_auc(y, model.loo_predictions_, sensitive_features=group)
    assert abs(counted - 0.5) * group.sum() * (~group).sum() <= 1.0 + 1e-6


# The search, on made-up lines


def apart(n, rng, *constraints):
    """A line along which A falls and B rises; both groups are there."""
    in_a = np.append([True, False], rng.random(n - 2) < 0.5)
    e = np.where(in_a, 1.0, -1.0) * rng.uniform(0.5, 1.5, n)
    demands = tuple(Demand(each, Groups(in_a)) for each in constraints)
    E = np.tile(e, (len(demands), 1))
    return Counted(rng.normal(size=n) + in_a, E, demands, Units())


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 16),
    epsilon=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_the_multiplier_is_where_the_count_first_is_in_the_band(seed, n, epsilon):
    """Counts change where two rows meet, and nowhere else."""
    rng = np.random.default_rng(seed)
    line = apart(n, rng, Rank(epsilon))
    (q, e, a), cap = (line.q, line.E[0], line.demand.groups.in_a), rng.uniform(0, 2, 2)
    cap = -cap[0], cap[1]
    meet = ((q[a, None] - q[~a]) / (e[a, None] - e[~a])).ravel()
    ends = np.sort([*cap, 0.0, *meet[(meet > cap[0]) & (meet < cap[1])]])
    gaps = [line.demand.gap(line.value(x)) for x in (ends[1:] + ends[:-1]) / 2]
    found = nearest(line, cap)
    value = brute_twice_u(line.at(found.lam), a)
    assert found.values == [value]
    inside = np.flatnonzero(np.array(gaps) == 0)
    assert found.inside == (len(inside) > 0) == (line.demand.band.miss(value) == 0)
    if found.inside:
        least = np.minimum(np.abs(ends[inside]), np.abs(ends[inside + 1])).min()
        least = 0.0 if (ends[inside] * ends[inside + 1] <= 0).any() else least
        first = line.value(float(np.sign(found.lam[0])) * least * (1 + 1e-9))
        # Where the count that is met first is the edge itself, any such place will do.
        same = value == first and value in line.demand.band
        assert same or abs(found.lam[0]) == pytest.approx(least, rel=1e-6, abs=1e-9)
    else:
        assert line.demand.gap(value) <= min(gaps) + 1e-3


@pytest.mark.parametrize("constraint", [Rank(0.1), Rank(0.1, "upper"), Mean(0.1)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_many_rows_end_at_the_near_edge_of_the_band(constraint, sign):
    line = apart(40_000, np.random.default_rng(0), constraint)
    line = Counted(sign * line.q, line.E, line.demands, line.units)
    found = nearest(line, (-2.0, 2.0))
    off = sign * (line.demand.show(found.values[0]) - constraint.middle)
    edge = 0.0 if sign < 0 and constraint.side == "upper" else 0.1
    assert found.inside and sign * found.lam[0] > 0
    assert edge - 1e-6 <= off <= edge + 1e-9


def test_one_count_is_met_in_its_band_and_others_nearly():
    """Linear values by 1e-6; of several counts each by 0.0005 or one pair."""
    rng, one = np.random.default_rng(0), Rank(0.1)
    ends = apart(4000, rng, one).demand.band
    more = 1e-3 * ends.high
    for several, slack in ([one], 0.0), ([one, one], more / 1.2), ([Mean(0.1)], 1e-6):
        line = apart(4000, np.random.default_rng(0), *several)
        band = line.demands[0].band
        for off, met in ((slack * 0.99, True), (slack * 1.01 + 1e-9, False)):
            for value in (band.low - off, band.high + off):
                values = [value, *[sum(band) / 2] * (len(several) - 1)]
                assert line.met(values) == met


# The line of a fit


def weighted(times=1.0):
    """Rows with weights, in units of any size."""
    data = biased(k=4, per_task=30, auc=0.9)
    weights = times * np.random.default_rng(0).uniform(0.5, 2.0, len(data.y))
    return posed(data.X, target(data), data.codes, data.user_groups.in_a, weights)


@pytest.mark.parametrize("penalty", ["ridge", "pool"])
def test_the_squared_error_along_the_line_is_a_parabola_with_a_cap(penalty):
    problem = weighted()
    penalty = Pool(9.0, 3.0, 1.0) if penalty == "pool" else make_penalty(penalty, 9.0)
    demands = [Demand(Rank(0.0), problem.groups)]
    line = TiltedFits.of(problem, Request(penalty, fixed=True), demands, "train").line()

    def error(x):
        m = problem.predict(line.coefficients(np.array([x])))
        return problem.weights @ (m - problem.y) ** 2

    low, high = line.curve.cap
    mean = np.average(problem.y, weights=problem.weights)
    constant = problem.weights @ (problem.y - mean) ** 2
    assert line.curve.constant == pytest.approx(constant)
    assert low < 0 < high
    for x in (low, high):
        assert error(x) == pytest.approx(constant)
    for x in (0.0, 0.3 * low, 0.7 * high, 2.0):
        assert line.curve.error(np.array([x])) == pytest.approx(error(x))


@pytest.mark.parametrize(
    ("penalty", "direction"),
    [*((it, "mean") for it in PENALTIES), ("ridge", "density")],
)
def test_weights_in_another_unit_change_nothing(penalty, direction):
    found = []
    for times in (1.0, 1e-4):
        problem = weighted(times)
        request = Request(make_penalty(penalty, 3.0 * times), fixed=True)
        solver = Tilt("train", direction)
        demands = [Demand(Rank(0.01), problem.groups)]
        found.append(solver.solve(problem, request, demands))
    assert found[0].multipliers != (0.0,)
    np.testing.assert_allclose(found[1].coef, found[0].coef, rtol=1e-4, atol=1e-6)


def test_training_rows_meet_in_ties_that_no_place_beside_them_has():
    """The groups differ in one binary column: it must have no part at all."""
    in_a, other, x = np.indices((2, 2, 100)).reshape(3, -1)
    x = (x < 40 + 20 * in_a).astype(float)
    y = x + 2 * other + np.random.default_rng(0).normal(size=400)
    problem = posed(np.column_stack((x, other)), y, 0 * x, in_a > 0)
    found = solved(problem, Tilt("train"), epsilon=0.01)
    assert (found.status, found.values) == (Status.SATISFIED, (0.5,))
    m = predictions(problem, found)
    assert len({*m}) == 2


@pytest.mark.parametrize("epsilon", [0.01, 0.5])
def test_a_line_is_one_step(epsilon):
    problem, told = biased(auc=0.9), []
    found = solved(problem, Tilt(), epsilon=epsilon, on_step=told.append)
    assert found.trace == tuple(told) and found.n_iter == 1
    (step,) = told
    assert (step.iteration, step.auc) == (1, found.values[0])
    assert step.objective == pytest.approx(found.objective / problem.loss_unit)


@pytest.mark.parametrize(("tol", "steps"), [(0.0, 3), (1e9, 1)])
def test_rounds_end_when_the_direction_settles_or_they_run_out(tol, steps):
    problem = biased(auc=0.9)
    request = Request(make_penalty("ridge"), fixed=True)
    fits = TiltedFits.of(
        problem, request, [Demand(Rank(0.01), problem.groups)], "train"
    )
    found = density_rounds(fits, search_along(fits), tol, rounds=3)
    assert len(found.trace) == steps
    assert found.status is (Status.SATISFIED if steps == 1 else Status.MAX_ITER)
