import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from rankfair import (
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    TiltedRegressor,
)
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.stats.certificate import Certificate, certify, certify_predictions

DATA = make_biased_tasks(12, 50, random_state=3)
FRAME, Y = DATA.frame, DATA.target
TRAIN = np.arange(len(Y)) % 2 == 0
NEW, NEW_Y = FRAME[~TRAIN], Y[~TRAIN]
GROUPS, TASKS = NEW["z"].to_numpy(), NEW["task"].to_numpy()


@pytest.fixture(scope="module")
def model():
    fair = RankFairRegressor(0.01, tasks="task", sensitive_features="z", blind=False)
    return fair.fit(FRAME[TRAIN], Y[TRAIN])


class Constant:
    """Predicts the first column of X."""

    def predict(self, X):
        return np.asarray(X, dtype=float)[:, 0]


def test_it_is_the_auc_of_the_predictions(model):
    found = certify(model, NEW, NEW_Y)
    predicted = model.predict(NEW)
    in_a = max(GROUPS) == GROUPS
    assert found.auc == pytest.approx(roc_auc_score(in_a, predicted))
    assert (found.n_a, found.n_b) == (in_a.sum(), (~in_a).sum())
    assert found.groups == tuple(sorted(set(GROUPS.tolist())))
    assert found.rmse == pytest.approx(np.sqrt(np.mean((NEW_Y - predicted) ** 2)))
    low, high = found.interval
    assert low < found.auc < high
    assert abs(found.auc - 0.5) < found.bound <= max(high - 0.5, 0.5 - low)
    assert math.isnan(certify(model, NEW).rmse)


@pytest.mark.filterwarnings("ignore:sensitive_features was not given:UserWarning")
def test_columns_arrays_and_frames_say_the_same(model):
    expected = certify(model, NEW)
    for groups in ("z", GROUPS, GROUPS.tolist(), pd.Series(GROUPS), pl.Series(GROUPS)):
        assert certify(model, NEW, sensitive_features=groups) == expected
    assert certify(model, NEW, tasks="task") == expected
    assert model.certify(NEW, sensitive_features=("z",)) == expected
    assert certify(model, pl.DataFrame(NEW.to_dict("list"))) == expected
    arrays = RankFairRegressor(0.01)
    numbers = FRAME.drop(columns=["task", "z"])
    arrays.fit(numbers[TRAIN], Y[TRAIN], tasks=FRAME["task"][TRAIN])
    found = certify(arrays, numbers[~TRAIN], tasks=TASKS, sensitive_features=GROUPS)
    assert found.n_a == expected.n_a


def test_tasks_are_clusters_only_for_a_model_without_tasks():
    X = FRAME.drop(columns=["task", "z"])
    new, half = X[~TRAIN], np.isin(TASKS, np.unique(TASKS)[::2])
    plain = MultiTaskRegressor().fit(X[TRAIN], Y[TRAIN])
    found = certify(plain, new, sensitive_features=half, tasks=TASKS)
    assert (found.method, found.n_clusters) == ("clusters", 12)
    by_row = certify(plain, new, sensitive_features=half)
    assert found.bound > by_row.bound and by_row.method == "delong-logit"
    alike = certify(plain, new, sensitive_features=TASKS.max() > TASKS, tasks=TASKS)
    assert alike.method == "none" and "one task only" in alike.notes[-1]
    # Labels go to a model only where it needs them.
    arrays = MultiTaskRegressor().fit(X, Y, tasks=FRAME["task"])
    ridge = Ridge().fit(X, Y)
    for each, labels in ((arrays, {"tasks": TASKS}), (ridge, {})):
        expected = roc_auc_score(GROUPS, each.predict(new, **labels))
        found = certify(each, new, tasks=TASKS, sensitive_features=GROUPS)
        assert found.auc == pytest.approx(expected)


def test_where_tasks_mix_the_groups_the_wider_bound_counts():
    rng = np.random.default_rng(0)
    codes, in_a = np.arange(600) // 30, rng.random(600) < 0.5
    alike = rng.normal(size=600)
    # In some tasks A is ahead, in others B: rows do not show how much tasks differ.
    differing = alike + 3 * in_a * rng.choice([-1, 1], 20)[codes]
    found = certify_predictions(differing, in_a, codes)
    assert found.method == "clusters"
    assert found.bound > certify_predictions(differing, in_a).bound
    for m in (alike, differing):
        bound = certify_predictions(m, in_a, codes).bound
        assert bound >= certify_predictions(m, in_a).bound - 1e-12


def test_small_and_extreme_groups_are_never_of_zero_width():
    apart = certify_predictions(np.arange(20.0), np.arange(20) > 9)
    assert apart.method == "exact" and "Hoeffding" in apart.notes[-1]
    few = certify_predictions(np.arange(16.0) % 5, np.arange(16) > 9)
    assert "Few rows" in few.notes[-1]
    single = certify_predictions(np.arange(5.0), np.arange(5) > 3)
    assert single.method == "none" and not single.estimable and not single.holds(0.5)
    assert str(single).startswith("Not estimable (AUC 1.0000; 1 row in A, 4 in B).")


