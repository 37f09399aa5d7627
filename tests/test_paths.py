import math
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rankfair import (
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    fairness_path,
    load_model,
    save_model,
)
from rankfair.constraints import Mean, Rank
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.input.folds import make_folds
from rankfair.metrics import mean_difference, rank_auc, rmse
from rankfair.paths import Path, PathRow

DATA = make_biased_tasks(6, 30, random_state=1)
FRAME, Y = DATA.frame, DATA.target
NUMBERS = FRAME.drop(columns=["task", "z"])
TASKS, GROUPS = FRAME["task"].to_numpy(), FRAME["z"].to_numpy()
# Counted on training rows, so that folds are needed to judge it.
PLAIN = {"penalty": "ridge", "beta": 1.0, "count": "train", "blind": False}
MODEL = RankFairRegressor(tasks="task", sensitive_features="z", **PLAIN)
EPSILONS = [0.0, 0.05, 0.2]


def path_of(model=MODEL, X=FRAME, **settings):
    given = {"epsilons": EPSILONS, "cv": 3, "random_state": 0, **settings}
    return fairness_path(model, X, Y, **given)


def by_hand(model, folds, X=FRAME, weights=None):
    """Predictions of held-out rows by fold."""
    predicted = np.full(len(Y), np.nan)
    for train, test in folds:
        given = {} if weights is None else {"sample_weight": weights[train]}
        fitted = clone(model).fit(X.iloc[train], Y[train], **given)
        predicted[test] = fitted.predict(X.iloc[test])
    return predicted


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_folds_by_hand(weighted):
    weights = np.random.default_rng(0).integers(0, 3, len(Y)) if weighted else None
    folds = list(KFold(3, shuffle=True, random_state=0).split(Y))
    path = path_of(cv=folds, sample_weight=weights)
    assert path.column("epsilon").tolist() == EPSILONS
    for row in path.rows:
        model = clone(MODEL).set_params(epsilon=row.epsilon)
        predicted = by_hand(model, folds, weights=weights)
        given = {"sensitive_features": GROUPS, "sample_weight": weights}
        assert row.rmse == pytest.approx(rmse(Y, predicted, sample_weight=weights))
        assert row.auc == pytest.approx(rank_auc(None, predicted, **given))
        assert row.md == pytest.approx(mean_difference(None, predicted, **given))
        assert row.gap == abs(row.auc - 0.5)
        assert row.rmse_ci_low < row.rmse < row.rmse_ci_high
        assert row.auc_ci_low < row.auc < row.auc_ci_high
        assert row.train_gap <= row.epsilon + 1 / 2000
        # Pairs of weights 1 to 4 may straddle 1/2.
        assert row.status == "satisfied" or (weighted and row.epsilon == 0)
    kept = len(Y) if weights is None else np.count_nonzero(weights)
    assert path.n_train == path.n_held_out == kept


def test_arrays_frames_and_columns_say_the_same():
    expected = path_of()
    plain = RankFairRegressor(**PLAIN)
    coded = NUMBERS.assign(z=GROUPS.astype(float))
    named = RankFairRegressor(sensitive_features="z", **PLAIN)
    frame = expected.to_frame()
    assert isinstance(frame, pd.DataFrame) and [*frame] == [*PathRow._fields]
    assert frame["rmse"].tolist() == expected.column("rmse").tolist()
    polars = path_of(X=pl.DataFrame(FRAME.to_dict("list")))
    assert polars.rows == expected.rows
    assert isinstance(polars.to_frame(), pl.DataFrame)
    assert path_of(random_state=1).rows != expected.rows
    assert not hasattr(MODEL, "coef_")
    assert path_of(named, coded, tasks=TASKS).rows == expected.rows
    arrays = path_of(plain, NUMBERS, tasks=TASKS, sensitive_features=GROUPS)
    blind = path_of(RankFairRegressor(**{**MODEL.get_params(), "blind": True}))
    assert arrays.column("rmse") == pytest.approx(blind.column("rmse"))


