import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.model_selection import cross_validate

from rankfair.metrics import (
    balanced_residuals,
    impact_rank_ratio,
    mean_difference,
    pairwise_rank_auc,
    rank_auc,
    rank_auc_by_group,
    rank_gap,
    rmse,
    scorer,
)

rng = np.random.default_rng(1)
N = 60
Z = rng.integers(0, 2, N)
Y = rng.normal(size=N) + Z
M = np.round(Y + rng.normal(size=N), 1)  # with ties
W = rng.integers(1, 4, N)
OF_GROUPS = [rank_auc, mean_difference, balanced_residuals, impact_rank_ratio]
ALL = [*OF_GROUPS, rmse]

# Few different values, so that ties are common; both groups are there.
samples = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(0, 1), st.integers(1, 3)), max_size=30
).map(lambda rows: np.array([*rows, (0, 0, 1), (1, 1, 2)]).T)


# Against references


@settings(max_examples=15)
@given(samples)
def test_rank_auc_is_scikit_learns_with_a_as_the_positive_class(sample):
    m, z, w = sample
    assert rank_auc(None, m, sensitive_features=z) == pytest.approx(roc_auc_score(z, m))
    weighted = rank_auc(None, m, sensitive_features=z, sample_weight=w)
    assert weighted == pytest.approx(roc_auc_score(z, m, sample_weight=w))


@settings(max_examples=15)
@given(samples)
def test_impact_rank_ratio_is_that_of_the_mean_ranks(sample):
    m, z, _ = sample
    ranks = rankdata(m)
    expected = ranks[z == 1].mean() / ranks[z == 0].mean()
    assert impact_rank_ratio(None, m, sensitive_features=z) == pytest.approx(expected)


def test_gaps_and_errors_are_those_of_means():
    for metric, values in ((mean_difference, M), (balanced_residuals, Y - M)):
        gap = values[Z == 1].mean() - values[Z == 0].mean()
        assert metric(Y, M, sensitive_features=Z) == pytest.approx(gap)
    for w in (None, W):
        error = root_mean_squared_error(Y, M, sample_weight=w)
        assert rmse(Y, M, sample_weight=w) == pytest.approx(error)
    assert rmse(Y, Y) == 0.0


# Properties


@pytest.mark.parametrize("metric", ALL)
def test_whole_weights_are_repeated_rows(metric):
    i = np.repeat(np.arange(N), W)
    weighted = metric(Y, M, sensitive_features=Z, sample_weight=W)
    assert weighted == pytest.approx(metric(Y[i], M[i], sensitive_features=Z[i]))
    zero = metric(Y, M, sensitive_features=Z, sample_weight=np.arange(N) < 40)
    assert zero == pytest.approx(metric(Y[:40], M[:40], sensitive_features=Z[:40]))


def test_labels_of_any_type():
    text = np.where(Z == 1, "M", "F")
    for labels in (text, Z.astype(bool), pl.Series(text), Z.reshape(-1, 1)):
        value = rank_auc(pd.Series(Y), pl.Series(M), sensitive_features=labels)
        assert value == rank_auc(Y, M, sensitive_features=Z)


# Bad input


@pytest.mark.parametrize("metric", [rank_auc, balanced_residuals])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sensitive_features": ["F"] * N}, r'one group only \("F", 60 rows\)'),
        ({"sensitive_features": Z[1:]}, "sensitive_features has 59 values"),
        ({"sensitive_features": [None] * N}, "is unknown in all 60"),
        ({"sensitive_features": np.column_stack((Z, Z))}, "has 2 columns: one feat"),
        ({"sample_weight": 1 - Z}, r"zero for all .* rows of group 1"),
        ({"sample_weight": np.ones(3)}, "sample_weight has 3 values"),
        ({"y_pred": np.where(M > 1, np.nan, M)}, "must be finite, but has"),
        ({"y_true": Y[1:]}, "y_true has 59 values"),
        ({"y_true": [], "y_pred": [], "sensitive_features": []}, "is empty"),
    ],
)
def test_bad_input_is_refused(metric, change, words):
    given = {"y_true": Y, "y_pred": M, "sensitive_features": Z, **change}
    with pytest.raises(ValueError, match=words):
        metric(given.pop("y_true"), given.pop("y_pred"), **given)


def test_bad_numbers_have_no_error():
    with pytest.raises(ValueError, match="y_pred must be finite"):
        rmse(Y, np.where(M > 1, np.nan, M))
    with pytest.raises(ValueError, match="y_true has 59 values"):
        rmse(Y[1:], M)


# fairlearn


@pytest.mark.parametrize("metric", [rank_auc, balanced_residuals])
def test_metric_frame_of_a_group_metric_by_task(metric):
    task = np.arange(N) % 3
    frame = MetricFrame(
        metrics=metric,
        y_true=Y,
        y_pred=M,
        sensitive_features=task,
        sample_params={"sensitive_features": Z, "sample_weight": W},
    )
    for t in range(3):
        i = task == t
        expected = metric(Y[i], M[i], sensitive_features=Z[i], sample_weight=W[i])
        assert frame.by_group[t] == pytest.approx(expected)


# Scorers

X = pd.DataFrame({"m": M, "z": np.where(Z == 1, "M", "F")})


