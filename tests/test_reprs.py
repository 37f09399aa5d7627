"""What a notebook shows of a fitted model, an audit and a certificate."""

import numpy as np
import pytest
from scipy.sparse import random_array

from far_apart import SEX, Y
from rankfair import (
    MultiTaskRegressor,
    RankFairRegressor,
    audit,
    certify_predictions,
)
from refusals import sentence


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
