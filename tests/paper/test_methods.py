import numpy as np
import pytest

from paper.cases import make_case
from paper.methods import METHODS, NARROW, Choices
from rankfair.metrics import mean_difference, rank_auc

CHOSEN = Choices(1.0, "task", 0.01, 0.002, 1.0)
IN_BAND = ("Rank", "Rank + Mean", "Rank (NC-ADMM)", "constant shift")


# Fits of so few rows warn, of steps that run out and of strata with one group.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", METHODS)
def test_a_method_predicts_any_rows_changes_none_and_keeps_its_promise(name, tiny):
    case = make_case("synthetic 0.9", 0, tiny)
    train, before = case.train, case.train.X.copy()
    predict = METHODS[name](train, CHOSEN, 0)
    for rows in (train, case.held_out):
        found = predict(rows)
        assert found.shape == rows.y.shape and np.isfinite(found).all()
    np.testing.assert_array_equal(train.X, before)
    groups = {"sensitive_features": train.in_a}
    if name in IN_BAND:
        gap = rank_auc(None, predict(train), **groups) - 0.5
        assert abs(gap) <= CHOSEN.epsilon + 1e-9
    if name == "Rank + Mean":
        # Refits end within 1e-6 of a band on means.
        apart = mean_difference(None, predict(train), **groups)
        assert abs(apart) <= NARROW + 1e-6
    if name == "Data":
        assert (predict(case.held_out) == case.held_out.y).all()
