"""Paths of three or more groups, against the metrics and by hand."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from rankfair import (
    RankFairPostprocessor,
    RankFairRegressor,
    TiltedRegressor,
    audit,
    fairness_path,
)
from rankfair.metrics import (
    mean_difference,
    rank_auc,
    rank_auc_by_group,
    rank_gap,
    rmse,
)
from rankfair.paths import MIN_GROUP, Judge, small_groups
from rankfair.stats.estimate import clusters_of

rng = np.random.default_rng(5)
N = 150
GROUPS = rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
PUSH = (GROUPS == "c") * 1.5 - (GROUPS == "a") * 0.5
X = rng.normal(size=(N, 3)) + PUSH[:, None] * [1.0, 0.5, 0.0]
Y = X.sum(axis=1) + rng.normal(size=N)
EPSILONS = [0.02, 0.5]
MODELS = {
    "linear": RankFairRegressor(penalty="ridge"),
    "tilted": TiltedRegressor(Ridge(), random_state=0),
    "mapped": RankFairPostprocessor(Ridge()),
}


def limits(predicted, in_a, doubt, tasks=None, weights=None):
    """What an audit says of the AUC."""
    given = {"tasks": tasks, "sample_weight": weights, "confidence": 1 - doubt}
    found = audit(None, predicted, sensitive_features=in_a, **given)
    (line,) = found.comparisons
    ends = line.auc.ci_low, line.auc.ci_high
    return ends if line.group == "True" else (1 - ends[1], 1 - ends[0])


def path_of(model, **settings):
    given = {"epsilons": EPSILONS, "cv": 3, "random_state": 0, **settings}
    given = {"X": X, "sensitive_features": GROUPS, **given}
    return fairness_path(model, y=Y, **given)


@pytest.mark.filterwarnings("ignore:predictor .* blind in name only:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_models_of_three_groups_have_a_path(name):
    path = path_of(MODELS[name], random_state=1)
    assert path.groups == ("a", "b", "c")
    assert (path.column("train_gap") <= np.array(EPSILONS) + 1e-2).all()
    assert path.rows[-1].group == path.rows[-1].train_group == "c"
    assert path.rows[-1].status == "inactive"
    assert path.chosen in EPSILONS and path.views.against == "the rest"
    assert path.to_frame()["group"].tolist() == path.column("group").tolist()
    axes = path.plot()
    plt.close("all")
    assert path.column("gap").tolist() in [
        line.get_xdata().tolist() for line in axes.lines
    ]


def test_a_post_processor_of_several_columns_compares_their_combinations():
    pair = {"sex": np.arange(N) % 2, "kind": GROUPS}
    labels = np.array([f"{g} × {s}" for s, g in zip(*pair.values(), strict=True)])
    path = path_of(MODELS["mapped"], sensitive_features=pair)
    assert set(path.groups) == {f"{s} × {g}" for s in (0, 1) for g in "abc"}
    again = path_of(MODELS["mapped"], sensitive_features=labels)
    assert path.column("train_gap") == pytest.approx(again.column("train_gap"))
    frame = pd.DataFrame({**dict(zip("uvw", X.T, strict=True)), **pair})
    named = ["sex", "kind"]
    model = RankFairPostprocessor(Ridge(), sensitive_features=named, blind=True)
    in_frame = path_of(model, X=frame, sensitive_features=None)
    assert in_frame.groups == path.groups
    assert in_frame.column("rmse") == pytest.approx(path.column("rmse"))
    (found,) = model.fit(frame, Y).group_labels(frame).values()
    assert set(found) == set(path.groups)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_figures_are_the_metrics_of_predictions_by_hand():
    """Rows of unknown group count for errors only."""
    w = rng.integers(1, 4, N).astype(float)
    known = np.arange(N) % 10 != 3
    some = np.where(known, GROUPS, None)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    path = path_of(MODELS["mapped"], cv=folds, sample_weight=w, sensitive_features=some)
    assert path.n_held_out == N and path.groups == ("a", "b", "c")
    for row in path.rows:
        predicted = np.empty(N)
        for train, test in folds:
            model = RankFairPostprocessor(Ridge(), row.epsilon)
            own = {"sensitive_features": some[train], "sample_weight": w[train]}
            model.fit(X[train], Y[train], **own)
            predicted[test] = model.predict(X[test], sensitive_features=some[test])
        assert row.rmse == pytest.approx(rmse(Y, predicted, sample_weight=w))
        m, own = predicted[known], w[known]
        given = {"sensitive_features": GROUPS[known], "sample_weight": own}
        aucs = rank_auc_by_group(None, m, **given)
        assert row.gap == pytest.approx(rank_gap(None, m, **given))
        assert row.auc == pytest.approx(aucs[row.group])
        assert row.gap == pytest.approx(max(abs(auc - 0.5) for auc in aucs.values()))
        in_a = row.group == GROUPS[known]
        given["sensitive_features"] = in_a
        assert row.md == pytest.approx(mean_difference(None, m, **given))
        ends = limits(m, in_a, 0.05 / 3, weights=own)
        assert (row.auc_ci_low, row.auc_ci_high) == pytest.approx(ends)
        alone = limits(m, in_a, 0.05, weights=own)
        assert row.auc_ci_low < alone[0] < alone[1] < row.auc_ci_high


def test_combinations_of_a_number_are_cut_as_the_model_cuts_them():
    age, sex = np.arange(N) % 50, np.arange(N) % 3 == 0
    asked = {"penalty": "ridge", "intersect": True, "bins": 2}
    both = np.column_stack((age, sex))
    given = {"epsilons": [0.05], "sensitive_features": both}
    path = path_of(RankFairRegressor(**asked), **given)
    named = RankFairRegressor(sensitive_features=[3, 4], blind=True, **asked)
    rows = np.column_stack((X, both))
    other = fairness_path(named, rows, Y, epsilons=[0.05], cv=3, random_state=0)
    assert path.groups == other.groups and len(path.groups) == 4
    assert path.rows == other.rows


def test_folds_that_miss_a_group_are_refused():
    without = np.flatnonzero(GROUPS != "b")[::3]
    with pytest.raises(ValueError, match='cv holds out no row of group "b": a path'):
        path_of(MODELS["mapped"], cv=[(np.delete(np.arange(N), without), without)])
    rare = np.where(np.arange(N) == 7, "rare", GROUPS)
    with pytest.raises(ValueError, match='has 1 row that counts in group "rare"'):
        path_of(MODELS["mapped"], sensitive_features=rare)


def test_intervals_take_clusters_group_by_group():
    tasks, groups = np.arange(60) // 6, np.arange(60) % 2
    groups[tasks < 3] = 2  # in tasks of its own; the others share theirs
    y = rng.normal(size=60)
    low = y - 3.0 * (groups == 2)
    judge = Judge(y, groups, ("a", "b", "c"), tasks, None)
    assert not clusters_of(tasks, groups == 0)[0]
    assert judge.n_clusters() == 10
    found = judge(low)
    assert found.group == "c"
    ends = limits(low, groups == 2, 0.05 / 3, tasks)
    assert (found.auc_ci_low, found.auc_ci_high) == pytest.approx(ends)
    apart = Judge(y, groups, ("a", "b", "c"), None, None)
    assert apart.n_clusters() is None


def test_small_groups_are_those_that_an_audit_does_not_judge():
    least = inspect.signature(audit).parameters["min_group"].default
    assert least == MIN_GROUP
    for sizes in ([9, 8, 4], [9, 5, 5], [60, 2, 1], [9, 2, 2], [4, 4, 4], [9, 4], [9]):
        codes = np.repeat(np.arange(len(sizes)), sizes)
        codes = rng.permutation(np.append(codes, [-1] * 7))
        names = ["abc"[g] if g >= 0 else None for g in codes]
        small = ["abc"[g] for g in small_groups(codes, len(sizes))]
        if len(sizes) < 3 or max(sizes) < least:
            assert not small  # there is no other to be shown
            continue
        found = audit(None, rng.normal(size=len(codes)), sensitive_features=names)
        rest = [c for c in found.comparisons if c.kind == "rest"]
        few = [c.group for c in rest if not c.auc.estimable]
        assert small == (few if len(few) < len(rest) else [])


def test_limits_are_as_wide_as_the_groups_judged_need():
    groups = np.repeat([0, 1, 2], [40, 40, 3])
    y = rng.normal(size=83) + 9.0 * (groups == 2)
    small = small_groups(groups, 3)
    found = Judge(y, groups, ("a", "b", "c"), None, None, small)(y)
    assert found.group in "ab"
    in_a = groups == "ab".index(found.group)
    assert found.auc == pytest.approx(rank_auc(None, y, sensitive_features=in_a))
    ends = limits(y, in_a, 0.05 / 2)
    assert (found.auc_ci_low, found.auc_ci_high) == pytest.approx(ends)
    assert Judge(y, groups, ("a", "b", "c"), None, None)(y).group == "c"


def test_limits_of_an_error_allow_for_the_skewness_of_squares():
    rng, sets, held = np.random.default_rng(0), 400, 0
    groups = np.arange(20) % 2
    for _ in range(sets):
        predicted, errors = rng.normal(size=(2, 20))
        weights = rng.random(20) + 0.1
        judge = Judge(predicted + errors, groups, ("a", "b"), None, weights)
        found = judge(predicted)
        held += found.rmse_ci_low <= 1.0 <= found.rmse_ci_high
        assert found.rmse_ci_low * found.rmse_ci_high == pytest.approx(found.rmse**2)
    assert held >= 0.9 * sets


def test_limits_of_an_error_know_weights_by_their_shares():
    rng = np.random.default_rng(1)
    predicted, groups, at = rng.normal(size=60), np.arange(60) % 2, np.arange(60)
    y, weights = predicted + rng.normal(size=60), rng.random(60)

    def limits(weights, tasks=None):
        found = Judge(y, groups, ("a", "b"), tasks, weights)(predicted)
        return found.rmse_ci_low, found.rmse_ci_high

    assert limits(None) == pytest.approx(limits(np.full(60, 7.0)))
    assert limits(weights) == pytest.approx(limits(1e6 * weights))
    # Tasks of one group and one row are rows.
    assert limits(weights) == pytest.approx(limits(weights, at))
    # One row has all the weight, but for rounding.
    assert np.isnan(limits(np.where(at == 3, 1.0, 1e-12))).all()
    # Two rows have: many times more or less is all that can be said, or nothing.
    low, high = limits(np.where(at < 2, 1.0, 1e-9))
    assert np.isnan(low) == np.isnan(high) and not high < 3 * low
