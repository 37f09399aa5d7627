"""What a fit tells on its way, and what an interrupted one leaves."""

import numpy as np
import pytest

from four_tasks import FRAME, NUMBERS, Y, fair
from rankfair import MultiTaskRegressor
from rankfair.solvers import Tilt


def test_verbose_writes_to_stderr(capsys):
    fair(verbose=1).fit(FRAME, Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[RankFairRegressor] step 1: objective " in captured.err
    assert "[RankFairRegressor] satisfied: objective" in captured.err
    MultiTaskRegressor(verbose=1).fit(NUMBERS, Y)
    assert "[MultiTaskRegressor] done" in capsys.readouterr().err
    fair().fit(FRAME, Y)
    assert capsys.readouterr().err == ""


class Interrupted:
    """A solver that the user stops after its first step."""

    def solve(self, problem, request, demands, on_step=None):
        def stop(step):
            on_step(step)
            raise KeyboardInterrupt

        return Tilt().solve(problem, request, demands, on_step=stop)


def test_ctrl_c_leaves_an_estimator_as_it_was():
    model = fair(solver=Interrupted())
    before = set(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME, Y)
    assert set(vars(model)) == before
    model = fair().fit(FRAME, Y)
    predicted, before = model.predict(FRAME), set(vars(model))
    model.set_params(solver=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME.rename(columns={"a": "z"}), -Y)
    np.testing.assert_array_equal(model.predict(FRAME), predicted)
    assert set(vars(model)) == before
