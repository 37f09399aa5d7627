import math
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankfair
from audited import sample
from rankfair import audit, metrics
from rankfair.audit import Audit, Gate
from rankfair.stats.estimate import Estimate


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", ["no", "whole", "fractional"])
def test_values_are_those_of_the_metrics(seed, ties, weighted):
    y, p, g, t = sample(seed=seed, ties=ties)
    rng = np.random.default_rng(seed)
    w = {
        "no": None,
        "whole": rng.integers(0, 4, len(y)),
        "fractional": rng.random(len(y)),
    }[weighted]
    fixed = {"tasks": t, "sample_weight": w, "reference": "F"}
    (found,) = audit(y, p, sensitive_features=g, **fixed).comparisons
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
        again = {"sample_weight": w, "frequency_weights": True, "reference": "F"}
        (found,) = audit(y, p, sensitive_features=g, **again).comparisons
    assert found.impact_rank_ratio.value == pytest.approx(wanted)


def test_frequency_weights_are_repeated_rows():
    y, p, g, t = sample(ties=True)
    w = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = audit(
        y, p, sensitive_features=g, tasks=t, sample_weight=w, frequency_weights=True
    )
    again = [np.repeat(v, w) for v in (y, p, g, t)]
    repeated = audit(*again[:2], sensitive_features=again[2], tasks=again[3])
    assert weighted.comparisons == repeated.comparisons
    assert weighted.tasks == repeated.tasks
    assert weighted.models == repeated.models


def test_whole_weights_are_weights_unless_called_frequencies():
    y, p, g, t = sample(n=40, tasks=2)
    w = np.full(len(y), 7)
    plain = audit(y, p, sensitive_features=g, tasks=t)
    found = audit(y, p, sensitive_features=g, tasks=t, sample_weight=w)
    (one,), (other,) = plain.comparisons, found.comparisons
    for name in ("auc", "mean_difference", "ks", "share_above_median"):
        assert getattr(other, name).ci_low == pytest.approx(
            getattr(one, name).ci_low
        ), name
    assert (other.n_group, other.n_against) == (one.n_group, one.n_against)
    assert [g.n_rows for g in found.sensitive_features[0].groups] == [
        g.n_rows for g in plain.sensitive_features[0].groups
    ]
    # A large unit does not make weights of them either.
    assert audit(y, p, sensitive_features=g, sample_weight=w * 10**7).comparisons[
        0
    ].auc.ci_low == pytest.approx(
        audit(y, p, sensitive_features=g).comparisons[0].auc.ci_low
    )
    few = np.where(np.arange(40) < 2, "M", "F")
    heavy = audit(y, p, sensitive_features=few, sample_weight=w)
    assert heavy.comparisons[0].auc.note == "group M has 2 rows, fewer than 5"


def test_groups_show_the_weight_that_was_given():
    y, p, g, _ = sample()
    w = 1000 * np.random.default_rng(1).random(len(y))
    for given in (w, np.rint(w)):
        found = audit(
            y, p, sensitive_features=g, sample_weight=given
        ).sensitive_features[0]
        for group in found.groups:
            assert group.weight == pytest.approx(given[g == group.label].sum())


def test_rows_in_another_order_give_the_same_numbers():
    y, p, g, t = sample(ties=True)
    order = np.random.default_rng(5).permutation(len(y))
    a = audit(y, p, sensitive_features=g, tasks=t)
    b = audit(y[order], p[order], sensitive_features=g[order], tasks=t[order])
    for one, other in zip(a.comparisons, b.comparisons, strict=True):
        assert one.auc.ci_low == pytest.approx(other.auc.ci_low)
        assert one.ks.p_value == pytest.approx(other.ks.p_value)
        assert one.within_task_auc.value == pytest.approx(other.within_task_auc.value)
    for one, other in zip(a.tasks, b.tasks, strict=True):
        assert (one.task, one.n_group) == (other.task, other.n_group)
        assert one.auc.p_value == pytest.approx(other.auc.p_value)


