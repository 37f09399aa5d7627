"""Several sensitive features, combinations, unknown groups and bins in the models."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from oracles import brute_twice_u, gaps
from rankfair import RankFairRegressor
from rankfair.metrics import rank_auc_by_group, rank_gap, scorer
from rankfair.solvers import NCADMM

rng = np.random.default_rng(3)
N = 300
TASK = rng.integers(4, size=N)
SEX = rng.choice(["F", "M"], N)
RACE = rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
AGE = rng.integers(18, 80, N)
NUMBERS = rng.normal(size=(N, 3)) + np.outer(SEX == "M", [0.6, 0.0, 0.3])
NUMBERS[RACE == "b"] += [0.0, 0.5, 0.2]
Y = NUMBERS.sum(axis=1) + (SEX == "M") + (RACE == "c") + AGE / 40 + rng.normal(size=N)
FRAME = pd.DataFrame(NUMBERS, columns=["u", "v", "w"])
FRAME = FRAME.assign(task=TASK, sex=SEX, race=RACE, age=AGE)
SOME = np.where(np.arange(N) % 7 == 0, None, SEX.astype(object))
PAPER = {"penalty": "ridge", "beta": 1.0, "blind": False, "count": "train"}


def level(model, m, epsilon, *attributes):
    assert model.status_ in ("satisfied", "inactive")
    for labels in attributes:
        for gap, pair in gaps(m, labels):
            # Half a pair is the narrowest band, and several values may end near it.
            assert gap <= max(epsilon, pair / 2) + max(pair, 0.0005) + 1e-12


def fitted(epsilon=0.01, frame=FRAME, y=Y, names=("sex", "race"), **settings):
    settings = {**PAPER, "tasks": "task", **settings}
    others = {"age", "sex", "race"} - {*([names] if isinstance(names, str) else names)}
    names = list(names) if isinstance(names, tuple) else names
    model = RankFairRegressor(epsilon, sensitive_features=names, **settings)
    return model.fit(frame.drop(columns=[*others]), y)


def test_two_attributes_are_balanced_at_once():
    both = {"sex": SEX, "race": RACE}
    left_out = fitted(0.0, penalty="pool", count="loo")
    level(left_out, left_out.loo_predictions_, 0.0, SEX, RACE)
    gap = rank_gap(None, left_out.loo_predictions_, sensitive_features=both)
    assert abs(left_out.loo_auc_ - 0.5) == pytest.approx(gap)
    model = fitted(0.01, penalty="task")
    m = model.predict(FRAME.drop(columns="age"))
    level(model, m, 0.01, SEX, RACE)
    assert model.groups_["race"].tolist() == ["a", "b", "c"]
    for name, labels in both.items():
        found = rank_auc_by_group(None, m, sensitive_features=labels)
        assert model.group_auc_[name] == pytest.approx(found)
        pairs = model.pairwise_auc_[name]
        assert all({*pairs[it]} == {*labels} - {it} for it in labels)
        for first, second in itertools.permutations(pairs, 2):
            of_both = np.isin(labels, [first, second])
            in_a = labels[of_both] == first
            auc = brute_twice_u(m[of_both], in_a) / (2 * in_a.sum() * (~in_a).sum())
            assert pairs[first][second] == pytest.approx(auc)
    gap = rank_gap(None, m, sensitive_features=both)
    assert abs(model.rank_auc_ - 0.5) == pytest.approx(gap)
    assert model.constraint_values_ == {"rank": pytest.approx(model.rank_auc_)}
    assert model.n_unknown_ == {"sex": 0, "race": 0}
    assert model.predictors_.tolist() == ["u", "v", "w", "sex", "race=b", "race=c"]
    two = RankFairRegressor(0.05).fit(NUMBERS, Y, sensitive_features=SEX)
    auc = two.rank_auc_
    assert two.pairwise_auc_ == {"M": {"F": auc}, "F": {"M": 1 - auc}}
    assert two.n_unknown_ == 0


# Demands that exclude each other


@pytest.mark.filterwarnings("ignore:predictor .* blind in name only:UserWarning")
def test_what_cannot_be_level_at_once_is_said_for_each_attribute():
    """One slope: what levels one attribute cannot level the other."""
    x = np.arange(60.0)
    labels = {"upper": x > 40, "odd": (x < 20) | (x > 50)}
    model = RankFairRegressor(0.0, penalty="ridge")
    with pytest.warns(
        ConvergenceWarning, match=r"for upper, 0\.\d+ for odd, asked for"
    ):
        model.fit(x[:, None], x + np.sin(x), sensitive_features=labels)
    assert model.status_ == "infeasible"


# Unknown groups


def test_rows_of_unknown_group_are_in_the_loss_only():
    frame = FRAME.drop(columns=["age", "race"]).assign(sex=SOME)
    model = fitted(0.0, FRAME.assign(sex=SOME), names="sex", blind=True)
    level(model, model.predict(frame), 0.0, SOME)
    assert model.n_unknown_ == 43
    assert model.groups_.tolist() == ["F", "M"]
    # What these rows are like makes no difference to the count, but to the fit.
    moved = np.where(frame["sex"].notna(), Y, Y + 5.0)
    other = clone(model).fit(frame, moved)
    level(other, other.predict(frame), 0.0, SOME)
    assert not np.allclose(other.coef_, model.coef_)


def test_an_unknown_group_is_the_share_of_each_as_a_predictor():
    race = np.where(np.arange(N) % 5 == 0, None, RACE.astype(object))
    frame = FRAME.drop(columns="age").assign(sex=SOME, race=race)
    model = fitted(0.02, FRAME.assign(sex=SOME, race=race))
    assert model.n_unknown_ == {"sex": 43, "race": 60}
    m = model.predict(frame)
    level(model, m, 0.02, SOME, race)

    def as_number(labels, group):
        known = [label for label in labels if label is not None]
        share = known.count(group) / len(known)
        return [share if it is None else float(it == group) for it in labels]

    extra = [as_number(SOME, "M"), as_number(race, "b"), as_number(race, "c")]
    columns = np.column_stack((NUMBERS, *extra))
    by_hand = (columns * model.coef_[TASK]).sum(axis=1) + model.intercept_[TASK]
    np.testing.assert_allclose(m, by_hand)
    # Training without unknown rows, then a new row without a group.
    full = fitted(0.02)
    new = full.predict(frame.iloc[:1].assign(sex=None, race=float("nan")))
    shares = [(labels == it).mean() for labels, it in ((SEX, "M"), (RACE, "b"))]
    own = np.array([*NUMBERS[0], *shares, (RACE == "c").mean()])
    assert new[0] == pytest.approx(own @ full.coef_[TASK[0]] + full.intercept_[TASK[0]])


def test_side_and_other_solvers_with_unknown_rows():
    model = RankFairRegressor(0.05, side="upper", **PAPER)
    model.fit(NUMBERS, Y, sensitive_features=SOME)
    assert -1e-3 <= model.rank_auc_ - 0.5 <= 0.05 + 1e-3
    words = r'takes two groups .* got 43 rows of unknown group .* Use solver="tilt"'
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(solver=NCADMM()).fit(NUMBERS, Y, sensitive_features=SOME)
    both = {"sex": SEX, "odd": np.arange(N) % 2}
    with pytest.raises(ValueError, match=r"got 2 features .* Use solver"):
        RankFairRegressor(solver="ncadmm").fit(NUMBERS, Y, sensitive_features=both)


# Combinations


def test_combinations_are_groups():
    model = fitted(0.01, intersect=True)
    frame = FRAME.drop(columns="age")
    cells = [f"{s} × {r}" for s, r in zip(SEX, RACE, strict=True)]
    level(model, model.predict(frame), 0.01, cells)
    assert model.groups_.tolist() == sorted(set(cells))
    assert len(model.group_auc_) == 6
    assert model.predictors_.tolist() == ["u", "v", "w", "sex", "race=b", "race=c"]
    (found,) = model.group_labels(frame).values()
    assert found.tolist() == cells
    gap = abs(model.rank_auc_ - 0.5)
    assert scorer("rank_gap")(model, frame, Y) == pytest.approx(-gap)


# Numbers


def test_a_number_is_balanced_in_bins_and_predicts_as_itself():
    frame = FRAME.drop(columns=["sex", "race"])
    model = fitted(0.01, names="age", bins=4)
    m = model.predict(frame)
    labels = model.group_labels(frame)["age"]
    assert model.groups_.tolist() == [*dict.fromkeys(labels[np.argsort(AGE)])]
    level(model, m, 0.01, labels)
    np.testing.assert_array_equal(
        [model.groups_.tolist().index(label) for label in labels],
        np.searchsorted(model.bin_edges_["age"][1:-1], AGE, "right"),
    )
    assert len(model.groups_) == 4
    by_hand = (frame[["u", "v", "w", "age"]].to_numpy() * model.coef_[TASK]).sum(axis=1)
    np.testing.assert_allclose(m, by_hand + model.intercept_[TASK])
    assert model.certify(frame).groups[1] in model.groups_
    # A missing number predicts as the mean.
    age = np.where(np.arange(N) % 9 == 0, np.nan, AGE)
    model = fitted(0.02, FRAME.assign(age=age), names="age", bins=3)
    assert model.n_unknown_ == np.isnan(age).sum()
    filled = frame.assign(age=np.where(np.isnan(age), np.nanmean(age), age))
    missing = model.predict(frame.assign(age=age))
    np.testing.assert_allclose(model.predict(filled), missing)


# Settings and scikit-learn


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"intersect": 1}, "intersect must be True or False; got 1"),
        ({"sensitive_features": "age"}, r"distinct numbers .* as bins=4"),
        ({"sensitive_features": ["sex", "rce"]}, 'Did you mean "race"'),
        ({"tasks": "sex"}, r'both name column "sex": each group would be a task'),
    ],
)
def test_bad_settings(settings, words):
    settings = {"sensitive_features": "sex", **settings}
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(**settings).fit(FRAME, Y)


# Student


def test_combinations_of_labels_that_hold_the_sign_stay_apart():
    first = np.array(["a × b", "a", "a × b", "a"] * 10)
    second = np.array(["c", "b × c", "b × c", "c"] * 10)
    X = np.random.default_rng(0).normal(size=(40, 1))
    model = RankFairRegressor(0.4, intersect=True)
    model.fit(X, 2 * X[:, 0], sensitive_features={"one": first, "two": second})
    assert len(set(model.groups_.tolist())) == len(model.group_auc_) == 4
    assert '"a × b" × c' in model.group_auc_ and 'a × "b × c"' in model.group_auc_
