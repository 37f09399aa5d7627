import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from rankfair.datasets.synthetic import (
    dealt,
    make_biased_tasks,
    raise_lowest,
)


def target_auc(data):
    return roc_auc_score(data.sensitive == data.group_a, data.target)


@pytest.mark.parametrize("auc", [0.2, 0.5, 0.9])
def test_the_target_has_the_auc_that_is_asked_and_is_standardised(auc):
    data = make_biased_tasks(200, 100, auc, random_state=1)
    assert target_auc(data) == pytest.approx(auc, abs=0.01)
    assert data.biased == (auc != 0.5)
    spreads = [data.target[data.sensitive == g].std() for g in "01"]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.02)
    for values in (data.X, data.target):
        np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(values.std(axis=0), 1)


def test_the_fair_score_is_the_target_without_the_gap_and_without_noise():
    data = make_biased_tasks(200, 100, signal=0.6, random_state=4)
    in_a = data.sensitive == data.group_a
    left = data.target - data.fair_score
    # Nothing of it can be predicted within a group, and the groups share it.
    assert roc_auc_score(in_a, data.fair_score) == pytest.approx(0.5, abs=0.01)
    for rows in (in_a, ~in_a):
        for x in (*data.X.T, data.fair_score):
            assert abs(np.corrcoef(x[rows], left[rows])[0, 1]) < 0.03
        assert np.var(left[rows]) / np.var(data.target[rows]) == pytest.approx(
            0.4, abs=0.02
        )
    gaps = [it[in_a].mean() - it[~in_a].mean() for it in (left, data.target)]
    assert gaps[0] == pytest.approx(gaps[1], abs=0.03)


def test_some_features_carry_signal_and_some_are_proxies():
    data = make_biased_tasks(200, 100, random_state=4)
    in_a = data.sensitive == "1"
    gaps = data.X[in_a].mean(axis=0) - data.X[~in_a].mean(axis=0)
    assert np.all(np.abs(gaps[:2]) < 0.05)
    assert np.all(gaps[2:] > 0.5)
    within = [np.corrcoef(x[in_a], data.target[in_a])[0, 1] for x in data.X.T]
    assert min(within[:2]) > 0.3
    assert max(np.abs(within[2:])) < 0.05


def test_the_seed_and_the_sizes_decide_the_rows():
    first, again = (make_biased_tasks(random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.target, again.target)
    rng = np.random.default_rng(5)
    drawn, other = (make_biased_tasks(random_state=rng) for _ in range(2))
    np.testing.assert_array_equal(first.X, drawn.X)
    assert not np.array_equal(first.X, other.X)
    data = make_biased_tasks(3, [1, 7, 2], random_state=0)
    assert data.tasks.tolist() == ["1"] + ["2"] * 7 + ["3"] * 2
    # Both groups are present in the smallest data.
    smallest = [make_biased_tasks(1, 2, random_state=seed) for seed in range(10)]
    assert all(set(data.sensitive) == {"0", "1"} for data in smallest)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_tasks": 0}, "n_tasks must be a whole number ≥ 1; got 0"),
        ({"n_per_task": 2.5}, "n_per_task must be a whole"),
        ({"n_tasks": 2, "n_per_task": [3]}, "each of the 2 tasks; got 1 sizes"),
        ({"n_tasks": 2, "n_per_task": [3, 0]}, "whole number ≥ 1; got 0"),
        ({"auc": 1.0}, "auc must be strictly between 0 and 1; got 1.0"),
        ({"signal": 1.5}, "signal must be a number in"),
        ({"task_spread": -0.1}, "task_spread must be a number ≥ 0"),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        make_biased_tasks(**arguments)


def test_raised_rows_are_of_group_a_and_as_many_as_asked():
    y, in_a = np.arange(1.0, 101.0), np.arange(100) < 50
    raised, tasks = dealt(y, in_a, (20, 5), (1.75, 0.56), 0)
    assert set(np.unique(tasks, return_counts=True)[1]) == {5}
    moved = raised != y
    assert moved.sum() == 28
    assert not moved[~in_a].any()
    np.testing.assert_allclose(raised[moved], 1.75 * y[moved])
    # The lowest, until the AUC is reached.
    rng = np.random.default_rng(0)
    y, in_a = rng.uniform(1, 2, 60), np.arange(60) < 30
    raised = raise_lowest(y, in_a, 3.0, 0.8)
    moved = np.flatnonzero(raised != y)
    assert roc_auc_score(in_a, raised) >= 0.8
    assert y[moved].max() < y[np.setdiff1d(np.flatnonzero(in_a), moved)].min()
    raised[moved[np.argmax(y[moved])]] /= 3.0
    assert roc_auc_score(in_a, raised) < 0.8