def test_swapping_the_groups_mirrors_the_numbers():
    y, p, g, t = sample()
    swapped = np.where(g == "F", "M", "F")
    fixed = {"tasks": t, "reference": "F"}
    (a,) = audit(y, p, sensitive_features=g, **fixed).comparisons
    (b,) = audit(y, p, sensitive_features=swapped, **fixed).comparisons
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


def test_a_difference_that_tasks_explain_is_not_within_them():
    rng = np.random.default_rng(0)
    t = rng.integers(0, 40, 4000)
    g = np.where(rng.random(4000) < np.where(t % 2, 0.8, 0.2), "M", "F")
    p = 2.0 * (t % 2) + rng.normal(size=4000)  # depends on the task only
    fixed = {"tasks": t, "reference": "F"}
    (found,) = audit(None, p, sensitive_features=g, **fixed).comparisons
    assert found.auc.value > 0.65
    assert found.within_task_auc.covers(0.5)
    assert abs(found.within_task_auc.value - 0.5) < 0.03


def test_one_task_has_no_pairs_between():
    _, p, g, _ = sample()
    (found,) = audit(None, p, sensitive_features=g, tasks=np.zeros(len(p))).comparisons
    assert found.between_task_auc.note == "all pairs of rows are within tasks"
    assert found.within_task_auc.value == pytest.approx(found.auc.value)


def test_tables_show_what_is_not_known():
    text = str(audit(None, np.zeros(20), sensitive_features=np.arange(20) % 2))
    assert "unknown" in text and "within tasks" not in text


def test_tasks_with_a_constant_attribute_are_clusters():
    y, p, _, t = sample(tasks=20)
    found = audit(y, p, sensitive_features=t % 2, tasks=t)
    assert found.sensitive_features[0].constant_in_tasks
    assert "20 tasks (Obuchowski)" in found.comparisons[0].auc.method
    assert found.comparisons[0].between_task_auc == found.comparisons[0].auc
    assert found.tasks == ()


def test_three_groups_are_compared_with_the_rest_and_with_each_other():
    y, p, g, t = sample(groups="ABC")
    found = audit(y, p, sensitive_features=g, tasks=t, reference="A")
    assert found.sensitive_features[0].reference == "A"
    larger, smaller = sorted("BC", key=lambda label: -(g == label).sum())
    kinds = [(c.kind, c.group, c.against) for c in found.comparisons]
    assert kinds == [
        ("rest", "A", "the rest"),
        ("rest", "B", "the rest"),
        ("rest", "C", "the rest"),
        ("pair", larger, "A"),
        ("pair", smaller, "A"),
        ("pair", smaller, larger),
    ]
    wanted = metrics.rank_auc(None, p, sensitive_features=g == "B")
    assert found.comparisons[1].auc.value == pytest.approx(wanted)
    assert {line.against for line in found.tasks} == {"the rest"}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
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
    fixed = {"sensitive_features": g[some], "tasks": t[some], "reference": "a"}
    alone = audit(y[some], p[some], **fixed)
    for name, value in vars(pair).items():
        of_all_rows = "median" in name or name == "impact_ratio"
        if isinstance(value, Estimate) and not of_all_rows:
            other = getattr(alone.comparisons[0], name)
            if name in ("ks", "wasserstein"):  # groups are drawn once, for all pairs
                assert value.value == pytest.approx(other.value)
                assert value.p_value == pytest.approx(other.p_value, abs=0.02)
                width = other.ci_high - other.value
                assert value.ci_high - value.value == pytest.approx(width, rel=0.2)
            else:
                assert same(value, other), name
    others = np.where(known == "b", "b", np.where(g == "u", None, "a"))
    two = audit(y, p, sensitive_features=others, tasks=t, reference="a")
    rest = [line for line in whole.tasks if line.group == "b"]
    assert [line.task for line in rest] == [line.task for line in two.tasks]
    assert all(same(a.auc, b.auc) for a, b in zip(rest, two.tasks, strict=True))


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
    g = rng.integers(0, 21, 800).astype(str)
    found = audit(None, rng.normal(size=800), sensitive_features=g)
    assert {c.kind for c in found.comparisons} == {"rest"}
    assert "more than 20 groups" in found.sensitive_features[0].note


