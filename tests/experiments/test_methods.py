import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankfair.datasets import make_biased_tasks
from rankfair.experiments.methods import METHODS, Rows
from rankfair.metrics import rank_auc


@pytest.fixture(scope="module")
def halves():
    rows = Rows.of(make_biased_tasks(8, 50, random_state=1))
    even = np.arange(400) % 2 == 0
    return rows.take(even), rows.take(~even)


def test_rows_hold_the_group_as_last_feature(halves):
    for rows in halves:
        assert (rows.X[:, rows.group_column] == rows.in_a).all()
        assert set(rows.tasks) == set(halves[0].tasks)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_a_method_predicts_every_row_and_changes_none(name, halves):
    train, held_out = halves
    before = train.X.copy(), train.y.copy()
    found = METHODS[name](train, held_out, 0.05)
    assert found.train.shape == train.y.shape
    assert found.held_out.shape == held_out.y.shape
    assert np.isfinite(found.train).all() and np.isfinite(found.held_out).all()
    np.testing.assert_array_equal(train.X, before[0])
    np.testing.assert_array_equal(train.y, before[1])


@pytest.mark.parametrize("name", ["constant shift", "NC-ADMM (shift)", "tilt"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_method_that_converges_meets_the_band(name, epsilon, halves):
    train, held_out = halves
    found = METHODS[name](train, held_out, epsilon)
    auc = rank_auc(None, found.train, sensitive_features=train.in_a)
    pair = 1 / (train.in_a.sum() * (~train.in_a).sum())
    # Tilt meets its band on rows left out: on those of training it is near.
    assert abs(auc - 0.5) <= epsilon + (0.005 if name == "tilt" else pair)


def test_the_shift_is_one_number_for_each_group(halves):
    train, held_out = halves
    plain = METHODS["unconstrained"](train, held_out, 0.0)
    moved = METHODS["constant shift"](train, held_out, 0.0)
    for in_a in (True, False):
        steps = np.concatenate(
            (
                (moved.train - plain.train)[train.in_a == in_a],
                (moved.held_out - plain.held_out)[held_out.in_a == in_a],
            )
        )
        assert np.ptp(steps) < 1e-9


def test_rows_already_level_are_not_shifted(halves):
    train, held_out = halves
    plain = METHODS["unconstrained"](train, held_out, 0.5)
    moved = METHODS["constant shift"](train, held_out, 0.5)
    assert (moved.train == plain.train).all()
    assert (moved.held_out == plain.held_out).all()


def test_the_paper_projection_says_that_it_did_not_settle(halves):
    with pytest.warns(ConvergenceWarning):
        METHODS["NC-ADMM (paper)"](*halves, 0.0)