class Reader(RegressorMixin, BaseEstimator):
    """Predict a column of X, shifted by the task."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, *, tasks=0.0):
        return np.asarray(X)[:, 0].astype(float) + np.asarray(tasks)


READER = Reader().fit(X, Y)


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        (rank_auc, lambda v: -abs(v - 0.5)),
        (mean_difference, lambda v: -abs(v)),
        (balanced_residuals, lambda v: -abs(v)),
        (impact_rank_ratio, lambda v: -abs(np.log(v))),
        (rmse, lambda v: -v),
    ],
)
@pytest.mark.parametrize("frame", [pl.DataFrame(X.to_dict("list")), X.to_numpy()])
def test_scorers_are_zero_at_best(metric, score, frame):
    column = 1 if isinstance(frame, np.ndarray) else "z"
    found = scorer(metric.__name__, sensitive_features=column)(READER, frame, Y)
    assert found == pytest.approx(score(metric(Y, M, sensitive_features=Z)))
    assert found <= 0
    direct = scorer(metric.__name__)(READER, frame, Y, sensitive_features=Z)
    assert direct == pytest.approx(found)


def test_scorers_hand_tasks_to_predict_and_weights_to_the_metric():
    tasks = np.arange(N) % 4 * 1.0
    found = scorer("rmse")(READER, X, Y, tasks=tasks, sample_weight=W)
    assert found == pytest.approx(-rmse(Y, M + tasks, sample_weight=W))


def test_scorers_in_cross_validation_with_routed_groups():
    numbers = M.reshape(-1, 1)
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            LinearRegression().set_fit_request(sample_weight=False),
            numbers,
            Y,
            cv=3,
            scoring={
                "auc": scorer("rank_auc").set_score_request(sample_weight=True),
                "rmse": scorer("rmse").set_score_request(sample_weight=False),
            },
            params={"sensitive_features": Z, "sample_weight": W},
        )
    assert (found["test_auc"] <= 0).all()


def test_scorers_can_be_pickled_and_shown():
    original = scorer("rank_auc", sensitive_features="z")
    copied = pickle.loads(pickle.dumps(original))
    assert repr(copied) == "scorer('rank_auc', sensitive_features='z')"
    assert copied(READER, X, Y) == original(READER, X, Y)


def test_what_a_scorer_lacks_is_said():
    with pytest.raises(ValueError, match=r"scorer\('rank_auc'\) has no groups. Name"):
        scorer("rank_auc")(READER, X, Y)
    with pytest.raises(ValueError, match='Did you mean "rank_auc"'):
        scorer("rank_acu")
    with pytest.raises(ValueError, match='Did you mean "tasks"'):
        scorer("rmse").set_score_request(task=True)
    with pytest.raises(ValueError, match='Did you mean "z"'):
        scorer("rank_auc", sensitive_features="zz")(READER, X, Y)


def test_the_size_of_fractional_weights_does_not_matter():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(Y))
    for metric in (rank_auc, mean_difference, balanced_residuals, impact_rank_ratio):
        values = [
            metric(Y, Y**2, sensitive_features=Z, sample_weight=size * weights)
            for size in (1e-6, 1.0, 1e6)
        ]
        assert values == pytest.approx([values[0]] * 3)


# Three and more groups

THREE = np.array([*"abc"])[np.arange(N) % 3]


@pytest.mark.parametrize("weighted", [False, True])
def test_every_group_over_the_rest_and_over_each_other(weighted):
    w = np.arange(N) % 4 if weighted else None
    given = {"sensitive_features": THREE, "sample_weight": w}
    by_group = rank_auc_by_group(None, M, **given)
    pairs = pairwise_rank_auc(None, M, **given)
    for label, auc in by_group.items():
        own = rank_auc(None, M, sensitive_features=label == THREE, sample_weight=w)
        assert auc == pytest.approx(own)
    for first, second in itertools.permutations(pairs, 2):
        auc = pairs[first][second]
        both = np.isin(THREE, [first, second])
        some = None if w is None else w[both]
        in_a = THREE[both] == first
        own = rank_auc(None, M[both], sensitive_features=in_a, sample_weight=some)
        assert auc == pytest.approx(own)
        assert auc + pairs[second][first] == pytest.approx(1)
    assert rank_gap(None, M, **given) == pytest.approx(
        max(abs(auc - 0.5) for auc in by_group.values())
    )


def test_the_gap_of_two_groups_and_of_several_attributes():
    two = abs(rank_auc(None, M, sensitive_features=Z) - 0.5)
    assert rank_gap(None, M, sensitive_features=Z) == pytest.approx(two)
    both = {"z": Z, "three": THREE}
    three = rank_gap(None, M, sensitive_features=THREE)
    assert rank_gap(None, M, sensitive_features=both) == max(two, three)
    one = {"sensitive_features": both}
    for metric in (rank_auc_by_group, pairwise_rank_auc):
        with pytest.raises(ValueError, match=r"2 columns.* rank_gap takes several"):
            metric(None, M, **one)


@pytest.mark.parametrize("metric", [mean_difference, rank_gap, rank_auc_by_group])
def test_rows_of_unknown_group_are_left_out(metric):
    some = np.where(np.arange(N) % 5 == 0, None, Z.astype(object))
    known = np.arange(N) % 5 != 0
    for w in (None, np.arange(N) % 3 + 1):
        kept = None if w is None else w[known]
        assert metric(Y, M, sensitive_features=some, sample_weight=w) == pytest.approx(
            metric(Y[known], M[known], sensitive_features=Z[known], sample_weight=kept)
        )


def test_a_scorer_of_several_columns():
    X = np.column_stack((M, Z, np.arange(N) % 3))
    model = LinearRegression().fit(X, Y)
    score = scorer("rank_gap", sensitive_features=[1, 2])(model, X, Y)
    labels = {"a": Z, "b": np.arange(N) % 3}
    assert score == -rank_gap(None, model.predict(X), sensitive_features=labels)
    with pytest.raises(ValueError, match="one feature is expected"):
        scorer("rank_auc", sensitive_features=[1, 2])(model, X, Y)
    with pytest.raises(ValueError, match=r"39 distinct numbers .* classes first"):
        scorer("rank_gap", sensitive_features=0)(model, X, Y)