@pytest.mark.parametrize("scope", ["global", "task"])
def test_the_last_row_of_the_default_path_is_the_fit_without_a_band(scope):
    model = RankFairRegressor(**{**MODEL.get_params(), "scope": scope})
    folds = list(KFold(2, shuffle=True, random_state=1).split(Y))
    free = MultiTaskRegressor(penalty="ridge", tasks="task")
    predicted = by_hand(free, folds, FRAME.astype({"z": float}))
    path = path_of(model, epsilons=None, cv=folds)
    last = path.rows[-1]
    given = {"sensitive_features": GROUPS}
    assert last.status == "inactive"
    assert last.rmse == pytest.approx(rmse(Y, predicted), rel=1e-9)
    assert last.auc == pytest.approx(rank_auc(None, predicted, **given), rel=1e-9)
    assert last.md == pytest.approx(mean_difference(None, predicted, **given))
    epsilon = path.column("epsilon")
    assert len(epsilon) == 12 and epsilon[0] == 0
    assert (np.diff(np.diff(epsilon)) > 0).all()  # closer together near 0
    assert (np.diff(path.column("train_rmse")) < 1e-6).all()
    if scope == "global":
        assert last.train_gap == pytest.approx(epsilon[-1])


@pytest.mark.parametrize(
    "step", [RankFairRegressor(**PLAIN), RankFairPostprocessor(Ridge())]
)
def test_labels_find_their_way_where_metadata_are_routed(step):
    model = make_pipeline(StandardScaler(), step)
    tasks = TASKS if isinstance(step, RankFairRegressor) else None
    given = {"tasks": tasks, "sensitive_features": GROUPS, "cv": 2, "epsilons": [0.1]}
    given["sample_weight"] = np.arange(len(Y)) % 2 + 1.0
    X = NUMBERS.to_numpy()
    expected = path_of(model, X, **given)
    with config_context(enable_metadata_routing=True):
        assert path_of(model, X, **given) == expected


def test_a_wrapped_model_has_the_epsilon_of_what_it_wraps():
    model = TransformedTargetRegressor(RankFairRegressor(**PLAIN))
    given = {"tasks": TASKS, "sensitive_features": GROUPS, "cv": 2, "epsilons": [0.1]}
    wrapped = path_of(model, NUMBERS, **given)
    plain = path_of(model.regressor, NUMBERS, **given)
    assert wrapped.column("rmse")[0] == pytest.approx(plain.column("rmse")[0])
    # The wrapper copies what it wraps, so that its later fits do not start warm.
    wanted = pytest.approx(plain.column("train_rmse"), rel=1e-3)
    assert wrapped.column("train_rmse") == wanted


# Folds


def test_folds_leave_rows_of_every_task_to_learn_from():
    rng = np.random.default_rng(0)
    codes, in_a = rng.integers(0, 25, 80), rng.random(80) < 0.4
    fold = np.full(80, -1)
    for k, (_, test) in enumerate(make_folds(3, codes, in_a, rng)):
        fold[test] = k
    assert ((fold < 0) == (np.bincount(codes)[codes] == 1)).all()
    assert all(set(codes[fold != k]) == set(codes) for k in range(3))
    for own in (fold >= 0, *((codes == code) & (fold >= 0) for code in range(25))):
        dealt = np.bincount(fold[own], minlength=3)
        assert dealt.max() - dealt.min() <= 1


def test_rows_of_weight_zero_are_in_no_fold():
    codes, in_a = np.arange(20) // 5, np.arange(20) % 2 == 0
    weights = np.where(np.arange(20) % 5 == 0, 0.0, 1.0)
    rng = np.random.default_rng(0)
    for cv in (2, KFold(2), [(np.arange(10), np.arange(10, 20)), ([1], [0])]):
        folds = make_folds(cv, codes, in_a, rng, weights=weights)
        assert folds
        for train, test in folds:
            assert weights[train].all() and weights[test].all() and len(test)


