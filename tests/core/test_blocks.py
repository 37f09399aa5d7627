import os
import threading

import numpy as np
import pytest

from rankfair.core import blocks as blocks_module
from rankfair.core.blocks import Blocks, along, each, sorted_by_task

SIZES = {
    "one row": [1],
    "one task": [7],
    "one row a task": [1] * 5,
    "equal": [4] * 6,
    "uneven": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3],
    "one large": [1, 1, 40, 2],
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


def prepared(sizes, **settings):
    X, codes, weights = rows(sizes, **settings)
    return X, codes, weights, Blocks.from_rows(X, codes, len(sizes), weights)


def order_of(codes):
    """The user's row behind each row of Z."""
    return sorted_by_task(codes, codes.max() + 1)[0]


def of_task(blocks, codes):
    """Each task with its place and its rows, first in Z and then the user's."""
    for place, task in enumerate(blocks.tasks):
        mine = np.flatnonzero(codes[order_of(codes)] == task)
        yield place, mine, order_of(codes)[mine]


def mean(values, weights):
    """The weighted mean, 0 where nothing weighs."""
    if weights is None:
        return values.mean(axis=0)
    total = weights.sum()
    return weights @ values / total if total > 0 else 0 * values[0]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_every_row_and_every_task_has_one_place(sizes):
    _, codes, _, blocks = prepared(sizes)
    assert sorted(order_of(codes)) == list(range(len(codes)))
    assert sorted(blocks.tasks) == list(range(len(sizes)))
    row, place = 0, 0
    for batch in blocks.batches:
        assert (batch.rows.start, batch.places.start) == (row, place)
        row, place = batch.rows.stop, batch.places.stop
        assert row - batch.rows.start == batch.size * (place - batch.places.start)
        for at in range(batch.places.start, place):
            first = batch.rows.start + batch.size * (at - batch.places.start)
            mine = order_of(codes)[first : first + batch.size]
            assert (codes[mine] == blocks.tasks[at]).all()
            assert (np.diff(mine) > 0).all()
    assert (row, place) == (len(codes), len(sizes))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_centre_and_gram_are_those_of_a_loop(sizes, weights):
    X, codes, w, blocks = prepared(sizes, weights=weights)
    for place, mine, users in of_task(blocks, codes):
        own = None if w is None else w[users]
        centre = mean(X[users], own)
        Z = X[users] - centre
        gram = Z.T @ (Z if own is None else own[:, None] * Z)
        assert blocks.centre[place] == pytest.approx(centre)
        assert blocks.Z[mine] == pytest.approx(Z)
        assert blocks.gram[place] == pytest.approx(gram, abs=1e-12)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_moments_predictions_and_totals_are_those_of_a_loop(sizes):
    _, codes, _, blocks = prepared(sizes)
    rng = np.random.default_rng(1)
    target = rng.normal(size=len(codes))
    W = rng.normal(size=(len(sizes), 4))
    B, m = blocks.moments(target), blocks.apply(W)
    totals, weighed = blocks.totals(None), blocks.totals(target)
    for place, mine, users in of_task(blocks, codes):
        Z, t = blocks.Z[mine], target[mine]
        assert B[place] == pytest.approx([*(Z.T @ t), t.sum()])
        assert m[mine] == pytest.approx(Z @ W[place, :-1] + W[place, -1])
        assert totals[place] == len(users)
        assert weighed[place] == pytest.approx(t.sum())


