import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_validate
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from far_apart import (
    FRAME,
    IN_A,
    NUMBERS,
    PAIR,
    SEX,
    TASK,
    TREES,
    N,
    Slow,
    X,
    Y,
    auc_of,
    fair,
)
from rankfair import RankFairRegressor, TiltedRegressor
from rankfair._folds import deal_folds
from rankfair.balances import Mean, Rank, Residual, Within
from rankfair.datasets import load_wine
from rankfair.metrics import balanced_residuals, mean_difference, rank_auc, rmse
from rankfair.problem import Groups
from rankfair.reduction.demand import Demand
from rankfair.reduction.loop import solve
from rankfair.reduction.refits import Refits
from refusals import sentence
from schools import held_out_gap

NO_GROUPS = "ignore:fit got no sensitive_features:UserWarning"


@pytest.mark.filterwarnings(NO_GROUPS)
@parametrize_with_checks([TiltedRegressor(Ridge()), TiltedRegressor(Ridge(), cv=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def slow():
    Slow.fits = 0
    return Slow


# What a fit promises


@pytest.mark.parametrize("epsilon", [0.0, 0.005, 0.1])
@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(10.0)])
def test_linear_models_meet_the_band_without_a_shift(estimator, epsilon):
    assert roc_auc_score(IN_A, estimator.fit(X, Y).predict(X)) > 0.65
    model = fair(estimator, epsilon).fit(X, Y)
    assert model.status_ == "satisfied"
    assert abs(auc_of(model) - 0.5) <= epsilon + PAIR
    assert auc_of(model) == model.rank_auc_
    assert model.multiplier_ > 0
    assert model.n_refits_ <= 20


@pytest.mark.parametrize("alpha", [1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_ridge_agrees_with_the_linear_solver(alpha, seed):
    rng = np.random.default_rng(seed)
    z = rng.random(400) < 0.5
    Z = np.column_stack([rng.normal(size=(400, 3)) + np.outer(z, [1, 0, -1]), z])
    y = Z @ [1.0, 1.0, 0.3, 1.0] + rng.normal(size=400)
    ours = TiltedRegressor(
        Ridge(alpha), 0.01, sensitive_features=-1, finish="none"
    ).fit(Z, y)
    reference = RankFairRegressor(
        0.01, sensitive_features=-1, penalty="ridge", beta=alpha, standardize=False
    ).fit(Z, y)

    def objective(model, w):
        return ((y - model.predict(Z)) ** 2).sum() / 2 + alpha * (w @ w) / 2

    w = np.ravel(ours.estimator_.coef_)
    theirs = objective(reference, reference.coef_[0])
    assert objective(ours, w) == pytest.approx(theirs, rel=0.02)
    assert ours.multiplier_ == pytest.approx(reference.multiplier_, rel=0.3)


REGRESSORS = {
    "boosting": TREES,
    "forest": RandomForestRegressor(8, min_samples_leaf=5),
    "ridge": Ridge(),
    "kernel": KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1),
    "mlp": make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(6,), solver="lbfgs", alpha=1.0, max_iter=3000),
    ),
    "tree": DecisionTreeRegressor(max_depth=4),
}


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("name", REGRESSORS)
def test_any_regressor_meets_the_band(name, cv):
    model = fair(REGRESSORS[name], cv=cv, max_refits=6).fit(X, Y)
    assert model.status_ == "satisfied"
    assert abs(model.rank_auc_ - 0.5) <= 0.02 + PAIR
    assert 1 <= model.n_refits_ <= 6
    assert len(model.trace_) == model.n_refits_ + 1
    if cv is None:
        assert auc_of(model) == model.rank_auc_
    else:
        assert abs(auc_of(model) - 0.5) < 0.12


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosting_of_other_libraries(library):
    module = pytest.importorskip(library)
    if library == "lightgbm":
        base = module.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1)
    else:
        base = module.XGBRegressor(n_estimators=20, max_depth=3, n_jobs=1)
    model = fair(base, max_refits=4).fit(X, Y, sample_weight=np.full(N, 2.0))
    assert model.status_ == "satisfied"
    assert abs(auc_of(model) - 0.5) <= 0.02 + PAIR
    assert fair(base, max_refits=2, cv=3).fit(X, Y).status_ == "satisfied"


def encoding(*steps):
    columns = make_column_transformer(
        (OneHotEncoder(), ["sex"]), (StandardScaler(), ["a", "b", "c"])
    )
    return make_pipeline(columns, *steps)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("cv", [None, 3])
