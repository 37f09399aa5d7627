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


def within(frame, m):
    """The AUC in each task that has both groups, by scikit-learn, and one pair."""
    found = {}
    for label, rows in frame.groupby("task").groups.items():
        z = (frame.loc[rows, "z"] == "1").to_numpy()
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
    # A task of one group is listed with the reason.
    at = model.tasks_.tolist().index("alone")
    assert model.task_status_[at] == "one group only"
    assert np.isnan(model.task_auc_[at]) and np.isnan(model.task_values_[at])
    assert model.unbalanced_tasks_ == {"alone": 'It has no rows of group "1".'}


def test_tasks_that_cannot_be_levelled_are_named():
    frame, y = with_a_lonely_task()
    label = frame["task"][0]
    frame.loc[frame["task"] == label, ["x1", "x2", "x3", "x4"]] = 1.0
    model = fair(0.0, constraints="residual")
    with pytest.warns(ConvergenceWarning) as seen:
        model.fit(frame, y)
    assert model.status_ == "infeasible"
    assert set(model.unbalanced_tasks_) == {label, "alone"}
    assert "It came to" in model.unbalanced_tasks_[label]
    words = " ".join(str(each.message) for each in seen)
    assert "1 of 12 tasks with both groups are outside their band" in words
    assert f'"{label}"' in words and "unbalanced_tasks_" in words
    with pytest.warns(ConvergenceWarning) as seen:
        model.fit(frame.assign(x1=0.0, x2=0.0, x3=0.0, x4=0.0), y)
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
    assert scope == "task" or abs(model.rank_auc_ - 0.5) <= 0.02


def test_what_tasks_cannot_keep_is_refused():
    n, named = np.arange(len(DATA.frame)), ["z", "other"]
    for columns, settings, words in (
        ({"z": n % 3}, {}, r"takes two groups .* got 3 groups .*merge"),
        ({"other": n % 2}, {"sensitive_features": named}, "got 2 features"),
        (
            {"z": DATA.frame["z"].where(n > 3)},
            {},
            'got 4 rows of unknown group .* Use scope="global", or leave these rows',
        ),
        ({}, {"constraints": "distribution"}, 'got "distribution"'),
    ):
        frame = DATA.frame.assign(**columns)
        with pytest.raises(ValueError, match=words):
            fair().set_params(**settings).fit(frame, DATA.target)


@pytest.mark.parametrize("constraint", ["mean", "residual"])
def test_means_within_every_task(constraint):
    how = {"penalty": "task", "beta": 1.0, "blind": False, "constraints": constraint}
    model = fair(0.0, "both", **how).fit(DATA.frame, DATA.target)
    m = model.predict(DATA.frame)
    values = pd.Series(m if constraint == "mean" else DATA.target - m)
    means = values.groupby([DATA.frame["task"], DATA.frame["z"]]).mean().unstack()
    assert (means["1"] - means["0"]).abs().max() <= 1e-6 * DATA.target.std()
    assert np.abs(model.task_values_).max() <= 1e-6
    assert abs(model.constraint_values_[constraint]) <= 1e-6


def test_the_upper_side():
    model = fair(0.05, "both", side="upper").fit(DATA.frame, DATA.target)
    assert (model.task_auc_ >= 0.5).all()
    assert (model.task_auc_ <= 0.55 + 1e-12).all()