def test_several_groups_share_the_doubt_and_unknown_ones_are_left_out():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], 300)
    X = rng.normal(size=(300, 1)) + (groups == "b")[:, None]
    found = certify(Constant(), X, sensitive_features=groups)
    assert [part.groups[1] for part in found.parts] == ["a", "b", "c"]
    assert found.bound == max(part.bound for part in found.parts)
    assert 'worst off is "b"' in found.notes[0]
    alone = certify(Constant(), X, sensitive_features=groups == "b")
    assert found.auc == alone.auc and found.bound > alone.bound
    assert found.parts[0].confidence == pytest.approx(1 - 0.05 / 3)
    assert (found.confidence, len(found.to_dict()["parts"])) == (0.95, 3)
    assert f'{found.n_a} rows of "b", {found.n_b} of others' in str(found)
    one = certify(Constant(), X, sensitive_features=["d", *groups[1:]])
    assert not one.estimable and one.groups[1] == "d"
    known = groups != "c"
    given = {"sensitive_features": np.where(known, groups, None), "tasks": ["t"] * 300}
    two = certify(Constant(), X, X[:, 0], **given)
    wanted = certify(Constant(), X[known], sensitive_features=groups[known])
    assert (two.auc, two.rmse) == (wanted.auc, 0.0)
    assert two.notes[0] == f"{(~known).sum()} rows of unknown group were left out."


def test_record_prints_pickles_and_becomes_a_dict(model):
    found = certify(model, NEW, NEW_Y)
    assert pickle.loads(pickle.dumps(found)) == found
    assert str(found).startswith("With 95 % confidence |AUC − 1/2| ≤ 0.")
    assert Certificate(**{**found.to_dict(), "parts": ()}) == found
    assert found.holds(found.bound) and not found.holds(found.bound / 2)
    with pytest.raises(ValueError, match=r"epsilon must be a number in \[0, 0.5\]"):
        found.holds(5)  # per cent
    assert certify(model, NEW, confidence=0.99).bound > found.bound


# Bad input


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"confidence": 0.4}, r"confidence must be a number in \[0.5, 1\]; got 0.4"),
        ({"confidence": 1.0}, "confidence must be below 1"),
        ({"sensitive_features": None}, "sensitive_features is missing"),
        ({"sensitive_features": [1, 0]}, "sensitive_features has 2 values, but there"),
        ({"sensitive_features": [1] * 30}, r"one group only \(1, 30 rows\)"),
        ({"sensitive_features": [None] * 30}, "unknown in all 30 rows"),
        ({"sensitive_features": np.zeros((30, 2))}, "has 2 columns"),
        ({"sensitive_features": list(range(30))}, "holds 30 distinct numbers"),
        ({"sensitive_features": "sex"}, "names a column, but X is an array"),
        ({"sensitive_features": 7}, "sensitive_features=7 is no column of X"),
        ({"tasks": [1, 2]}, "tasks has 2 values, but there are 30 rows"),
        ({"y": [1.0]}, "y has 1 values, but there are 30 rows"),
    ],
)
def test_bad_input_gets_a_sentence(settings, sentence):
    given = {"sensitive_features": [0, 1] * 15, "y": None, **settings}
    with pytest.raises(ValueError, match=sentence):
        certify(Constant(), np.arange(60.0).reshape(30, 2), given.pop("y"), **given)


# What names the groups


def test_groups_are_cut_and_combined_as_the_fit_did():
    rows = FRAME.drop(columns="task").astype({"z": int})
    rows["age"] = np.random.default_rng(0).normal(size=len(Y))
    named = ["z", "age"]
    for settings in ({"bins": 2, "intersect": True}, {"bins": 2}):
        fair = RankFairRegressor(0.1, sensitive_features=named, **settings)
        if "intersect" not in settings:
            fair.set_params(sensitive_features="age")
        fair.fit(rows[TRAIN], Y[TRAIN])
        (labels,) = fair.group_labels(rows[~TRAIN]).values()
        found = certify(fair, rows[~TRAIN])
        assert found == certify(fair, rows[~TRAIN], sensitive_features=labels)
        fair.set_params(bins=None, intersect=False, sensitive_features="z")
        assert certify(fair, rows[~TRAIN]) == found  # settings of the fit
    rows["age"] = rows["age"] > 0
    for made in (
        TiltedRegressor(Ridge(), 0.1, intersect=True),
        RankFairPostprocessor(Ridge(), 0.1),  # which always combines
    ):
        made.set_params(sensitive_features=named).fit(rows[TRAIN], Y[TRAIN])
        (labels,) = made.group_labels(rows[~TRAIN]).values()
        found = certify(made, rows[~TRAIN])
        assert found == certify(made, rows[~TRAIN], sensitive_features=labels)
    two = RankFairRegressor(0.1, sensitive_features=named).fit(rows[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="one feature is expected"):
        two.certify(rows[~TRAIN])
    assert two.certify(rows[~TRAIN], sensitive_features="age").estimable


def test_groups_of_predictions_are_booleans():
    with pytest.raises(ValueError, match=r'must be booleans.*groups == "A"'):
        certify_predictions(np.arange(4.0), np.array(["F", "M", "F", "M"]))


def test_a_model_that_is_not_fitted_is_said_to_be_so():
    with pytest.raises(NotFittedError):
        RankFairRegressor().certify(FRAME)