def test_a_pipeline_takes_text_labels(frame, cv):
    table = frame(FRAME.to_dict("list"))
    model = TiltedRegressor(
        encoding(Ridge()), 0.02, sensitive_features="sex", cv=cv, random_state=0
    ).fit(table, Y)
    assert model.status_ == "satisfied"
    assert model.groups_.tolist() == ["F", "M"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "sex"]
    assert model.predict(table).shape == (N,)


def test_an_estimator_that_takes_missing_values_still_does():
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    gaps[:, -1] = X[:, -1]
    assert fair(TREES, max_refits=4).fit(gaps, Y).status_ == "satisfied"


def test_the_shift_closes_what_refits_leave():
    model = fair(DecisionTreeRegressor(max_depth=4), 0.001, max_refits=2).fit(X, Y)
    shift = model.shift_
    assert shift.any()
    # The least movement: the mean of all predictions stays where it was.
    assert shift @ [(~IN_A).sum(), IN_A.sum()] == pytest.approx(0, abs=1e-9)
    raw = model.estimator_.predict(X)
    np.testing.assert_array_equal(model.predict(X), raw + shift[IN_A.astype(int)])
    rough = rank_auc(None, raw, sensitive_features=SEX)
    assert abs(rough - 0.5) > abs(model.rank_auc_ - 0.5)


def test_groups_given_as_an_array_are_shifted_if_predict_gets_them():
    model = TiltedRegressor(DecisionTreeRegressor(max_depth=3, random_state=0), 0.001)
    with pytest.warns(
        ConvergenceWarning, match="predict.X, sensitive_features=.*closes"
    ) as w:
        model.set_params(max_refits=2).fit(X, Y, sensitive_features=SEX)
    assert w[0].filename == __file__
    assert model.status_ == "max_iter"
    assert auc_of(model) == model.rank_auc_
    closed = auc_of(model, sensitive_features=SEX)
    assert abs(closed - 0.5) < abs(model.rank_auc_ - 0.5)
    assert model.score(X, Y, sensitive_features=SEX) == pytest.approx(
        r2_score(Y, model.predict(X, sensitive_features=SEX))
    )


@pytest.mark.parametrize("closed", [{"blind": True}, {"finish": "none"}])
def test_no_shift_where_none_is_wanted(closed):
    base = DecisionTreeRegressor(max_depth=3)
    with pytest.warns(ConvergenceWarning, match="asked for 0.49") as caught:
        model = fair(base, 0.001, max_refits=2, **closed).fit(X, Y)
    assert "sensitive_features=" not in str(caught[0].message)
    assert not model.shift_.any()
    assert model.status_ == "max_iter"


def test_blind_models_do_not_read_the_group():
    model = fair(blind=True).fit(X, Y)
    assert model.estimator_.n_features_in_ == 3
    assert model.status_ == "satisfied"
    other = X.copy()
    other[:, -1] = 77
    np.testing.assert_array_equal(model.predict(other), model.predict(X))
    frame = TiltedRegressor(Ridge(), 0.02, sensitive_features="sex", blind=True)
    np.testing.assert_allclose(frame.fit(FRAME, Y).predict(FRAME), model.predict(X))


def test_a_band_already_met_is_the_plain_fit():
    model = fair(epsilon=0.5).fit(X, Y)
    assert model.status_ == "inactive"
    assert model.multiplier_ == 0
    assert model.n_refits_ == 0
    np.testing.assert_array_equal(model.predict(X), Ridge().fit(X, Y).predict(X))
    assert fair(DummyRegressor()).fit(X, Y).rank_auc_ == 0.5


def test_a_model_that_cannot_follow_is_infeasible():
    # It sees one column that is the group, and its sign: no multiple of it is level.
    class Stubborn(Slow):
        def predict(self, X):
            return X[:, -1]

    model = fair(Stubborn(), finish="none")
    with pytest.warns(ConvergenceWarning, match="Reached: AUC 1.0000"):
        model.fit(X, Y)
    assert model.status_ == "infeasible"
    # A shift ties all rows at once.
    tied = fair(Stubborn()).fit(X, Y)
    assert tied.status_ == "satisfied"
    assert np.ptp(tied.predict(X)) == 0

    class Coarse(Slow):
        def predict(self, X):
            return np.where(X[:, -1] == 1, 10.0 * (X[:, 0] > np.quantile(X, 0.9)), 5.0)

    with pytest.warns(ConvergenceWarning, match=r"asked for 0.48 to 0.52\.$"):
        fair(Coarse()).fit(X, Y)


