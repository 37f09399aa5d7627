import numpy as np
import pytest

from rankfair.experiments.reproduce.cases import make_case
from rankfair.experiments.reproduce.methods import METHODS, Choices
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.tuning import candidates, choose, folds, left_out


def tried(parameter, value, rmse, data="wine"):
    return {
        "kind": "cv",
        "data": data,
        "method": parameter,
        "value": value,
        "rmse": rmse,
    }


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 7, 30), (25, 25), (11, 10)])
def test_folds_part_the_rows_and_leave_rows_of_every_task(sizes):
    tasks = np.repeat(np.arange(len(sizes)), sizes)
    tasks = np.random.default_rng(0).permutation(tasks)
    found = list(folds(tasks, 10, 0))
    assert len(found) == min(10, *sizes)
    np.testing.assert_array_equal(np.sum(found, axis=0), 1)
    for fold in found:
        assert set(tasks[~fold]) == set(tasks)


def test_folds_follow_the_seed():
    tasks = np.repeat(np.arange(4), 20)
    one, two, other = (np.array([*folds(tasks, 5, seed)]) for seed in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).any()


def test_every_row_is_predicted_by_a_fit_without_it(tiny):
    rows = make_case("synthetic 0.9", 0, tiny).train
    found = left_out("beta", 0.5, Choices(), rows, 3, 0)
    for fold in folds(rows.tasks, 3, 0):
        predict = METHODS["unconstrained"](rows.take(~fold), Choices(beta=0.5), 0)
        np.testing.assert_array_equal(found[fold], predict(rows.take(fold)))


def test_the_least_error_chooses_and_the_first_of_equals():
    rows = [
        tried("beta", 0.1, 3.0),
        tried("beta", 1.0, 2.0),
        tried("beta", 10.0, 2.0),
        tried("epsilon", 0.005, 1.0),
        tried("beta", 7.0, 0.0, data="crime"),
        {"kind": "table", "data": "wine", "method": "Rank", "rmse": 0.0},
        {"kind": "cv", "data": "wine", "method": "trade_off", "error": "failed"},
    ]
    chosen = Choices(beta=1.0, epsilon=0.005)
    assert choose(rows, "wine") == chosen
    assert choose([], "wine") == Choices()


def test_candidates_are_the_papers_grid():
    assert candidates("beta", Settings()) == candidates("trade_off", Settings())
    assert candidates("beta", Settings())[::8] == (1e-4, 1e4)
    assert 0.0 in candidates("epsilon", Settings())


@pytest.mark.parametrize(
    ("own", "shared", "penalty", "beta"),
    [(2.0, 1.0, "shared", 10.0), (1.0, 2.0, "task", 0.1), (1.0, 1.0, "task", 0.1)],
)
def test_the_penalty_with_the_lesser_error_is_kept(own, shared, penalty, beta):
    tried = {"kind": "cv", "data": "wine"}
    rows = [
        tried | {"method": "beta", "value": 0.1, "rmse": own},
        tried | {"method": "beta_shared", "value": 10.0, "rmse": shared},
    ]
    for order in (rows, rows[::-1]):
        chosen = choose(order, "wine")
        assert (chosen.penalty, chosen.beta) == (penalty, beta)
