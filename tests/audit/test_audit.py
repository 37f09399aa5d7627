"""What an audit measures: metrics, repeated rows, mirrors, groups, tasks, refusals."""

import math
from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest, mannwhitneyu

import rankfair
from audited import compared, sample
from rankfair import audit, metrics
from rankfair.audit import Audit, Gate
from rankfair.audit.summary import figures


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", ["no", "whole", "fractional"])
def test_values_are_those_of_the_metrics(ties, weighted):
    y, p, g, t = sample(ties=ties)
    rng = np.random.default_rng(0)
    w = {"no": None, "whole": rng.integers(0, 4, len(y)), "fractional": rng.random(240)}
    w = w[weighted]
    given = {"reference": "F", "sample_weight": w}
    found = compared(p, g, y, tasks=t, **given)
    for name, own in (
        ("rank_auc", found.auc),
        ("mean_difference", found.mean_difference),
        ("balanced_residuals", found.balanced_residuals),
    ):
        metric = getattr(metrics, name)
        wanted = metric(y, p, sensitive_features=g, sample_weight=w)
        assert own.value == pytest.approx(wanted, abs=1e-12), name
        assert own.ci_low <= own.value <= own.ci_high
    wanted = metrics.impact_rank_ratio(y, p, sensitive_features=g, sample_weight=w)
    if weighted == "whole":  # the metric reads them as repeated rows
        found = compared(p, g, y, **given, frequency_weights=True)
    assert found.impact_rank_ratio.value == pytest.approx(wanted)


@pytest.mark.parametrize("ties", [False, True])
def test_the_p_value_of_rows_is_mann_and_whitneys(ties):
    _, p, g, _ = sample(ties=ties)
    wanted = mannwhitneyu(p[g == "M"], p[g == "F"], method="asymptotic").pvalue
    assert compared(p, g).auc.p_value == pytest.approx(wanted)


def test_frequency_weights_are_repeated_rows():
    y, p, g, t = sample(ties=True)
    w = np.random.default_rng(1).integers(0, 3, len(y))
    at = np.repeat(np.arange(len(y)), w)

    def audited(rows, **more):
        given = {"sensitive_features": g[rows], "tasks": t[rows]}
        given["controls"] = {"level": p[rows]}
        return audit(9 + y[rows], p[rows], **given, **more)

    one = audited(np.arange(len(y)), sample_weight=w, frequency_weights=True)
    other = audited(at)
    for name in ("comparisons", "tasks", "models", "units", "parts"):
        assert getattr(one, name) == getattr(other, name)
    (a, b) = one.remedies[0], other.remedies[0]
    assert a.total == pytest.approx(b.total) and set(a.rows) == set(at[list(b.rows)])


def test_whole_weights_are_weights_unless_called_frequencies():
    y, p, g, t = sample(n=40, tasks=2)
    plain, w = compared(p, g, y, tasks=t), np.full(len(y), 7)
    for unit in (w, w * 10**7):  # nor does a large unit make rows of them
        other = compared(p, g, y, tasks=t, sample_weight=unit)
        for name in ("auc", "mean_difference", "ks", "share_above_median"):
            wanted = pytest.approx(getattr(plain, name).ci_low)
            assert getattr(other, name).ci_low == wanted, name
        assert (other.n_group, other.n_against) == (plain.n_group, plain.n_against)
    few = np.where(np.arange(40) < 2, "M", "F")
    heavy = audit(y, p, sensitive_features=few, sample_weight=1000 * w)
    assert heavy.comparisons[0].auc.note == "group M has 2 rows, fewer than 5"
    of_f, of_m = heavy.sensitive_features[0].groups
    assert (of_f.n_rows, of_m.n_rows) == (38, 2)
    assert (of_f.weight, of_m.weight) == pytest.approx((38 * 7000, 2 * 7000))