def test_without_groups_a_warning_and_the_plain_fit():
    with pytest.warns(UserWarning, match="there is nothing to balance") as caught:
        model = TiltedRegressor(Ridge(), cv=3).fit(X, Y)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.predict(X), Ridge().fit(X, Y).predict(X))
    assert np.isnan(model.rank_auc_)
    assert model.groups_ is None
    assert "fitted without groups" in sentence(model.predict, X, sensitive_features=SEX)


def test_fresh_folds_may_find_nothing_to_do():
    codes = np.zeros(N, np.intp)
    demand = Demand.of(Rank(0.02), Y, Groups(IN_A), shifts=True)
    level = Refits(DummyRegressor(), X, codes, 1)
    found = solve(Refits(Ridge(), X, codes, 1), demand, 6, lambda step: None, level)
    assert str(found.status) == "inactive"
    assert not found.fit.tilt.any()


# Balances


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("cv", [None, 4])
def test_equal_means(epsilon, cv):
    model = fair(TREES, epsilon, balance="mean", cv=cv, max_refits=5).fit(X, Y)
    assert abs(model.balance_["mean"]) <= epsilon + 1e-9
    assert 0 < model.rank_auc_ < 1
    if cv is None:
        gap = mean_difference(None, model.predict(X), sensitive_features=SEX)
        assert gap / Y.std() == pytest.approx(model.balance_["mean"], abs=1e-9)


def test_equal_means_of_a_line_are_one_refit():
    model = fair(LinearRegression(), 0.0, balance=Mean(0.0)).fit(X, Y)
    assert not model.shift_.any()
    assert model.n_refits_ <= 2


def test_equal_residuals():
    # Blind, a line leaves residuals apart; a shift or a tilt brings them together.
    line = fair(LinearRegression(), 0.0, balance="residual", blind=True).fit(X, Y)
    gap = balanced_residuals(Y, line.predict(X), sensitive_features=SEX)
    assert abs(gap) < 1e-8
    stump = DecisionTreeRegressor(max_depth=1, random_state=0)
    shifted = fair(stump, 0.0, balance=Residual(0.0), max_refits=1).fit(X, Y)
    assert shifted.status_ == "satisfied"
    gap = balanced_residuals(Y, shifted.predict(X), sensitive_features=SEX)
    assert abs(gap) < 1e-8


def test_a_balance_of_some_rows_and_of_one_side():
    part = NUMBERS[:, 1] > 0
    model = fair(LinearRegression(), balance=Within(0.0, rows=part)).fit(X, Y)
    m = model.predict(X)
    gap = mean_difference(None, m[part], sensitive_features=SEX[part])
    assert abs(gap) < 1e-8
    above = fair(balance=Rank(0.05, side="upper")).fit(X, Y)
    assert 0.5 - PAIR <= above.rank_auc_ <= 0.55


# Tasks


def test_one_model_a_task():
    with_task = FRAME.assign(task=TASK, sex=IN_A)
    settings = {"epsilon": 0.02, "sensitive_features": "sex"}
    model = TiltedRegressor(Ridge(1.0), tasks="task", **settings).fit(with_task, Y)
    assert [one.n_features_in_ for one in model.estimator_] == [4, 4]
    assert model.tasks_.tolist() == ["n", "s"]
    assert auc_of(model, with_task) == model.rank_auc_
    assert abs(model.rank_auc_ - 0.5) <= 0.02 + PAIR
    reference = RankFairRegressor(
        tasks="task", penalty="ridge", standardize=False, **settings
    ).fit(with_task, Y)
    error = rmse(Y, reference.predict(with_task))
    assert rmse(Y, model.predict(with_task)) == pytest.approx(error, rel=0.02)
    arrays = TiltedRegressor(Ridge(1.0), 0.02, sensitive_features=3)
    arrays.fit(X, Y, tasks=TASK)
    np.testing.assert_allclose(arrays.predict(X, tasks=TASK), model.predict(with_task))
    assert "tasks is missing" in sentence(arrays.predict, X)
    told = sentence(arrays.predict, X, tasks=["n"] * (N - 1) + ["w"])
    assert told.startswith('tasks has labels not seen in training: "w" (1 row)')


def test_folds_leave_no_task_out():
    sizes = [2, 2, 60, 236]
    task = np.repeat(["a", "b", "c", "d"], sizes)
    model = fair(cv=5).fit(X, Y, tasks=task)
    assert model.status_ == "satisfied"
    task[0] = "z"
    told = sentence(fair(cv=5).fit, X, Y, tasks=task)
    assert told.startswith("cv=5 needs as many rows, and two of each task")


def test_no_gap_of_one_sign_is_left_on_held_out_rows():
    model = TiltedRegressor(
        Ridge(300.0), 0.0, sensitive_features=0, blind=True, cv=5, random_state=0
    )
    gap, error = held_out_gap(model, 3)
    assert abs(gap) <= max(2 * error, 0.005)


