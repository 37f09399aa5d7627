"""The gate of an audit and its verdict."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from audited import sample, simple
from rankfair import audit
from rankfair.audit import Gate
from rankfair.stats.estimate import Estimate


def test_the_gate_lets_equality_pass():
    assert Gate.of(0.1 + 0.2, 0.3) is Gate.HELD
    assert Gate.of(0.3001, 0.3) is Gate.EXCEEDED
    assert [g.exit_code for g in Gate] == [0, 1, 3]
    found = simple(auc=0.6)
    assert found.gate(0.1) is Gate.HELD and found.passes(0.1)
    assert found.gate(0.09) is Gate.EXCEEDED and not found.passes(0.09)
    with pytest.raises(ValueError, match=r"max_gap must be a number in \[0, 0.5\]"):
        found.gate(0.7)
    with pytest.raises(ValueError, match="model must be one of"):
        found.gate(0.1, model="other")


def test_the_gate_does_not_hold_while_a_group_is_unknown():
    rng = np.random.default_rng(0)
    g = np.repeat(["A", "B", "C"], [300, 300, 4])
    p = rng.normal(size=604) + 9.0 * (g == "C")
    found = audit(None, p, sensitive_features={"race": g})
    assert found.gap < 0.1 and found.unjudged() == (("race", "C"),)
    assert found.gate(0.1) is Gate.NOT_ESTIMABLE and not found.passes(0.1)
    assert found.gate(0.1, ignore_small=True) is Gate.HELD
    assert found.passes(0.1, ignore_small=True)
    assert found.gate(0.0) is Gate.EXCEEDED  # whatever the others are
    assert found.verdict.endswith('Not judged: "C (race)".')
    with pytest.raises(ValueError, match="ignore_small must be True or False"):
        found.gate(0.1, ignore_small=1)
    # Groups that are not small but show nothing are not ignored.
    other = replace(found, min_group=2)
    assert other.gate(0.1, ignore_small=True) is Gate.NOT_ESTIMABLE
    two = simple(attributes=("sex", "race"))
    lost = replace(two.comparisons[1], auc=Estimate(0.9, note="few"))
    two = replace(two, comparisons=(two.comparisons[0], lost))
    assert two.gate(0.5) is Gate.NOT_ESTIMABLE and ": few" in two.verdict
    whole = audit(None, p[:600], sensitive_features=g[:600])
    assert whole.unjudged() == () and "Not judged" not in whole.verdict


def test_the_largest_numbers_are_audited_and_shown(tmp_path):
    g = np.repeat(["F", "M"], 10)
    p = np.where(np.arange(20) % 3, 1.7e308, -1.7e308)
    found = audit(-p, p, sensitive_features=g)
    assert math.isnan(found.models[0].rmse.value) and found.models[0].rmse.note
    for c in found.comparisons:
        for own in c.measures.values():
            assert not math.isinf(own.value) and not math.isinf(own.ci_high)
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert "inf" not in str(found).replace("information", "")
    text = found.to_html(tmp_path / "a.html").read_text("utf-8")
    assert ">inf<" not in text and ">nan<" not in text


def test_the_verdict_measures_and_does_not_judge():
    y, p, g, t = sample(groups="ABC")
    found = audit(y, {"before": p, "after": y}, sensitive_features=g, tasks=t)
    for text in (found.verdict, str(found), json.dumps(found.to_dict())):
        for word in ("compliant", "complies", "unfair", "fair ", "illegal", "pass"):
            assert word not in text.lower()
    assert "95 % confidence interval" in found.verdict and '"after"' in found.verdict
    assert "the largest rank gap of 6 comparisons" in found.verdict
    ranks = "In 60.0 % of pairs the row in group M ranks higher"
    assert simple().verdict.startswith(ranks)
    assert "rank equally high" in simple(auc=0.5).verdict
    equal = {"sensitive_features": [*"fm"] * 8, "tasks": [*"aaaaaaaabbbbbbbb"]}
    verdict = audit(None, [0, 0, 1, 1] * 4, **equal).verdict
    assert "Within tasks m and f rank equally high (AUC 0.500" in verdict
    assert "rank equally high" in simple(auc=0.5 - 2**-53).verdict
    assert "the row in group F ranks" in simple(auc=0.4, low=0.3, high=0.5).verdict