def test_rows_in_another_order_give_the_same_numbers():
    y, p, g, t = sample(ties=True)
    order = np.random.default_rng(5).permutation(len(y))
    a = audit(y, p, sensitive_features=g, tasks=t)
    b = audit(y[order], p[order], sensitive_features=g[order], tasks=t[order])
    (one,), (other,) = a.comparisons, b.comparisons
    assert all(same(e, getattr(other, name)) for name, e in one.measures.items())
    for one, other in zip(a.tasks, b.tasks, strict=True):
        assert (one.task, one.n_group) == (other.task, other.n_group)
        assert same(one.auc, other.auc)
    again = audit(y, p, sensitive_features=g, tasks=t)
    assert (a.comparisons, a.tasks) == (again.comparisons, again.tasks)


def test_swapping_the_groups_mirrors_the_numbers():
    y, p, g, t = sample()
    fixed = {"tasks": t, "reference": "F"}
    a = compared(p, g, y, **fixed)
    b = compared(p, np.where(g == "F", "M", "F"), y, **fixed)
    assert a.auc.ci_low == pytest.approx(1 - b.auc.ci_high)
    assert a.auc.p_value == pytest.approx(b.auc.p_value)
    assert a.mean_difference.ci_low == pytest.approx(-b.mean_difference.ci_high)
    assert a.within_task_auc.value == pytest.approx(1 - b.within_task_auc.value)
    assert a.impact_ratio.ci_low == pytest.approx(1 / b.impact_ratio.ci_high)
    assert a.ks.value == pytest.approx(b.ks.value)


def test_within_and_between_make_up_the_whole():
    y, p, g, t = sample(ties=True)
    found = audit(y, p, sensitive_features=g, tasks=t, min_group=1)
    (whole,) = found.comparisons
    inside = [line.n_group * line.n_against for line in found.tasks]
    won = sum(n * line.auc.value for n, line in zip(inside, found.tasks, strict=True))
    pairs = whole.n_group * whole.n_against
    apart = pairs - sum(inside)
    again = (won + apart * whole.between_task_auc.value) / pairs
    assert again == pytest.approx(whole.auc.value)
    one = compared(p, g, tasks=np.zeros(len(p)))
    assert one.between_task_auc.note == "all pairs of rows are within tasks"
    assert one.within_task_auc.value == pytest.approx(one.auc.value)


def test_tasks_with_a_constant_attribute_are_clusters():
    y, p, _, t = sample(tasks=20)
    found = audit(y, p, sensitive_features=t % 2, tasks=t)
    assert found.sensitive_features[0].constant_in_tasks
    assert "20 tasks (Obuchowski)" in found.comparisons[0].auc.method
    assert found.comparisons[0].between_task_auc == found.comparisons[0].auc
    assert found.tasks == ()


def test_three_groups_are_compared_with_the_rest_and_with_each_other():
    y, p, g, t = sample(groups="ABC")
    steps = []
    given = {"sensitive_features": g, "tasks": t, "reference": "A"}
    found = audit(y, p, **given, on_step=lambda *step: steps.append(step))
    assert steps[0] == ("A v the rest", 1, 6) and len(steps) == 6
    assert found.sensitive_features[0].reference == "A"
    larger, smaller = sorted("BC", key=lambda label: -(g == label).sum())
    rest = [("rest", group, "the rest") for group in "ABC"]
    pairs = [(larger, "A"), (smaller, "A"), (smaller, larger)]
    kinds = [(c.kind, c.group, c.against) for c in found.comparisons]
    assert kinds == rest + [("pair", *pair) for pair in pairs]
    wanted = metrics.rank_auc(None, p, sensitive_features=g == "B")
    assert found.comparisons[1].auc.value == pytest.approx(wanted)
    assert {line.against for line in found.tasks} == {"the rest"}
    named = audit(y, p, sensitive_features=np.where(g == "C", "the rest", g))
    against = {c.against for c in named.comparisons if c.kind == "rest"}
    assert against == {"all the rest"}