def test_folds_share_groups_evenly():
    folds = deal_folds(IN_A.astype(np.intp), 7, np.random.default_rng(0))
    counts = [IN_A[test].sum() for _, test in folds]
    assert max(counts) - min(counts) <= 1
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(N))
    assert all(len(a) + len(b) == N for a, b in folds)


# Symmetries


def test_fits_are_deterministic_and_inputs_stay():
    before = X.copy(), Y.copy()
    base = RandomForestRegressor(5)
    one, two = (fair(base, cv=3, max_refits=3).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert base.random_state is None
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])
    other = fair(base, cv=3, max_refits=3, random_state=np.random.default_rng(1))
    assert (other.fit(X, Y).predict(X) != one.predict(X)).any()


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(N)
    straight, mixed = fair().fit(X, Y), fair().fit(X[order], Y[order])
    np.testing.assert_allclose(mixed.predict(X), straight.predict(X), atol=1e-6)


def test_swapped_groups_mirror_the_band():
    swapped = X.copy()
    swapped[:, -1] = 1 - X[:, -1]
    plain, mirrored = fair().fit(X, Y), fair().fit(swapped, Y)
    assert mirrored.rank_auc_ == pytest.approx(1 - plain.rank_auc_, abs=2 * PAIR)
    np.testing.assert_allclose(mirrored.predict(swapped), plain.predict(X), atol=1e-3)


def test_whole_weights_are_repeated_rows():
    w = np.random.default_rng(1).integers(0, 4, N)
    base = make_pipeline(Ridge(1.0))
    weighted = fair(base, 0.02).fit(X, Y, sample_weight=w)
    repeated = fair(base, 0.02).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    assert weighted.rank_auc_ == pytest.approx(repeated.rank_auc_, abs=1e-3)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)
    assert len(weighted.tilt_) == (w > 0).sum()
    auc = rank_auc(None, weighted.predict(X), sensitive_features=SEX, sample_weight=w)
    assert auc == weighted.rank_auc_
    part = fair(base, 0.02).fit(X, Y, sample_weight=w / 3)
    np.testing.assert_allclose(part.predict(X), weighted.predict(X), atol=0.1)


@pytest.mark.parametrize("n_a", [1, 2, 5])
@pytest.mark.parametrize("cv", [None, 3])
def test_tiny_groups(n_a, cv):
    z = np.arange(40) < n_a
    Z = np.column_stack([X[:40, :3], z])
    model = fair(epsilon=0.0, cv=cv).fit(Z, Y[:40] + 3 * z)
    assert abs(model.rank_auc_ - 0.5) <= 1 / (n_a * (40 - n_a))


def test_units_of_the_target_do_not_matter():
    model, scaled = fair().fit(X, Y), fair().fit(X, 1e6 * Y + 1e7)
    np.testing.assert_allclose(
        (scaled.predict(X) - 1e7) / 1e6, model.predict(X), atol=1e-5
    )
    assert scaled.multiplier_ == pytest.approx(model.multiplier_, rel=1e-3)
    assert fair().fit(X, np.ones(N)).status_ == "inactive"


# Costs and interruptions


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("finish", ["shift", "map"])
@pytest.mark.parametrize("max_refits", [1, 2, 5])
def test_max_refits_is_kept(slow, max_refits, finish, cv):
    settings = {"max_refits": max_refits, "finish": finish, "cv": cv}
    model = fair(slow(), 0.0, **settings).fit(X, Y)
    assert model.status_ == "satisfied"
    assert 1 <= model.n_refits_ <= max_refits
    # With folds one of the fits is to all rows.
    assert Slow.fits == (1 + model.n_refits_) * (1 if cv is None else cv + 1)


@pytest.mark.parametrize("stop_at", [1, 2, 4])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(slow, stop_at):
    model = fair(slow(stop_at))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    Slow.fits = -1000
    before = model.fit(X, Y).predict(X)
    Slow.fits = 0
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], Y[:100])
    np.testing.assert_array_equal(model.predict(X), before)


def test_refits_predict_out_of_fold():
    folds = deal_folds(np.zeros(N, np.intp), 3, np.random.default_rng(0))
    codes = np.zeros(N, np.intp)
    refits = Refits(DecisionTreeRegressor(), X, codes, 1, folds=folds, groups=codes)
    (model,), m = refits.fit(Y)
    assert model.score(X, Y) > 0.9
    train, test = folds[1]
    tree = DecisionTreeRegressor(random_state=0).fit(X[train], Y[train])
    assert r2_score(Y, m) < 0.9 < tree.score(X[train], Y[train])
    assert np.isfinite(m[test]).all()


