"""What a fit tells on its way, and what an interrupted one leaves."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from four_tasks import FRAME, NUMBERS, Y, fair
from rankfair import MultiTaskRegressor, RankFairRegressor
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


class Recorder:
    """A scikit-learn callback that notes what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.predicted = fitted_estimator.predict(X)


@pytest.mark.skipif(
    not hasattr(RankFairRegressor, "set_callbacks"), reason="scikit-learn before 1.9"
)
def test_scikit_learn_callbacks_hear_of_each_step():
    recorder = Recorder()
    model = fair().set_callbacks(recorder).fit(FRAME, Y)
    steps = ["begin step", "end step"] * len(model.trace_)
    assert recorder.events == ["setup", "begin fit", *steps, "end fit", "teardown"]
    np.testing.assert_array_equal(recorder.predicted, model.predict(FRAME))


def test_it_works_where_scikit_learn_has_no_callbacks(monkeypatch):
    import importlib

    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    for name in [*sys.modules]:
        if name.startswith("rankfair.estimators"):
            monkeypatch.delitem(sys.modules, name)
    old = importlib.import_module("rankfair.estimators.linear")
    model = old.RankFairRegressor(0.02, tasks="task", sensitive_features="sex")
    assert not hasattr(model, "set_callbacks")
    assert model.fit(FRAME, Y).status_ == "satisfied"


class Interrupted:
    """A solver that the user stops after its first step."""

    def solve(self, problem, request, demands, on_step=None):
        def stop(step):
            on_step(step)
            raise KeyboardInterrupt

        return Tilt().solve(problem, request, demands, on_step=stop)


def test_ctrl_c_leaves_a_new_estimator_unfitted():
    model = fair(solver=Interrupted())
    before = set(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME, Y)
    assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        model.predict(FRAME)


def test_ctrl_c_leaves_a_fitted_estimator_as_it_was():
    model = fair().fit(FRAME, Y)
    predicted, before = model.predict(FRAME), dict(vars(model))
    model.set_params(solver=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.fit(FRAME.rename(columns={"a": "z"}), -Y)
    np.testing.assert_array_equal(model.predict(FRAME), predicted)
    assert set(vars(model)) == set(before)
