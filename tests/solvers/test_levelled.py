"""Equal distributions: KS in its band by exact counts, or the closest fit."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.exceptions import ConvergenceWarning

from problems import biased, predictions
from rankfair import MultiTaskRegressor, RankFairRegressor
from rankfair.balances import Distribution, Mean
from rankfair.datasets import make_biased_tasks
from rankfair.metrics import rank_auc
from rankfair.penalties import make_penalty
from rankfair.solvers import NCADMM, Tilt

PENALTIES = ["ridge", "task", "shared", "feature"]
DATA = make_biased_tasks(20, 25, auc=0.8, random_state=1)
FRAME, Y, GROUPS = DATA.frame, DATA.target, DATA.sensitive
IN_A = DATA.sensitive == DATA.group_a


def level(epsilon=0.02, **settings):
    settings = {"balance": "distribution", "tasks": "task", **settings}
    return RankFairRegressor(epsilon, sensitive_features="z", **settings)


def distance(m, in_a=IN_A):
    return ks_2samp(m[in_a], m[~in_a]).statistic


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_the_distance_is_in_its_band(epsilon, penalty):
    model = level(epsilon, penalty=penalty).fit(FRAME, Y)
    m = model.predict(FRAME)
    assert model.status_ == "satisfied"
    assert distance(m) <= epsilon + 1e-9
    assert model.balance_ == {"distribution": pytest.approx(distance(m))}
    auc = rank_auc(Y, m, sensitive_features=GROUPS)
    assert model.rank_auc_ == pytest.approx(auc)
    assert abs(auc - 0.5) <= epsilon
    assert np.isnan(model.multiplier_)
    assert len(model.trace_) == model.n_iter_


def test_a_wider_band_costs_less():
    errors = [level(e).fit(FRAME, Y).objective_ for e in (0.02, 0.05, 0.1, 0.2, 0.4)]
    assert errors == sorted(errors, reverse=True)


def test_ranks_alone_cost_no_more():
    """KS ≤ ε brings AUC with it, so the least error under ranks alone is lower."""
    ranks = level(0.03, balance="rank").fit(FRAME, Y)
    assert ranks.objective_ <= level(0.03).fit(FRAME, Y).objective_


def test_what_is_level_already_is_the_unconstrained_fit():
    model = level(1.0).fit(FRAME, Y)
    free = level(0.5, balance="rank").fit(FRAME, Y)
    assert model.status_ == "inactive"
    np.testing.assert_array_equal(model.coef_, free.coef_)
    assert model.multiplier_ == 0


@pytest.mark.parametrize("penalty", ["ridge", "task"])
@pytest.mark.parametrize("widths", [[0.03, 0.0], [0.03, 0.05], 0.03])
def test_means_are_kept_beside(widths, penalty):
    model = level(widths, balance=["distribution", "mean"], penalty=penalty)
    m = model.fit(FRAME, Y).predict(FRAME)
    most = widths[1] if isinstance(widths, list) else widths
    assert model.status_ == "satisfied"
    assert distance(m) <= 0.03 + 1e-9
    assert abs(m[IN_A].mean() - m[~IN_A].mean()) <= (most + 1e-8) * Y.std()
    assert [*model.balance_] == ["distribution", "mean"]
    turned = level(
        widths[::-1] if isinstance(widths, list) else widths,
        balance=["mean", "distribution"],
        penalty=penalty,
    ).fit(FRAME, Y)
    np.testing.assert_array_equal(turned.coef_, model.coef_)


def test_a_mean_that_binds_alone_is_satisfied_not_inactive():
    both = ["distribution", "mean"]
    model = level([1.0, 0.0], balance=both, penalty="ridge").fit(FRAME, Y)
    mean = level(0.0, balance="mean", penalty="ridge").fit(FRAME, Y)
    assert model.status_ == "satisfied"
    np.testing.assert_allclose(model.coef_, mean.coef_, atol=1e-7)


def test_an_object_brings_its_own_epsilon():
    named = level([0.03, 0.1], balance=["distribution", "mean"]).fit(FRAME, Y)
    objects = level(balance=[Distribution(0.03), Mean(0.1)]).fit(FRAME, Y)
    np.testing.assert_array_equal(objects.coef_, named.coef_)


def test_demands_that_exclude_each_other_are_named():
    names = ["distribution", "mean", "residual"]
    model = level(0.01, balance=names)
    with pytest.warns(ConvergenceWarning, match="No fit reached the band") as caught:
        model.fit(FRAME, Y)
    words = str(caught[0].message)
    assert model.status_ == "infeasible"
    assert f"KS {model.balance_['distribution']:.4f}, asked for 0.01" in words
    for name in names[1:]:
        assert f"{name} imbalance {model.balance_[name]:.4g}, asked for 0.01" in words


def test_what_a_model_cannot_reach_is_said_with_what_helps():
    """One slope can only turn the order round, or leave all predictions equal."""
    rng = np.random.default_rng(0)
    in_a = np.arange(60) < 30
    X = (rng.normal(size=60) * np.where(in_a, 0.1, 1.0))[:, None]
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = RankFairRegressor(0.05, balance="distribution", penalty="ridge")
    with pytest.warns(ConvergenceWarning, match="RankFairPostprocessor") as caught:
        model.fit(X, y, sensitive_features=in_a)
    free = MultiTaskRegressor(penalty="ridge").fit(X, y)
    assert model.status_ == "infeasible"
    assert f"KS {model.balance_['distribution']:.4f}" in str(caught[0].message)
    assert distance(model.predict(X), in_a) <= distance(free.predict(X), in_a)
    assert model.n_iter_ == 2 * model.max_iter  # a firmer pull was tried as long


@pytest.mark.parametrize("penalty", ["ridge", "task"])
def test_whole_weights_are_repeated_rows(penalty):
    w = np.random.default_rng(3).integers(0, 3, len(Y))
    i = np.repeat(np.arange(len(Y)), w)
    weighted = level(0.05, penalty=penalty).fit(FRAME, Y, sample_weight=w)
    repeated = level(0.05, penalty=penalty).fit(FRAME.iloc[i], Y[i])
    m = weighted.predict(FRAME)
    assert weighted.balance_["distribution"] == pytest.approx(distance(m[i], IN_A[i]))
    assert weighted.balance_["distribution"] <= 0.05 + 1e-9
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-2)


def test_fractional_weights_and_inputs_left_alone():
    w = np.random.default_rng(3).random(len(Y))
    for array in (w, Y):
        array.flags.writeable = False
    model = level(0.05).fit(FRAME, Y, sample_weight=w)
    again = level(0.05).fit(FRAME, Y, sample_weight=w)
    assert model.status_ == "satisfied"
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_zero_means_one_row_of_either_group():
    rng = np.random.default_rng(0)
    in_a = np.arange(24) % 2 == 0
    X, y = np.column_stack((rng.normal(size=(24, 12)), in_a)), rng.normal(size=24)
    model = RankFairRegressor(0.0, balance="distribution", penalty="ridge", beta=0.1)
    model.fit(X, y, sensitive_features=in_a)
    outside = model.balance_["distribution"] > 1 / 12 + 1e-12
    assert outside == (model.status_ == "infeasible")


@pytest.mark.parametrize("solver", ["ncadmm", "paper", NCADMM()])
def test_other_solvers_refuse(solver):
    with pytest.raises(ValueError, match=r'only balance="rank".* use solver="tilt"'):
        level(solver=solver).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"side": "upper"}, 'side="upper" puts one group on top, but a distance'),
        ({"balance": ["rank", "distribution"]}, "KS ≤ ε brings"),
        ({"epsilon": 1.5}, "epsilon"),
        ({"balance": "distributions"}, 'Did you mean "distribution"?'),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    with pytest.raises(ValueError) as caught:
        level(**settings).fit(FRAME, Y)
    assert words in str(caught.value)


def test_three_groups_are_refused_with_a_way_out():
    X, y = np.random.default_rng(0).normal(size=(2, 30, 1))
    model = RankFairRegressor(balance="distribution")
    with pytest.raises(ValueError, match=r"has 3\. Use .* RankFairPostprocessor"):
        model.fit(X, y[:, 0], sensitive_features=np.arange(30) % 3)


def test_the_solver_alone():
    problem = biased(k=5, per_task=20)
    solution = Tilt().solve(problem, make_penalty("ridge", 1.0), Distribution(0.05))
    m = predictions(problem, solution)
    groups = problem.user_groups
    assert solution.value == Distribution().value(m, groups)
    assert solution.value <= 0.05 * groups.total_a * groups.total_b + 1e-9
    errors = [step.objective for step in solution.trace]
    assert solution.objective <= max(errors)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_is_kept_by_each_pull():
    for epsilon in (0.0, 0.02, 0.1, 0.2):
        for most in (1, 2, 5, 9, 200):
            model = level(epsilon, max_iter=most).fit(FRAME, Y)
            assert model.n_iter_ <= 2 * most
            if most < 12:  # too few to find out how much slack there is
                assert model.status_ != "satisfied"
            if model.status_ == "max_iter":
                assert model.n_iter_ in (most, 2 * most)
                assert model.balance_["distribution"] <= epsilon + 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rows", [50, 100])
def test_the_default_steps_are_enough_for_one_in_a_hundred(rows, seed):
    """A first pull that does not get there leaves the next one all its steps."""
    data = make_biased_tasks(20, rows, random_state=seed)
    model = level(0.01, penalty="ridge").fit(data.frame, data.target)
    in_a = data.sensitive == data.group_a
    assert model.status_ == "satisfied"
    assert distance(model.predict(data.frame), in_a) <= 0.01 + 1e-9


def test_steps_that_run_out_are_said():
    model = level(0.1, max_iter=5)
    with pytest.warns(ConvergenceWarning, match="The steps ran out"):
        model.fit(FRAME, Y)
    assert model.status_ == "max_iter" and model.n_iter_ == 5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_are_told(capsys):
    level(0.1, verbose=1, max_iter=5).fit(FRAME, Y)
    assert "5" in capsys.readouterr().err
