"""What a fit warns of: a group given away, a band out of reach, a gap by chance."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from rankfair import MultiTaskRegressor, RankFairRegressor, stream
from rankfair.metrics import rank_auc, rmse

RNG = np.random.default_rng(0)


def said(model, *args, **given):
    """What the fit warns of, sentence by sentence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*args, **given)
    return [str(each.message) for each in caught]


def blind_in_name(model, *args, **given):
    return [it for it in said(model, *args, **given) if "blind in name only" in it]


def mixed(n_rows=400, n_groups=2, n_tasks=8):
    """Groups in every task, and predictors that hardly know them."""
    z = RNG.integers(0, n_groups, n_rows)
    X = RNG.normal(size=(n_rows, 2)) + 0.2 * z[:, None]
    tasks = RNG.integers(0, n_tasks, n_rows)
    return X, X.sum(axis=1) + RNG.normal(size=n_rows), tasks, z


# Blind in name only


@pytest.mark.parametrize("n_groups", [2, 3])
def test_tasks_of_one_group_make_a_model_blind_in_name(n_groups):
    X, y, tasks, z = mixed(n_groups=n_groups)
    given = {"tasks": tasks, "sensitive_features": z}
    assert not blind_in_name(RankFairRegressor(0.1), X, y, **given)
    apart = n_groups * tasks + z
    pure = RNG.random(len(y)) < 0.75
    given["tasks"] = np.where(pure, apart, 1000)
    (told,) = blind_in_name(RankFairRegressor(0.1), X, y, **given)
    assert told.startswith(f"{pure.mean():.0%} of rows are in tasks of one group only:")
    # What is named to be seen is not blind.
    assert not blind_in_name(RankFairRegressor(0.1, blind=False), X, y, **given)
    # Rare groups and tiny tasks are of one group by chance.
    given["tasks"] = np.arange(400) // 2
    assert not blind_in_name(RankFairRegressor(0.1), X, y, **given)
    rare = {"tasks": np.arange(400) // 20, "sensitive_features": np.arange(400) < 4}
    assert not blind_in_name(RankFairRegressor(0.1), X, y, **rare)


@pytest.mark.parametrize(("n_groups", "sign"), [(2, -1), (3, 1)])
def test_predictors_that_tell_a_group_apart_are_told(n_groups, sign):
    """Rows of unknown group do not count for that, nor groups of a few rows."""
    X, y, tasks, z = mixed(n_groups=n_groups)
    known = RNG.random(len(z)) < 0.8
    away = np.where(known, 9.0 * (z == n_groups - 1), 4.0)
    X[:, 1] = sign * (away + RNG.normal(size=len(z)))
    labels = np.where(known, z, np.nan)
    given = {"tasks": tasks, "sensitive_features": labels}
    model = RankFairRegressor(0.2)
    auc = rank_auc(None, X[known, 1], sensitive_features=z[known] == n_groups - 1)
    assert max(auc, 1 - auc) > 0.95
    (told,) = blind_in_name(model, X, y, **given)
    assert told.startswith(
        f'predictor "x1" tells the groups apart alone (AUC {auc:.3f}):'
    )
    few = np.isin(np.arange(len(z)), np.flatnonzero(z == n_groups - 1)[9:])
    given["sensitive_features"] = np.where(few, 0, z)
    assert not blind_in_name(model, X, y, **given)


def test_rows_in_files_are_looked_at_by_task(tmp_path):
    X, y, tasks, z = mixed(2000)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, z=z, task=2 * tasks + z)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = RankFairRegressor(0.1, tasks="task", sensitive_features="z")
    with pytest.warns(UserWarning, match="^100% of rows are in tasks of one") as caught:
        model.fit(stream(tmp_path), "y")
    assert caught[0].filename == __file__
    frame["task"] = tasks
    frame.to_parquet(tmp_path / "rows.parquet")
    assert not blind_in_name(model, stream(tmp_path), "y")


# Out of reach


def test_where_blindness_does_not_reach_the_band_seeing_is_measured():
    in_a = RNG.random(300) < 0.5
    x = in_a + 0.3 * RNG.normal(size=300)
    y, frame = x + 0.3 * RNG.normal(size=300), pd.DataFrame({"x": x, "z": in_a})
    blind = RankFairRegressor(0.0, sensitive_features="z")
    seeing = RankFairRegressor(0.0, sensitive_features="z", blind=False)
    (told,) = (it for it in said(blind, frame, y) if "blind=False" in it)
    assert not any("blind=False" in it for it in said(seeing, frame, y))
    assert (blind.status_, seeing.status_) == ("infeasible", "satisfied")
    m, auc = seeing.loo_predictions_, seeing.loo_auc_
    assert (
        f"would reach the band: AUC {auc:.4f}, with an RMSE of {rmse(y, m):.4g}" in told
    )
    # Of labels that are no column of X the model cannot make a predictor.
    told = said(
        blind.set_params(sensitive_features=None),
        x[:, None],
        y,
        sensitive_features=in_a,
    )
    assert any("with blind=False, can help" in it for it in told)


