"""The models of all ε: in memory, and in a model file without any rows."""

import json
import warnings
import zipfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from rankfair import RankFairRegressor, load_model, save_model
from rankfair.constraints import Mean, Rank
from rankfair.core.problem import Groups
from rankfair.metrics import mean_difference, rank_auc, rmse
from refusals import sentence

pytestmark = pytest.mark.filterwarnings("ignore:the gap may be chance:UserWarning")


def data(n_rows=400, seed=0, gap=0.8):
    rng = np.random.default_rng(seed)
    in_a = rng.random(n_rows) < 0.4
    X = rng.normal(size=(n_rows, 3)) + np.outer(in_a, [gap, 0.0, 0.3])
    task = rng.integers(0, 6, n_rows)
    y = X @ [1.0, 0.5, 0.2] + 0.3 * task + rng.normal(size=n_rows)
    frame = pd.DataFrame(X, columns=list("uvw"))
    return frame.assign(task=task, z=np.where(in_a, "b", "a")), y, in_a


def fair(epsilon=0.1, **settings):
    return RankFairRegressor(epsilon, tasks="task", sensitive_features="z", **settings)


def stored(model, tmp_path):
    return load_model(save_model(model, tmp_path / "model.rankfair"))


@pytest.mark.parametrize(
    "settings", [{"side": "upper"}, {"penalty": "ridge"}, {"constraints": "mean"}]
)
def test_a_stored_model_takes_the_next_tighter_epsilon(settings, tmp_path):
    frame, y, _ = data()
    model = fair(0.05, **settings).fit(frame, y)
    other = stored(model, tmp_path)
    table = other._trade_off.table
    assert len(table) >= 200
    step = np.abs(np.diff(np.sort(table[:, 1]))).max()
    for epsilon in (0.0, 0.003, 0.02, 0.1, 0.3):
        there, here = other.at(epsilon), model.at(epsilon)
        assert there.status_ == here.status_
        assert abs(there.multiplier_) >= abs(here.multiplier_) - 1e-12
        # Counts do not fall evenly: a few steps of the table at most.
        assert abs(there.multiplier_ - here.multiplier_) <= 3 * step
        # The same λ is the same model, whether rows are there or not.
        exact = [row for row in table if row[1] == there.multiplier_]
        (value,) = there.constraint_values_.values()
        assert value == pytest.approx(exact[0][2])
        allowed = np.abs(there.predict(frame) - here.predict(frame)).max()
        moved = np.abs(model.at(0.0).predict(frame) - model.at(0.4).predict(frame))
        assert allowed <= moved.max() * 3 * step / np.ptp(table[:, 1])


@pytest.mark.parametrize(
    ("n_rows", "gap", "epsilons"),
    [(400, 0.5, np.linspace(0.0, 0.3, 16)), (20_000, 0.3, [0.0005, 0.003, 0.05])],
)
def test_a_stored_model_is_in_the_band_of_every_epsilon(
    n_rows, gap, epsilons, tmp_path
):
    frame, y, in_a = data(n_rows, gap=gap)
    other = stored(fair(0.05, count="train").fit(frame, y), tmp_path)
    pairs = int(in_a.sum() * (~in_a).sum())
    for epsilon in epsilons:
        there = other.at(float(epsilon))
        auc = rank_auc(y, there.predict(frame), sensitive_features=in_a)
        assert abs(auc - 0.5) <= max(epsilon, 0.5 / pairs) + 1e-12


def test_a_band_out_of_reach_is_out_of_reach_in_a_file(tmp_path):
    """One predictor that is the group: the least gap is far along the line."""
    rng = np.random.default_rng(0)
    in_a = rng.random(300) < 0.5
    x = in_a + 0.3 * rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "z": in_a})
    model = RankFairRegressor(0.0, sensitive_features="z")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, x + 0.3 * rng.normal(size=300))
    other = stored(model, tmp_path)
    assert model.status_ == other.at(0.0).status_ == "infeasible"
    gaps = [
        abs(each.at(0.0).constraint_values_["rank"] - 0.5) for each in (model, other)
    ]
    assert gaps[1] == pytest.approx(gaps[0], abs=0.01)


