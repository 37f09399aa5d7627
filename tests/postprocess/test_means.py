"""Means held beside ranks or distributions: met, least, and said where they are not."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from rankfair import RankFairPostprocessor
from rankfair.core.blocks import rounded
from rankfair.postprocess.demands import FINEST
from rankfair.postprocess.maps import Moved, Status
from rankfair.postprocess.means import difference, with_means
from rankfair.projections.chains import bounds, least_movement
from rankfair.projections.samples import Sample, Standing

rng = np.random.default_rng(5)
N = 600
IN_A = rng.random(N) < 0.4
X = np.column_stack((rng.normal(size=(N, 2)) + np.outer(IN_A, [0.9, 0.3]), IN_A))
Y = X @ [1.0, 0.5, 0.6] + rng.normal(size=N) * (1 + IN_A)
PAIRS = [["rank", "mean"], ["distribution", "mean"], "mean"]


def fitted(constraint, epsilon, **more):
    model = RankFairPostprocessor(
        LinearRegression(), epsilon, constraints=constraint, sensitive_features=2
    )
    return model.fit(X, Y, **more)


def two(seed, sizes, scale=1.0):
    draw = np.random.default_rng(seed)
    sizes = zip((0.0, 1.0), (1.0, 1.3), sizes, strict=True)
    return [Sample.of(scale * draw.normal(m, s, n)) for m, s, n in sizes]


def plain(slack):
    """The least movement for a slack, on no common levels."""

    def learn(samples):
        values = least_movement(samples, slack)
        return Moved(values, Standing.of(values, samples), Status.SATISFIED)

    return learn


def optimum(samples, slack, width):
    """The same problem for a solver of quadratic programmes."""
    q = [cp.Variable(len(sample.values)) for sample in samples]
    cost = sum(cp.sum_squares(v - s.values) for v, s in zip(q, samples, strict=True))
    rules = [cp.diff(each) >= 0 for each in q if each.size > 1]
    rules.append(cp.abs(cp.sum(q[1]) / q[1].size - cp.sum(q[0]) / q[0].size) <= width)
    for g, h in ((0, 1), (1, 0)):
        low, high = bounds(samples[g], slack)[0], bounds(samples[h], slack)[1]
        rules += [
            q[h][j] <= q[g][k]
            for k in range(len(low))
            for j in range(len(high))
            if low[k] > high[j] + 1e-9
        ]
    return cp.Problem(cp.Minimize(cost), rules).solve()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("slack", "share"), [(0.3, 0.5), (0.5, 0.2), (1.0, 0.4)])
def test_no_further_than_the_quadratic_programme(seed, slack, share):
    samples = two(seed, (9, 12))
    start = abs(difference(least_movement(samples, slack), samples))
    width = share * start
    moved = with_means(plain(slack), samples, width)
    cost = sum(
        float(((q - s.values) ** 2).sum())
        for q, s in zip(moved.values, samples, strict=True)
    )
    apart = abs(difference(moved.values, samples))
    # One row of each group by a level is as near to the edge as it has to come.
    assert apart <= max(width, 0.5) + 1e-9
    assert cost == pytest.approx(optimum(samples, slack, apart), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("constraint", PAIRS)
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.3])
def test_every_demand_is_met_on_predict(constraint, epsilon):
    model = fitted(constraint, epsilon)
    m = model.predict(X)
    apart = m[IN_A].mean() - m[~IN_A].mean()
    assert model.status_ == "satisfied"
    assert model.mean_difference_ == pytest.approx(apart)
    assert abs(apart) <= max(epsilon, FINEST) * Y.std() + 1e-9
    if "rank" in constraint:
        assert abs(roc_auc_score(IN_A, m) - 0.5) <= epsilon + 1 / (IN_A.sum() ** 2)
    if "distribution" in constraint:
        found = ks_2samp(m[IN_A], m[~IN_A]).statistic
        assert found <= max(epsilon, 1 / IN_A.sum()) + 1e-9


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(5, 200), st.integers(5, 200)),
    st.sampled_from([0.01, 0.1, 0.4]),
    st.sampled_from([0.02, 0.3, 1e6]),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_means_come_closer_and_distributions_stay_within_the_slack(
    seed, sizes, slack, width, unit
):
    samples = two(seed, sizes, unit)
    alone = plain(slack)(samples)
    start = difference(alone.values, samples)
    moved = with_means(plain(slack), samples, width * unit)
    apart = difference(moved.values, samples)
    if abs(start) <= width * unit:
        assert all(map(np.array_equal, moved.values, alone.values))
    assert abs(apart) <= abs(start) + 1e-9 * unit
    assert moved.standing.ks_excess(slack) <= 1e-9


def test_a_wide_band_of_means_changes_nothing():
    for constraint in ("rank", "distribution"):
        alone = RankFairPostprocessor(
            LinearRegression(), 0.05, constraints=constraint, sensitive_features=2
        ).fit(X, Y)
        both = fitted([constraint, "mean"], [0.05, 10.0])
        assert np.array_equal(alone.predict(X), both.predict(X))
    assert fitted(["rank", "mean"], [0.5, 10.0]).status_ == "inactive"


def test_mean_alone_moves_groups_as_wholes_and_no_further():
    model, free = fitted("mean", 0.2), LinearRegression().fit(X, Y).predict(X)
    free = rounded(free, model.resolution_)
    steps = model.predict(X) - free
    assert [np.ptp(steps[rows]) < 1e-12 for rows in (IN_A, ~IN_A)] == [True, True]
    assert steps.mean() == pytest.approx(0.0, abs=1e-12)
    edge = 0.2 * Y.std()
    assert model.mean_difference_ == pytest.approx(edge)


def test_both_cost_no_less_than_either():
    free = LinearRegression().fit(X, Y).predict(X)
    ends = {
        str(b): fitted(b, e).predict(X)
        for b, e in [("rank", 0.1), ("mean", 0.1), (["rank", "mean"], 0.1)]
    }
    moved = {name: float(((m - free) ** 2).mean()) for name, m in ends.items()}
    both = moved.pop("['rank', 'mean']")
    assert both >= (1 - 1e-3) * max(moved.values())


def test_swapped_groups_give_the_same():
    swapped = np.column_stack((X[:, :2], 1 - X[:, 2]))
    model = RankFairPostprocessor(
        LinearRegression(),
        [0.05, 0.1],
        constraints=["rank", "mean"],
        sensitive_features=2,
    ).fit(swapped, Y)
    first = fitted(["rank", "mean"], [0.05, 0.1])
    assert model.predict(swapped) == pytest.approx(first.predict(X))
    assert model.mean_difference_ == pytest.approx(-first.mean_difference_)


def test_unseen_values_go_on_from_where_their_group_was_shifted():
    model = fitted(["rank", "mean"], [0.4, 0.3])
    far = np.array([[1e3, 0.0, 1.0], [1e3, 0.0, 0.0]])
    steps = model.predict(far) - model.estimator_.predict(far)
    assert steps == pytest.approx([model._shifts[1], model._shifts[0]])
    values = np.column_stack((np.linspace(-9, 9, 999), np.zeros(999), np.ones(999)))
    assert (np.diff(model.predict(values)) >= -1e-12).all()


def test_weights_count_in_means():
    weights = rng.integers(1, 4, N)
    model = fitted(["distribution", "mean"], 0.05, sample_weight=weights)
    m = model.predict(X)
    apart = [np.average(m[rows], weights=weights[rows]) for rows in (IN_A, ~IN_A)]
    assert model.mean_difference_ == pytest.approx(apart[0] - apart[1])
    spread = np.sqrt(np.cov(Y, aweights=weights, ddof=0))
    assert abs(model.mean_difference_) <= 0.05 * spread + 1e-9


def test_another_model_out_of_fold():
    model = RankFairPostprocessor(
        HistGradientBoostingRegressor(max_iter=10), [0.02, 0.05],
        constraints=["rank", "mean"], sensitive_features=2, cv=3,
    ).fit(X, Y)  # fmt: skip
    assert model.status_ == "satisfied"


def test_what_no_way_reaches_is_said():
    # All rows of a group tie: ranks want them level, and means follow.
    flat = [Sample.of(np.zeros(4)), Sample.of(np.full(4, 3.0))]

    def stubborn(samples):
        values = [sample.values for sample in flat]
        return Moved(values, Standing.of(values, flat), Status.SATISFIED)

    assert with_means(stubborn, flat, 1.0).status is Status.INFEASIBLE


def test_the_warning_says_how_far_the_means_are_apart(monkeypatch):
    monkeypatch.setattr("rankfair.postprocess.means.PROBES", 0)
    with pytest.warns(ConvergenceWarning, match=r"KS is 0\.\d+, means differ by 1\.\d"):
        model = fitted(["distribution", "mean"], [1.0, 0.1])
    assert model.status_ == "infeasible"


@pytest.mark.parametrize(
    ("constraint", "epsilon", "words"),
    [
        (["rank", "means"], 0.1, 'Did you mean "mean"?'),
        (["rank", "distribution"], 0.1, "cannot be had at once"),
        (["mean", "mean"], 0.1, "cannot be had at once"),
        ([], 0.1, "cannot be had at once"),
        (["shift", "mean"], 0.1, '"shift" moves groups as wholes'),
        (["rank", "mean"], [0.1], "epsilon holds 1 number for 2 constraints"),
        (["rank", "mean"], [0.6, 0.1], "in [0, 0.5]; got 0.6"),
        ("rank", [0.1, 0.2], "epsilon holds 2 numbers for 1 constraint;"),
        ("mean", -1.0, "epsilon must be a number ≥ 0; got -1.0"),
    ],
)
def test_settings_that_are_refused(constraint, epsilon, words):
    with pytest.raises(ValueError) as error:
        fitted(constraint, epsilon)
    assert words in str(error.value)


def test_means_need_a_target_and_two_groups():
    model = LinearRegression().fit(X, Y)
    mean = RankFairPostprocessor(
        model, constraints="mean", prefit=True, sensitive_features=2
    )
    with pytest.raises(ValueError, match="y is missing"):
        mean.fit(X)
    three = np.column_stack((X[:, :2], np.arange(N) % 3))
    with pytest.raises(ValueError, match=r"compares two groups; .* has 3"):
        mean.set_params(prefit=False).fit(three, Y)


@pytest.mark.parametrize("sizes", [(20, 20), (2, 2), (3, 40)])
def test_means_alone_can_be_equal(sizes):
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1], sizes)
    x = rng.normal(size=(len(z), 1)) + z[:, None]
    y = x[:, 0] + z
    model = RankFairPostprocessor(LinearRegression(), 0.0, constraints="mean")
    m = model.fit(x, y, sensitive_features=z).predict(x, sensitive_features=z)
    assert model.status_ == "satisfied"
    assert m[z == 1].mean() == pytest.approx(m[z == 0].mean(), abs=1e-12)
