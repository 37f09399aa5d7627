"""Defaults on public datasets: how they are judged, what the page says."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.citizen import results
from benchmarks.citizen.cases import CASES, Rows
from benchmarks.citizen.methods import METHODS, RIDGE
from rankfair import audit

PAGE = (Path(__file__).parents[1] / "docs" / "citizen.md").read_text(encoding="utf-8")
AT = {figure: i for i, figure in enumerate(results.FIGURES)}
VERDICTS = {"holds", "does not hold", "stands alone"}
NAMES = [(each.base, each.name) for each in METHODS]


def figures(noise=0.001, sets=3):
    """The same figures of all methods, but for noise."""
    rng = np.random.default_rng(0)
    shape = sets, len(METHODS), 10, len(results.FIGURES)
    return 0.5 + noise * rng.normal(size=shape)


def judged(values, base=RIDGE, by_group=True, name="RankFairPostprocessor"):
    cases = tuple(CASES)[: len(values)]
    found = results.Results(cases, (100,) * len(values), values)
    return results.judge(found, base, by_group, name), found


def test_a_default_holds_that_is_level_with_all_others():
    found, _ = judged(figures())
    assert found.held
    assert set(found.rivals) == {"constant shift", "EquiPy", "CorrelationRemover"}
    assert "plain" not in found.rivals  # it asks for nothing


@pytest.mark.parametrize("less, held", [(0.03, False), (0.001, True)])
def test_a_rival_that_errs_less_is_named_with_its_gaps(less, held):
    values, rival = figures(), NAMES.index((RIDGE, "EquiPy"))
    values[:, rival, :, AT["RMSE"]] -= less
    values[:, rival, :, AT["gap"]] += 0.1
    found, all_found = judged(values)
    assert found.held == held
    assert "EquiPy" not in found.as_fair
    text = "\n".join(results.said(all_found, found))
    assert f"`RankFairPostprocessor` {'holds' if held else 'does not hold'}" in text
    assert "the least of the others, EquiPy" in text
    assert ("It gains most on" in text) == (not held)
    assert ("near are: constant shift" in text) == (not held)


def rows(n=240):
    rng = np.random.default_rng(1)
    in_a = rng.random(n) < 0.5
    X = pd.DataFrame({"x0": rng.normal(size=n) + in_a, "x1": rng.normal(size=n)})
    y = X["x0"].to_numpy() + in_a + rng.normal(size=n)
    return Rows(X, rng.choice(["n", "s"], n), in_a, y)


def test_figures_are_those_of_an_audit():
    data, rng = rows(), np.random.default_rng(2)
    m = data.y + rng.normal(size=len(data.y))
    found = results.measure(m, data, 1.0, 0.0)
    (own,) = audit(
        data.y, m, sensitive_features=data.in_a, tasks=data.tasks
    ).comparisons
    asked = {"gap": "auc", "MD": "mean_difference", "KS": "ks"}
    for figure, name in asked.items():
        value = own.measures[name].value - (0.5 if name == "auc" else 0.0)
        assert found[AT[figure]] == pytest.approx(abs(value))
    within = own.measures["within_task_auc"].value
    assert found[AT["within"]] == pytest.approx(abs(within - 0.5))


def test_the_page_has_all_datasets_and_its_own_judgement():
    for case in CASES.values():
        assert f"## {case.title}" in PAGE
    verdicts = re.findall(r"\*\*(\w+), group .*: `(\w+)` ([a-z ]+)\.", PAGE)
    assert {verdict for *_, verdict in verdicts} <= VERDICTS
    assert [(base, name) for base, name, _ in verdicts] == [
        (base, name) for base, _, name in results.DEFAULTS
    ]
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| {RIDGE} |")]
    assert len(lines) == (1 + len(CASES)) * sum(base == RIDGE for base, _ in NAMES)
