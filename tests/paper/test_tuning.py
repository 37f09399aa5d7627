import numpy as np

from paper.cases import make_case
from paper.methods import METHODS, Choices
from paper.tuning import choose, folds, left_out


def tried(parameter, value, rmse, data="wine"):
    row = {"kind": "cv", "data": data, "method": parameter}
    return row | {"value": value, "rmse": rmse}


def test_every_row_is_predicted_by_a_fit_without_it(tiny):
    rows = make_case("synthetic 0.9", 0, tiny).train
    found = left_out("beta", 0.5, Choices(), rows, tiny)
    for fold in folds(rows.tasks, tiny.folds, tiny.seed):
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
    assert choose(rows, "wine") == Choices(beta=1.0, epsilon=0.005)
    assert choose([], "wine") == Choices()