def test_seeing_is_measured_with_tasks_that_came_as_an_array():
    x = np.arange(60.0)
    frame = pd.DataFrame({"x": x, "upper": x > 40, "odd": (x < 20) | (x > 50)})
    model = RankFairRegressor(0.0, penalty="ridge", count="train")
    model.set_params(sensitive_features=["upper", "odd"])
    told = said(model, frame, x + np.sin(x), tasks=np.zeros(60))[-1]
    assert "(blind=False) the fit would not reach the band: AUC" in told
    assert told.endswith("on training rows.")


# Counts of rows left out


def test_groups_in_equal_shares_of_every_task_are_told():
    """By design, and not where shares vary as by chance."""
    X, y, _, _ = mixed()
    tasks, rng = np.repeat(np.arange(40), 10), np.random.default_rng(1)
    for groups, told in (
        (np.arange(400) % 10 < 3, True),
        (rng.permutation(np.arange(400) % 10 < 3), False),
        (rng.random(400) < 0.1 + 0.01 * tasks, False),
    ):
        given = {"tasks": tasks, "sensitive_features": groups}
        found = said(RankFairRegressor(0.2), X, y, **given)
        assert any("vary less than by chance" in it for it in found) == told


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_few_distinct_rows_are_told(form):
    _, y, _, z = mixed()
    for n_rows, told in ((5, True), (20, False)):
        X = np.column_stack((np.arange(400) % n_rows, np.arange(400) % 5)) / 3
        found = said(RankFairRegressor(0.3), form(X), y, sensitive_features=z)
        steps = [it for it in found if "ranks move in steps" in it]
        assert bool(steps) == told
        assert not told or steps[0].startswith(f"X has {n_rows} distinct rows")


# A gap that may be chance


def chance(n_rows, seed, gap=0.0):
    """Groups that differ by ``gap`` standard deviations in all that tells of y."""
    rng = np.random.default_rng(seed)
    in_a = rng.random(n_rows) < 0.5
    x = rng.normal(size=n_rows) + gap * in_a
    return x[:, None], x + 0.5 * rng.normal(size=n_rows), in_a


def by_chance(told):
    return [each for each in told if "may be chance" in each]


def test_a_gap_by_chance_that_costs_much_is_told_with_its_cost():
    for seed in range(20):
        X, y, in_a = chance(60, seed)
        free = MultiTaskRegressor().fit(X, y)
        model = RankFairRegressor(0.0)
        told = by_chance(said(model, X, y, sensitive_features=in_a))
        before = rmse(y, free.loo_predictions_)
        after = rmse(y, model.loo_predictions_)
        if model.status_ == "satisfied" and after > 1.05 * before:
            break
    (told,) = told
    assert f"costs {after / before - 1:.1%} of error on left-out rows" in told
    assert f"(RMSE {before:.4g} before, {after:.4g} after)" in told
    auc = rank_auc(None, free.loo_predictions_, sensitive_features=in_a)
    assert f"without the constraint the AUC is {auc:.3f} (95 %" in told


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_sure_gap_and_a_cheap_one_are_not_told():
    X, y, in_a = chance(600, 0, gap=1.0)
    rng = np.random.default_rng(1)
    proxy = in_a + rng.normal(size=600)  # a way to parity that costs little
    sure = RankFairRegressor(0.0).fit(
        np.column_stack((X, proxy)), y, sensitive_features=in_a
    )
    assert sure.status_ == "satisfied"
    X, y, in_a = chance(2000, 3, gap=0.05)
    cheap = RankFairRegressor(0.0).fit(
        np.column_stack((X, in_a + rng.normal(size=2000))), y, sensitive_features=in_a
    )
    assert cheap.multiplier_ != 0
    free = MultiTaskRegressor().fit(X, y)
    assert rmse(y, cheap.loo_predictions_) < 1.05 * rmse(y, free.loo_predictions_)


def test_tasks_of_one_group_make_gaps_by_chance_larger():
    """Eight sites, each of one group: rows alone would be sure, sites are not."""
    rng = np.random.default_rng(2)
    site = np.repeat(np.arange(8), 50)
    in_a = site % 2 == 0
    x = 0.8 * rng.normal(size=8)[site] + 0.6 * rng.normal(size=400)
    y = x + 0.3 * rng.normal(size=400)
    model = RankFairRegressor(0.0, beta=(1e6, 1e6, 1e-3))  # the same for every site
    alone = said(model, x[:, None], y, sensitive_features=in_a)
    sites = said(model, x[:, None], y, tasks=site, sensitive_features=in_a)
    assert not by_chance(alone) and by_chance(sites)