def test_attributes_models_and_intersections_side_by_side():
    y, p, g, t = sample()
    frame = pd.DataFrame({"sex": g, "site": np.where(t % 2, "n", "s")})
    found = audit(
        y, {"before": p, "after": -p}, sensitive_features=frame, intersect=True
    )
    assert found.model_names == ("before", "after")
    assert [a.name for a in found.sensitive_features] == ["sex", "site", "sex × site"]
    assert [g.label for g in found.sensitive_features[2].groups] == [
        "F × n",
        "F × s",
        "M × n",
        "M × s",
    ]
    assert sum(g.n_rows for g in found.sensitive_features[2].groups) == len(y)
    before, after = (
        next(c for c in found.comparisons if c.model == m) for m in found.model_names
    )
    assert before.auc.value == pytest.approx(1 - after.auc.value)


def test_missing_groups_are_counted_and_left_out():
    y, p, g, _ = sample()
    holes = g.astype(object)
    holes[:7] = None
    holes[7:9] = float("nan")
    found = audit(y, p, sensitive_features={"sex": holes})
    kept = audit(y[9:], p[9:], sensitive_features={"sex": g[9:]})
    assert found.sensitive_features[0].n_missing == 9
    a, b = found.comparisons[0], kept.comparisons[0]
    assert (a.auc, a.mean_difference) == (b.auc, b.mean_difference)


def test_missing_numbers_and_series_of_any_library():
    y, p, g, _ = sample()
    code = (g == "M").astype(float)
    code[:5] = np.nan
    wanted = audit(y, p, sensitive_features=code).comparisons[0].auc
    for column in (pd.Series(code), pl.Series(code), pl.Series(code).fill_nan(None)):
        found = audit(y, p, sensitive_features=column)
        assert found.sensitive_features[0].n_missing == 5
        assert found.comparisons[0].auc == wanted


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
    y, p, g, _ = sample()
    g[:] = "F"
    g[:3] = "M"
    found = audit(y, p, sensitive_features=g)
    (c,) = found.comparisons
    wanted = metrics.rank_auc(None, p, sensitive_features=g)
    assert c.auc.value == pytest.approx(wanted)
    assert not any(
        getattr(c, name).estimable
        for name in ("auc", "ks", "mean_difference", "share_above_median")
    )
    assert c.auc.note == "group M has 3 rows, fewer than 5"
    assert found.gate(0.5) is Gate.NOT_ESTIMABLE
    assert math.isnan(found.gap)
    assert "fewer than 5 rows: M" in found.sensitive_features[0].note
    assert "cannot be estimated" in found.verdict
    assert "has 3 rows" in found.verdict
    assert audit(y, p, sensitive_features=g, min_group=3).gap >= 0


def test_small_groups_within_tasks_are_not_flagged():
    y, p, g, t = sample(tasks=30)
    found = audit(y, p, sensitive_features=g, tasks=t)
    for line in found.tasks:
        small = min(line.n_group, line.n_against) < 5
        assert small == (line.adjusted_p is None) == bool(line.auc.note)
        assert not (small and line.flagged)


def test_tasks_that_differ_are_flagged_and_others_are_not():
    rng = np.random.default_rng(0)
    t = np.repeat(np.arange(40), 60)
    g = np.where(rng.random(2400) < 0.5, "M", "F")
    p = rng.normal(size=2400) + 3.0 * ((t < 4) & (g == "M"))
    found = audit(None, p, sensitive_features=g, tasks=t)
    assert {line.task for line in found.tasks if line.flagged} == {"0", "1", "2", "3"}


