"""Several constraints at once: one that is counted, and linear ones beside it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

import four_tasks
from four_tasks import FRAME, IN_A, SEX, Y
from rankfair import RankFairRegressor
from rankfair.constraints import Mean, Rank, Residual
from rankfair.metrics import rank_auc


def apart(values, in_a, weights=None):
    """The difference of the groups' means."""
    w = np.ones(len(in_a)) if weights is None else weights
    of_a = np.average(values[in_a], weights=w[in_a])
    return of_a - np.average(values[~in_a], weights=w[~in_a])


def uneven(seed, ties=False, few=False):
    """Tasks of uneven size; with many equal rows, or a group of a handful."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(6), (3, 6, 12, 24, 48, 87))
    in_a = np.arange(180) % 45 == 0 if few else rng.random(180) < 0.4
    X = rng.normal(size=(180, 3)) + np.outer(in_a, [0.8, 0.0, 0.4])
    X = np.round(X) if ties else X
    y = X @ [1.0, 0.5, -0.3] + 0.7 * in_a + rng.normal(size=180)
    return X, y, codes, in_a


BOTH = ["rank", "mean"]
LINES = ["ridge", "pool"]  # penalties whose fits of all demands lie on a line
BENT = ["task", "feature", "shared"]
# How far outside several values may end: AUCs (or one pair), means in deviations.
SLACK, OF_MEANS = 5e-4, 1e-6
# Counts of training rows, at one β: what `predict` shows can be counted again.
TRAINED = {"count": "train", "beta": 1.0}


def fair(epsilon=0.02, **settings):
    return four_tasks.fair(epsilon, **{"penalty": "task", **TRAINED, **settings})


@pytest.mark.parametrize("penalty", LINES)
@pytest.mark.parametrize("epsilon", [0.0, [0.005, 0.02]])
def test_ranks_and_means_are_kept_together(penalty, epsilon):
    X, y, codes, in_a = uneven(0)
    model = RankFairRegressor(epsilon, constraints=BOTH, penalty=penalty, **TRAINED)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    widths = epsilon if isinstance(epsilon, list) else [epsilon] * 2
    assert model.status_ == "satisfied"
    auc = roc_auc_score(in_a, m)
    assert abs(auc - 0.5) <= widths[0] + SLACK
    assert abs(apart(m, in_a)) <= (widths[1] + OF_MEANS) * y.std()
    assert [*model.constraint_values_] == BOTH
    assert model.constraint_values_["rank"] == model.rank_auc_ == pytest.approx(auc)
    assert model.constraint_values_["mean"] == pytest.approx(
        apart(m, in_a) / y.std(), abs=1e-9
    )


@pytest.mark.parametrize("penalty", BENT)
@pytest.mark.parametrize("epsilon", [0.01, [0.005, 0.0]])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_that_bend_say_whether_they_came_there(penalty, epsilon):
    X, y, codes, in_a = uneven(0)
    model = RankFairRegressor(epsilon, constraints=BOTH, penalty=penalty, **TRAINED)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    widths = epsilon if isinstance(epsilon, list) else [epsilon] * 2
    ranks = abs(roc_auc_score(in_a, m) - 0.5) <= widths[0] + SLACK
    means = abs(apart(m, in_a)) <= (widths[1] + OF_MEANS) * y.std()
    assert (ranks and means) == (model.status_ == "satisfied")
    assert abs(roc_auc_score(in_a, m) - 0.5) <= widths[0] + 0.03
    assert np.std(m - y) <= y.std()


@pytest.mark.parametrize("penalty", LINES)
@pytest.mark.parametrize("kind", ["ties", "few"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ties_and_tiny_groups_keep_the_means_whatever_the_ranks(penalty, kind):
    X, y, codes, in_a = uneven(1, **{kind: True})
    model = RankFairRegressor(0.01, constraints=BOTH, penalty=penalty, **TRAINED)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    assert abs(apart(m, in_a)) <= (0.01 + 1e-8) * y.std()
    missed = abs(model.rank_auc_ - 0.5) - 0.01 - 1.01 / (in_a.sum() * (~in_a).sum())
    assert (missed <= 0) == (model.status_ != "infeasible")
    assert missed <= 0.02


@pytest.mark.parametrize("penalty", LINES)
def test_ranks_means_and_residuals_together(penalty):
    gap = apart(Y, IN_A) / Y.std()
    widths = [0.05, 0.2 * gap, 0.9 * gap]
    names = ["rank", "mean", "residual"]
    model = fair(widths, constraints=names, penalty=penalty).fit(FRAME, Y)
    m = model.predict(FRAME)
    assert model.status_ == "satisfied"
    assert abs(rank_auc(Y, m, sensitive_features=SEX) - 0.5) <= 0.05 + 1e-4
    assert abs(apart(m, IN_A)) <= (widths[1] + 1e-8) * Y.std()
    assert abs(apart(Y - m, IN_A)) <= (widths[2] + 1e-8) * Y.std()
    assert [*model.constraint_values_] == names


@pytest.mark.parametrize("names", [["mean", "residual"], ["rank", "mean", "residual"]])
@pytest.mark.parametrize(("penalty", "width"), [("task", 0.0), ("ridge", 0.01)])
def test_demands_that_exclude_each_other_are_named_in_a_warning(names, penalty, width):
    model = fair(width, constraints=names, penalty=penalty)
    with pytest.warns(ConvergenceWarning, match="No fit reached the band") as caught:
        model.fit(FRAME, Y)
    words = str(caught[0].message)
    assert model.status_ == "infeasible"
    assert caught[0].filename == __file__
    for name in names[-2:]:
        value = model.constraint_values_[name]
        assert f"{name} gap {value:.4g}, asked for {width:g}" in words
    assert ("AUC" in words) == ("rank" in names)
    assert "One value" not in words  # whose residuals differ
    gap = apart(Y, IN_A) / Y.std()
    assert model.constraint_values_["mean"] + model.constraint_values_[
        "residual"
    ] == pytest.approx(gap)


def test_nothing_to_do_is_the_unconstrained_fit():
    names = ["rank", "mean", "residual"]
    model = fair([0.5, 9.0, 9.0], constraints=names).fit(FRAME, Y)
    free = fair(0.5).fit(FRAME, Y)
    assert model.status_ == free.status_ == "inactive"
    np.testing.assert_array_equal(model.coef_, free.coef_)
    assert model.multiplier_ == 0


@pytest.mark.parametrize("k", [1, 4_000])
def test_many_rows_keep_both(k):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, k, 50_000)
    in_a = rng.random(50_000) < 0.4
    X = rng.normal(size=(50_000, 4))
    X[:, 0] += in_a
    y = X @ [1.0, 0.5, -0.5, 0.2] + in_a + rng.normal(size=50_000) ** 3
    model = RankFairRegressor([0.0, 0.0], constraints=BOTH, penalty="ridge", **TRAINED)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    assert model.status_ == "satisfied"
    assert abs(roc_auc_score(in_a, m) - 0.5) <= SLACK
    assert abs(apart(m, in_a)) <= OF_MEANS * y.std()


def test_objects_in_the_list_bring_their_own_epsilon():
    named = fair([0.005, 0.01], penalty="ridge", constraints=BOTH).fit(FRAME, Y)
    mixed = fair(0.005, penalty="ridge", constraints=["rank", Mean(0.01)]).fit(FRAME, Y)
    objects = fair(penalty="ridge", constraints=[Rank(0.005), Mean(0.01)]).fit(FRAME, Y)
    as_array = fair(np.array([0.005, 0.01]), penalty="ridge", constraints=BOTH).fit(
        FRAME, Y
    )
    for other in (mixed, objects, as_array):
        np.testing.assert_array_equal(other.coef_, named.coef_)
    upper = fair(penalty="ridge", constraints=[Rank(0.01), Residual(0.9, "upper")]).fit(
        FRAME, Y
    )
    assert -1e-8 <= upper.constraint_values_["residual"] <= 0.9 + 1e-8
