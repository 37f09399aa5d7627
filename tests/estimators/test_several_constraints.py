"""Several constraints at once: one that is counted, and linear ones beside it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from four_tasks import FRAME, IN_A, SEX, Y, fair
from rankfair import RankFairRegressor
from rankfair.constraints import Mean, Residual
from rankfair.metrics import rank_auc


def apart(values, in_a):
    """The difference of the groups' means."""
    return values[in_a].mean() - values[~in_a].mean()


BOTH = ["rank", "mean"]
# How far outside several values may end: AUCs (or one pair), means in deviations.
SLACK, OF_MEANS = 5e-4, 1e-6
LINES = ["ridge", "pool"]  # penalties whose fits of all demands lie on a line
BENT = ["task", "feature", "shared"]
# Counts of training rows, at one β: what `predict` shows can be counted again.
TRAINED = {"count": "train", "beta": 1.0}


def fitted(epsilon, penalty):
    """Fits to tasks of uneven size."""
    rng = np.random.default_rng(0)
    codes, in_a = np.repeat(np.arange(6), (3, 6, 12, 24, 48, 87)), rng.random(180) < 0.4
    X = rng.normal(size=(180, 3)) + np.outer(in_a, [0.8, 0.0, 0.4])
    y = X @ [1.0, 0.5, -0.3] + 0.7 * in_a + rng.normal(size=180)
    model = RankFairRegressor(epsilon, constraints=BOTH, penalty=penalty, **TRAINED)
    model.fit(X, y, tasks=codes, sensitive_features=in_a)
    m = model.predict(X, tasks=codes)
    return model, y, in_a, m, abs(roc_auc_score(in_a, m) - 0.5), abs(apart(m, in_a))


@pytest.mark.parametrize("penalty", LINES)
@pytest.mark.parametrize("epsilon", [0.0, [0.005, 0.02]])
def test_ranks_and_means_are_kept_together(penalty, epsilon):
    model, y, in_a, m, rank, mean = fitted(epsilon, penalty)
    widths = epsilon if isinstance(epsilon, list) else [epsilon] * 2
    assert model.status_ == "satisfied"
    assert rank <= widths[0] + SLACK
    assert mean <= (widths[1] + OF_MEANS) * y.std()
    assert [*model.constraint_values_] == BOTH
    assert model.constraint_values_["rank"] == model.rank_auc_
    assert model.rank_auc_ == pytest.approx(roc_auc_score(in_a, m))
    assert model.constraint_values_["mean"] == pytest.approx(
        apart(m, in_a) / y.std(), abs=1e-9
    )


@pytest.mark.parametrize("penalty", BENT)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_that_bend_say_whether_they_came_there(penalty):
    model, y, _, m, rank, mean = fitted([0.005, 0.0], penalty)
    inside = rank <= 0.005 + SLACK and mean <= OF_MEANS * y.std()
    assert inside == (model.status_ == "satisfied")
    assert rank <= 0.035
    assert np.std(m - y) <= y.std()


@pytest.mark.parametrize("penalty", LINES)
def test_ranks_means_and_residuals_together(penalty):
    gap = apart(Y, IN_A) / Y.std()
    widths = [0.05, 0.2 * gap, 0.9 * gap]
    names = ["rank", "mean", "residual"]
    how = {"penalty": penalty, **TRAINED}
    model = fair(widths, constraints=names, **how).fit(FRAME, Y)
    m = model.predict(FRAME)
    assert model.status_ == "satisfied"
    assert abs(rank_auc(Y, m, sensitive_features=SEX) - 0.5) <= 0.05 + 1e-4
    assert abs(apart(m, IN_A)) <= (widths[1] + 1e-8) * Y.std()
    assert abs(apart(Y - m, IN_A)) <= (widths[2] + 1e-8) * Y.std()
    assert [*model.constraint_values_] == names
    # Objects in the list bring their own ε.
    records = [widths[0], Mean(widths[1]), Residual(widths[2])]
    objects = fair(widths[0], constraints=["rank", *records[1:]], **how).fit(FRAME, Y)
    np.testing.assert_array_equal(objects.coef_, model.coef_)
    # What is there to do is nothing: the unconstrained fit.
    model = fair([0.5, 9.0, 9.0], constraints=names, **how).fit(FRAME, Y)
    free = fair(0.5, **how).fit(FRAME, Y)
    assert model.status_ == free.status_ == "inactive" and model.multiplier_ == 0
    np.testing.assert_array_equal(model.coef_, free.coef_)


@pytest.mark.parametrize(
    ("names", "penalty", "width"),
    [
        (["mean", "residual"], "task", 0.0),
        (["rank", "mean", "residual"], "ridge", 0.01),
    ],
)
def test_demands_that_exclude_each_other_are_named_in_a_warning(names, penalty, width):
    model = fair(width, constraints=names, penalty=penalty, **TRAINED)
    with pytest.warns(ConvergenceWarning, match="No fit reached the band") as caught:
        model.fit(FRAME, Y)
    words, values = str(caught[0].message), model.constraint_values_
    assert model.status_ == "infeasible"
    assert caught[0].filename == __file__
    for name in names[-2:]:
        assert f"{name} gap {values[name]:.4g}, asked for {width:g}" in words
    assert ("AUC" in words) == ("rank" in names)
    gap = apart(Y, IN_A) / Y.std()
    assert values["mean"] + values["residual"] == pytest.approx(gap)