# The record


def curve(errors, costs, ses):
    rows = [
        PathRow(i / 10, float(r), float(r), float(r), *[0.0] * 9, "", cost=c, cost_se=s)
        for i, (r, c, s) in enumerate(zip(errors, costs, ses, strict=True))
    ]
    return Path(tuple(rows), 10, 10)


@pytest.mark.parametrize(
    ("costs", "ses", "chosen", "free"),
    [
        ([9.0, 1.0, 0.0], [2.0, 1.5, 0.0], 0.1, False),
        ([9.0, 1.0, 0.0], [2.0, 0.5, 0.0], 0.2, False),
        ([0.2, 0.1, 0.0], [0.3, 0.3, 0.0], 0.0, True),
        ([0.0, 1.0, 9.0], [0.0, 0.5, 0.5], 0.0, True),
        ([math.nan] * 3, [math.nan] * 3, None, False),  # a model from a file
    ],
)
def test_the_smallest_epsilon_within_one_standard_error_is_chosen(
    costs, ses, chosen, free
):
    path = curve([3.0, 1.0, 0.9], costs, ses)
    assert (path.chosen, path.is_free) == (chosen, free)
    _, _, *marked = path.plot().get_legend_handles_labels()[1]
    plt.close("all")
    named = [label for label in marked if "ε" in label]
    assert named == ([] if chosen is None else [f"ε = {chosen:g}, marked"])
    assert repr(path) == (
        f"Path(3 ε from 0 to 0.2, chosen {'none' if chosen is None else f'{chosen:g}'},"
        " 10 held-out rows)"
    )


@pytest.mark.parametrize("n_tasks", [4, 12])
def test_the_cost_of_an_epsilon_is_paired_over_rows_or_tasks(n_tasks):
    data = make_biased_tasks(n_tasks, 30, random_state=3)
    model = RankFairRegressor(tasks="task", sensitive_features="z")
    given = {"epsilons": [0.0, 0.05, 0.4], "cv": None}
    path = fairness_path(model, data.frame, data.target, **given)
    tasks = data.frame["task"].to_numpy()
    squares = []
    for row in path.rows:
        fitted = model.set_params(epsilon=row.epsilon).fit(data.frame, data.target)
        squares.append((data.target - fitted.loo_predictions_) ** 2)
    best = squares[int(np.argmin([each.mean() for each in squares]))]
    for row, square in zip(path.rows, squares, strict=True):
        more = square - best
        assert row.cost == pytest.approx(more.mean(), abs=1e-9)
        if n_tasks >= 10:  # tasks have equal sizes here
            more = np.array([more[tasks == t].mean() for t in np.unique(tasks)])
        se = more.std(ddof=1) / math.sqrt(len(more))
        assert row.cost_se == pytest.approx(se, rel=1e-6, abs=1e-12)


def test_views_show_the_predictions_of_every_epsilon():
    data = make_biased_tasks(6, 60, random_state=0)
    model = RankFairRegressor(tasks="task", sensitive_features="z")
    path = fairness_path(model, data.frame, data.target, epsilons=[0.0, 0.1, 0.5])
    views, z = path.views, data.frame["z"].to_numpy().astype(int)
    fitted = model.set_params(epsilon=0.0).fit(data.frame, data.target)
    m, tasks = fitted.predict(data.frame), data.frame["task"].to_numpy()
    fair = fitted.loo_predictions_
    for name, auc, sizes in zip(
        views.tasks, views.views[0].task_aucs, views.task_sizes, strict=True
    ):
        mine = tasks == name
        assert auc == pytest.approx(rank_auc(None, m[mine], sensitive_features=z[mine]))
        assert sizes == (int(z[mine].sum()), int((1 - z[mine]).sum()))
    assert (views.n_tasks, views.group, views.against) == (6, "1", "0")
    first, last = views.views[0], views.views[-1]
    assert all(sum(each) == pytest.approx(1.0, abs=0.02) for each in first.shares)
    b, a = first.means
    assert a - b == pytest.approx(path.rows[0].md)
    assert set(last.moved) == {0} and last.moves == (0.0, 0.0)
    free = model.set_params(epsilon=0.5).fit(data.frame, data.target)
    moved = fair - free.loo_predictions_
    assert first.moved == tuple(int((abs(moved) > s).sum()) for s in views.steps)
    assert first.moves == pytest.approx([moved[z == g].mean() for g in (0, 1)])