@pytest.mark.parametrize(
    ("ties", "clustered"), [(False, False), (True, False), (True, True)]
)
def test_a_pair_is_compared_as_if_there_were_no_other_rows(ties, clustered):
    y, p, g, t = sample(groups="abcu", ties=ties)
    if clustered:
        t = 4 * t + np.unique(g, return_inverse=True)[1]  # of one group each
    p[np.flatnonzero(g == "c")[:2]] = -1e6, 1e9  # in no pair of a and b
    p[np.flatnonzero(g == "u")[0]] = 1e12  # in no comparison
    y[g == "c"] *= 1e9
    known = np.where(g == "u", None, g)
    whole = audit(y, p, sensitive_features=known, tasks=t, reference="a")
    (pair,) = [c for c in whole.comparisons if (c.group, c.against) == ("b", "a")]
    some = (g == "a") | (g == "b")
    alone = compared(p[some], g[some], y[some], tasks=t[some], reference="a")
    for name, one in pair.measures.items():
        other = getattr(alone, name)
        if name in ("ks", "wasserstein"):  # groups are drawn once, for all pairs
            assert one.value == pytest.approx(other.value)
            width = other.ci_high - other.value
            assert one.ci_high - one.value == pytest.approx(width, rel=0.2)
        elif "median" not in name and name != "impact_ratio":  # of all rows
            assert same(one, other), name
    others = np.where(known == "b", "b", np.where(g == "u", None, "a"))
    two = audit(y, p, sensitive_features=others, tasks=t, reference="a")
    rest = [line for line in whole.tasks if line.group == "b"]
    assert [line.task for line in rest] == [line.task for line in two.tasks]
    assert all(same(a.auc, b.auc) for a, b in zip(rest, two.tasks, strict=True))


def test_the_rest_is_drawn_as_one_group():
    rng = np.random.default_rng(0)
    g = rng.integers(0, 6, 1200)  # groups that stand apart: how many of each matters
    p = rng.normal(size=1200) + 3.0 * g
    first = audit(None, p, sensitive_features=g.astype(str)).comparisons[0]
    rest = compared(p, np.where(g == 0, "0", "x"), reference="x")
    for name in ("ks", "wasserstein"):
        one, other = getattr(first, name), getattr(rest, name)
        assert one.value == pytest.approx(other.value)
        width = other.value - other.ci_low
        assert one.value - one.ci_low == pytest.approx(width, rel=0.2)


def same(one, other):
    """Whether two estimates differ by no more than sums in another order do."""
    numbers = [
        [
            math.nan if v is None else v
            for v in (e.value, e.ci_low, e.ci_high, e.p_value)
        ]
        for e in (one, other)
    ]
    near = pytest.approx(numbers[1], rel=1e-9, abs=1e-12, nan_ok=True)
    return numbers[0] == near and one.note == other.note


def test_many_groups_are_compared_with_the_rest_only():
    rng = np.random.default_rng(0)
    g = rng.integers(0, 21, 500).astype(str)
    found = audit(None, rng.normal(size=500), sensitive_features=g)
    assert {c.kind for c in found.comparisons} == {"rest"}
    assert "more than 20 groups" in found.sensitive_features[0].note


