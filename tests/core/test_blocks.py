import os
import threading

import numpy as np
import pytest
from scipy.sparse import csr_array

from rankfair.core.blocks import SortedRows, each, sorted_by_task
from rankfair.core.problem import Problem

SIZES = {
    "one row": [1],
    "one task": [7],
    "one row a task": [1] * 5,
    "equal": [4] * 6,
    "uneven": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3],
    "in several batches": [*range(1, 300, 7), *range(900, 1000)],
    "larger than the cache": [1, 1, 15_000, 2],
}
WEIGHTS = ["none", "whole", "real"]


def rows(sizes, n=3, seed=0, weights="none"):
    """X (N, n), codes (N,) in any order, and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), n)) + 3 * rng.normal(size=n)
    if weights == "none":
        return X, codes, None
    w = rng.integers(0, 4, len(codes)).astype(float)
    return X, codes, w if weights == "whole" else w * rng.random(len(codes))


def prepared(sizes, sparse=False, **settings):
    """The rows as a user has them, sorted, and the sums over them."""
    X, codes, weights = rows(sizes, **settings)
    order, tasks, sizes = sorted_by_task(codes, len(sizes))
    own = SortedRows(csr_array(X) if sparse else X, order, sizes)
    return X, codes, weights, tasks, own


def of_task(codes, tasks, own):
    """Each task with its place and its rows, first the sorted ones."""
    for place, task in enumerate(tasks):
        mine = np.flatnonzero(codes[own.order] == task)
        yield place, mine, own.order[mine]


def mean(values, weights):
    """The weighted mean, 0 where nothing weighs."""
    total = weights.sum()
    return weights @ values / total if total > 0 else 0 * values[0]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_every_row_and_every_task_has_one_place(sizes):
    _, codes, _, tasks, own = prepared(sizes)
    assert sorted(own.order) == list(range(len(codes)))
    assert sorted(tasks) == list(range(len(sizes)))
    row, place = 0, 0
    for batch in own.batches:
        assert (batch.rows.start, batch.places.start) == (row, place)
        row, place = batch.rows.stop, batch.places.stop
        assert batch.size == own.sizes[place - 1]
    assert (row, place) == (len(codes), len(sizes))
    for place, _, users in of_task(codes, tasks, own):
        assert (codes[users] == tasks[place]).all()
        assert (np.diff(users) > 0).all()


@pytest.mark.parametrize("far", [1.0, 1e9, None], ids=["near", "far", "sparse"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_all_sums_and_predictions_are_those_of_a_loop(sizes, weights, far):
    X, codes, w, tasks, own = prepared(sizes, far is None, weights=weights)
    far = far or 1.0
    X += far - 1.0
    rng = np.random.default_rng(1)
    targets, W = rng.normal(size=(2, len(codes))), rng.normal(size=(2, len(sizes), 4))
    K = rng.normal(size=(3, len(sizes), 4, 4))
    K = K + K.swapaxes(2, 3)
    w = np.ones(len(codes)) if w is None else w
    found = own.all_products(None if weights == "none" else w[own.order], targets)
    off = found.centred()
    again = own.all_products(None if weights == "none" else w[own.order], targets, off)
    M, H = own.along(list(W), list(K), off)
    assert M.shape == (2, len(codes)) and H.shape == (3, len(codes))
    for place, mine, users in of_task(codes, tasks, own):
        s, t = w[users], targets[:, mine]
        centre = mean(X[users], s)
        Z = X[users] - centre
        Z -= mean(Z, s)
        Z1, loose = np.column_stack((Z, np.ones(len(Z)))), 1e-6 if far > 1 else 1e-10
        cross, T = t @ (s[:, None] * Z), np.vstack((t, np.ones(len(s))))
        for ours, wanted in (
            (off.sum(axis=0)[place], centre),
            (found.gram[place], Z.T @ (s[:, None] * Z)),
            (found.cross[place, :-1], cross),
            (again.cross[place, :-1], cross),
            (found.sums[place], T @ (s[:, None] * T.T)),
            (again.sums[place], T @ (s[:, None] * T.T)),
            (M[:, mine], W[:, place] @ Z1.T),
            (H[:, mine], [((Z1 @ k) * Z1).sum(axis=1) for k in K[:, place]]),
        ):
            np.testing.assert_allclose(ours, wanted, loose, 10 * loose)


def blocks_of(X, codes, w=None):
    """What a problem of these rows keeps of each task, tasks by label."""
    problem = Problem.from_rows(
        X, np.arange(len(codes)) * 1.0, codes, codes.max() + 1, weights=w
    )
    by_label = np.argsort(problem.blocks.tasks)
    gram = problem.gram / np.outer(problem.scale, problem.scale)
    return problem.blocks.centre[by_label], gram[by_label]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_order_of_rows_does_not_matter(weights):
    X, codes, w = rows(SIZES["uneven"], weights=weights)
    other = np.random.default_rng(2).permutation(len(codes))
    moved = blocks_of(X[other], codes[other], None if w is None else w[other])
    for ours, wanted in zip(moved, blocks_of(X, codes, w), strict=True):
        assert ours == pytest.approx(wanted, abs=1e-12)


def test_whole_weights_are_repeated_rows():
    X, codes, w = rows([6, 9, 9], weights="whole")
    often = np.repeat(np.arange(len(codes)), w.astype(int))
    repeated = blocks_of(X[often], codes[often])
    for ours, wanted in zip(blocks_of(X, codes, w), repeated, strict=True):
        assert ours == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e300, 1e-300])
def test_columns_of_extreme_size_get_a_unit(size):
    X, codes, _ = rows(SIZES["uneven"])
    y = np.arange(len(codes)) * 1.0
    plain = Problem.from_rows(X, y, codes, codes.max() + 1)
    wanted, X = plain.predict(np.ones((10, 4))), X.copy()
    X[:, 1] *= size
    problem = Problem.from_rows(X, y, codes, codes.max() + 1)
    unit = problem.blocks.unit
    assert np.frexp(unit)[0].tolist() == [0.5] * 3
    assert unit[[0, 2]].tolist() == [1.0, 1.0]
    assert 1e-3 < size * unit[1] < 1e3
    assert problem.gram == pytest.approx(plain.gram, abs=1e-9)
    assert problem.predict(np.ones((10, 4))) == pytest.approx(wanted)


# Work shared between threads


def allow(monkeypatch, threads):
    """Let this process believe it may use so many threads."""
    some = set(range(8))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: some, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_in_a_thread_is_raised(monkeypatch, threads):
    def fail(item):
        raise KeyError(item)

    allow(monkeypatch, threads)
    with pytest.raises(KeyError):
        each(fail, range(3), 10**7)


@pytest.mark.parametrize("allowed", ["1", "3", "many", ""])
@pytest.mark.parametrize("affinity", [True, False])
def test_no_more_threads_than_allowed(monkeypatch, allowed, affinity):
    allow(monkeypatch, allowed)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    if not affinity:
        monkeypatch.delattr(os, "sched_getaffinity")
    seen = set()
    each(lambda _: seen.add(threading.get_ident()), range(400), 10**7)
    assert len(seen) <= (int(allowed) if allowed.isdigit() else 4)
    assert allowed != "1" or seen == {threading.get_ident()}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_threads_over_batches_change_no_bit(monkeypatch, weights):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 20, size=15_000)
    _, codes, w, _, own = prepared(sizes, weights=weights)
    W = rng.normal(size=(len(sizes), 4))

    def results(threads):
        allow(monkeypatch, threads)
        found = own.all_products(w, [codes])
        off = found.centred()
        m = own.along([W], [], off)[0][0]
        return *found, m, own.all_products(w, [m], off).cross

    for ours, wanted in zip(results(3), results(1), strict=True):
        assert np.array_equal(ours, wanted)