def test_folds_of_a_path_may_be_fitted_at_once():
    alone = path_of(epsilons=[0.5])
    with parallel_config("threading"):
        assert path_of(epsilons=[0.5], n_jobs=2).rows == alone.rows
    with pytest.raises(ValueError, match="n_jobs must be"):
        path_of(epsilons=[0.1], n_jobs=0)


def test_a_fitted_model_is_mapped_along_a_path_if_it_is_frozen():
    X = FRAME.drop(columns="task").astype(float)
    fitted = Ridge().fit(X, Y)
    mapped = RankFairPostprocessor(fitted, sensitive_features="z", prefit=True)
    with pytest.raises(NotFittedError, match=r"FrozenEstimator\(estimator\)"):
        path_of(mapped, X)
    path = path_of(mapped.set_params(estimator=FrozenEstimator(fitted)), X)
    assert path.column("train_gap") == pytest.approx(EPSILONS, abs=0.01)


# Bad input


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model": Ridge()}, r"one parameter epsilon.* Ridge\(\) has none"),
        (
            {"model": RankFairRegressor},
            "an estimator with .*RankFairRegressor'> has none",
        ),
        (
            {"model": make_pipeline(RankFairRegressor(), RankFairRegressor())},
            'has "rankfairregressor-1__epsilon", "rankfairregressor-2__epsilon"',
        ),
        (
            {"model": clone(MODEL).set_params(constraints="mean"), "epsilons": None},
            "epsilons is needed with constraints=",
        ),
        ({"epsilons": [0.1, -1]}, "each of epsilons must be a number ≥ 0; got -1"),
        (
            {
                "model": RankFairRegressor(
                    tasks="task", constraints=[Rank(0.1), Mean(0.1)]
                )
            },
            r'brings its own epsilon.* Use constraints=\["rank", "mean"\]',
        ),
        ({"cv": 1}, "cv must be a whole number ≥ 2; got 1"),
        ({"cv": [np.arange(5)]}, "cv must split these rows; got"),
        ({"cv": []}, "cv holds out no row that counts, in 0 folds"),
        ({"cv": [(np.arange(9), [])]}, "cv holds out no row that counts, in 1 fold"),
        ({"cv": [([], np.arange(180))]}, "cv leaves no row to learn from"),
        (
            {"cv": [([0], [5, 180])]},
            "cv must split .* 180 is out of bounds",
        ),
        ({"cv": [([True], [3])]}, "cv must split these rows; .* boolean"),
        (
            {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)},
            "cv holds out 180 rows more than once, up to 2 times",
        ),
        (
            {"cv": 1000},
            "cv must be at most the number of rows; got 1000 for n_samples = 180",
        ),
        ({"model": RankFairRegressor(tasks="task")}, "sensitive_features is missing"),
        ({"tasks": np.arange(180)}, "cv holds out no row"),
    ],
)
def test_bad_input_gets_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        path_of(**settings)


# One fit, each row left out