def test_the_shift_is_the_least_that_reaches_the_band():
    m = X[:, 0] + 2 * IN_A
    demand = Demand.of(Rank(0.01), Y, Groups(IN_A), shifts=True)
    fit = demand.judged(np.zeros(N), m)
    assert fit.shifted.inside and not fit.at.inside
    less = m + 0.98 * demand.by_group(fit.shift)
    assert not demand.count(less).inside


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [1.0, 2.0])
def test_the_shift_of_few_values_is_the_nearest_of_all(offset, weighted):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        in_a = np.arange(60) % 3 == 1
        # Not at zero, where a value and a shift cannot add up to every other value.
        m = offset + rng.normal(size=(2, 3))[in_a.astype(int), rng.integers(0, 3, 60)]
        groups = Groups(in_a, rng.integers(1, 4, 60) if weighted else None)
        demand = Demand.of(Rank(0.005), m, groups, shifts=True)
        shift, at = demand.closing_shift(m)
        assert at.miss == demand.count(m + demand.by_group(shift)).miss
        assert demand.shares @ shift == pytest.approx(0, abs=1e-9)
        jumps = np.unique(np.subtract.outer(m[~in_a], m[in_a]).round(9))
        before, after = (
            np.array([demand.count(m + (x + side) * in_a).value for x in jumps])
            for side in (-1e-6, 1e-6)
        )
        # A tie is half way between what is counted at either side of it.
        every = np.concatenate((before, after, (before + after) / 2))
        assert abs(at.miss) <= min(abs(demand.band.miss(value)) for value in every)


# As part of scikit-learn


def test_clone_pickle_and_search():
    model = fair(TREES, max_refits=2, cv=3)
    copy = clone(model)
    assert copy.get_params()["estimator__max_iter"] == 20
    model.fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    search = GridSearchCV(fair(), {"estimator__alpha": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_estimator_.status_ == "satisfied"
    scores = cross_validate(fair(), X, Y, cv=3)
    assert scores["test_score"].min() > 0
    inner = make_pipeline(StandardScaler(), TiltedRegressor(Ridge(), 0.02))
    inner.fit(X, Y, tiltedregressor__sensitive_features=SEX)
    assert inner[-1].status_ == "satisfied"


def test_progress_is_written(capsys):
    model = fair(verbose=1).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == model.n_refits_ + 2
    assert lines[0].startswith("[TiltedRegressor] step 0: objective")
    assert "satisfied" in lines[-1]


def test_a_splitter_as_cv():
    model = fair(cv=KFold(4)).fit(X, Y)
    assert model.status_ == "satisfied"
    folds = list(KFold(4).split(X))
    np.testing.assert_array_equal(fair(cv=folds).fit(X, Y).tilt_, model.tilt_)
    told = sentence(fair(cv=ShuffleSplit(2, random_state=0)).fit, X, Y)
    assert "got 2 folds that test" in told and "60 times, of 300 rows" in told


def test_weight_zero_is_absence():
    w = np.where(TASK == "n", 1.0, 0.0)
    one = fair(TREES, max_refits=3).fit(X, Y, sample_weight=w, tasks=TASK)
    two = fair(TREES, max_refits=3).fit(X[w > 0], Y[w > 0])
    assert one.tasks_.tolist() == ["n"]
    np.testing.assert_array_equal(one.predict(X, tasks=["n"] * N), two.predict(X))


# The promise on real rows


def test_wine_is_fair_on_new_rows_at_less_error_than_a_shift(real_data):
    data = load_wine(real_data, random_state=0)
    red = data.sensitive == "red"
    Z, y = np.column_stack([data.X, red]), data.target
    train = np.random.default_rng(0).random(len(y)) < 0.7
    base = HistGradientBoostingRegressor(random_state=0)
    plain = clone(base).fit(Z[train], y[train])
    demand = Demand.of(Rank(0.005), y[train], Groups(red[train]), shifts=True)
    shift = demand.judged(y[train], plain.predict(Z[train])).shift
    moved = plain.predict(Z[~train]) + np.where(red[~train], shift[1], shift[0])
    ours = fair(base, 0.005, cv=5, max_refits=4).fit(Z[train], y[train])
    m = ours.predict(Z[~train])
    # By chance alone the AUC of so few new rows is off by 0.015; ten splits, and what
    # is gained on average, are in benchmarks/bench_any.py.
    assert abs(rank_auc(None, m, sensitive_features=red[~train]) - 0.5) < 0.06
    assert rmse(y[~train], m) < 0.99 * rmse(y[~train], moved)