@pytest.mark.parametrize(
    "predicted", [np.zeros(40), np.r_[np.zeros(20), np.ones(20)]], ids=["flat", "apart"]
)
def test_no_interval_is_of_zero_width(predicted):
    g = np.repeat(["F", "M"], 20)
    (c,) = audit(predicted, predicted, sensitive_features=g).comparisons
    for name in ("auc", "mean_difference", "balanced_residuals", "impact_ratio"):
        own = getattr(c, name)
        assert not own.estimable or own.ci_high > own.ci_low
    if predicted.any():
        assert c.auc.value == 1.0 and c.auc.ci_low < 0.9
    else:
        assert c.auc.value == 0.5 and not c.auc.estimable


def test_errors_of_models():
    y, p, g, _ = sample()
    (line,) = audit(y, p, sensitive_features=g).models
    assert line.rmse.value == pytest.approx(metrics.rmse(y, p))
    assert line.rmse.ci_low < line.rmse.value < line.rmse.ci_high
    assert line.mae.value == pytest.approx(np.abs(y - p).mean())
    assert line.r2.value == pytest.approx(1 - ((y - p) ** 2).sum() / y.var() / len(y))
    (flat,) = audit(np.ones(len(p)), p, sensitive_features=g).models
    assert math.isnan(flat.r2.value)
    (exact,) = audit(y, y, sensitive_features=g).models
    assert exact.rmse.value == 0.0 and not exact.rmse.estimable


def test_histograms_share_their_edges_and_sum_to_one():
    y, p, g, _ = sample()
    found = audit(y, {"a": p, "b": 3 * p}, sensitive_features=g)
    assert len({h.edges for h in found.histograms}) == 1
    for h in found.histograms:
        assert sum(h.shares) == pytest.approx(1.0)
        values = {"a": p, "b": 3 * p}[h.model][g == h.group]
        wanted = np.histogram(values, h.edges)[0] / len(values)
        assert h.shares == pytest.approx(tuple(wanted))


def test_inputs_are_not_modified():
    y, p, g, t = sample()
    w = np.random.default_rng(0).random(len(y))
    copies = [v.copy() for v in (y, p, g, t, w)]
    audit(y, p, sensitive_features=g, tasks=t, sample_weight=w)
    for now, before in zip((y, p, g, t, w), copies, strict=True):
        np.testing.assert_array_equal(now, before)


def test_labels_of_several_columns_and_of_mixed_types():
    y, p, g, t = sample()
    tasks = pd.DataFrame({"a": t, "b": g})
    found = audit(y, p, sensitive_features=(t % 2).astype(bool), tasks=tasks)
    assert all(" / " in line.task for line in found.tasks)
    mixed = np.array([1, "1"] * 120, dtype=object)
    labels = [
        g.label
        for g in audit(y, p, sensitive_features=mixed).sensitive_features[0].groups
    ]
    assert sorted(labels) == ["'1'", "1"]


