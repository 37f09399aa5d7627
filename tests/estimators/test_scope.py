"""`scope="task"` and `"both"` of the estimator, on frames and arrays."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from rankfair import RankFairRegressor
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.metrics import rank_auc

DATA = make_biased_tasks(12, 40, auc=0.8, random_state=0)
SCOPES = ["task", "both"]


def fair(epsilon=0.02, scope="task", **settings):
    return RankFairRegressor(
        epsilon, tasks="task", sensitive_features="z", scope=scope, **settings
    )


def with_a_lonely_task():
    """A thirteenth task whose rows are all of one group."""
    extra = DATA.frame.head(5).assign(task="alone", z="0")
    frame = pd.concat([DATA.frame, extra], ignore_index=True)
    return frame, np.concatenate((DATA.target, DATA.target[:5]))


def within(frame, m, tasks="task", groups="z"):
    """The AUC in each task that has both groups, by scikit-learn, and one pair."""
    found = {}
    for label, rows in frame.groupby(tasks).groups.items():
        z = (frame.loc[rows, groups] == "1").to_numpy()
        if z.any() and not z.all():
            pair = 0.5 / (z.sum() * (~z).sum())
            found[label] = roc_auc_score(z, m[rows]), pair
    return found


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("penalty", ["task", "shared", "ridge"])
def test_predict_is_level_in_every_task(penalty, scope):
    frame, y = with_a_lonely_task()
    model = fair(scope=scope, penalty=penalty).fit(frame, y)
    m = model.predict(frame)
    counted = within(frame, m)
    assert model.status_ == "satisfied"
    assert len(counted) == 12
    for label, (auc, pair) in counted.items():
        at = model.tasks_.tolist().index(label)
        assert model.task_auc_[at] == pytest.approx(auc)
        assert abs(auc - 0.5) <= max(0.02, pair) + 1e-12
        assert model.task_status_[at] in ("satisfied", "inactive", "constant")
    assert model.rank_auc_ == pytest.approx(rank_auc(y, m, sensitive_features=frame.z))
    if scope == "both":
        assert abs(model.rank_auc_ - 0.5) <= 0.02


def test_a_task_of_one_group_is_listed_with_the_reason():
    frame, y = with_a_lonely_task()
    model = fair().fit(frame, y)
    at = model.tasks_.tolist().index("alone")
    assert model.task_status_[at] == "one group only"
    assert np.isnan(model.task_auc_[at]) and np.isnan(model.task_values_[at])
    assert model.unbalanced_tasks_ == {"alone": 'It has no rows of group "1".'}


def test_a_task_that_cannot_be_levelled_is_named():
    frame, y = with_a_lonely_task()
    flat = frame.copy()
    rows = flat["task"] == flat["task"][0]
    flat.loc[rows, ["x1", "x2", "x3", "x4"]] = 1.0
    model = fair(0.0, constraints="residual", blind=True)
    with pytest.warns(ConvergenceWarning) as seen:
        model.fit(flat, y)
    assert model.status_ == "infeasible"
    label = flat["task"][0]
    assert set(model.unbalanced_tasks_) == {label, "alone"}
    assert "It came to" in model.unbalanced_tasks_[label]
    words = " ".join(str(each.message) for each in seen)
    assert "1 of 12 tasks with both groups are outside their band" in words
    assert f'"{label}"' in words and "unbalanced_tasks_" in words


def test_many_tasks_out_of_reach_are_not_all_named():
    frame = DATA.frame.assign(x1=0.0, x2=0.0, x3=0.0, x4=0.0)
    model = fair(0.0, constraints="residual", blind=True)
    with pytest.warns(ConvergenceWarning) as seen:
        model.fit(frame, DATA.target)
    words = str(seen[-1].message)
    assert words.startswith("12 of 12 tasks") and "and 9 more" in words


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.filterwarnings("ignore:.*blind in name only:UserWarning")
def test_groups_that_no_task_holds_both_of(scope):
    frame = DATA.frame.assign(z=(DATA.frame["task"] > "06").astype(str))
    with pytest.warns(UserWarning, match="no task with rows of both groups"):
        model = fair(scope=scope).fit(frame, DATA.target)
    assert set(model.task_status_) == {"one group only"}
    assert len(model.unbalanced_tasks_) == 12
    assert model.status_ in ("inactive", "satisfied")
    if scope == "both":
        assert abs(model.rank_auc_ - 0.5) <= 0.02


def test_other_groups_than_two_are_refused():
    three = DATA.frame.assign(z=np.arange(len(DATA.frame)) % 3)
    with pytest.raises(ValueError, match=r"takes two groups .* got 3 groups .*merge"):
        fair().fit(three, DATA.target)
    frame = DATA.frame.assign(z2=np.arange(len(DATA.frame)) % 2)
    model = fair().set_params(sensitive_features=["z", "z2"])
    with pytest.raises(ValueError, match="got 2 attributes"):
        model.fit(frame, DATA.target)
    unknown = DATA.frame.assign(z=DATA.frame["z"].where(np.arange(len(frame)) > 3))
    words = 'got 4 rows of unknown group .* Use scope="global", or leave these rows out'
    with pytest.raises(ValueError, match=words):
        fair().fit(unknown, DATA.target)


def test_distributions_are_refused_within_tasks():
    with pytest.raises(ValueError, match='got "distribution"'):
        fair(constraints="distribution").fit(DATA.frame, DATA.target)


@pytest.mark.parametrize("constraint", ["mean", "residual"])
@pytest.mark.parametrize("scope", SCOPES)
def test_means_within_every_task(scope, constraint):
    how = {"penalty": "task", "beta": 1.0, "blind": False}
    model = fair(0.0, scope, constraints=constraint, **how).fit(DATA.frame, DATA.target)
    m = model.predict(DATA.frame)
    values = pd.Series(m if constraint == "mean" else DATA.target - m)
    means = values.groupby([DATA.frame["task"], DATA.frame["z"]]).mean().unstack()
    assert (means["1"] - means["0"]).abs().max() <= 1e-6 * DATA.target.std()
    assert np.abs(model.task_values_).max() <= 1e-6
    counted = within(DATA.frame, m)
    aucs = [counted[label][0] for label in model.tasks_.tolist()]
    np.testing.assert_allclose(model.task_auc_, aucs)
    if scope == "both":
        assert abs(model.constraint_values_[constraint]) <= 1e-6


@pytest.mark.parametrize("scope", SCOPES)
def test_the_upper_side(scope):
    model = fair(0.05, scope, side="upper").fit(DATA.frame, DATA.target)
    assert (model.task_auc_ >= 0.5).all()
    assert (model.task_auc_ <= 0.55 + 1e-12).all()


@pytest.mark.parametrize(("penalty", "scope"), [("task", "both"), ("ridge", "task")])
def test_the_unit_of_a_predictor_does_not_matter(penalty, scope):
    X = DATA.frame.drop(columns=["task", "z"]).to_numpy(float)
    rows = {"tasks": DATA.tasks, "sensitive_features": DATA.sensitive}

    def fitted(unit):
        model = RankFairRegressor(0.02, penalty=penalty, scope=scope)
        return model.fit(X * unit, DATA.target, **rows)

    known = fitted(1.0)
    # By powers of two, so that nothing is rounded another way.
    unit = 2.0**-10
    found = fitted(unit)
    np.testing.assert_allclose(found.coef_ * unit, known.coef_, atol=1e-9)
    assert found.objective_ == pytest.approx(known.objective_)
    assert (found.task_status_ == known.task_status_).all()
