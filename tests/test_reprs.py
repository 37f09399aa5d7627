"""What a notebook shows of a fitted model, an audit and a certificate."""

import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn import config_context
from sklearn.linear_model import Ridge

from far_apart import FRAME, SEX, Y
from rankfair import (
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    TiltedRegressor,
    audit,
    certify_predictions,
)
from refusals import sentence


@pytest.mark.parametrize(
    "model",
    [
        RankFairRegressor(0.05, sensitive_features="sex"),
        TiltedRegressor(Ridge(), 0.05, sensitive_features="sex", cv=None),
        RankFairPostprocessor(Ridge(), 0.05, sensitive_features="sex", blind=True),
    ],
)
def test_a_diagram_says_what_the_fit_came_to(model):
    assert "satisfied" not in model._repr_html_()
    model.fit(FRAME, Y)
    told = f"<p>satisfied, |AUC − 1/2| = {abs(model.rank_auc_ - 0.5):.4f}</p>"
    assert told in model._repr_html_()
    assert told in model._repr_mimebundle_()["text/html"]
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
    assert len(repr(model)) < 300


def test_records_are_short_in_a_notebook():
    bound = certify_predictions(Y, SEX == "M")
    assert repr(bound) == f"<Certificate: {bound}>"
    assert bound._repr_html_() == f"<p>{bound}</p>"
    found = audit(Y, {"a": Y, "b": -Y}, sensitive_features=SEX)
    assert repr(found).startswith("<Audit of a, b: 2 comparisons, gap of the last")
    assert f"{found.gap:.4f}" in repr(found)


@pytest.mark.parametrize("model", [RankFairRegressor(), MultiTaskRegressor()])
def test_sparse_rows_are_refused_before_anything_is_computed(model):
    X = random_array((100_000, 10_000), density=1e-4, format="csr", rng=0)
    y, tasks = np.arange(100_000.0), np.arange(100_000) % 100
    said = sentence(model.fit, X, y, tasks=tasks, kind=ValueError)
    assert "X has 100 tasks with 10000 predictors, which need about" in said
    assert "Use fewer predictors, of which about" in said