def test_the_package_is_its_function():
    assert rankfair.audit is audit
    assert signature(audit) == signature(audit.audit)
    assert audit.records.Audit is Audit is rankfair.Audit
    assert isinstance(audit.audit(None, [1.0, 2.0], sensitive_features=[0, 1]), Audit)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": {}}, "y_pred is an empty dict"),
        ({"y_pred": {"m": [1.0]}}, "has 4 values, but there are 1"),
        ({"y_true": [1.0]}, "y_true has 1"),
        ({"sensitive_features": None}, "the group of each row is expected"),
        ({"sensitive_features": {}}, "sensitive_features is an empty dict"),
        ({"sensitive_features": {"s": np.zeros((4, 2))}}, "has 2 columns"),
        ({"sensitive_features": ["F"] * 4}, "has one group only"),
        ({"sensitive_features": [None] * 4}, "is unknown in all 4 rows"),
        ({"sensitive_features": {"s": ["F", "M"]}}, "sensitive_features has 2 values"),
        ({"tasks": [1]}, "tasks has 1"),
        ({"intersect": True}, "needs two or more features"),
        ({"confidence": 1.0}, "confidence must be below 1"),
        ({"min_group": 0}, "min_group must be a whole number"),
        ({"sample_weight": [1, 0, 1, 0]}, 'zero for all 2 rows of group "M"'),
        ({"random_state": "x"}, "random_state must be"),
        ({"frequency_weights": True}, "needs sample_weight"),
        ({"frequency_weights": 1}, "frequency_weights must be True or False"),
        (
            {"frequency_weights": True, "sample_weight": [1, 0.5, 1, 1]},
            "got 0.5 in row 1",
        ),
        (
            {"frequency_weights": True, "sample_weight": [1, 1, 1, 1e9]},
            "sample_weight for 1e.09",
        ),
        (
            {"y_pred": {1: np.arange(4.0), "1": np.arange(4.0)}},
            'two models called "1"',
        ),
        (
            {"sensitive_features": {1: list("FMFM"), "1": list("FFMM")}},
            'sensitive_features has 2 features called "1"',
        ),
        (
            {"sensitive_features": pd.DataFrame([["F", "M"]] * 4, columns=[1, "1"])},
            'has 2 features called "1"',
        ),
        (
            {
                "sensitive_features": {
                    "a": list("FMFM"),
                    "b": list("FFMM"),
                    "a × b": list("FMMM"),
                },
                "intersect": True,
            },
            'makes a feature called "a × b", which is there',
        ),
        (
            {
                "sensitive_features": {
                    "a": ["F", "M", None, None],
                    "b": [None, None, "F", "M"],
                },
                "intersect": True,
            },
            'got 0 of "a × b"',
        ),
    ],
)
def test_what_is_wrong_is_said(change, message):
    given = {
        "y_true": np.arange(4.0),
        "y_pred": np.arange(4.0),
        "sensitive_features": ["F", "M", "F", "M"],
    } | change
    with pytest.raises(ValueError, match=message):
        audit(given.pop("y_true"), given.pop("y_pred"), **given)


def test_too_many_groups_look_like_numbers():
    with pytest.raises(ValueError, match="Cut it into a few classes"):
        audit(None, np.arange(70.0), sensitive_features=np.arange(70))


def test_too_many_groups_of_an_intersection_are_refused():
    rows = np.arange(640)
    given = {"a": rows % 8, "b": rows // 8 % 8}
    with pytest.raises(ValueError, match=r'got 64 of "a × b" .* Unite groups'):
        audit(None, rows / 1.0, sensitive_features=given, intersect=True)


def test_cells_of_an_intersection_have_labels_of_their_own():
    rows = np.arange(80)
    given = {
        "a": np.where(rows % 2, "x", "x × y"),
        "b": np.where(rows // 2 % 2, "z", "y × z"),
    }
    found = audit(None, rows / 1.0, sensitive_features=given, intersect=True)
    labels = [group.label for group in found.sensitive_features[2].groups]
    assert len(set(labels)) == 4 and 'x × "y × z"' in labels  # as a model calls it


def test_a_group_may_be_called_the_rest():
    y, p, g, _ = sample(groups="ABC")
    named = np.where(g == "C", "the rest", g)
    found = audit(y, p, sensitive_features=named).comparisons
    assert len({(c.group, c.against) for c in found}) == len(found)
    assert {c.against for c in found if c.kind == "rest"} == {"all the rest"}


def test_arrays_of_several_attributes():
    y, p, g, t = sample()
    found = audit(y, p, sensitive_features=np.column_stack([g, t % 2]))
    assert [a.name for a in found.sensitive_features] == ["group 1", "group 2"]
