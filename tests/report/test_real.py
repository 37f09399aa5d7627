"""Pages of audits that `audit` made, from inputs at the edges of what it takes."""

import json

import numpy as np
import pytest

from rankfair import audit
from rankfair.report.audit_page import render, render_fragment

RNG = np.random.default_rng(0)
N = 60
Y = RNG.normal(size=N)
SEX = np.array(["F", "M"] * (N // 2))
TASKS = np.repeat([f"job {i}" for i in range(6)], N // 6)

INPUTS = {
    "usual": {},
    "several models, attributes and their crossing": {
        "y_pred": {"before": Y, "after": Y - (SEX == "M")},
        "sensitive_features": {"sex": SEX, "race": np.array(["a", "b", "c"] * 20)},
        "intersect": True,
    },
    "no target, no tasks": {"y_true": None, "tasks": None},
    "one group a task": {"tasks": np.where(SEX == "F", "x", "y")},
    "every row a task": {"tasks": np.arange(N)},
    "missing groups": {
        "sensitive_features": np.where(np.arange(N) % 7, SEX, None).astype(object)
    },
    "a group of one row": {
        "sensitive_features": np.array(["M"] + ["F"] * (N - 1)),
    },
    "weights": {"sample_weight": RNG.uniform(0.5, 2.0, N)},
    "constant": {"y_pred": np.full(N, 3.0)},
    "huge": {"y_pred": Y * 1e60, "y_true": Y * 1e60},
    "tiny": {"y_pred": Y * 1e-60, "y_true": Y * 1e-60},
    "wide": {"y_pred": np.where(np.arange(N) == 0, 1e9, Y)},
}


@pytest.mark.parametrize("name", INPUTS)
def test_whatever_was_audited_can_be_shown(name):
    given = {
        "y_true": Y,
        "y_pred": Y,
        "sensitive_features": SEX,
        "tasks": TASKS,
        **INPUTS[name],
    }
    found = audit(given.pop("y_true"), given.pop("y_pred"), **given)
    html = render(found)
    assert ">nan" not in html
    assert "None" not in html
    assert found.provenance.fingerprint in html
    if found.tasks:
        data = html.partition('id="task-data">')[2].partition("</script>")[0]
        assert json.loads(data)["models"] == [model.name for model in found.models]
    assert found.title in render_fragment(found)