def test_attributes_models_and_intersections_side_by_side():
    y, p, g, t = sample()
    frame = pd.DataFrame({"sex": g, "site": np.where(t % 2, "n", "s")})
    models = {"before": p, "after": -p}
    found = audit(y, models, sensitive_features=frame, intersect=True)
    assert found.model_names == ("before", "after")
    assert [a.name for a in found.sensitive_features] == ["sex", "site", "sex × site"]
    cells = found.sensitive_features[2].groups
    assert [cell.label for cell in cells] == ["F × n", "F × s", "M × n", "M × s"]
    assert sum(cell.n_rows for cell in cells) == len(y)
    before, after = (
        next(c for c in found.comparisons if c.model == m) for m in found.model_names
    )
    assert before.auc.value == pytest.approx(1 - after.auc.value)
    # Labels of an intersection are its own, as a model calls them.
    rows = np.arange(80)
    a = np.where(rows % 2, "x", "x × y")
    given = {"a": a, "b": np.where(rows // 2 % 2, "z", "y × z")}
    found = audit(None, rows / 1.0, sensitive_features=given, intersect=True)
    labels = {cell.label for cell in found.sensitive_features[2].groups}
    assert len(labels) == 4 and 'x × "y × z"' in labels


def test_labels_of_any_kind_and_rows_without_one():
    y, p, g, t = sample()
    holes = g.astype(object)
    holes[:7], holes[7:9] = None, float("nan")
    found = audit(y, p, sensitive_features={"sex": holes})
    assert found.sensitive_features[0].n_missing == 9
    a, b = found.comparisons[0], compared(p[9:], g[9:], y[9:])
    assert (a.auc, a.mean_difference) == (b.auc, b.mean_difference)
    code = (g == "M").astype(float)
    code[:5] = np.nan
    wanted = compared(p, code, y).auc
    for column in (pd.Series(code), pl.Series(code), pl.Series(code).fill_nan(None)):
        assert compared(p, column, y).auc == wanted
    tasks = pd.DataFrame({"a": t, "b": g})
    found = audit(y, p, sensitive_features=(t % 2).astype(bool), tasks=tasks)
    assert all(" × " in line.task for line in found.tasks)
    mixed = audit(y, p, sensitive_features=np.array([1, "1"] * 120, dtype=object))
    labels = [group.label for group in mixed.sensitive_features[0].groups]
    assert sorted(labels) == ["'1'", "1"]
    columns = audit(y, p, sensitive_features=np.column_stack([g, t % 2]))
    assert [a.name for a in columns.sensitive_features] == ["group 1", "group 2"]


def test_the_share_above_the_median_is_that_of_local_law_144():
    y, p, g, _ = sample(groups="ABC")
    found = audit(y, p, sensitive_features=g, reference="A")
    rates = {k: (p > np.median(p))[g == k].mean() for k in "ABC"}
    for group in found.sensitive_features[0].groups:
        assert group.share_above_median["predicted"] == rates[group.label]
        ratio = rates[group.label] / max(rates.values())
        assert group.impact_ratio["predicted"] == pytest.approx(ratio)
    (pair,) = [c for c in found.comparisons if (c.group, c.against) == ("B", "A")]
    assert pair.impact_ratio.value == pytest.approx(rates["B"] / rates["A"])
    assert pair.share_above_median.covers(rates["B"])


def test_small_groups_have_numbers_but_no_limits():
    y, p, _, _ = sample()
    g = np.where(np.arange(240) < 3, "M", "F")
    found = audit(y, p, sensitive_features=g)
    (c,) = found.comparisons
    wanted = metrics.rank_auc(None, p, sensitive_features=g)
    assert c.auc.value == pytest.approx(wanted)
    names = ("auc", "ks", "mean_difference", "share_above_median")
    assert not any(getattr(c, name).estimable for name in names)
    assert c.auc.note == "group M has 3 rows, fewer than 5"
    assert found.gate(0.5) is Gate.NOT_ESTIMABLE and math.isnan(found.gap)
    assert "fewer than 5 rows: M" in found.sensitive_features[0].note
    assert "cannot be estimated" in found.verdict and "has 3 rows" in found.verdict
    assert audit(y, p, sensitive_features=g, min_group=3).gap >= 0


def test_tasks_that_differ_are_flagged_and_small_ones_are_not_judged():
    rng = np.random.default_rng(0)
    t = np.repeat(np.arange(40), 60)
    g = np.where(rng.random(2400) < 0.5, "M", "F")
    p = rng.normal(size=2400) + 3.0 * ((t < 4) & (g == "M"))
    found = audit(None, p, sensitive_features=g, tasks=t)
    assert {line.task for line in found.tasks if line.flagged} == {"0", "1", "2", "3"}
    y, p, g, t = sample(tasks=30)
    for line in audit(y, p, sensitive_features=g, tasks=t).tasks:
        small = min(line.n_group, line.n_against) < 5
        assert small == (line.adjusted_p is None) == bool(line.auc.note)
        assert not (small and line.flagged)


def test_no_interval_is_of_zero_width():
    g = np.repeat(["F", "M"], 20)
    for p, auc in ((np.zeros(40), 0.5), (np.r_[np.zeros(20), np.ones(20)], 1.0)):
        c = compared(p, g, p)
        for name in ("auc", "mean_difference", "balanced_residuals", "impact_ratio"):
            own = getattr(c, name)
            assert not own.estimable or own.ci_high > own.ci_low
        assert c.auc.value == auc and c.auc.estimable == (auc == 1.0)
    exact = binomtest(20, 20).proportion_ci(0.95, "exact").low
    assert c.auc.ci_low == pytest.approx(exact)
    text = str(audit(None, np.zeros(20), sensitive_features=np.arange(20) % 2))
    assert "unknown" in text and "within tasks" not in text


def test_errors_of_models_and_histograms():
    y, p, g, _ = sample()
    found = audit(y, {"a": p, "b": 3 * p}, sensitive_features=g)
    line = found.models[0]
    assert line.rmse.value == pytest.approx(metrics.rmse(y, p))
    assert line.rmse.ci_low < line.rmse.value < line.rmse.ci_high
    assert line.mae.value == pytest.approx(np.abs(y - p).mean())
    assert line.r2.value == pytest.approx(1 - ((y - p) ** 2).sum() / y.var() / len(y))
    (flat,) = audit(np.ones(len(p)), p, sensitive_features=g).models
    assert math.isnan(flat.r2.value)
    (exact,) = audit(y, y, sensitive_features=g).models
    assert exact.rmse.value == 0.0 and not exact.rmse.estimable
    assert len({h.edges for h in found.histograms}) == 1
    for h in found.histograms:
        values = {"a": p, "b": 3 * p}[h.model][g == h.group]
        wanted = np.histogram(values, h.edges)[0] / len(values)
        assert h.shares == pytest.approx(tuple(wanted))
    # Of what is skewed as pay is, bins are even on a scale of logarithms.
    for skewed, scale in ((p, np.asarray), (np.exp(5 * p), np.log)):
        edges = np.array(audit(None, skewed, sensitive_features=g).histograms[0].edges)
        assert len(edges) == 41
        assert (edges[0], edges[-1]) == pytest.approx((skewed.min(), skewed.max()))
        assert np.ptp(np.diff(scale(edges))) <= 1e-9 * np.ptp(scale(edges))


@pytest.mark.parametrize(
    ("values", "digits", "shown"),
    [
        ([1234.5, 2.0, math.nan], 4, ["1,234", "2", "-"]),
        ([12.345, -0.002, 0.0], 4, ["12.35", "0.00", "0.00"]),
        ([0.01234, -0.1], 3, ["0.012", "-0.100"]),
        ([1.5e6, 2.0], 3, ["1.5e+06", "2"]),
    ],
)
def test_columns_have_the_digits_of_their_largest_number(values, digits, shown):
    assert figures(values, digits) == shown


def test_inputs_are_not_modified():
    y, p, g, t = sample()
    w = np.random.default_rng(0).random(len(y))
    copies = [v.copy() for v in (y, p, g, t, w)]
    audit(y, p, sensitive_features=g, tasks=t, sample_weight=w)
    for now, before in zip((y, p, g, t, w), copies, strict=True):
        np.testing.assert_array_equal(now, before)


def test_the_package_is_its_function():
    assert rankfair.audit is audit
    assert signature(audit) == signature(audit.audit)
    assert audit.records.Audit is Audit is rankfair.Audit
    assert isinstance(audit.audit(None, [1.0, 2.0], sensitive_features=[0, 1]), Audit)


COLUMNS = pd.DataFrame([["F", "M"]] * 4, columns=[1, "1"])
CROSSED = {"a": list("FMFM"), "b": list("FFMM"), "a × b": list("FMMM")}
HALVES = {"a": ["F", "M", None, None], "b": [None, None, "F", "M"]}
REFUSALS = [
    ({"y_pred": {}}, "y_pred is an empty dict"),
    ({"y_pred": {"m": [1.0]}}, "has 4 values, but there are 1"),
    ({"y_pred": {1: np.arange(4.0), "1": np.arange(4.0)}}, '2 models called "1"'),
    ({"y_true": [1.0]}, "y_true has 1"),
    ({"y_true": {"a": [1.0], "b": [1.0]}}, "y_true.* has one name"),
    ({"sensitive_features": None}, "the group of each row is expected"),
    ({"sensitive_features": {}}, "sensitive_features is an empty dict"),
    ({"sensitive_features": {"s": np.zeros((4, 2))}}, "has 2 columns"),
    ({"sensitive_features": ["F"] * 4}, "has one group only"),
    ({"sensitive_features": [None] * 4}, "is unknown in all 4 rows"),
    ({"sensitive_features": {"s": ["F", "M"]}}, "sensitive_features has 2 values"),
    ({"sensitive_features": COLUMNS}, 'has 2 features called "1"'),
    ({"sensitive_features": dict.fromkeys((1, "1"), "FMFM")}, "sensitive_features"),
    ({"tasks": [1]}, "tasks has 1"),
    ({"intersect": True}, "needs two or more features"),
    ({"intersect": 1}, "intersect must be True or False"),
    (
        {"sensitive_features": CROSSED, "intersect": True},
        'has 2 features called "a × b"',
    ),
    (
        {"sensitive_features": HALVES, "intersect": True},
        "has no row with a known label",
    ),
    ({"confidence": 1.0}, "confidence must be below 1"),
    ({"min_group": 0}, "min_group must be a whole number"),
    ({"sample_weight": [1, 0, 1, 0]}, 'zero for all 2 rows of group "M"'),
    ({"random_state": "x"}, "random_state must be"),
    ({"frequency_weights": True}, "needs whole numbers in sample_weight"),
    ({"frequency_weights": 1}, "frequency_weights must be True or False"),
    ({"frequency_weights": True, "sample_weight": [1, 0.5, 1, 1]}, "got 0.5 in row 1"),
    ({"frequency_weights": True, "sample_weight": [1, 1, 1, 1e9]}, "got 1e.09"),
    ({"reference": "x"}, 'reference must be one of "F", "M"; got "x"'),
    ({"reference": ["F", "M"]}, "names one group"),
    ({"controls": {"a": [None, "x"] * 2}}, "has no value.* in 2 rows"),
    ({"controls": {"a": [np.nan, 1.0] * 2}}, "has no value.* in 2 rows"),
    ({"controls": {"a": [1.0]}}, "4 rows"),
    ({"close_to": 2.0}, "close_to"),
    ({"layout": "law"}, "layout"),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS)
def test_what_is_wrong_is_said(change, message):
    given = {"y_true": np.arange(4.0), "y_pred": np.arange(4.0)}
    given |= {"sensitive_features": ["F", "M", "F", "M"]} | change
    with pytest.raises(ValueError, match=message):
        audit(given.pop("y_true"), given.pop("y_pred"), **given)


def test_too_many_groups_look_like_numbers():
    rows = np.arange(640)
    with pytest.raises(ValueError, match="Cut it into a few classes"):
        audit(None, np.arange(70.0), sensitive_features=np.arange(70))
    given = {"a": rows % 8, "b": rows // 8 % 8}
    with pytest.raises(
        ValueError, match=r"has 64 combinations of a × b .* Join small groups"
    ):
        audit(None, rows / 1.0, sensitive_features=given, intersect=True)
    for n, most in ((640, 200), (100, 50)):  # an employee number explains every row
        some = rows[:n]
        with pytest.raises(ValueError, match=f"at most {most} labels in {n} rows"):
            controls = {"a": [str(i) for i in some]}
            audit(None, some / 1.0, sensitive_features=some % 2, controls=controls)
    age = {"age": (20 + rows % 40).astype(str)}
    found = audit(None, rows / 1.0, sensitive_features=age)
    assert len(found.sensitive_features[0].groups) == 40


def test_figures_within_tasks_can_be_of_other_predictions():
    y, p, g, t = sample()
    fitted = p + np.random.default_rng(1).normal(size=len(p))
    given = {"sensitive_features": g, "tasks": t}
    both, alone, other = (
        audit(y, {"m": p}, task_predictions={"m": fitted}, **given),
        audit(y, {"m": p}, **given),
        audit(y, {"m": fitted}, **given),
    )
    assert both.tasks == other.tasks and both.tasks != alone.tasks
    for mine, by_row, by_task in zip(
        both.comparisons, alone.comparisons, other.comparisons, strict=True
    ):
        assert mine.within_task_auc == by_task.within_task_auc
        within = by_row.within_task_auc
        assert replace(mine, within_task_auc=within) == by_row
    with pytest.raises(ValueError, match="must name"):
        audit(y, {"m": p}, task_predictions={"n": fitted}, **given)
