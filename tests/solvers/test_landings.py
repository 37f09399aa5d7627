import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfair.balances import Band
from rankfair.solvers.landing import Landing, land
from rankfair.solvers.landings import Walks


def walked(functions, low, high, first, tolerance=1.0, counts=200, **more):
    """Walk all functions at once; checks what holds for every walk."""

    def count(x):
        return np.array([f(at) for f, at in zip(functions, x, strict=True)])

    k = len(functions)
    band = np.broadcast_to(float(low), k), np.broadcast_to(float(high), k)
    start = count(np.zeros(k))
    walks = Walks(*band, np.full(k, tolerance), start, np.asarray(first, float), **more)
    seen = [start]
    for _ in range(counts):
        if not walks.open.any():
            break
        was_open = walks.open.copy()
        values = count(walks.x)
        seen.append(np.where(was_open, values, np.nan))
        walks.learn(values)
    misses = np.abs([[Band(low, high).miss(v) for v in row] for row in seen])
    np.testing.assert_allclose(walks.best_miss, np.nanmin(misses, axis=0))
    np.testing.assert_array_equal(walks.best_value, count(walks.best_x))
    return walks


def steps(seed):
    """A falling step function from 100, of many small steps and perhaps a large one."""
    rng = np.random.default_rng(seed)
    places, heights = np.sort(rng.exponential(1.0, 60)), rng.integers(1, 6, 60)
    heights[rng.integers(60)] += rng.integers(0, 40)
    return lambda x: 100.0 - heights[places <= x].sum()


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(-90, 80), st.integers(0, 9))
def test_a_walk_gets_where_the_scalar_landing_gets(seed, low, width):
    functions = [steps(seed + i) for i in range(4)]
    walks = walked(functions, low, low + width, [0.3] * 4, enough=0.0)
    band = Band(low, low + width)
    for i, f in enumerate(functions):
        start = Landing(0.0, f(0), band.miss(f(0)))
        if start.inside:
            assert walks.best_x[i] == 0
            continue
        alone = land(f, band, min(1.0, width), start, 0.3, 3e5)
        assert walks.inside[i] == alone.inside
        if alone.inside:
            assert abs(walks.best_value[i] - alone.value) <= max(width, 1.0)


def test_walks_go_both_ways_and_do_not_disturb_each_other():
    lines = [lambda x: 9 - 2 * x, lambda x: -3 - 2 * x, lambda x: 0.5 - x]
    together = walked(lines, 0, 1, [1, -1, 1], tolerance=1e-9)
    assert together.best_x == pytest.approx([4.0, -1.5, 0.0], abs=1e-6)
    for i, line in enumerate(lines):
        one = walked([line], 0, 1, [[1, -1, 1][i]], tolerance=1e-9)
        assert one.best_x[0] == together.best_x[i]


def test_the_edge_that_faces_the_start_is_where_it_ends():
    walks = walked([lambda x: 50 - x, lambda x: -50 - x], -5, 5, [1, -1], 0.1)
    assert walks.best_value == pytest.approx([5, -5], abs=0.2)


def test_a_jump_across_the_band_ends_at_its_nearer_side():
    jump = [lambda x: 10.0 if x < 3.7 else -4.0]
    walks = walked(jump, -1, 1, [1.0])
    assert not walks.inside[0] and not walks.open[0]
    assert walks.best_value[0] == -4.0


def test_a_walk_that_nothing_answers_ends():
    walks = walked([lambda x: 7.0], -1, 1, [1.0], reach=1e4)
    assert not walks.open[0] and not walks.inside[0]
    assert walks.best_x[0] == 0


def test_a_band_that_is_never_left_is_not_walked():
    walks = walked([lambda x: 7.0 - x], -np.inf, np.inf, [1.0])
    assert not walks.open[0] and walks.x[0] == 0


def test_enough_ends_a_search_early_inside():
    calls = []

    def count(x):
        calls.append(x)
        return 100 * np.exp(-x)

    walked([count], 1, 2, [0.1], tolerance=1e-12, enough=1e-2)
    rough = len(calls)
    walked([count], 1, 2, [0.1], tolerance=1e-12, enough=0.0)
    assert rough < len(calls) - rough


def test_some_walks_go_on_alone():
    lines = [lambda x: 9 - 2 * x, lambda x: 5 - x**3]
    k = np.arange(2)
    start = np.array([f(0.0) for f in lines])
    walks = Walks(np.zeros(2), np.ones(2), np.full(2, 1e-9), start, np.ones(2))
    for _ in range(3):
        walks.learn(np.array([f(x) for f, x in zip(lines, walks.x, strict=True)]))
    some = walks.take(k[1:])
    while some.open.any():
        some.learn(np.array([lines[1](x) for x in some.x]))
    assert some.best_x[0] == pytest.approx(4 ** (1 / 3), abs=1e-6)
    assert len(walks.x) == 2