@pytest.mark.parametrize("chunk", [1, 30, 1 << 17])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_predictions_and_leverages_are_those_of_a_loop(monkeypatch, sizes, chunk):
    """In parts of any size: several tasks, one, or some rows of one."""
    monkeypatch.setattr(blocks_module, "CHUNK", chunk)
    _, codes, _, blocks = prepared(sizes)
    rng = np.random.default_rng(1)
    W = rng.normal(size=(2, len(sizes), 4))
    K = rng.normal(size=(3, len(sizes), 4, 4))
    K = K + K.swapaxes(2, 3)
    M, H = along(blocks.Z, blocks.batches, list(W), list(K))
    assert M.shape == (2, len(codes)) and H.shape == (3, len(codes))
    for place, mine, users in of_task(blocks, codes):
        Z = np.column_stack((blocks.Z[mine], np.ones(len(users))))
        assert M[:, mine] == pytest.approx(W[:, place] @ Z.T)
        wanted = np.einsum("if,sfg,ig->si", Z, K[:, place], Z)
        assert H[:, mine] == pytest.approx(wanted)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_order_of_rows_does_not_matter(weights):
    X, codes, w, blocks = prepared(SIZES["uneven"], weights=weights)
    other = np.random.default_rng(2).permutation(len(codes))
    moved = Blocks.from_rows(
        X[other], codes[other], len(SIZES["uneven"]), None if w is None else w[other]
    )
    assert np.array_equal(moved.tasks, blocks.tasks)
    assert moved.centre == pytest.approx(blocks.centre)
    assert moved.gram == pytest.approx(blocks.gram, abs=1e-12)


def test_whole_weights_are_repeated_rows():
    X, codes, w, blocks = prepared([6, 9, 9], weights="whole")
    often = np.repeat(np.arange(len(codes)), w.astype(int))
    repeated = Blocks.from_rows(X[often], codes[often], 3)
    for task in range(3):
        here, there = (
            int(np.flatnonzero(b.tasks == task)[0]) for b in (blocks, repeated)
        )
        assert blocks.centre[here] == pytest.approx(repeated.centre[there])
        assert blocks.gram[here] == pytest.approx(repeated.gram[there], abs=1e-12)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e300, 1e-300])
def test_columns_of_extreme_size_get_a_unit(size):
    X, codes, _, plain = prepared(SIZES["uneven"])
    X[:, 1] *= size
    blocks = Blocks.from_rows(X, codes, len(SIZES["uneven"]))
    assert np.isfinite(blocks.gram).all()
    assert np.frexp(blocks.unit)[0].tolist() == [0.5] * 3
    assert blocks.unit[[0, 2]].tolist() == [1.0, 1.0]
    scale = size * blocks.unit[1]
    assert 1e-3 < scale < 1e3
    assert blocks.Z[:, 1] == pytest.approx(scale * plain.Z[:, 1], rel=1e-9)
    assert blocks.gram[:, 1, 1] == pytest.approx(scale**2 * plain.gram[:, 1, 1])


@pytest.mark.parametrize("n_tasks", [3, 70_000])
def test_many_tasks_are_placed_as_few_are(n_tasks):
    codes = np.random.default_rng(3).permutation(n_tasks)
    X = codes[:, None].astype(float)
    blocks = Blocks.from_rows(X, codes, n_tasks)
    assert np.array_equal(codes[order_of(codes)], blocks.tasks)
    assert np.array_equal(blocks.centre[:, 0], blocks.tasks)


# Fewer rows, fewer tasks


# Work shared between threads


def allow(monkeypatch, threads):
    """Let this process believe it may use so many threads."""
    some = set(range(8))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: some, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("n_rows", [10, 10**7])
def test_each_item_is_handled_once(monkeypatch, threads, n_rows):
    allow(monkeypatch, threads)
    done, items = [], list(range(40))
    each(done.append, items, n_rows)
    assert sorted(done) == items


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
    X, codes, w = rows(sizes, weights=weights)
    W = rng.normal(size=(len(sizes), 4))

    def results():
        grouped = Blocks.from_rows(X, codes, len(sizes), w)
        m = grouped.apply(W)
        return grouped.Z, grouped.centre, grouped.gram, m, grouped.moments(m)

    monkeypatch.setattr("rankfair.core.blocks._threads", lambda: 3)
    shared_out = results()
    monkeypatch.setattr("rankfair.core.blocks._threads", lambda: 1)
    for ours, wanted in zip(shared_out, results(), strict=True):
        assert np.array_equal(ours, wanted)


def test_threads_heed_the_caller_s_error_state(monkeypatch):
    monkeypatch.setattr("rankfair.core.blocks._threads", lambda: 2)
    with np.errstate(over="ignore"):
        each(lambda x: x * x, [np.array([1e300])] * 4, 10**6)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        each(lambda x: x * x, [np.array([1e300])] * 4, 10**6)