def test_a_file_holds_no_rows(tmp_path):
    frame, y, _ = data(317)
    path = save_model(fair().fit(frame, y), tmp_path / "model.rankfair")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name != "meta.json"]
        meta = json.loads(archive.read("meta.json"))
        for name in names:
            loaded = np.load(archive.open(name), allow_pickle=False)
            several = loaded.values() if hasattr(loaded, "files") else [loaded]
            assert all(317 not in np.shape(each) for each in several)
    assert "loo_predictions_" in json.dumps(meta)
    assert load_model(path).loo_predictions_ is None


def test_a_path_has_error_gap_means_and_distances_left_out(tmp_path):
    frame, y, in_a = data()
    model = fair().fit(frame, y)
    other = stored(model, tmp_path)
    for row, near in zip(
        model.path([0.02, 0.1]).rows, other.path([0.02, 0.1]).rows, strict=True
    ):
        left_out = model.at(row.epsilon).loo_predictions_
        gap = mean_difference(y, left_out, sensitive_features=frame["z"])
        far = ks_2samp(left_out[in_a], left_out[~in_a]).statistic
        found = (row.rmse, row.md, row.ks)
        assert found == pytest.approx((rmse(y, left_out), gap, far))
        # Of a stored model it is that of its table.
        assert near.gap <= near.epsilon and near.status == row.status
        for name in ("rmse", "auc", "gap", "md", "ks"):
            assert getattr(near, name) == pytest.approx(getattr(row, name), abs=0.02)
        assert np.isnan(near.rmse_ci_low) and np.isnan(near.train_auc)
    ends = [each.path().rows[-1].epsilon for each in (model, other)]
    assert ends[0] == pytest.approx(ends[1], abs=0.01)
    assert len(other.path().rows) == len(model.path().rows)


def test_weights_count_in_a_path_and_unknown_groups_for_its_errors_alone():
    frame, y, in_a = data()
    known = np.arange(len(y)) % 7 > 0
    frame["z"] = frame["z"].astype(object).where(known, None)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = fair().fit(frame, y, sample_weight=w)
    (row,) = model.path([0.05]).rows
    left_out = model.at(0.05).loo_predictions_
    assert row.rmse == pytest.approx(rmse(y, left_out, sample_weight=w))
    groups, rank = Groups(in_a[known], w[known].astype(int)), Rank()
    auc = rank.show(rank.value(left_out[known], groups), groups)
    assert row.auc == pytest.approx(auc)


@pytest.mark.parametrize("constraint", [Rank(0.1), Mean(0.3)])
def test_an_object_takes_another_epsilon_too(constraint):
    frame, y, _ = data()
    model = fair(constraints=constraint).fit(frame, y)
    other = model.at(0.01)
    name = type(constraint).__name__.lower()
    fit = fair(0.01, constraints=name).fit(frame, y)
    np.testing.assert_allclose(other.coef_, fit.coef_, atol=1e-8)
    assert other.constraints.epsilon == 0.01 and model.constraints is constraint


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "ncadmm"},
        {"penalty": "shared"},
        {"direction": "density"},
        {"scope": "task"},
        {"constraints": ["rank", "mean"]},
    ],
)
def test_fits_on_no_line_say_why_there_is_no_other_epsilon(settings):
    frame, y, _ = data(200)
    model = fair(**settings).fit(frame, y)
    for name in ("at", "path"):
        with pytest.raises(AttributeError, match='penalty="pool" or "ridge"'):
            getattr(model, name)


@pytest.mark.parametrize("penalty", ["pool", "ridge"])
def test_the_picture_of_coefficients_has_what_was_taken(penalty):
    frame, y, _ = data()
    model = fair(0.02, penalty=penalty).fit(frame, y)
    scale = np.arange(1.0, 1.0 + len(model.predictors_))
    axes = model.plot_coefficients(scale)
    free, tilt, left = ([bar.get_width() for bar in kind] for kind in axes.containers)
    coef = [
        each.coef_.mean(axis=0) if penalty == "ridge" else each.shared_coef_
        for each in (model.at(0.5), model)
    ]
    np.testing.assert_allclose(free, coef[0] * scale)
    np.testing.assert_allclose(left, coef[1] * scale)
    np.testing.assert_allclose(np.add(free, tilt), left)
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *model.predictors_
    ]
    assert model.plot_coefficients(ax=axes) is axes
    plt.close("all")
    said = sentence(model.plot_coefficients, [1.0])
    assert "scale has 1 values" in said