def left_out_path(model, **settings):
    return fairness_path(model, FRAME, Y, **{"epsilons": EPSILONS, **settings})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_without_folds_the_figures_are_of_rows_left_out_of_one_fit(weighted):
    weights = np.random.default_rng(0).integers(0, 3, len(Y)) if weighted else None
    model = RankFairRegressor(tasks="task", sensitive_features="z")
    path = left_out_path(model, sample_weight=weights)
    assert path.left_out and path.column("epsilon").tolist() == EPSILONS
    for row in path.rows:
        fit = clone(model).set_params(epsilon=row.epsilon)
        predicted = fit.fit(FRAME, Y, sample_weight=weights).loo_predictions_
        seen = ~np.isnan(predicted)
        w = None if weights is None else weights[seen]
        given = {"sensitive_features": GROUPS[seen], "sample_weight": w}
        error = rmse(Y[seen], predicted[seen], sample_weight=w)
        assert row.rmse == pytest.approx(error)
        assert row.auc == pytest.approx(rank_auc(None, predicted[seen], **given))
        assert row.gap <= row.epsilon + 1 / 500
        assert row.status == fit.status_
    kept = len(Y) if weights is None else np.count_nonzero(weights)
    assert path.n_train == path.n_held_out == kept


def test_a_reference_turns_the_path_of_two_groups(tmp_path):
    line = RankFairRegressor(tasks="task", sensitive_features="z").fit(FRAME, Y)
    save_model(line, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    for made in (path_of, partial(left_out_path, line), line.path, stored.path):
        (row,), (turned,) = (
            made(epsilons=[0.1], **named).rows for named in ({}, {"reference": "1"})
        )
        assert (row.group, turned.group) == ("1", "0")
        ends = turned.auc_ci_low, turned.auc, turned.auc_ci_high, turned.md, turned.gap
        wanted = 1 - row.auc_ci_high, 1 - row.auc, 1 - row.auc_ci_low, -row.md, row.gap
        assert ends == pytest.approx(wanted, nan_ok=True)
        with pytest.raises(ValueError, match='reference must be one of "0", "1"'):
            made(epsilons=[0.1], reference="x")


def test_default_path_of_rows_left_out_ends_at_their_unconstrained_gap():
    model = RankFairRegressor(tasks="task", sensitive_features="z")
    path = left_out_path(model, epsilons=None)
    assert len(path.rows) == 40 and path.left_out
    assert path.rows[-1].gap == pytest.approx(path.rows[-1].epsilon)
    assert path.rows[-1].status == "inactive"


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        make_pipeline(FunctionTransformer(), MODEL),
        clone(MODEL).set_params(count="loo", constraints=["rank", "mean"]),
        RankFairPostprocessor(
            make_pipeline(StandardScaler(), Ridge()), sensitive_features="z"
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_that_are_no_line_have_five_folds_by_default(model):
    asked = {"random_state": 0, "epsilons": [0.1]}
    if isinstance(model, RankFairPostprocessor):
        asked["tasks"] = "task"
    path = left_out_path(model, **asked)
    assert not path.left_out
    assert path == left_out_path(model, cv=5, **asked)


# Rare groups


def test_folds_leave_a_row_of_every_group_to_learn_from():
    rng = np.random.default_rng(0)
    for _ in range(9):
        codes, in_a = rng.integers(0, 4, 30), np.arange(30) < 2
        groups = np.column_stack((in_a.astype(int), rng.integers(-1, 12, 30)))
        folds = make_folds(3, codes, groups, rng)
        for train, _ in folds:
            for column in groups.T:
                assert set(column[train]) >= set(column) - {-1}


# Groups as the model reads them


def test_one_side_starts_at_the_unconstrained_gap_too():
    frame = FRAME.assign(z=1 - FRAME["z"].rank(method="dense").astype(int))
    upper = clone(MODEL).set_params(side="upper")
    asked = {"epsilons": None, "cv": 2, "X": frame}
    ends = [path_of(m, **asked).column("epsilon")[-1] for m in (MODEL, upper)]
    assert ends[0] == pytest.approx(ends[1]) and ends[0] > 0
